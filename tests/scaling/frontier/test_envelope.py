import numpy as np
import pandas as pd
import pytest

from scaling import FitError, pareto_frontier
from scaling.frontier import optimal_allocation

from .hoffmann import BUDGETS, EXPONENT, curve_runs, isoflop_runs, optimum, runs_at


def envelope(runs, **options):
    options = {"num_draws": 20, **options}
    return optimal_allocation(runs, y="upstream_loss", approaches=["envelope"], **options).fits["envelope"]


@pytest.mark.parametrize(("num_sizes", "bias"), [(8, 0.013), (15, 0.004), (30, 0.001)])
def test_training_curves_of_more_sizes_have_less_bias(num_sizes, bias):
    """The staircase's ends are cut, by up to half a step: the finer the steps the less."""
    fit = envelope(curve_runs(num_sizes))
    assert fit.num_params.exponent == pytest.approx(EXPONENT, abs=bias)
    assert fit.images_seen.exponent == pytest.approx(1 - EXPONENT, abs=bias)


def test_the_points_are_the_best_of_the_curves():
    points = envelope(curve_runs(15), smoothing=0.0).points
    best = np.abs(np.log(points["num_params"] / optimum(points["compute_flops"])))
    assert best.max() <= np.log(10) * 3.5 / 14  # within a step of the sizes
    assert points["images_seen"].to_numpy() == pytest.approx(
        points["compute_flops"] / (6 * points["num_params"]), rel=1e-9
    )  # a power law is straight in log-log, where curves are interpolated


def test_smoothing_takes_noise_off_a_curve():
    """Winners of noisy curves are the lucky ones: the loss of the envelope is too low, less so when smoothed."""
    truth = envelope(curve_runs(15), smoothing=0.0).points.set_index("compute_flops")["y"]
    runs = curve_runs(15, num_rows=300, noise=0.005)
    rough, smooth = (envelope(runs, smoothing=s).points.set_index("compute_flops")["y"] for s in (0.0, 0.3))
    errors = [np.sqrt(np.nanmean((y.reindex(truth.index) / truth - 1) ** 2)) for y in (rough, smooth)]
    assert errors[1] < 0.6 * errors[0]


def test_smoothing_keeps_straight_lines_and_far_neighbours_out():
    curves = curve_runs(15)
    # Tangents in log C of 3 - u^2 / 200, one a size: each is the lowest somewhere.
    u, at = np.log(curves["compute_flops"] / 1e17), 14 * np.log(curves["num_params"] / 10**7.5) / np.log(10**3.5)
    lines = curves.assign(upstream_loss=3 - at**2 / 200 - at / 100 * (u - at))
    plain, smooth = (envelope(lines, smoothing=s).points for s in (0.0, 0.3))
    pd.testing.assert_frame_equal(smooth, plain, rtol=1e-9)  # to rounding, at both ends of a curve too
    sparse = curve_runs(15, num_rows=6, noise=0.01)
    plain, narrow = (envelope(sparse, smoothing=s).points for s in (0.0, 0.02))
    pd.testing.assert_frame_equal(narrow, plain, rtol=1e-9)  # neighbours are many deviations away


def test_finished_runs_are_taken_at_their_frontier():
    runs = runs_at(np.geomspace(6e18, 3e21, 30)[:, None], np.geomspace(10**7.5, 10**10.5, 40))
    worse = runs.assign(upstream_loss=runs["upstream_loss"] * 1.2)
    fit = envelope(pd.concat([runs, worse], ignore_index=True))
    # A budget's best size is within half a step of the optimum: sd of the exponent about .02 / sqrt(30) / range.
    assert fit.num_params.exponent == pytest.approx(EXPONENT, abs=0.02)
    assert len(fit.points) == 30


def test_compute_that_is_nearly_equal_counts_as_equal():
    """A run of .1 % less compute is not the best of its budget."""
    runs = isoflop_runs()
    jitter = np.random.default_rng(0).uniform(0.999, 1.001, len(runs))
    fit = envelope(runs.assign(compute_flops=runs["compute_flops"] * jitter))
    assert fit.num_params.exponent == pytest.approx(envelope(runs).num_params.exponent, abs=1e-4)  # of the jitter
    assert len(fit.points) == 9


def test_the_frontier_without_a_tolerance_is_the_pareto_frontier():
    rng = np.random.default_rng(0)
    log_c = np.append(np.round(rng.uniform(0, 3, 58), 1), [3.5, 3.6])
    y = np.round(rng.uniform(1, 2, 60) - 0.2 * log_c, 1)  # with ties
    log_n = np.append(rng.uniform(-1, 1, 58), [-9.0, 9.0])
    runs = pd.DataFrame({"num_params": np.exp(log_n), "images_seen": 1.0, "compute_flops": np.exp(log_c)})
    runs = runs.assign(upstream_loss=np.where(np.abs(log_n) > 5, 9.0, y))  # the smallest and largest are never best
    kept = pareto_frontier(runs["compute_flops"], runs["upstream_loss"])
    points = envelope(runs, tolerance=1e-12).points
    assert points["compute_flops"].to_numpy() == pytest.approx(runs["compute_flops"].iloc[kept])
    assert points["y"].tolist() == runs["upstream_loss"].iloc[kept].tolist()


def test_the_smallest_and_the_largest_size_are_left_out():
    """The optimum of the lowest budgets lies below the sizes and that of the highest above."""
    sizes = np.geomspace(5e8, 2e9, 12)
    points = envelope(runs_at(BUDGETS[:, None], sizes)).points
    assert points["num_params"].min() > sizes[0]
    assert points["num_params"].max() < sizes[-1]
    with pytest.raises(FitError, match="the best runs are of the smallest or the largest size"):
        envelope(runs_at(BUDGETS[:, None], np.geomspace(1e11, 1e12, 5)))
    with pytest.raises(FitError, match="the envelope needs three model sizes"):
        envelope(runs_at(BUDGETS[:, None], [1e8, 1e9]))


def test_groups_are_drawn_together():
    """Of two trunks, a draw has one or both: with each size in both trunks every draw has the whole envelope or so."""
    runs = curve_runs(15)
    both = pd.concat([runs.assign(trunk="a"), runs.assign(run_id=runs["run_id"] + "b", trunk="b")])
    together, apart = (envelope(both, num_draws=100, groups=groups) for groups in ("trunk", None))
    assert np.ptp(together.num_params.draws[:, 1]) == pytest.approx(0, abs=1e-9)
    assert np.ptp(apart.num_params.draws[:, 1]) > 0.001
