import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from sweeps.models import HybridConfig, MixerConfig, VitConfig
from sweeps.models.vit import SHAPES


@pytest.mark.parametrize(("width", "mlp_dim"), [(7, 61), (56, 488), (56, 920), (32, 128), (48, 49)])
def test_the_mlp_is_as_wide_as_the_config_says(width, mlp_dim):
    """timm takes a ratio and cuts its product with the width off."""
    model = VitConfig(width=width, depth=1, patch=4, heads=1, mlp_dim=mlp_dim).build(8, 10)
    assert model.blocks[0].mlp.fc1.out_features == mlp_dim


@pytest.mark.parametrize("name", SHAPES)
def test_a_name_gives_its_shape_and_the_shape_its_name(name):
    config = VitConfig(variant=f"{name}/7")
    assert config.variant == f"{name}/7"
    assert VitConfig.model_validate(config.model_dump()) == config
    assert config.width % config.heads == 0


def test_what_a_spec_writes_beside_a_name_replaces_it():
    config = VitConfig(variant="S/16", patch=4, depth=3)
    assert (config.patch, config.depth, config.width, config.heads) == (4, 3, 384, 6)
    assert config.variant == "w384d3/4"
    assert VitConfig(variant="S", patch=4).variant == "S/4"


def test_a_fixed_number_of_tokens_scales_the_patch_with_the_image():
    config = VitConfig(width=16, depth=1, num_tokens=49)
    fitted = {size: config.fitted(size) for size in (28, 56)}
    assert {size: shape.patch for size, shape in fitted.items()} == {28: 4, 56: 8}
    assert {shape.shape_columns(size)["num_tokens"] for size, shape in fitted.items()} == {49}
    assert fitted[28] == VitConfig(width=16, depth=1, patch=4)  # so the run is the same


def sincos(side, width):
    """MoCo v3's build_2d_sincos_position_embedding, one number at a time, its columns in timm's order."""
    rows = []
    for y in range(side):
        for x in range(side):
            frequencies = [10_000 ** -(band / (width // 4)) for band in range(width // 4)]
            rows.append([f(p * w) for f in (math.sin, math.cos) for p in (y, x) for w in frequencies])
    return np.array(rows)


@pytest.mark.parametrize(("pooling", "distilled"), [("avg", False), ("token", False), ("token", True)])
def test_fixed_positions_are_those_of_moco_and_are_neither_trained_nor_saved(pooling, distilled):
    config = VitConfig(width=16, depth=1, patch=4, positions="sincos2d", pooling=pooling, distilled=distilled)
    model = config.build(12, 10)
    np.testing.assert_allclose(model.pos_embed[0], sincos(3, 16), atol=1e-6)  # float32
    assert "pos_embed" not in dict(model.named_parameters()) | model.state_dict()


def test_a_distilled_model_returns_both_logits_in_training_and_their_mean_in_evaluation():
    torch.manual_seed(0)
    model = VitConfig(width=16, depth=1, patch=4, distilled=True).build(8, 5)
    for head in model.get_classifier():
        torch.nn.init.normal_(head.weight)
    x = torch.randn(2, 3, 8, 8)
    label_logits, teacher_logits = model.train()(x)
    assert label_logits.shape == teacher_logits.shape == (2, 5)
    assert not torch.allclose(label_logits, teacher_logits)
    torch.testing.assert_close(model.eval()(x), (label_logits + teacher_logits) / 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 48, "heads": 5}, "heads must divide width, got 5 heads and width 48"),
        ({"num_tokens": 16}, "give one of patch and num_tokens, got 4 and 16"),
        ({"patch": None}, "give one of patch and num_tokens, got None and None"),
        ({"patch": None, "num_tokens": 50}, "num_tokens must be a square .* got 50"),
        ({"depth": 20_000}, r"depth\n.* less than or equal to 10000"),
        ({"distilled": "true"}, r"distilled\n.* valid boolean"),
        ({"width": 18, "positions": "sincos2d"}, "width must be a multiple of 4 .* got 18"),
        ({"distilled": True, "pooling": "avg"}, "distilled needs pooling 'token', got 'avg'"),
        ({"variant": "S/x"}, "after the slash stands the patch .* got 'S/x'"),
        ({"variant": "Z/16"}, r"variant: must be one of \['mu', .* got 'Z'"),
    ],
)
def test_impossible_shapes_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        VitConfig.model_validate({"width": 16, "depth": 1, "patch": 4} | fields)


@pytest.mark.parametrize("width", ["192", 192.0])
def test_what_follows_from_a_width_does_so_however_it_is_written(width):
    assert VitConfig.model_validate({"width": width, "depth": 1, "patch": 4}) == VitConfig(width=192, depth=1, patch=4)
    assert MixerConfig(width=width, depth=1, patch=4) == MixerConfig(width=192, depth=1, patch=4)
    hybrid = {"stem_depth": [1], "depth": 1}
    assert HybridConfig.model_validate({"stem_width": width, "width": width, **hybrid}) == HybridConfig(
        stem_width=192, width=192, stem_depth=(1,), depth=1
    )


@pytest.mark.parametrize("width", [0, -3, "wide", None, True, 16.5, 2**31 - 1, 10**12])
def test_a_bad_width_is_reported_alone(width):
    with pytest.raises(ValidationError) as error:
        VitConfig.model_validate({"width": width, "depth": 1, "patch": 4})
    assert [problem["loc"] for problem in error.value.errors()] == [("width",)]


def test_images_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"model\.vit\.patch: must divide the image size 28, one of .* got 8"):
        VitConfig(width=16, depth=1, patch=8).fitted(28)
    with pytest.raises(ValueError, match=r"model\.vit\.num_tokens: its root must divide the image size 28, got 64"):
        VitConfig(width=16, depth=1, num_tokens=64).fitted(28)
