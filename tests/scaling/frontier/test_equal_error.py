import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling import FitError, FitWarning, pareto_frontier
from scaling.frontier import cost_ratio
from scaling.frontier.interpolation import frontier_costs
from scaling.selection.rules import drawn_selection

AVERAGE_OF_5 = ["imagenet", "cifar10", "cifar100", "pets", "flowers"]
quiet = pytest.mark.filterwarnings("ignore::scaling.FitWarning")


def two_families(n, ratio=3.0, noise=0.0, excess=0.0, seed=0):
    """B needs `ratio` times the cost of A for E = .5 C^-.25 + .1."""
    rng = np.random.default_rng(seed)
    x = 10 ** rng.uniform(0, 4, 2 * n)
    family = np.repeat(["A", "B"], n)
    y = 0.5 * (x / np.where(family == "A", 1.0, ratio)) ** -0.25 + 0.1
    return x, y * np.exp(noise * rng.standard_normal(2 * n) + excess * rng.exponential(1, 2 * n)), family


def table_6(published):
    table = published("dosovitskiy2020_table6.csv")
    error = 1 - table[AVERAGE_OF_5].mean(axis=1) / 100
    return table["exaflops"].to_numpy(), error.to_numpy(), table["family"].to_numpy()


def by(ratios, method):
    return ratios.table[ratios.table["method"] == method].reset_index(drop=True)


@quiet
def test_resnets_against_vits_and_the_printed_claim(published):
    """Dosovitskiy et al. 2020, Table 6, average of 5: the text says that ViT uses some 2-4 times less compute.

    R152x2 at 7 epochs is inside; at 14 epochs, and R200x3, are not. Six and seven models say little: every interval is
    open.
    """
    ratios = cost_ratio(*table_6(published), reference="ViT", rival="ResNet")
    points, law = by(ratios, "interpolation"), by(ratios, "law")
    assert points["rival_cost"].to_list() == pytest.approx([563, 1126, 3306])
    assert points["ratio"].round(2).to_list() == [3.46, 5.86, 4.45]
    assert ((points["ratio"] >= 2) & (points["ratio"] <= 4)).to_list() == [True, False, False]
    assert law["ratio"].round(1).to_list()[:2] == [3.3, 3.5]  # inside the claim, the last far beyond the ViT runs
    assert law["extrapolated"].to_list() == [False, False, True]
    assert np.isinf(points["high"]).all()
    assert np.isinf(law["high"]).all()
    assert ratios.left_out["reason"].str.startswith("unreached: the ViT frontier starts at 0.075").sum() == 3
    assert "3.46 [" in ratios.summary()


@quiet
def test_hybrids_are_ahead_of_vits_at_little_compute_only(published):
    """Dosovitskiy et al. 2020, Figure 5: the gap vanishes for larger models."""
    points = by(cost_ratio(*table_6(published), reference="ViT", rival="Hybrid"), "interpolation")
    assert points["rival_cost"].to_list() == pytest.approx([106, 246, 859, 1668])
    assert points["ratio"].round(2).to_list() == [0.54, 0.49, 0.99, 1.28]


@quiet
def test_images_that_ti_16_needs_for_the_error_of_l_16(published):
    """Zhai et al. 2021, Tables 4-13, 10-shot ImageNet, 3B images: L/16 after 20K steps, Ti/16 after 1.2M and 2M.

    The steps are 60 and 100 times as many; at equal error it is 59 and 95, and 177 at the last run.
    """
    table = published("zhai2021_runs_imagenet_fewshot.csv").query("data_size == 3e9")
    columns = (table["images_seen"], table["inet10_err_pct"] / 100, table["model"])
    points = by(cost_ratio(*columns, reference="L/16", rival="Ti/16"), "interpolation")
    assert (points["rival_cost"] / 4096).to_list() == pytest.approx([1.2e6, 2e6, 4e6])
    assert points["ratio"].round().to_list() == [59, 95, 177]


def test_both_methods_find_a_known_ratio():
    ratios = cost_ratio(*two_families(300), reference="A", rival="B", targets=[0.4, 0.25, 0.18], num_draws=50)
    # Chords of 300 runs over four decades lie within 1 % of the curve in cost.
    assert by(ratios, "interpolation")["ratio"].to_numpy() == pytest.approx([3, 3, 3], rel=0.01)
    assert by(ratios, "law")["ratio"].to_numpy() == pytest.approx([3, 3, 3], rel=1e-6)


