import numpy as np
import pandas as pd
import pytest

from scaling import FitError, FitWarning
from scaling.frontier import optimal_allocation

from .hoffmann import BUDGETS, EXPONENT, isoflop_runs, optimum, runs_at


def isoflop(runs, **options):
    options = {"y": "upstream_loss", "approaches": ["isoflop"], "num_draws": 50, **options}
    return optimal_allocation(runs, **options)


@pytest.mark.parametrize(("decades", "low", "high"), [(1.0, 1.005, 1.015), (2.0, 1.03, 1.05), (3.0, 1.08, 1.10)])
def test_the_bias_of_a_parabola_is_alike_at_each_budget(decades, low, high):
    """alpha > beta: the loss rises faster towards small models. The vertex is 1, 4 and 9 % too high, and a is right."""
    result = isoflop(isoflop_runs(decades=decades))
    ratio = result.budgets["num_params"] / optimum(result.budgets["compute_flops"])
    assert ratio.between(low, high).all()
    assert result.exponents["a"][0] == pytest.approx(EXPONENT, abs=1e-6)


def test_one_list_of_sizes_biases_the_exponent():
    """Off-centre at both ends: a is .444, of .452."""
    result = isoflop(runs_at(BUDGETS[:, None], np.geomspace(1e8, 10**10.2, 13)))
    assert result.exponents["a"][0] == pytest.approx(EXPONENT - 0.008, abs=0.001)


def parabolas(*losses):
    """A budget for each list of losses at sizes 1, 2, 4, ... times 1e8."""
    rows = []
    for number, y in enumerate(losses):
        sizes, compute = 1e8 * 2.0 ** np.arange(len(y)), 1e19 * 10.0**number
        rows.append(pd.DataFrame({"num_params": sizes, "compute_flops": compute, "upstream_loss": y}))
    return pd.concat(rows, ignore_index=True).assign(images_seen=lambda f: f["compute_flops"] / (6 * f["num_params"]))


GOOD = ([3.2, 3.0, 2.9, 3.0, 3.2], [2.6, 2.4, 2.3, 2.4, 2.6], [2.2, 2.0, 1.9, 2.0, 2.2])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([2.0, 2.2, 2.3, 2.2, 2.0], "concave or flat"),
        ([2.4, 2.3, 2.2, 2.1, 2.0], "concave or flat"),
        ([2.9, 2.5, 2.2, 2.0, 1.9], r"vertex 2.26e\+09 outside the model sizes 1e\+08 to 1.6e\+09"),
        ([2.5, 2.2, 2.0, 1.92, 1.9], r"the best run is at an end of the model sizes 1e\+08 to 1.6e\+09"),
        ([2.0, 0.05, 0.01, 0.05, 0.9], "falls below 0"),
        ([2.0, 1.9], "2 model sizes, a parabola needs 3"),
    ],
)
def test_a_budget_without_a_minimum_is_refused_by_name_and_enters_no_power_law(bad, reason):
    budgets = [1e19, 1e20, 1e21, 1e22]
    with pytest.warns(FitWarning, match=rf"1 of 4 budgets are left out: budget 1e\+22: .*{reason}") as said:
        result = isoflop(parabolas(*GOOD, bad), budgets=budgets)
    assert [warning.message.kind for warning in said] == ["refused_budget"]
    table = result.budgets
    assert table["reason"].str.contains(reason).tolist() == [False, False, False, True]
    assert table["num_params"].isna().tolist() == [False, False, False, True]
    alone = isoflop(parabolas(*GOOD), budgets=budgets[:3])
    assert result.exponents["a"][0] == pytest.approx(alone.exponents["a"][0], rel=1e-9)
    assert result.predict([1e20])["num_params"][0] == pytest.approx(alone.predict([1e20])["num_params"][0], rel=1e-9)


def test_a_given_budget_without_runs_is_refused():
    with pytest.warns(FitWarning, match=r"budget 1e\+24: 0 model sizes"):
        result = isoflop(parabolas(*GOOD), budgets=[1e19, 1e20, 1e21, 1e24])
    assert result.budgets["num_runs"].tolist() == [5, 5, 5, 0]


