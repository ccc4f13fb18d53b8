"""Parameters and FLOPs at 224 px against the numbers that the papers print."""

import csv
from pathlib import Path

import pytest

from sweeps.models import (
    BitConfig,
    ConvNextConfig,
    HybridConfig,
    MixerConfig,
    ModernisedResNetConfig,
    ResNetConfig,
    VitConfig,
)
from sweeps.models.cost import count_cost

TABLE_2 = Path(__file__).parents[3] / "data/published/zhai2021_table2_models.csv"


def map_head_params(width, mlp_dim):
    """Query, its projection, keys and values, output, norm, MLP."""
    return width + 4 * (width + 1) * width + 2 * width + (width + 1) * mlp_dim + (mlp_dim + 1) * width


def rows():
    with open(TABLE_2) as file:
        return list(csv.DictReader(file))


# Counting takes as long as the network is deep: here one shape of each width, among them the cell that is an exception.
FAST = {"s/28", "Ti/16", "S/32", "B/28"}
ROWS = [pytest.param(row, id=row["name"], marks=[pytest.mark.slow] * (row["name"] not in FAST)) for row in rows()]


@pytest.mark.parametrize("row", ROWS)
def test_every_shape_of_zhai_table_2(row):
    """Zhai et al. 2021, Table 2: FLOPs with the MAP head, at 384 px without the rows that a patch leaves over;
    parameters of the body alone."""
    config = VitConfig(variant=row["name"], pooling="map")
    assert [str(size) for size in (config.width, config.depth, config.mlp_dim, config.heads)] == [
        row["width"], row["depth"], row["mlp"], row["heads"],
    ]  # fmt: skip
    assert config.variant == row["name"]
    costs = {size: count_cost(config, size, 1000) for size in (224, 384)}
    for size, cost in costs.items():
        cell = (row["name"], size)
        within = TABLE_2_EXCEPTIONS.get(cell, 0.01)
        assert (
            rounds_to(cost.flops_per_image / 1e9, row[f"gflops_{size}"])
            or share_off(cost.flops_per_image / 1e9, row[f"gflops_{size}"]) < within
        ), cell
    body = (costs[224].num_params - map_head_params(config.width, config.mlp_dim)) / 1e6
    assert rounds_to(body, row["mio_params"]) or share_off(body, row["mio_params"]) < 0.01


# The printed 11.3 is for 11.42 by our count; every other cell is within 1 % or what ours rounds to.
TABLE_2_EXCEPTIONS = {("B/28", 224): 0.0106}


def rounds_to(value, printed):
    return f"{value:.{len(printed.partition('.')[2])}f}" == printed


def share_off(value, printed):
    return abs(value / float(printed) - 1)


def assert_printed(value, printed, within=0.0):
    """The value lies within that share of a number that is printed so."""
    digits = len(printed.partition(".")[2])
    half = 0.5 * 10**-digits
    assert (float(printed) - half) * (1 - within) <= value <= (float(printed) + half) * (1 + within)