@quiet
def test_swapping_the_families_inverts_the_ratio():
    runs = two_families(30, noise=0.02)
    targets = [0.3, 0.2]
    one = cost_ratio(*runs, reference="A", rival="B", targets=targets, num_draws=20).table["ratio"]
    other = cost_ratio(*runs, reference="B", rival="A", targets=targets, num_draws=20).table["ratio"]
    assert one.to_numpy() == pytest.approx(1 / other.to_numpy(), rel=1e-9)


@quiet
@pytest.mark.parametrize("unit", [1e-3, 1e18])
def test_the_unit_of_cost_changes_no_ratio(unit):
    x, y, family = two_families(15, noise=0.02)
    options = {"reference": "A", "rival": "B", "targets": [0.25], "num_draws": 50}
    one, other = (cost_ratio(u * x, y, family, **options).table for u in (1.0, unit))
    for name in ("ratio", "low", "high"):
        assert other[name].to_numpy() == pytest.approx(one[name].to_numpy(), rel=1e-6)


@quiet
def test_a_family_against_itself_is_1():
    x, y, _ = two_families(20, noise=0.02)
    family = np.repeat(["A", "B"], 20)
    x, y = np.tile(x[:20], 2), np.tile(y[:20], 2)
    table = cost_ratio(x, y, family, reference="A", rival="B", num_draws=50).table
    assert table["ratio"].to_numpy() == pytest.approx(1.0, rel=1e-9)
    assert np.all((table["low"] <= 1) & (table["high"] >= 1))


def test_a_target_that_no_run_reaches_is_named_and_has_no_interpolation():
    runs = two_families(20, noise=0.01)
    with pytest.warns(FitWarning, match=r"unreached: no A run comes below 0\.1\d+, asked 0\.12; .*no B run"):
        ratios = cost_ratio(*runs, reference="A", rival="B", targets=[0.25, 0.12], num_draws=50)
    assert by(ratios, "interpolation")["target_error"].to_list() == [0.25]
    assert ratios.left_out[["target_error", "method"]].to_numpy().tolist() == [[0.12, "interpolation"]]
    assert by(ratios, "law")["extrapolated"].to_list() == [False, True]
    assert not ratios.table.isna().any().any()
    assert "0.12" in ratios.summary()


def test_an_error_that_a_law_never_falls_to_has_no_finite_ratio():
    """A saturates at .1, B at .2."""
    x = np.tile(np.geomspace(1, 1e4, 15), 2)
    family = np.repeat(["A", "B"], 15)
    y = 0.5 * x**-0.3 + np.where(family == "A", 0.1, 0.2)
    with pytest.warns(FitWarning, match="neither law falls to it"):
        ratios = cost_ratio(x, y, family, reference="A", rival="B", targets=[0.15, 0.05], num_draws=50)
    law = by(ratios, "law")
    assert law[["target_error", "ratio", "low", "high"]].to_numpy().tolist() == [[0.15, np.inf, np.inf, np.inf]]


@quiet
def test_a_family_without_a_law_keeps_the_interpolation_and_says_why():
    x, y, family = np.array([1, 10, 100, 1, 10.0]), np.array([0.5, 0.4, 0.3, 0.6, 0.45]), np.array(list("AAABB"))
    ratios = cost_ratio(x, y, family, reference="A", rival="B", num_draws=50)
    assert set(ratios.table["method"]) == {"interpolation"}
    assert "B has no law" in ratios.left_out["reason"].iloc[-1]
    assert ratios.rival_law is None
    assert np.isinf(ratios.table["high"]).all()  # five runs tell no ratio


@quiet
def test_the_laws_may_be_stochastic_frontiers():
    runs = two_families(40, excess=0.1)
    options = {"reference": "A", "rival": "B", "targets": [0.25], "num_draws": 300}
    edge, pareto = (by(cost_ratio(*runs, selection=s, **options), "law").iloc[0] for s in ("stochastic", "pareto"))
    assert edge["low"] < 3 < edge["high"]
    assert edge["high"] / edge["low"] < pareto["high"] / pareto["low"]  # it uses all runs


@quiet
def test_noise_of_the_runs_widens_the_interval_of_interpolation():
    x, y, family = two_families(30, noise=0.01)
    options = {"reference": "A", "rival": "B", "targets": [0.25], "num_draws": 400}
    width = {}
    for name, noise in {"none": {}, "y_std": {"y_std": 0.01}, "num_eval": {"num_eval": 1900}}.items():
        row = by(cost_ratio(x, y, family, **options, **noise), "interpolation").iloc[0]
        width[name] = np.log(row["high"] / row["low"])
    assert width["y_std"] > width["none"]
    # sqrt(.25 * .75 / 1900) is .0099 at the target.
    assert width["num_eval"] == pytest.approx(width["y_std"], rel=0.3)


