"""ResNet, BiT, ConvNeXt, their steps, hybrids and mixers: names, sizes by hand, and what does not fit."""

import pytest
import torch
from torch import nn

from sweeps.models import (
    BitConfig,
    ConvNextConfig,
    HybridConfig,
    MixerConfig,
    ModernisedResNetConfig,
    ResNetConfig,
)
from sweeps.models.cost import count_cost
from sweeps.models.modernised_resnet import FLAGS, STEPS
from sweeps.specs.faults import SpecError

from ..conftest import plan_of

NAMES = [
    (ResNetConfig, ["18", "34", "50", "101", "152"]),
    (BitConfig, ["R50x1", "R50x3", "R101x1", "R101x3", "R152x2", "R152x4", "R200x3"]),
    (MixerConfig, ["S/32", "S/16", "B/32", "B/16", "L/16", "H/14"]),
    (ConvNextConfig, ["atto", "femto", "pico", "nano", "T", "S", "B", "L", "XL", "T/2", "iso-S/16", "iso-B/8"]),
    (HybridConfig, ["R50+B/32", "R50+B/16", "R50+L/16", "R50+L/32", "R26+S/32"]),
    (ModernisedResNetConfig, list(STEPS)),
]


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in NAMES for name in names])
def test_a_name_gives_its_shape_and_the_shape_its_name(family, name):
    config = family(variant=name)
    assert config.variant == name
    assert family.model_validate(config.model_dump()) == config


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (ResNetConfig(width=4, depth=(2, 1)), "w4d2-1"),
        (ResNetConfig(width=4, depth=(2, 1), block="bottleneck"), "w4d2-1b"),
        (ResNetConfig(variant="50", width=128), "w128d3-4-6-3b"),
        (BitConfig(width=8, depth=(1, 1)), "w8d1-1"),
        (MixerConfig(width=16, depth=2, patch=4), "w16d2/4"),
        (ConvNextConfig(width=8, depth=(1, 1), patch=2), "w8d1-1/2"),
        (ConvNextConfig(width=8, depth=(3,), patch=4, isotropic=True), "iso-w8d3/4"),
        (HybridConfig(stem_width=8, stem_depth=(1, 1), width=16, depth=1), "r8d1-1+w16d1/2"),
        (HybridConfig(variant="R50+B/16", stem="small"), "r64d3-4-9+B/4"),
    ],
)
def test_other_shapes_have_a_short_name(config, name):
    assert config.variant == name


def test_a_number_is_a_name_too():
    """YAML reads 50 so."""
    assert ResNetConfig.model_validate({"variant": 50}).variant == "50"


@pytest.mark.parametrize(
    ("config", "size", "message"),
    [
        (ResNetConfig(width=4, depth=(1, 1, 1, 1)), 4, r"model\.resnet\.depth: 3 halvings .* at least 5 .* has 4"),
        (ResNetConfig(variant="50", stem="imagenet"), 16, r"model\.resnet\.depth: 3 halvings .* at least 5 .* has 4"),
        (BitConfig(width=8, depth=(1, 1), stem="imagenet"), 4, r"model\.bit\.depth: 1 halvings .* at least 2 .* has 1"),
        (MixerConfig(width=8, depth=1, patch=8), 28, r"model\.mixer\.patch: must divide the image size 28"),
        (ConvNextConfig(width=8, depth=(1, 1), patch=8), 28, r"model\.convnext\.patch: must divide the image size 28"),
        (ConvNextConfig(variant="T"), 28, r"model\.convnext\.depth: 3 halvings .* at least 8 .* has 7"),
        (HybridConfig(variant="R50+B/16"), 56, r"model\.hybrid\.stem_depth: 3 stages .* by 16, which must divide"),
        (
            ModernisedResNetConfig(variant="separate_downsampling"),
            28,
            r"model\.modernised_resnet\.depth: 3 halvings .* at least 8 .* has 7",
        ),
        (
            ModernisedResNetConfig(width=8, depth=(1,), patchify_stem=True, stem_stride=4),
            30,
            r"model\.modernised_resnet\.stem_stride: must divide the image size 30",
        ),
    ],
)
def test_images_that_do_not_fit_are_refused(config, size, message):
    with pytest.raises(ValueError, match=message):
        config.fitted(size)


