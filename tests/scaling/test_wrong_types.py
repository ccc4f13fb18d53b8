"""Analyses of tables and of columns of numbers refuse what is none in one sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling import frontier, tables, transfer

RNG = np.random.default_rng(0)
US = np.sort(RNG.uniform(0.1, 0.6, 24))
DS = np.clip(1 - (0.7 * (1 - US) ** 2.5 + 0.1) - RNG.exponential(0.02, 24), 0.01, 0.99)
FAMILY = np.tile(["vit", "resnet"], 12)
COST = np.repeat(np.geomspace(1, 1e4, 12), 2)
ERROR = 0.5 * (COST / np.where(FAMILY == "vit", 1, 3)) ** -0.25 + 0.1
RUNS = pd.DataFrame({
    "upstream_error": 1 - US, "pets_5shot_error": 1 - DS, "dtd_5shot_error": 1 - DS**2, "model_family": FAMILY,
    "train_examples": np.repeat([1e3, 1e4, 1e5], 8), "num_params": np.where(FAMILY == "vit", 1e6, 1e7),
    "images_seen": np.tile(np.arange(1, 13) * 100.0, 2),
})  # fmt: skip
HEADS = pd.DataFrame({"head_weight_decay": [0.1, 1, 10], "upstream_error": [0.5, 0.4, 0.6]})
EVALS = pd.DataFrame({"task": "pets", "layer": ["block_1", "block_2", "head"], "error": [0.5, 0.2, 0.3]})
TRENDS = pd.DataFrame({"task": ["pets", "cars"], "upstream": "jft", "param": "k", "correlation": [-0.9, 0.7]})
SHOTS = pd.DataFrame({"task": "pets", "upstream": "jft", "num_shots": [1, 5, 10], "k": [0.9, 0.7, 0.6]})
FACTORS = pd.DataFrame({"data": ["1k", "300M", "1k"], "size": ["B", "B", "L"], "top1": [77.9, 84.2, 76.5]})
LAWS = pd.DataFrame({"a": [0.26, 0.63], "b": [0.35, 0.32], "c": [0.09, 0.12], "d": [0.01, 0.52]})
FEW = {"num_draws": 5}

OF_TABLES = {
    "head_optima": (lambda t: transfer.head_optima(t, tasks=["upstream_error"]), HEADS, "upstream_error"),
    "overlay_hull": (
        lambda t: transfer.overlay_hull(t, ["dtd_5shot_error"], of="pets_5shot_error"), RUNS, "pets_5shot_error"
    ),
    "fit_tasks": (lambda t: transfer.fit_tasks(t, group="model_family", **FEW), RUNS, "pets_5shot_error"),
    "best_layers": (transfer.best_layers, EVALS, "error"),
    "layer_accuracies": (transfer.layer_accuracies, EVALS, "error"),
    "param_trends": (lambda t: transfer.param_trends(t, params=["k"]), SHOTS, "k"),
    "sign_shares": (transfer.sign_shares, TRENDS, "correlation"),
    "centred_logits": (transfer.centred_logits, RUNS[["pets_5shot_error"]], "pets_5shot_error"),
    "rank_correlations": (
        transfer.rank_correlations, RUNS[["pets_5shot_error", "dtd_5shot_error"]], "pets_5shot_error"
    ),
    "bottlenecks": (lambda t: frontier.bottlenecks(t, model="model_family"), RUNS, "upstream_error"),
    "best_shapes": (
        lambda t: frontier.best_shapes(t, dimensions=["num_params"], compute="images_seen"), RUNS, "num_params"
    ),
    "crossings": (tables.crossings, RUNS, "train_examples"),
    "factor_differences": (lambda t: tables.factor_differences(t, ["data", "size"], "top1"), FACTORS, "top1"),
    "rank_flips": (tables.rank_flips, LAWS, "a"),
    "group_means": (lambda t: tables.group_means(t, {"g": ["a", "b"]}), LAWS, "a"),
    "audit_law_ends": (lambda t: tables.audit_law_ends(t, 0.9), LAWS, "a"),
}  # fmt: skip

OF_NUMBERS = {
    "fit_transfer": lambda v: transfer.fit_transfer(v, DS, selection="all", **FEW),
    "fit_line": lambda v: transfer.fit_line(v, DS),
    "compare_scalings": lambda v: transfer.compare_scalings(US, v),
    "choice_loss": lambda v: transfer.choice_loss(US, DS, v, width=0.2),
    "hull_distance": lambda v: transfer.hull_distance(v, DS),
    "discordant_pairs": lambda v: transfer.discordant_pairs(v, DS),
    "same_curve": lambda v: transfer.same_curve(v, DS, FAMILY, num_draws=19),
    "effective_robustness": lambda v: transfer.effective_robustness(US, v),
    "compare_windows": lambda v: transfer.compare_windows(v, DS, held_out=[(0.45, 0.6)], fits=["all"], **FEW),
    "accuracy_interval": lambda v: transfer.accuracy_interval(v, 100),
    "fit_frontier": lambda v: sc.fit_frontier(v, ERROR, selection="all", **FEW),
    "cost_ratio": lambda v: frontier.cost_ratio(v, ERROR, FAMILY, reference="vit", rival="resnet", **FEW),
    "compare_laws": lambda v: sc.compare_laws(v, ERROR, ["power"], "largest"),
    "core_days": lambda v: tables.core_days(v, 3.0),
    "error_cut": lambda v: tables.error_cut(v, US),
    "compare_rows": lambda v: tables.compare_rows(v, US),
}

NO_NUMBERS = {
    "text": ["a"] * 24, "dates": pd.date_range("2020", periods=24), "complex": US * 1j, "an object": object(),
    "lists": [[1, 2], [3]], "beyond float64": [10**400, *US[1:]], "null": [pd.NA, *US[1:]], "one text": "abc",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TABLES)
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_table_that_is_none_is_refused_in_words(name):
    function, good, column = OF_TABLES[name]
    function(good)
    for bad in (None, [1, 2], "runs.csv", good.to_numpy(), good[column], {}):
        with pytest.raises(ValueError, match=r"must be a pandas DataFrame, got"):
            function(bad)
    with pytest.raises(ValueError, match=r"occur|different names"):
        function(pd.concat([good, good], axis=1))
    for value in ("abc", [1], pd.Timestamp("2020"), 1j, 10**400):
        cells = good[column].astype(object).to_numpy().copy()
        cells[1] = value
        with pytest.raises(ValueError, match=r"must (hold|have) .*number"):
            function(good.assign(**{column: cells}))


@pytest.mark.parametrize("name", OF_TABLES)
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_how_a_table_keeps_its_numbers_changes_nothing(name):
    function, good, column = OF_TABLES[name]
    expected = repr(function(good))
    for kind in ("Float64", "double[pyarrow]", object):
        assert repr(function(good.assign(**{column: good[column].astype(kind)}))) == expected


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_numbers_that_are_none_are_refused_in_words(name):
    OF_NUMBERS[name](pd.Series(US, dtype="Float64"))
    for bad in NO_NUMBERS.values():
        with pytest.raises(ValueError, match=r"must (hold|have) numbers|must be"):
            OF_NUMBERS[name](bad)


def test_rows_of_two_tables_are_not_matched_by_place():
    shuffled = pd.Series(US).sample(frac=1, random_state=0)
    labels, numbers = pd.Series(FAMILY), pd.Series(np.full(24, 100))
    for function in (
        lambda: transfer.fit_transfer(shuffled, shuffled, groups=labels, selection="all", **FEW),
        lambda: transfer.fit_line(shuffled, shuffled, upstream_num_eval=numbers),
        lambda: transfer.fit_line(shuffled, shuffled, names=labels),
        lambda: transfer.discordant_pairs(shuffled, shuffled, groups=labels),
        lambda: transfer.accuracy_interval(shuffled, numbers),
        lambda: transfer.effective_robustness(shuffled, shuffled, is_standard=labels == "vit"),
        lambda: transfer.same_curve(shuffled, shuffled, FAMILY, upstream_num_eval=numbers),
        lambda: sc.compare_laws(pd.Series(COST), shuffled),
        lambda: tables.core_days(pd.Series(COST), shuffled),
    ):
        with pytest.raises(ValueError, match="must have the same index"):
            function()


def test_lines_have_a_reason_where_x_is_a_cost():
    laws = ["power", "log_linear", "logit_linear", "probit_linear"]
    with warnings.catch_warnings(action="ignore"):
        table = sc.compare_laws(COST, ERROR, laws, "largest").set_index("law")
    assert table.loc["power", "failure"] == ""
    assert all("a line between accuracies" in table.loc[law, "failure"] for law in laws[1:])


def test_options_are_numbers_and_lists():
    with pytest.raises(ValueError, match="column 1 is missing; there is a, b, c, d"):
        tables.rank_flips(LAWS, [1, 5])
    with pytest.raises(ValueError, match="tie must be a finite number"):
        tables.rank_flips(LAWS, tie="x")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        transfer.compare_windows(US, DS, level=None, held_out=[(0.45, 0.6)])


def test_a_table_without_rows_has_no_means():
    assert tables.group_means(LAWS.iloc[:0], {"g": ["a", "b"]}).empty


FIT = sc.fit_law("power", COST, ERROR)
WRONG = (5, True, "zz", object, {"a": 1}, [[1]], pd.NA, 10**400)
OPTIONS_OF_FITS = {
    "delta": lambda v: sc.fit_law("power", COST, ERROR, objective="huber", delta=v),
    "bounds": lambda v: sc.fit_law("power", COST, ERROR, bounds=v),
    "fixed": lambda v: sc.fit_law("power", COST, ERROR, fixed={"b": v}),
    "counts": lambda v: sc.fit_law("power", COST, ERROR, counts=v),
    "y_std": lambda v: sc.fit_law("power", COST, ERROR, y_std=v),
    "groups": lambda v: sc.fit_law("power", COST, ERROR, groups=v),
    "predict": lambda v: FIT.predict(v),
    "solve": lambda v: FIT.solve_for_x(v),
    "level": lambda v: FIT.interval("b", v),
    "method": lambda v: sc.bootstrap_fit(FIT, num_draws=5, method=v),
    "rng": lambda v: sc.bootstrap_fit(FIT, num_draws=5, rng=v),
    "holdout": lambda v: sc.compare_laws(COST, ERROR, ["power"], holdout=v),
    "laws": lambda v: sc.fit_ensemble(COST, ERROR, laws=v),
    "noise_std": lambda v: sc.fit_frontier(COST, ERROR, selection="stochastic", noise_std=v, num_draws=5),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS_OF_FITS)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: str(value)[:12])
def test_an_option_of_a_fit_of_another_type_is_one_sentence_or_an_answer(name, wrong):
    """A number may be right (a seed, a threshold): then there is an answer."""
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        try:
            OPTIONS_OF_FITS[name](wrong)
        except ValueError as error:  # a FitError too
            said = str(error)
        else:
            said = "an answer"
            assert isinstance(wrong, int) or (name in ("predict", "solve", "rng") and wrong == [[1]]), wrong
    assert 5 < len(said) < 1000
    assert "\n" not in said