@quiet
def test_an_error_near_0_has_the_noise_of_an_error_that_is_not_known_to_be_0():
    """One more right and one more wrong of 50 images: p = 1 / 52, not 1e-9."""
    x, y, family = two_families(12)
    y[np.argmax(np.where(family == "B", x, 0))] = 1e-9
    noise = cost_ratio(x, y, family, reference="A", rival="B", targets=[0.25], num_draws=20, num_eval=50).rival.noise
    assert noise.min() == pytest.approx(np.sqrt(1 / 52 * 51 / 52 / 50), rel=1e-6)


@quiet
def test_an_easy_target_has_a_finite_end():
    """Below the first run's cost the laws are still followed: nothing is taken for "no more than the first run"."""
    x, y, family = two_families(20, noise=0.01)
    easy = min(y[family == "A"].max(), y[family == "B"].max())
    law = by(cost_ratio(x, y, family, reference="A", rival="B", targets=[easy], num_draws=400), "law").iloc[0]
    assert 2 < law["low"] < law["ratio"] < law["high"] < 5


@quiet
def test_contradictions_are_in_the_summary():
    ratios = cost_ratio(*two_families(12), reference="A", rival="B", targets=[0.25], num_draws=50)
    assert "runs on the frontier: 12 of 12 A, 12 of 12 B" in ratios.summary()
    table = ratios.table.assign(low=[2.0, 4.0], high=[2.5, 5.0], ratio=[2.2, 3.0])
    text = replace(ratios, table=table).summary()
    assert "note: at 0.25 the law's interval [4, 5] excludes its own ratio 3" in text
    assert "note: at 0.25 the methods disagree: interpolation [2, 2.5] and law [4, 5] do not overlap" in text
    agree = replace(ratios, table=ratios.table.assign(low=2.0, high=4.0))
    assert agree.contradictions == []


@quiet
def test_runs_of_one_group_are_drawn_together():
    """Each group is a run twice: as few draws of its own as there are groups, so a wider interval."""
    x, y, family = (np.repeat(values, 2) for values in two_families(20, noise=0.02))
    options = {"reference": "A", "rival": "B", "targets": [0.25], "num_draws": 400}
    alone = by(cost_ratio(x, y, family, **options), "interpolation").iloc[0]
    grouped = by(cost_ratio(x, y, family, groups=np.repeat(np.arange(40), 2), **options), "interpolation").iloc[0]
    assert grouped["high"] / grouped["low"] > alone["high"] / alone["low"]


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.05, 0.95)), min_size=1, max_size=12), st.floats(0.05, 0.95))
@settings(max_examples=100, deadline=None)
def test_an_interpolated_cost_lies_between_its_neighbours(points, target):
    log_x, y = np.array(points).T
    frontier = np.zeros((1, len(points)))
    selected = pareto_frontier(np.exp(log_x), y)
    frontier[0, selected] = 1
    low, high = (value[0, 0] for value in frontier_costs(np.exp(log_x), y, frontier, np.array([target])))
    reached, above = log_x[selected][y[selected] <= target], log_x[selected][y[selected] >= target]
    assert low <= high
    assert high == (np.inf if reached.size == 0 else pytest.approx(min(high, reached[0])))
    assert low == (-np.inf if above.size == 0 else pytest.approx(max(low, above[-1])))
    if reached.size and above.size:
        assert low == high


