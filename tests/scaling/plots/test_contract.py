"""What every figure does: it draws on the Axes that it is given, names them, and warns of nothing."""

import io
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import scaling as sc
from scaling import frontier, tables, transfer, tuning
from tests.scaling import measured
from tests.scaling.frontier.hoffmann import isoflop_runs
from tests.scaling.frontier.test_shapes import sweep

X = np.geomspace(1e15, 1e19, 20)
Y = (0.5 * (X / 1e15) ** -0.25 + 0.1) * np.exp(0.02 * np.random.default_rng(0).standard_normal(20))
UPSTREAM = np.linspace(0.2, 0.8, 40)
DOWNSTREAM = 1 - (0.7 * (1 - UPSTREAM) ** 1.5 + 0.05) * np.exp(np.random.default_rng(1).exponential(0.1, 40))
NAMES = [f"model {i}" for i in range(40)]
HEADS = pd.DataFrame(
    {
        "head_weight_decay": [0, 0.01, 0.1, 1, 10], "upstream_error": [0.5, 0.4, 0.3, 0.4, 0.5],
        "pets_5shot_error": [0.5, 0.4, 0.3, 0.2, 0.4], "svhn_5shot_error": [0.9, 0.8, 0.7, 0.6, 0.5],
    }
)  # fmt: skip
TRENDS = pd.DataFrame({"task": "pets", "upstream": "jft", "num_shots": [1, 5, 10], "e_ir": [0.5, 0.1, 0.05]})
ERRORS = pd.DataFrame(
    {"upstream_error": 1 - UPSTREAM, "pets_5shot_error": 1 - DOWNSTREAM, "svhn_5shot_error": UPSTREAM}
)
TUNED = pd.DataFrame(
    {
        "run_id": list("abcd"), "step": 9, "weights": "last", "model_variant": ["S", "S", "L", "L"],
        "lr": [1e-3, 3e-3, 1e-3, 3e-3], "upstream_val_error": [0.5, 0.4, 0.2, 0.3],
        "upstream_error": [0.5, 0.4, 0.3, 0.2],
    }
)  # fmt: skip
GRID = pd.DataFrame(
    [("S", 1e6, 1e3, 10, 0.5), ("S", 1e6, 1e4, 10, 0.48), ("L", 1e8, 1e3, 10, 0.4), ("L", 1e8, 1e4, 10, 0.2)],
    columns=["model_variant", "num_params", "train_examples", "images_seen", "upstream_error"],
)


MEASURED_RUNS = measured.records(families=("vit",), recipes=("small_scale", "sam"))
MEASURED = measured.measurements(MEASURED_RUNS)


def measurement(*names, runs=MEASURED_RUNS):
    return sc.measurements.measurement_table(MEASURED, runs, *names)


def gaps():
    return tables.paired_difference(
        MEASURED_RUNS, "upstream_error", "recipe", "small_scale", "sam", by=["model_family"], along=["sam_rho"]
    )


def pairs():
    table = pd.DataFrame({"recipe": ["o", "n", "n"], "data": ["x", "x", "y"], "top1": [1.0, 3.0, 9.0]})
    return tables.factor_differences(table, ["recipe", "data"], "top1")


def chained():
    front = sc.fit_frontier(X, Y, num_draws=20)
    return sc.chain(front, sc.fit_transfer(UPSTREAM, DOWNSTREAM, num_draws=20))


def ratios():
    family = np.repeat(["vit", "resnet"], 20)
    two = np.concatenate([Y, 1.1 * Y])
    return frontier.cost_ratio(np.tile(X, 2), two, family, reference="vit", rival="resnet", targets=[0.3], num_draws=20)


def layers():
    rows = [("pets", "block_1", 0.5), ("pets", "block_2", 0.2), ("svhn", "block_1", 0.1), ("svhn", "block_2", 0.2)]
    return transfer.best_layers(pd.DataFrame(rows, columns=["task", "layer", "error"]).assign(num_shots=10))


def windows():
    return transfer.compare_windows(
        UPSTREAM, DOWNSTREAM, fit_window=(0.2, 0.6), held_out=[(0.6, 1.0)], fits=["all"], num_draws=2
    )


def best_models():
    rules = [transfer.Rule("transfer", "all"), transfer.Rule("logit", "all")]
    return transfer.predict_best_models(UPSTREAM, DOWNSTREAM, rules=rules, num_draws=20)


def arms():
    return transfer.same_curve(UPSTREAM, DOWNSTREAM, np.tile(["size", "data"], 20), num_draws=19)