@pytest.mark.parametrize(
    ("family", "fields", "message"),
    [
        (ResNetConfig, {"width": 4, "depth": [1]}, "depth must hold at least two blocks"),
        (BitConfig, {"width": 16, "depth": [1], "groups": 3}, "groups must divide width, got 3 groups and width 16"),
        (BitConfig, {"width": 12, "depth": [1]}, "multiple of 8"),
        (ResNetConfig, {"width": 4, "depth": [20_000, 1]}, r"depth\.0\n.* less than or equal to 10000"),
        (ConvNextConfig, {"width": 8, "depth": [1], "kernel_size": 1001}, "less than or equal to 255"),
        (ConvNextConfig, {"width": 8, "depth": [1], "isotropic": "true"}, r"isotropic\n.* valid boolean"),
        (ModernisedResNetConfig, {"width": 8, "depth": [1], "gelu": 1}, r"gelu\n.* valid boolean"),
        (BitConfig, {"variant": "R50x0"}, "such as R50x1, got 'R50x0'"),
        (BitConfig, {"variant": "R51x1"}, r"one of \['R50', .* got 'R51'"),
        (ConvNextConfig, {"width": 8, "depth": [1, 1], "isotropic": True}, "depth must be one stage"),
        (ConvNextConfig, {"width": 8, "depth": [1], "kernel_size": 4}, r"kernel_size\n  Value error, must be odd"),
        (
            ModernisedResNetConfig,
            {"width": 8, "depth": [1], "kernel_size": 2},
            r"kernel_size\n  Value error, must be odd",
        ),
        (HybridConfig, {"variant": "R50+B/8"}, "such as .*'R50.B/32'.* got 'R50.B/8'"),
        (HybridConfig, {"variant": "R50+B/16", "heads": 7}, "heads must divide width, got 7 heads and width 768"),
        (
            HybridConfig,
            {"variant": "R50+B/16", "groups": 7},
            "groups must divide stem_width, got 7 groups and stem_width 64",
        ),
    ],
)
def test_impossible_shapes_are_refused(family, fields, message):
    with pytest.raises(ValueError, match=message):
        family.model_validate(fields)


def test_a_resnet_block_by_hand():
    """A 3x3 convolution from 3 to 4 channels and four of 4, over 8x8 pixels, then a classifier of 4 x 10."""
    cost = count_cost(ResNetConfig(width=4, depth=(2,)), 8, 10)
    assert cost.flops_per_image == 2 * 64 * 9 * (3 * 4 + 4 * (4 * 4)) + 2 * 40


def test_a_bottleneck_by_hand():
    """Stem; 1x1, 3x3 and 1x1 from 4, then from 16 channels, with a 1x1 shortcut from 4 to 16; classifier of 16 x 10."""
    cost = count_cost(ResNetConfig(width=4, depth=(2,), block="bottleneck"), 8, 10)
    blocks = (4 * 4 + 9 * 4 * 4 + 4 * 16) + 4 * 16 + (16 * 4 + 9 * 4 * 4 + 4 * 16)
    assert cost.flops_per_image == 2 * 64 * (9 * 3 * 4 + blocks) + 2 * 16 * 10


def test_a_depthwise_convolution_by_hand():
    """A stem of 4x4 patches to 8 channels; in each of 2 blocks 3x3 weights a channel and an MLP 8-32-8; 4x4 pixels."""
    config = ConvNextConfig(width=8, depth=(2,), patch=4, kernel_size=3, layer_scale=0)
    cost = count_cost(config, 16, 10)
    assert cost.flops_per_image == 2 * 16 * (48 * 8 + 2 * (9 * 8 + 2 * 8 * 32)) + 2 * 80
    body = (48 * 8 + 8) + 2 * 8 + 2 * (9 * 8 + 8 + 2 * 8 + 8 * 32 + 32 + 32 * 8 + 8) + 2 * 8
    assert cost.num_params == body
    scaled = count_cost(config.model_copy(update={"layer_scale": 0.1}), 16, 10)
    assert scaled.num_params - body == 2 * 8


