import pytest
import timm
import torch

from sweeps.models import ResNetConfig, VitConfig
from sweeps.optimizers import decay_groups
from sweeps.specs.config import RecipeConfig

from .conftest import Tiny, recipe_of

MODELS = {
    "vit": lambda: VitConfig(width=16, depth=1, patch=4).build(8, 10),
    "vit token": lambda: VitConfig(width=16, depth=1, patch=4, pooling="token").build(8, 10),
    "vit map": lambda: VitConfig(width=16, depth=1, patch=4, pooling="map").build(8, 10),
    "resnet": lambda: ResNetConfig(width=4, depth=(1, 1)).build(8, 10),
    "layer scale": lambda: timm.create_model("convnext_atto", num_classes=10),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_is_in_one_group_and_just_the_kernels_decay(name):
    """By the class of the module that holds it, where the library goes by name and shape."""
    model = MODELS[name]()
    groups = decay_groups(model, recipe_of())
    decay = {name: group.weight_decay for group in groups for name in group.names}
    assert len(decay) == sum(len(group.names) for group in groups) == len(list(model.parameters()))
    kernels = {
        f"{path}.weight": 3.0 if module is model.get_classifier() else 0.1
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | torch.nn.Conv2d)
    }
    assert {name: value for name, value in decay.items() if value} == kernels


def test_what_does_not_decay_by_name():
    rest = {
        name
        for model in ("vit token", "vit map")
        for group in decay_groups(MODELS[model](), recipe_of())
        for name in group.names
        if not group.weight_decay
    }
    assert {"pos_embed", "cls_token", "attn_pool.latent", "blocks.0.norm1.weight", "head.bias"} <= rest


def test_names_are_of_the_parameters_beside_them():
    model = Tiny()
    for group in decay_groups(model, recipe_of()):
        assert [id(model.get_parameter(name)) for name in group.names] == [id(p) for p in group.parameters]


@pytest.mark.parametrize(
    ("rule", "body", "head"),
    [("lr_scaled", 0.1, 3.0), ("l2", 0.1, 3.0), ("decoupled", 0.1 / 0.01, 0.5 / (0.01 * 2.0))],
)
def test_decay_by_the_rule(rule, body, head):
    recipe = recipe_of(weight_decay_rule=rule, head_weight_decay=0.5 if rule == "decoupled" else 3.0)
    found = {name: group.weight_decay for group in decay_groups(Tiny(), recipe) for name in group.names}
    assert found["wide.weight"] == pytest.approx(body, rel=1e-15)  # one rounding
    assert found["head.weight"] == pytest.approx(head, rel=1e-15)
    assert found["pos_embed"] == found["head.bias"] == found["patch.bias"] == 0


def test_head_decays_like_the_body_where_it_has_none_of_its_own():
    recipe = RecipeConfig.model_validate({"weight_decay": 0.2})
    assert {g.weight_decay for g in decay_groups(Tiny(), recipe)} == {0.0, 0.2}


@pytest.mark.parametrize("field", ["weight_decay", "head_weight_decay"])
@pytest.mark.parametrize("value", [1.0, 3.0])
def test_a_decoupled_decay_of_the_whole_weight_is_refused_by_its_field(field, value):
    values = {"weight_decay": 0.0, "head_weight_decay": 0.0, field: value, "weight_decay_rule": "decoupled"}
    with pytest.raises(ValueError, match=rf"{field}: a decoupled decay must be below 1, .* got {value:g}"):
        recipe_of(**values)
