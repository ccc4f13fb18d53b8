"""Every kind of figure draws what its plot draws, from records alone, and says what records lack."""

import io
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.errors import FitWarning
from scaling.figures import KINDS, Source, draw, missing_of
from tests.scaling import measured
from tests.scaling.commands.calls import made_runs
from tests.scaling.frontier.hoffmann import isoflop_runs
from tests.scaling.frontier.test_shapes import sweep

# Plots that have no kind, and why.
LEFT_OUT = {
    "audit": "of a printed table",
    "factors": "of pairs that a user has chosen: which columns are factors, records do not say",
    "laws": "of fits that a user has chosen to set side by side",
    "mixture": "of a mixture at an upstream accuracy that is asked for",
    "rank_flips": "of a table of models by conditions, not of runs",
    "row_comparison": "of two rows of a table that a user has chosen",
}

mpl.use("agg")
MEASURED = measured.records(decays=(0.01, 0.1, 1.0), recipes=("small_scale", "sam"), seeds=(0,))
ROWS = measured.measurements(MEASURED)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def runs():
    rows = made_runs(40)
    rng = np.random.default_rng(1)
    cars = np.minimum(0.8 * rows["upstream_error"] ** 1.2 + 0.1 + rng.exponential(0.02, 40), 0.99)
    examples = np.where(np.arange(40) % 2, 1e4, 1e6)
    shape = {
        "model_variant": [f"{'SL'[i % 2]}" for i in range(40)],
        "num_params": [1e6 if i % 2 else 1e8 for i in range(40)],
    }
    return rows.assign(
        cars_10shot_error=cars, cars_5shot_error=cars * 1.05, images_seen=rows["compute_flops"] / 1e10,
        train_examples=examples, **shape,
    )  # fmt: skip


def evals():
    layers = [("embedding", 0.8), ("block_1", 0.5), ("block_2", 0.3), ("pre_logits", 0.4)]
    return pd.DataFrame(
        [
            {"run_id": run, "step": 1, "weights": "last", "task": "pets", "method": "fewshot", "probe": "whitened",
             "num_shots": 10, "layer": layer, "draw": 0, "error": error}
            for run in ("run38", "run39") for layer, error in layers
        ]
    )  # fmt: skip


def tuned():
    frame = pd.DataFrame(
        {"run_id": list("abcd"), "step": 9, "weights": "last", "model_variant": ["S", "S", "L", "L"],
         "lr": [1e-3, 3e-3, 1e-3, 3e-3], "upstream_val_error": [0.5, 0.4, 0.2, 0.3],
         "upstream_error": [0.5, 0.4, 0.3, 0.2]}
    )  # fmt: skip
    return Source(records=frame)


def allocation():
    frame = isoflop_runs().assign(run_id=lambda table: [f"r{i}" for i in table.index])
    return Source(records=frame, y="upstream_loss", num_draws=20)


OF_OTHERS = {
    "tuning": tuned,
    "isoflop": allocation,
    "optimal": allocation,
    "shapes": lambda: Source(records=sweep("depth"), num_draws=20),
    **dict.fromkeys(
        ("head_sweep", "paired_differences"), lambda: Source(records=MEASURED[MEASURED["model_family"] == "vit"])
    ),
    "wd_against_rank": lambda: Source(records=MEASURED),
    **dict.fromkeys(
        ("by_layer", "attention_distance", "cka", "landscape", "corruptions", "adversarial"),
        lambda: Source(records=MEASURED[:1], measurements=ROWS),
    ),
}


def source(kind="", **options):
    if kind in OF_OTHERS:
        return OF_OTHERS[kind]()
    return Source(records=runs(), evals=evals(), num_draws=20, **options)


def drawn(kind, of):
    """Of FitWarnings none is of the figure, all other warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        ax = draw(kind, of)
    ax.get_figure(root=True).savefig(io.BytesIO(), dpi=20)
    return ax


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_drawn_from_records(kind):
    ax = drawn(kind, source(kind))
    assert ax.has_data()
    assert missing_of(kind, source(kind)) == ""


def test_every_plot_has_a_kind_or_a_reason():
    plots = {name.removeprefix("plot_") for name in sc.plots.__all__}
    assert KINDS.keys() | LEFT_OUT.keys() == plots
    assert not KINDS.keys() & LEFT_OUT.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_named(kind):
    bare = Source(records=pd.DataFrame({"run_id": ["a"], "step": 1, "weights": "last"}))
    reason = missing_of(kind, bare)
    assert reason
    with pytest.raises(ValueError, match=f"figure '{kind}' cannot be made"):
        draw(kind, bare)


def test_numbers_are_those_of_the_library():
    rows = runs()
    ax = drawn("fit", source(law="power"))
    fit = sc.fit_law("power", rows["compute_flops"], rows["upstream_error"])
    line = next(line for line in ax.lines if line.get_label().startswith("power"))
    np.testing.assert_allclose(line.get_ydata(), fit.predict(line.get_xdata()), rtol=1e-9)  # rounding
    assert ax.get_xlabel() == "training compute (FLOPs)"


def test_tasks_of_most_shots_come_first_and_are_compared_with_their_like():
    of = source()
    assert of.task_columns[:2] == ["pets_10shot_error", "cars_10shot_error"]
    assert of.other_tasks == ["cars_10shot_error"]
    chosen = source(tasks=["cars_5shot_error"])
    assert (chosen.task, chosen.other_tasks) == ("cars_5shot_error", ["pets_5shot_error"])
    assert drawn("lines", chosen).get_ylabel() == "cars 5-shot accuracy"


def test_choices_reach_the_figure():
    assert drawn("against", source(setting="depth", by="model_variant", log=True)).get_yscale() == "log"
    assert drawn("sufficiency", source(setting="train_examples")).get_xlabel() == "training images"
    assert drawn("frontier", source(y="pets_10shot_error")).get_ylabel() == "pets 10-shot error"
    with pytest.raises(ValueError, match="model_family"):
        drawn("frontier", source(by="family"))


def test_what_cannot_be_compared_is_said():
    one = runs().assign(model_family="vit", recipe="a")
    with pytest.raises(ValueError, match="two groups are compared"):
        draw("cost_ratio", Source(records=one))
    with pytest.raises(ValueError, match="two values of 'recipe'"):
        draw("paired_differences", Source(records=one))
    alone = one.drop(columns=["cars_10shot_error", "cars_5shot_error", "pets_5shot_error"])
    with pytest.raises(ValueError, match="two downstream tasks"):
        draw("hull_gap", Source(records=alone))
    with pytest.raises(ValueError, match="no run has a value"):
        draw("lines", Source(records=one.assign(pets_10shot_error=np.nan), tasks=["pets_10shot_error"]))
    with pytest.raises(ValueError, match="probes are of one layer"):
        draw("best_layers", Source(records=one, evals=evals()[:1]))
    with pytest.raises(ValueError, match="kind must be one of"):
        draw("picture", source())
    with pytest.raises(ValueError, match="none of cka was measured"):
        draw("cka", Source(records=MEASURED, measurements=ROWS[ROWS["name"] == "weight_norm"]))
