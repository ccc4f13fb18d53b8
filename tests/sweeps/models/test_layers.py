"""Layers have the same names in every family; what comes out of them is what the model computes."""

import pytest
import torch

from sweeps.models import FAMILIES
from sweeps.models.layers import check_layers, layer_names, layer_outputs, named_blocks, parameter_layers, pool

SHAPES = {
    "vit": {"width": 16, "depth": 3, "patch": 8},
    "resnet": {"width": 4, "depth": [1, 2]},
    "bit": {"width": 8, "depth": [1, 2]},
    "mixer": {"width": 16, "depth": 3, "patch": 8},
    "convnext": {"width": 8, "depth": [1, 2]},
    "hybrid": {"width": 16, "depth": 3, "stem_width": 8, "stem_depth": [1, 1], "stem": "small"},
    "modernised_resnet": {"width": 8, "depth": [1, 2]},
}


def shape_of(family, **fields):
    return FAMILIES[family].model_validate(SHAPES[family] | fields)


def test_every_family_that_trains_is_here():
    assert set(SHAPES) == {name for name, family in FAMILIES.items() if family.trainable}


@pytest.mark.parametrize("family", SHAPES)
def test_layers_of_each_family(family):
    shape = shape_of(family)
    names = ("embedding", "block_1", "block_2", "block_3", "pre_logits")
    assert layer_names(shape, 32) == names
    model = shape.build(32, 10).eval()
    images = torch.randn(2, 3, 32, 32)
    outputs = layer_outputs(model, images, names)
    assert set(outputs) == set(names)
    assert all(pool(model, output).shape[0] == 2 and pool(model, output).ndim == 2 for output in outputs.values())
    assert torch.equal(outputs["pre_logits"], model.forward_head(model.forward_features(images), pre_logits=True))
    again = named_blocks(model)["block_3"](outputs["block_2"])  # of one stage with block 2
    assert torch.equal(again, outputs["block_3"])
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("family", SHAPES)
def test_every_parameter_has_a_layer_and_only_its_layer_depends_on_it(family):
    model = shape_of(family).build(32, 10).eval()
    layers = parameter_layers(model)
    names = ["embedding", "block_1", "block_2", "block_3", "pre_logits", "head"]
    assert list(layers) == [name for name, _ in model.named_parameters()]
    assert set(layers.values()) | {"pre_logits"} == set(names)
    images = torch.randn(2, 3, 32, 32)
    outputs = layer_outputs(model, images, names[:-1])
    for place, layer in enumerate(names[:-1]):
        total = pool(model, outputs[layer]).square().sum()
        found = torch.autograd.grad(total, list(model.parameters()), allow_unused=True, retain_graph=True)
        used = {of for of, gradient in zip(layers.values(), found, strict=True) if gradient is not None}
        assert used <= set(names[: place + 1])


def test_the_class_token_is_pooled_where_the_classifier_reads_it():
    model = shape_of("vit", pooling="token").build(32, 10).eval()
    tokens = torch.randn(2, 17, 16)
    assert torch.equal(pool(model, tokens), tokens[:, 0])
    model = shape_of("vit").build(32, 10).eval()
    assert torch.equal(pool(model, tokens[:, 1:]), tokens[:, 1:].mean(1))


def test_a_layer_that_is_not_there_is_named_with_those_that_are():
    check_layers(["block_3", "embedding"], shape_of("vit"), 32, "downstream.layers")
    with pytest.raises(ValueError, match=r"downstream.layers: vit w16d3/8 has the layers embedding, .*got 'block_4'"):
        check_layers(["block_4"], shape_of("vit"), 32, "downstream.layers")