@pytest.mark.parametrize(("name", "gflops"), [("B/16", 35.1), ("L/16", 122.9)])
def test_without_a_map_head_the_vit_is_within_half_a_percent(name, gflops):
    cost = count_cost(VitConfig(variant=name), 224, 1000)
    assert cost.flops_per_image / 1e9 == pytest.approx(gflops, rel=0.005)  # they count a little of what lies between


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("config", "params", "gmacs"),
    [
        # He et al. 2016, Table 1 (v1: 3.8 GMAC for 50; v1.5 has 4.1) and torchvision's model cards
        (ResNetConfig(variant="18", stem="imagenet"), "11.7", "1.8"),
        slow(ResNetConfig(variant="34", stem="imagenet"), "21.8", "3.7"),
        (ResNetConfig(variant="50", stem="imagenet"), "25.6", "4.1"),
        slow(ResNetConfig(variant="101", stem="imagenet"), "44.5", "7.8"),
        slow(ResNetConfig(variant="152", stem="imagenet"), "60.2", "11.5"),
        # timm's results table of the BiT and hybrid checkpoints
        (BitConfig(variant="R50x1", stem="imagenet"), "25.55", None),
        slow(BitConfig(variant="R50x3", stem="imagenet"), "217.32", None),
        slow(BitConfig(variant="R101x1", stem="imagenet"), "44.54", None),
        slow(BitConfig(variant="R101x3", stem="imagenet"), "387.93", None),
        slow(BitConfig(variant="R152x2", stem="imagenet"), "236.34", None),
        slow(BitConfig(variant="R152x4", stem="imagenet"), "936.53", None),
        slow(HybridConfig(variant="R50+B/16", pooling="token"), "98.66", None),
        slow(HybridConfig(variant="R50+L/32", pooling="token"), "328.99", None),
        slow(HybridConfig(variant="R26+S/32", pooling="token"), "36.43", None),
        # Liu et al. 2022, Tables 1 and 2; timm's table for atto to nano
        (ConvNextConfig(variant="atto"), "3.7", "0.55"),
        slow(ConvNextConfig(variant="nano"), "15.59", "2.46"),
        (ConvNextConfig(variant="T"), "29", "4.5"),
        slow(ConvNextConfig(variant="S"), "50", "8.7"),
        slow(ConvNextConfig(variant="B"), "89", "15.4"),
        slow(ConvNextConfig(variant="L"), "198", "34.4"),
        slow(ConvNextConfig(variant="XL"), "350", "60.9"),
        (ConvNextConfig(variant="iso-S/16"), "22", "4.3"),
        slow(ConvNextConfig(variant="iso-B/16"), "87", "16.9"),
        slow(ConvNextConfig(variant="iso-L/16"), "306", "59.7"),
    ],
    ids=lambda value: getattr(value, "variant", None),
)
def test_with_the_classifier(config, params, gmacs):
    cost = count_cost(config, 224, 1000)
    assert_printed((cost.num_params + cost.head_params) / 1e6, params, within=1e-3)
    if gmacs:
        assert_printed(cost.flops_per_image / 2e9, gmacs, within=0.005)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("S/32", 19),
        slow("S/16", 18),
        slow("B/32", 60),
        ("B/16", 59),
        slow("L/32", 206),
        slow("L/16", 207),
        slow("H/14", 431),
    ],
)
def test_mixers_of_tolstikhin_table_1(name, params):
    cost = count_cost(MixerConfig(variant=name), 224, 1000)
    assert round(cost.num_params / 1e6) == params  # Table 1 leaves the head out


def test_deit_has_a_token_and_a_head_more():
    """Touvron et al. 2020, Table 1: 86 million; timm's deit_base_distilled_patch16_224 has 87.34 with both heads."""
    cost = count_cost(VitConfig(variant="B/16", distilled=True), 224, 1000)
    assert_printed((cost.num_params + cost.head_params) / 1e6, "87.34")
    assert cost.head_params == 2 * (768 + 1) * 1000


@pytest.mark.parametrize(
    ("step", "gmacs"),
    [
        ("resnet50", "4.09"),
        slow("stage_ratio", "4.53"),
        ("patchify_stem", "4.42"),
        ("depthwise", "2.35"),
        slow("width", "5.27"),
        slow("inverted_bottleneck", "4.64"),
        ("move_up", "4.07"),
        slow("kernel_5", "4.10"),
        ("kernel_7", "4.15"),
        slow("gelu", "4.15"),
        slow("fewer_activations", "4.15"),
        ("fewer_norms", "4.15"),
    ],
)
def test_the_steps_of_liu_section_2(step, gmacs):
    """Liu et al. 2022, Table 10, but for its last two rows: 4.46 with layer norms, which change nothing in Table 11,
    and 4.49 (ours is 4.46)."""
    cost = count_cost(ModernisedResNetConfig(variant=step), 224, 1000)
    assert_printed(cost.flops_per_image / 2e9, gmacs)


def test_the_last_step_is_convnext_t():
    last, convnext = (
        count_cost(config, 224, 1000)
        for config in (
            ModernisedResNetConfig(variant="separate_downsampling"),
            ConvNextConfig(variant="T", layer_scale=0),
        )
    )
    assert last == convnext
