"""The tables of the studies, by hand on made-up records, and that the shipped specs are those the tables read."""

from pathlib import Path

import pandas as pd
import pytest

import sweeps
from sweeps.models.cost import count_cost
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import read_spec

from .training_studies import MATCHED, schedule_differences, trend_contrasts, trend_means

CONFIGS = Path(sweeps.__file__).parent / "configs"


def trend_rows(*cells):
    """Two seeds a cell, .01 above and below its error."""
    columns = ("model_family", "model_variant", "flops_per_image", "train_examples", "upstream_error")
    rows = [(*cell[:4], cell[4] + change) for cell in cells for change in (-0.01, 0.01)]
    return pd.DataFrame(rows, columns=columns)


CELLS = [
    ("vit", "b", 100, 10, 0.6), ("vit", "b", 100, 99, 0.3), ("vit", "a", 50, 99, 0.4),
    ("resnet", "d", 105, 10, 0.5), ("resnet", "d", 105, 99, 0.2), ("resnet", "c", 20, 99, 0.25),
]  # fmt: skip


def test_trends_by_hand():
    found = {claim: (value, error) for claim, value, error in trend_contrasts(trend_means(trend_rows(*CELLS)))}
    differences = {
        "vit b: 10 above 99 images": 0.3, "vit, 99 images: a above b": 0.1,
        "resnet d: 10 above 99 images": 0.3, "resnet, 99 images: c above d": 0.05,
        "10 images: ViT above ResNet of FLOPs -4.8%": 0.1,
    }  # fmt: skip
    assert {claim: value for claim, (value, _) in found.items()} == pytest.approx(differences)
    # Of a mean of two values .02 apart .01; of the difference of two such the root of 2 times that.
    assert [error for _, error in found.values()] == pytest.approx([0.01 * 2**0.5] * 5)


def test_shapes_of_other_flops_are_not_compared():
    cells = [(*cell[:2], 2 * cell[2], *cell[3:]) if cell[0] == "vit" else cell for cell in CELLS]
    with pytest.raises(ValueError, match="must match in FLOPs"):
        list(trend_contrasts(trend_means(trend_rows(*cells))))


def test_the_learning_rate_is_chosen_on_the_held_out_part_and_seeds_are_paired():
    columns = ["schedule", "lr", "seed", "upstream_val_error", "upstream_error"]
    rows = [
        ("constant", 1.0, 0, 0.2, 0.5), ("constant", 1.0, 1, 0.2, 0.7),
        ("constant", 2.0, 0, 0.3, 0.1), ("constant", 2.0, 1, 0.3, 0.1),  # better on the test images, so not chosen
        ("cosine", 1.0, 0, 0.4, 0.0), ("cosine", 1.0, 1, 0.4, 0.0),
        ("cosine", 2.0, 0, 0.1, 0.4), ("cosine", 2.0, 1, 0.3, 0.5),
    ]  # fmt: skip
    runs = pd.DataFrame(rows, columns=columns).assign(model_family="vit", planned_steps=10)
    (row,) = schedule_differences(runs).to_dict("records")
    assert (row["lr_constant"], row["lr_cosine"], row["seeds"]) == (1.0, 2.0, 2)
    assert row["difference"] == pytest.approx(0.15)  # of .1 and .2
    assert row["se"] == pytest.approx(0.05)


def test_the_shapes_that_the_trends_compare_match_in_flops():
    configs = make_plan(read_spec(CONFIGS / "fashion_mnist_trends.yaml")).configs
    models = {config.model for config in configs if config.train_examples == 1000}
    assert len(models) == 2
    few, many = sorted(count_cost(model, 16, 10).flops_per_image for model in models)
    assert many / few - 1 < MATCHED
    assert {config.seed for config in configs} == {0, 1, 2}


def test_both_schedules_are_tuned_alike():
    configs = make_plan(read_spec(CONFIGS / "cooldown_against_cosine.yaml")).configs
    settings = {
        kind: {(c.model, c.steps, c.recipe.lr, c.seed) for c in configs if c.schedule.kind == kind}
        for kind in ("constant", "cosine")
    }
    assert settings["constant"] == settings["cosine"]
    assert len(settings["cosine"]) == 2 * 2 * 3 * 3