def test_drawn_frontiers_are_those_of_each_alone():
    rng = np.random.default_rng(0)
    x, ys, on = 10 ** rng.uniform(0, 4, 15), rng.uniform(0.1, 0.9, (20, 15)), rng.integers(0, 2, (20, 15))
    frontiers = drawn_selection(x, ys, on + (np.arange(15) == 0), "pareto")
    targets = np.array([0.2, 0.5, 0.8])
    low, high = frontier_costs(x, ys, frontiers, targets)
    for place, (y, frontier) in enumerate(zip(ys, frontiers, strict=True)):
        kept = np.flatnonzero(frontier)
        alone = frontier_costs(x[kept], y[kept], np.ones((1, kept.size)), targets)
        assert alone[0][0].tolist() == low[place].tolist()
        assert alone[1][0].tolist() == high[place].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rival": "C"}, "families has no run of 'C'; there is A, B"),
        ({"y_std": 0.01, "num_eval": 100}, "give y_std or num_eval, not both"),
        ({"y_std": -0.01}, "y_std must be finite and not negative"),
        ({"num_eval": 0}, "num_eval must be whole numbers of images"),
        ({"groups": [1, 2]}, r"groups must have one label a run, shape \(24,\), got \(2,\)"),
        ({"targets": [0.2, -1]}, "targets must be positive"),
        ({"targets": [25]}, r"targets must be errors like y, fractions; got 25 \(percent"),
        ({"targets": []}, "targets must hold an error or more"),
        ({"y_std": [0.1, 0.2]}, r"y_std must be one number or of shape \(24,\), got \(2,\)"),
        ({"num_eval": [100, 200]}, r"num_eval must be whole numbers of images, one or of shape \(24,\)"),
        ({"level": 95}, "level must lie between 0 and 1"),
        ({"reference": "B"}, "reference and rival must differ, got 'B' twice"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        cost_ratio(*two_families(12), **{"reference": "A", "rival": "B", **change})


def test_families_without_an_error_in_common():
    x, y, family = np.tile([1.0, 10, 100], 2), [0.3, 0.2, 0.1, 0.9, 0.8, 0.7], np.array(list("AAABBB"))
    with pytest.raises(FitError, match=r"no error in common .*give targets="):
        cost_ratio(x, y, family, reference="A", rival="B")


def covered(n, noise, excess, num_simulations, num_draws=200, **options):
    """Share of 95 % intervals that contain the ratio 3 at E = .25, and median of log(high / low), by method."""
    found = {"interpolation": [], "law": []}
    for seed in range(num_simulations):
        x, y, family = two_families(n, noise=noise, excess=excess, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            rng = np.random.default_rng(seed)
            ratios = cost_ratio(
                x, y, family, reference="A", rival="B", targets=[0.25], num_draws=num_draws, rng=rng, **options
            )
        for method, rows in found.items():
            part = by(ratios, method)
            rows.append((part["low"].iloc[0], part["high"].iloc[0]) if len(part) else (0.0, np.inf))
    ends = {method: np.array(rows) for method, rows in found.items()}
    with np.errstate(divide="ignore"):
        return {
            method: (np.mean((e[:, 0] <= 3) & (e[:, 1] >= 3)), np.median(np.log(e[:, 1] / e[:, 0])))
            for method, e in ends.items()
        }


@pytest.mark.slow
@pytest.mark.parametrize("excess", [0.0, 0.1])
@pytest.mark.parametrize("n", [12, 40])
def test_coverage(n, excess):
    """60 simulations, 1 % noise: nominal .95 less three standard errors of .028.

    Interpolation of 40 runs drawn again says a little too little of their noise (.92 of 100): .80 is asserted.
    """
    found = covered(n, 0.01, excess, 60)
    print(n, excess, found)
    assert found["law"][0] >= 0.865
    assert found["interpolation"][0] >= (0.865 if n == 12 else 0.80)


@pytest.mark.slow
def test_coverage_of_interpolation_with_the_noise_given():
    found = covered(40, 0.01, 0.0, 60, y_std=0.0025)["interpolation"]
    print(found)
    assert found[0] >= 0.865


@quiet
def test_one_run_or_one_group_has_an_open_interval():
    pair = cost_ratio([1, 2], [0.5, 0.5], ["a", "b"], reference="a", rival="b", num_draws=20).table
    assert pair[["ratio", "low", "high"]].to_numpy().tolist() == [[2, 0, np.inf]]
    runs, groups = two_families(12), np.repeat(["one", "other"], 12)
    table = cost_ratio(*runs, reference="A", rival="B", targets=[0.25], groups=groups, num_draws=20).table
    assert by(SimpleNamespace(table=table), "interpolation")[["low", "high"]].to_numpy().tolist() == [[0, np.inf]]


@pytest.mark.parametrize("null", [None, np.nan, pd.NA])
def test_a_null_family_is_named(null):
    x, y, family = two_families(12)
    labels = family.astype(object)
    labels[3] = null
    for families in (labels, pd.Series(labels, dtype="string")):
        with pytest.raises(ValueError, match="families must have a label in each row; row 3 is null"):
            cost_ratio(x, y, families, reference="A", rival="B")


def test_series_of_other_indices_are_refused():
    x, y, family = (pd.Series(values) for values in two_families(12))
    with pytest.raises(ValueError, match="x and families must have the same index in the same order"):
        cost_ratio(x, y, family.sample(frac=1, random_state=0), reference="A", rival="B")