def test_each_step_changes_one_field():
    before = ModernisedResNetConfig(variant="resnet50")
    for name in list(STEPS)[1:]:
        after = ModernisedResNetConfig(variant=name)
        changed = [field for field in type(after).model_fields if getattr(after, field) != getattr(before, field)]
        assert len(changed) == 1, name
        before = after
    assert all(getattr(before, flag) for flag in FLAGS)


def test_the_plain_network_is_a_resnet():
    plain, resnet = (
        count_cost(config, 224, 1000)
        for config in (ModernisedResNetConfig(variant="resnet50"), ResNetConfig(variant="50", stem="imagenet"))
    )
    assert plain == resnet


@pytest.mark.parametrize(
    ("fields", "norms", "activations"),
    [
        ({}, 3, 3),  # after each convolution; the last after the sum
        ({"fewer_activations": True}, 3, 1),
        ({"fewer_norms": True}, 1, 3),
        ({"fewer_norms": True, "layer_norm": True, "gelu": True}, 1, 3),
    ],
)
def test_norms_and_activations_of_a_block(fields, norms, activations):
    config = ModernisedResNetConfig(width=8, depth=(2,), inverted_bottleneck=True, **fields)
    layers = list(config.build(16, 5).stages[0][1].modules())  # without a convolution in the shortcut
    norm = nn.LayerNorm if config.layer_norm else nn.BatchNorm2d
    activation = nn.GELU if config.gelu else nn.ReLU
    assert sum(isinstance(layer, norm) for layer in layers) == norms
    assert sum(isinstance(layer, activation) for layer in layers) == activations


@pytest.mark.parametrize(("width", "groups"), [(8, 4), (16, 8), (24, 4), (64, 32), (192, 32)])
def test_groups_leave_two_channels_or_more_in_each(width, groups):
    assert BitConfig(width=width, depth=(1,)).groups == groups


def test_bit_standardises_its_weights():
    model = BitConfig(width=8, depth=(1,)).build(8, 5).eval()
    kernel = model.stem[0].weight
    features = model.forward_features
    import torch

    x = torch.randn(2, 3, 8, 8)
    before = features(x)
    with torch.no_grad():
        kernel.mul_(3).add_(1)  # undone by the standardisation
    torch.testing.assert_close(features(x), before, rtol=1e-3, atol=1e-4)  # float32


@pytest.mark.parametrize(
    ("config", "size"),
    [
        (ResNetConfig(width=4, depth=(1, 1, 1, 1)), 5),
        (ResNetConfig(width=4, depth=(1, 1, 1, 1)), 9),
        (ResNetConfig(width=4, depth=(1, 1), stem="imagenet"), 8),
        (ResNetConfig(width=4, depth=(1, 1), stem="imagenet"), 9),
        (ModernisedResNetConfig(width=4, depth=(1, 1, 1)), 8),
        (ModernisedResNetConfig(width=4, depth=(1, 1, 1)), 9),
        (ModernisedResNetConfig(width=4, depth=(1, 1, 1), layer_norm=True), 8),
        (ModernisedResNetConfig(width=4, depth=(1, 1), separate_downsampling=True), 16),
        (ModernisedResNetConfig(width=4, depth=(1, 1), separate_downsampling=True, layer_norm=True), 16),
        (BitConfig(width=8, depth=(1, 1)), 2),
    ],
)
def test_the_smallest_batch_is_the_smallest_that_trains(config, size):
    model = config.fitted(size).build(size, 3).train()
    model(torch.zeros(config.smallest_batch(size), 3, size, size))
    if config.smallest_batch(size) > 1:
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            model(torch.zeros(1, 3, size, size))


def test_a_batch_too_small_for_batchnorm_is_told_with_the_plan():
    resnet = {"resnet": [{"width": 4, "depth": [1, 1, 1, 1]}]}
    with pytest.raises(SpecError, match=r"recipe\.batch_size: BatchNorm on a map of one pixel .* at least 2 .* got 1"):
        plan_of(model=resnet, recipe__batch_size=1)
    assert plan_of(model=resnet, recipe__batch_size=2).configs