def test_many_refused_budgets_are_one_warning_with_two_reasons():
    bad = [[2.0 - 0.3 * k, 2.2, 2.3, 2.2, 2.0] for k in range(4)]
    with pytest.warns(FitWarning, match=r"4 of 7 budgets are left out: budget .*; 1e\+23: .*; and 2 more$") as said:
        result = isoflop(parabolas(*GOOD, *bad))
    assert len(said) == 1
    assert "3 of 7 budgets used" in result.summary()


def test_the_vertex_of_a_nearly_straight_line_is_no_number():
    """A parabola of curvature 1e-6 whose vertex is at some e^100."""
    u = np.log(2.0 ** np.arange(5))
    with pytest.warns(FitWarning, match=r"vertex far outside the model sizes 1e\+08 to 1.6e\+09"):
        isoflop(parabolas(*GOOD, list(2 - 1e-3 * u + 1e-6 * u**2)))


def test_two_budgets_have_a_line_and_no_interval():
    with pytest.warns(FitWarning, match="2 budgets have a vertex: an interval of a power law needs 3") as said:
        result = isoflop(parabolas(*GOOD[:2]))
    assert [warning.message.kind for warning in said] == ["few_points"]
    assert result.exponents[["a_low", "a_high", "b_low", "b_high"]].to_numpy().tolist() == [[-np.inf, np.inf] * 2]
    assert "[open]" in result.summary()


def test_one_budget_is_no_power_law():
    with pytest.raises(FitError, match=r"1 of 2 budgets have a vertex, a power law needs 2; 1e\+20: concave"):
        isoflop(parabolas(GOOD[0], [2.0, 2.2, 2.3, 2.2, 2.0]))


def test_sizes_that_are_nearly_equal_are_no_three():
    runs = pd.concat([runs_at(BUDGETS, size) for size in (1e9, 1.01e9, 1.02e9, 2e9)])
    with pytest.raises(FitError, match=r"no three model sizes have runs of equal compute, within 0\.1"):
        isoflop(runs)


def test_budgets_are_found_in_compute_that_is_nearly_equal():
    runs = isoflop_runs()
    jitter = np.random.default_rng(0).uniform(0.97, 1.03, len(runs))
    result = isoflop(runs.assign(compute_flops=runs["compute_flops"] * jitter))
    assert result.budgets["num_runs"].tolist() == [9] * 9
    assert result.budgets["compute_flops"].to_numpy() == pytest.approx(BUDGETS, rel=0.03)  # the jitter
    exact = isoflop(runs, budgets=BUDGETS)
    assert exact.budgets["compute_flops"].to_numpy() == pytest.approx(BUDGETS, rel=1e-12)
    assert exact.exponents["a"][0] == pytest.approx(isoflop(runs).exponents["a"][0], rel=1e-12)


def test_parabolas_through_three_runs_have_no_interval_and_say_so():
    with pytest.warns(FitWarning, match="every budget has three runs") as said:
        result = isoflop(isoflop_runs(3))
    assert [warning.message.kind for warning in said] == ["few_points"]
    assert result.exponents[["a_low", "a_high"]].to_numpy().tolist() == [[-np.inf, np.inf]]
    assert result.exponents["a"][0] == pytest.approx(EXPONENT, abs=0.001)
    assert result.predict([1e20], 0.9)[["num_params_low", "num_params_high"]].to_numpy().tolist() == [[0, np.inf]]


def test_a_budget_of_the_chinchilla_paper_is_refused_at_its_digitised_points(chinchilla):
    """Within 10 % of 1e20 FLOPs the sizes read off Figure 4 begin right of the minimum; within 20 % they do not."""
    columns = {"y": "loss", "num_params": "N", "images_seen": "D", "compute": "C"}
    budgets = [6e18, 1e19, 3e19, 6e19, 1e20, 3e20, 6e20, 1e21, 3e21]
    with pytest.warns(FitWarning, match=r"budget 9.81e\+19: vertex 5.01e\+08 outside the model sizes 6.32e\+08"):
        result = isoflop(chinchilla, budgets=budgets, **columns)
    assert (result.budgets["reason"] != "").sum() == 1
    wider = isoflop(chinchilla, budgets=budgets, tolerance=0.2, **columns)
    assert (wider.budgets["reason"] == "").all()