RESULTS = {
    "plot_adversarial": lambda: (measurement("fgsm_error", "pgd_error"),),
    "plot_against": lambda: (MEASURED_RUNS, "seed", "upstream_error"),
    "plot_attention_distance": lambda: (measurement("attention_distance"),),
    "plot_audit": lambda: (tables.audit_values(["0.24", "0.23"], [0.24, 0.24]),),
    "plot_best_layers": lambda: (layers(),),
    "plot_best_models": lambda: (best_models(),),
    "plot_bottlenecks": lambda: (frontier.bottlenecks(GRID),),
    "plot_by_layer": lambda: (measurement("weight_norm"),),
    "plot_chain": lambda: (chained(),),
    "plot_choice_loss": lambda: (transfer.choice_loss(UPSTREAM, DOWNSTREAM, DOWNSTREAM[::-1], width=0.1),),
    "plot_cka": lambda: (measurement("cka", runs=MEASURED_RUNS[:1]),),
    "plot_corruptions": lambda: (measurement("corruption_error"),),
    "plot_cost_ratio": lambda: (ratios(),),
    "plot_factors": lambda: (pairs(),),
    "plot_fit": lambda: (sc.fit_law("saturating_power", X, Y),),
    "plot_frontier": lambda: (sc.fit_frontier(X, Y, num_draws=20),),
    "plot_head_sweep": lambda: (HEADS, transfer.head_optima(HEADS)),
    "plot_hull_gap": lambda: (transfer.overlay_hull(ERRORS, ["svhn_5shot_error"], of="pets_5shot_error"),),
    "plot_hull_overlay": lambda: (
        transfer.overlay_hull(ERRORS, ["svhn_5shot_error"], of="pets_5shot_error"),
        "svhn_5shot_error",
    ),
    "plot_isoflop": lambda: (
        frontier.optimal_allocation(isoflop_runs(), y="upstream_loss", num_draws=20, approaches=["isoflop"]),
    ),
    "plot_landscape": lambda: (measurement("loss", runs=MEASURED_RUNS[:1]),),
    "plot_law_comparison": lambda: (sc.compare_laws(X, Y, laws=["power", "saturating_power"]),),
    "plot_laws": lambda: ({"saturating": sc.fit_law("saturating_power", X, Y), "power": sc.fit_law("power", X, Y)},),
    "plot_layers": lambda: (transfer.overlay_layers([0.2, 0.6, 0.5], [0.1, 0.3, 0.6], [0.3, 0.6, 0.7]),),
    "plot_lines": lambda: (transfer.fit_line(UPSTREAM, DOWNSTREAM),),
    "plot_mixture": lambda: (sc.mix_classifiers([(0.2, 0.5), (0.3, 0.4), (0.6, 0.7)], 0.3),),
    "plot_optimal": lambda: (
        frontier.optimal_allocation(isoflop_runs(), y="upstream_loss", num_draws=20, approaches=["envelope"]),
    ),
    "plot_paired_differences": lambda: (gaps(),),
    "plot_rank_flips": lambda: (tables.rank_flips(pd.DataFrame({"1k": [78, 77], "300M": [84, 87]})),),
    "plot_rank_matrix": lambda: (transfer.rank_correlations(ERRORS),),
    "plot_robustness": lambda: (
        transfer.effective_robustness(UPSTREAM, DOWNSTREAM, is_standard=np.arange(40) != 5, names=NAMES),
    ),
    "plot_row_comparison": lambda: (tables.compare_rows([0.9, 0.8], [0.8, 0.9], tasks=["pets", "dtd"]),),
    "plot_same_curve": lambda: (arms(),),
    "plot_sample_sizes": lambda: (
        transfer.compare_sample_sizes(UPSTREAM, DOWNSTREAM, sizes=[8, 16], num_trials=3, fits=["all"]),
    ),
    "plot_scalings": lambda: (transfer.compare_scalings(UPSTREAM, DOWNSTREAM),),
    "plot_shapes": lambda: (frontier.fit_shapes(sweep("depth"), dimensions=["depth"], num_draws=20), "depth"),
    "plot_sufficiency": lambda: (
        transfer.sufficient_predictor(UPSTREAM, DOWNSTREAM, {"num_params": 1e6 * (1 + np.arange(40) % 7)}),
    ),
    "plot_transfer": lambda: (sc.fit_transfer(UPSTREAM, DOWNSTREAM, num_draws=20),),
    "plot_trends": lambda: (TRENDS.assign(e_ir_low=0.0, e_ir_high=1.0),),
    "plot_tuning": lambda: (tuning.tuning_table(TUNED),),
    "plot_wd_against_rank": lambda: (transfer.optimum_against_rank(HEADS, ERRORS),),
    "plot_windows": lambda: (windows(),),
}
result_of = cache(lambda name: RESULTS[name]())
# Their ticks are names, which say what they are: of tasks, rows, models, laws.
NAMED_X = {"plot_rank_matrix", "plot_rank_flips"}
NAMED_Y = {
    "plot_audit",
    "plot_best_layers",
    "plot_factors",
    "plot_law_comparison",
    "plot_paired_differences",
    "plot_rank_matrix",
    "plot_row_comparison",
    "plot_scalings",
}


def test_every_plot_has_a_result():
    assert sorted(RESULTS) == sorted(sc.plots.__all__)


@pytest.mark.parametrize("name", sc.plots.__all__)
def test_a_plot_draws_on_the_callers_axes(name):
    """A small figure: 3 by 3 inches; warnings are errors."""
    figure = Figure(figsize=(3, 3))
    ax = figure.subplots()
    assert getattr(sc.plots, name)(*result_of(name), ax=ax) is ax
    assert ax.has_data()
    assert not plt.get_fignums()  # and made no other figure
    figure.savefig(io.BytesIO())
    assert ax.get_xlabel() or name in NAMED_X
    assert ax.get_ylabel() or name in NAMED_Y


def test_names_are_of_plots_whose_ticks_are_names():
    assert set(sc.plots.__all__) >= (NAMED_X | NAMED_Y)
