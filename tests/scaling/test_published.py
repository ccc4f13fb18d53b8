"""The published estimators give the papers' numbers: each golden value with its table."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling import FitError, FitWarning
from scaling.published import (
    BESIROGLU_2024,
    HOFFMANN_2022,
    HOFFMANN_2022_ROUNDED,
    PUBLISHED_ESTIMATORS,
    PublishedFit,
    alabdulmohsin2022_m1,
    alabdulmohsin2022_m2,
    alabdulmohsin2022_m3,
    alabdulmohsin2022_m4,
    bnsl,
    cherti2023,
    compute_optimal_params,
    hoffmann2022,
    nezhurina2025,
)
from scaling.published.nezhurina2025 import _binned_frontier
from scaling.published.result import law_value

RNG = np.random.default_rng(0)
X = np.geomspace(1e4, 1e9, 12)
Y = 3 * X**-0.2 + 0.1
PAIRS = np.stack([10 ** RNG.uniform(7, 10, 20), 10 ** RNG.uniform(9, 12, 20)], axis=1)
LOSSES = law_value("additive", HOFFMANN_2022, PAIRS)
CURVES = sorted(set(PUBLISHED_ESTIMATORS) - {"hoffmann2022"})
FAST = {
    "hoffmann2022": {"num_starts": 3},
    "alabdulmohsin2022_m2": {"max_rounds": 2},
    "alabdulmohsin2022_m4": {"max_rounds": 2},
    "bnsl": {"x_unit": 1e4},
    "nezhurina2025": {"num_starts": 3},
}


def points(name):
    return (PAIRS, LOSSES) if name == "hoffmann2022" else (X, Y)


def data_folder():
    folder = os.environ.get("SCALING_DATA_DIR")
    if not folder:
        pytest.skip("SCALING_DATA_DIR is not set: these data are not part of this repository")
    return Path(folder)


# Every estimator ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED_ESTIMATORS)
def test_an_estimator_gives_a_frozen_result_of_plain_values(name):
    x, y = points(name)
    fit = PUBLISHED_ESTIMATORS[name](x, y, **FAST.get(name, {}))
    assert isinstance(fit, PublishedFit)
    assert fit.estimator == name
    assert json.loads(json.dumps(dict(fit.params))) == fit.params
    assert all(type(value) is float for value in fit.params.values())
    assert fit.predict(x).shape == y.shape
    assert np.all(np.isfinite(fit.predict(x)))
    assert fit.note
    assert "arXiv" in fit.source
    assert name in repr(fit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.converged = True


@pytest.mark.parametrize("name", PUBLISHED_ESTIMATORS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda x, y: (x, np.where(y == y[3], np.nan, y)), ValueError, r"y must be positive and finite; row 3 is nan"),
        (lambda x, y: (np.where(x == x[5], np.nan, x), y), ValueError, r"x must be positive and.*; row 5 is .*nan"),
        (lambda x, y: (x, -y), ValueError, "y must be positive and finite; row 0"),
        (lambda x, y: (x[:1], y[:1]), FitError, r"needs at least \d points, got 1"),
        (lambda x, y: (x, y[:-1]), ValueError, "got"),
        (lambda x, y: (np.broadcast_to(x[0], x.shape), y), FitError, "are equal|num_edges|at least"),
    ],
    ids=["nan y", "nan x", "negative", "one point", "lengths", "equal x"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of rows that share an x
def test_bad_input_is_one_line_that_names_the_row_or_the_rule(name, change, error, message):
    with pytest.raises(error, match=message) as caught:
        PUBLISHED_ESTIMATORS[name](*change(*points(name)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CURVES)
def test_the_order_of_the_rows_changes_nothing(name):
    order = np.random.default_rng(1).permutation(X.size)
    one, other = (PUBLISHED_ESTIMATORS[name](x, y, **FAST.get(name, {})) for x, y in ((X, Y), (X[order], Y[order])))
    # Sums in another order differ in their last bits, which a search magnifies.
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-6)


def test_prediction_refuses_an_x_of_another_law():
    with pytest.raises(ValueError, match=r"shape \(..., 2\) = N, D"):
        hoffmann2022(PAIRS, LOSSES, num_starts=1).predict([1e9, 1e10, 1e11])
    with pytest.raises(ValueError, match="x must be positive and finite; row 1 is 0"):
        alabdulmohsin2022_m1(X, Y).predict([1.0, 0.0])


# Alabdulmohsin et al. 2022 --------------------------------------------------------------------------------------

NMT = ("6 Enc, 6 Dec", "28 Enc, 6 Dec", "6 Enc, 28 Dec", "Dec-only", "TEnc-LSTM")
LAST = 512_000_000  # Table 2 tests translation on the point of 512 million pairs only


def translation(published, model):
    """Points to fit, and the one to predict."""
    rows = published("alabdulmohsin2022_nmt.csv").query("Model == @model")
    train, test = rows[rows["Training"] == 1], rows[rows["Seen Examples"] == LAST]
    return [(part["Seen Examples"].to_numpy(float), part["Loss"].to_numpy()) for part in (train, test)]


def slow_after(num_fast, *rows):
    """All rows as cases, those after the first few for `make test-slow`: each takes seconds."""
    return [pytest.param(*row, marks=[pytest.mark.slow] if i >= num_fast else []) for i, row in enumerate(rows)]


@pytest.mark.parametrize(("model", "printed"), [*zip(NMT, (0.262, 0.171, 0.234, 0.252, 0.190), strict=True)])
def test_m1_on_translation(published, model, printed):
    """Table 2 to two decimals; the third from the authors' code on the same points."""
    train, test = translation(published, model)
    assert alabdulmohsin2022_m1(*train).log_rmse(*test) == pytest.approx(printed, abs=0.0005)  # rounding


@pytest.mark.parametrize(
    ("model", "expected"), slow_after(2, *zip(NMT, (0.038, 0.054, 0.053, 0.010, 0.013), strict=True))
)
def test_m2_on_translation_after_400_rounds(published, model, expected):
    """Table 2 has .039 .056 .053 .039 .013; its fourth repeats its first, as do those of M3 and M4."""
    train, test = translation(published, model)
    fit = alabdulmohsin2022_m2(*train, max_rounds=400)
    assert fit.log_rmse(*test) == pytest.approx(expected, abs=0.0005)  # rounding
    assert 0 < fit.params["c"] < train[1].min()


@pytest.mark.slow
def test_m2_until_its_stop_rule(published):
    """The second row of Table 2, .056, is had only after 3,208 rounds."""
    train, test = translation(published, "28 Enc, 6 Dec")
    fit = alabdulmohsin2022_m2(*train)
    assert fit.converged
    assert fit.log_rmse(*test) == pytest.approx(0.056, abs=0.0005)  # rounding


@pytest.mark.parametrize(("model", "printed"), [*zip(NMT[:3], (0.089, 0.033, 0.016), strict=True)])
def test_m3_on_translation(published, model, printed):
    """Table 2, cut (not rounded) to three decimals, as the code that counts wins does."""
    train, test = translation(published, model)
    fit = alabdulmohsin2022_m3(*train)
    assert fit.converged
    assert printed <= fit.log_rmse(*test) < printed + 0.001


def test_m3_on_the_last_translation_model(published):
    train, test = translation(published, NMT[-1])
    # Table 2 prints .062; these transcribed points give .0632.
    assert alabdulmohsin2022_m3(*train).log_rmse(*test) == pytest.approx(0.062, abs=0.0015)


@pytest.mark.parametrize(
    ("model", "expected"), slow_after(1, *zip(NMT[::-1], (0.013, 0.008, 0.044, 0.018, 0.021), strict=True))
)
def test_m4_on_translation_after_400_rounds(published, model, expected):
    """The reference procedure with e0 free from 1; Table 2 prints .010 .013 .030 .010 .012."""
    train, test = translation(published, model)
    fit = alabdulmohsin2022_m4(*train, max_rounds=400)
    # Rounding, and the reference predicts on a grid of steps of 7e-5, which moves a score by up to 0.00015.
    assert fit.log_rmse(*test) == pytest.approx(expected, abs=0.00065)
    assert fit.params["a"] >= 1  # the non-negative least squares on log a


@pytest.mark.parametrize(("model", "expected"), [*zip(NMT, (0.262, None, None, 0.252, 0.190), strict=True)])
def test_the_global_optimum_of_the_objective_of_m2_has_no_irreducible_error(published, model, expected):
    """For 3 of the 5 tasks: c = 0, which is M1. The objective in log(y - c) is not a likelihood."""
    (x, y), test = translation(published, model)
    log_x = np.log(x) - np.log(x).mean()
    c = np.linspace(0, y.min() - 1e-3, 20_001)  # all that the projection allows
    above = np.log(y - c[:, None])
    slope = above @ log_x / (log_x @ log_x)
    squares = np.sum((above - above.mean(axis=1, keepdims=True) - slope[:, None] * log_x) ** 2, axis=1)
    best = c[np.argmin(squares)]
    if expected is None:
        assert best > 0.1
    else:
        assert best == 0
        assert alabdulmohsin2022_m1(x, y).log_rmse(*test) == pytest.approx(expected, abs=0.0005)  # rounding


@pytest.mark.slow
def test_m4_wins_most_image_classification_curves():
    """More than 70 % in the paper, as its code counts: scores cut to three decimals. Here the 5-shot curves on ImageNet
    and Birds; all 36 with 5, 10 and 25 shots give 83 %, M3 11 % and M2 8 %."""
    curves = pd.read_csv(data_folder() / "revisiting_nsl" / "benchmark_vision_imagenet_birds.csv")
    scores = []
    for _, rows in curves[curves["Task"].str.endswith("_5")].groupby(["Task", "Model"]):
        parts = [rows[rows["Training"] == is_fitted] for is_fitted in (1, 0)]
        train, test = ((part["Seen Examples"].to_numpy(), part["Loss"].to_numpy()) for part in parts)
        fits = [
            alabdulmohsin2022_m1(*train),
            alabdulmohsin2022_m2(*train, max_rounds=400),
            alabdulmohsin2022_m3(*train),
            alabdulmohsin2022_m4(*train, max_rounds=400, up_bound=1.0),
        ]
        scores.append([np.floor(1000 * fit.log_rmse(*test)) for fit in fits])
    wins = np.equal(scores, np.min(scores, axis=1, keepdims=True)).mean(axis=0)
    assert len(scores) == 12
    assert wins[3] > 0.7
    assert wins[0] == 0


def test_m1_is_exact_on_a_power_law():
    fit = alabdulmohsin2022_m1(X, 3 * X**-0.2)
    assert fit.params == pytest.approx({"a": 3, "b": 0.2}, rel=1e-12)  # rounding of a double


def test_m3_is_exact_on_its_own_law():
    y = 2 * (1 / X + 1e-6) ** 0.3
    fit = alabdulmohsin2022_m3(X, y)
    # Its stop rule, |change of a| < 1e-10, on a slowly converging alternation.
    assert fit.params == pytest.approx({"a": 2, "b": 0.3, "d": 1e-6}, rel=1e-3)


def test_m4_solves_its_equation_exactly():
    params = {"a": 50.0, "b": 0.25, "c": 0.1, "e0": 1.0, "alpha": 0.7}
    y = law_value("sigmoidal_power", params, X)
    assert np.all((y > 0.1) & (y < 1))
    np.testing.assert_allclose((y - 0.1) / (1 - y) ** 0.7, 50 * X**-0.25, rtol=1e-10)  # y - c loses digits


def test_the_positive_least_squares_of_m4_forbids_a_small_amplitude():
    """log a >= 0: the exponent is .541 where .25 is true, once the unit of x makes a less than 1; M2 is free of it."""
    x = np.geomspace(1e-3, 1, 8)
    y = 0.5 * (x / 1e-3) ** -0.25 + 0.1
    fit = alabdulmohsin2022_m4(x, y, max_rounds=400)
    assert fit.params["a"] == 1
    assert fit.params["b"] == pytest.approx(0.541, abs=0.0005)  # rounding
    assert alabdulmohsin2022_m2(x, y, max_rounds=400).params["b"] == pytest.approx(0.25, abs=0.001)  # still on its way


def test_m4_without_alpha_predicts_as_m2():
    params = {"a": 3.0, "b": 0.2, "c": 0.1}
    as_m4 = law_value("sigmoidal_power", {**params, "e0": 10.0, "alpha": 0.0}, X)
    # e0 - c is added and taken away again.
    np.testing.assert_allclose(as_m4, law_value("saturating_power", params, X), rtol=1e-13)


def test_of_rows_that_share_an_x_the_last_counts_and_it_is_said():
    x, y = np.append(X, X[3]), np.append(Y, 2 * Y[3])
    with pytest.warns(FitWarning, match="1 of 13 rows share an x .*'alabdulmohsin2022_m1'") as caught:
        fit = alabdulmohsin2022_m1(x, y)
    assert caught[0].message.kind == "repeated_x"
    changed = Y.copy()
    changed[3] *= 2
    assert fit.params == alabdulmohsin2022_m1(X, changed).params


@pytest.mark.parametrize(
    ("options", "message"),
    [({"e0": 0.2}, "e0 and up_bound must be above every y"), ({"up_bound": 0.1}, "got e0=1.0, up_bound=0.1"),
     ({"max_rounds": 0}, "max_rounds must be at least 1, got 0")],
)  # fmt: skip
def test_m4_refuses_limits_below_the_data(options, message):
    with pytest.raises(ValueError, match=message):
        alabdulmohsin2022_m4(X, Y, **options)


def test_m2_refuses_errors_within_its_margin():
    with pytest.raises(FitError, match=r"every y must be above 0\.001"):
        alabdulmohsin2022_m2(X, Y / 1000)


# Caballero et al. 2022 ------------------------------------------------------------------------------------------

FIGURE_1 = {
    "a": 4.66e3, "b": 0.05, "c": 1e-3, "b1": 0.49, "d1": 3e6, "f1": 1.1, "b2": -0.811, "d2": 1e14, "f2": 1.425,
    "b3": 2.1, "d3": 2e20, "f3": 0.05,
}  # fmt: skip
ADDITION_X = [160, 192, 256, 320, 384, 448, 480, 512, 544, 576, 608, 640, 672, 736, 800, 864, 928]
ADDITION_Y = [
    2.13809046, 2.11813418, 2.08955508, 2.06988398, 2.05404987, 2.03837089, 2.02814281, 2.00496872, 1.95576149,
    1.86313841, 1.70891537, 1.50637664, 1.29754721, 0.96559684, 0.75856477, 0.64768338, 0.55695445,
]  # fmt: skip


def test_the_law_of_figure_1_is_its_formula():
    x = np.geomspace(0.1, 1e26, 200)
    p = FIGURE_1
    plain = p["a"] * x ** -p["b"]
    for i in (1, 2, 3):
        plain = plain * (1 + (x / p[f"d{i}"]) ** (1 / p[f"f{i}"])) ** (-p[f"b{i}"] * p[f"f{i}"])
    np.testing.assert_allclose(law_value("broken_power_3", p, x), p["c"] + plain, rtol=1e-12)  # rounding of a double


def test_the_slopes_of_figure_1_add_up():
    """Far before a break and far after it the law is a power law, of the slopes added up to there."""
    fine = 1 + 1e-6

    def slope(x):
        law = law_value("broken_power_3", FIGURE_1 | {"c": 0.0}, np.array([x, x * fine]))
        return np.log(law[1] / law[0]) / np.log(fine)

    assert slope(1e-3) == pytest.approx(-0.05, abs=1e-3)  # 1e-9 of the first break, to the power 1 / 1.1
    assert slope(1e26) == pytest.approx(-(0.05 + 0.49 - 0.811 + 2.1), abs=1e-3)


def test_four_digit_addition():
    """Figure 4 left: fitted to the first 14 points, tested on the last 3. The paper prints no score in digits."""
    fit = bnsl(ADDITION_X[:14], ADDITION_Y[:14])
    assert fit.converged
    assert fit.num_starts == 163_840
    # Our own run of the procedure; 1 % is more than the tolerance of the local search moves them.
    assert fit.log_rmse(ADDITION_X[:14], ADDITION_Y[:14]) == pytest.approx(0.000598, rel=0.01)
    assert fit.log_rmse(ADDITION_X[14:], ADDITION_Y[14:]) == pytest.approx(0.0109, rel=0.01)
    assert fit.params["d1"] == pytest.approx(612.6, rel=0.001)


def test_without_a_break_addition_is_not_predicted():
    fit = bnsl(ADDITION_X[:14], ADDITION_Y[:14], num_breaks=0)
    assert fit.log_rmse(ADDITION_X[14:], ADDITION_Y[14:]) > 0.5


def test_a_unit_of_x_only_moves_the_break():
    x = 1e6 * np.array(ADDITION_X)
    fit, plain = bnsl(x[:14], ADDITION_Y[:14], x_unit=1e6), bnsl(ADDITION_X[:14], ADDITION_Y[:14])
    np.testing.assert_allclose(fit.predict(x), plain.predict(ADDITION_X), rtol=1e-6)  # tolerance of the local search
    assert fit.params["d1"] == pytest.approx(1e6 * plain.params["d1"], rel=1e-6)


@pytest.mark.slow
def test_two_breaks_fit_better_than_one_and_predict_worse():
    """More breaks than the data show are not determined."""
    one, two = (bnsl(ADDITION_X[:14], ADDITION_Y[:14], num_breaks=m) for m in (1, 2))
    assert two.objective_value < one.objective_value
    assert two.log_rmse(ADDITION_X[14:], ADDITION_Y[14:]) > one.log_rmse(ADDITION_X[14:], ADDITION_Y[14:])


def test_bnsl_says_how_many_breaks_it_can_do():
    with pytest.raises(ValueError, match="num_breaks must be from 0 to 2, got 3"):
        bnsl(X, Y, num_breaks=3)
    with pytest.raises(FitError, match="'bnsl' needs at least 9 points, got 8"):
        bnsl(X[:8], Y[:8], num_breaks=2)


# Hoffmann et al. 2022 -------------------------------------------------------------------------------------------

# Sum of the Huber losses at the optimum on 234 points, and its place, from two independent codes. The minimum is so
# flat that L-BFGS at its default tolerances leaves A and B a part in 10,000 from it.
BEST = 0.00084009
BEST_PARAMS = {"E": 1.78389, "A": 442.2, "B": 1271.8, "alpha": 0.34263, "beta": 0.34200}


@pytest.fixture
def chinchilla_points():
    """N, D and the loss of the 234 points read off Figure 4 of Hoffmann et al. 2022."""
    rows = pd.read_csv(data_folder() / "chinchilla_points" / "df.csv")
    return rows[["N", "D"]].to_numpy(float), rows["loss"].to_numpy()


def test_the_sum_reaches_the_optimum(chinchilla_points):
    fit = hoffmann2022(*chinchilla_points, num_starts=10)
    assert fit.converged
    assert fit.objective_value == pytest.approx(BEST, abs=5e-9)  # rounding
    assert fit.params == pytest.approx(BEST_PARAMS, rel=2e-4)


@pytest.mark.slow
def test_the_full_grid_reaches_it_too(chinchilla_points):
    fit = hoffmann2022(*chinchilla_points)
    assert fit.num_starts == 4500
    assert fit.objective_value == pytest.approx(BEST, abs=5e-9)  # rounding
    assert fit.params == pytest.approx(BEST_PARAMS, rel=2e-4)


def test_the_mean_stops_far_from_it_and_calls_it_success(chinchilla_points):
    """The premature stop of Hoffmann's fit, found by Besiroglu et al. 2024."""
    x, y = chinchilla_points
    fit = hoffmann2022(x, y, num_starts=10, reduction="mean")
    assert fit.converged
    assert fit.objective_value * y.size > 1.005 * BEST
    assert fit.params["A"] > 1.1 * BEST_PARAMS["A"]
    assert fit.params["B"] < 0.8 * BEST_PARAMS["B"]


def test_points_that_share_one_d_are_refused():
    """Five points of one D tell nothing of beta."""
    one_d = np.stack([PAIRS[:5, 0], np.full(5, 1e10)], axis=1)
    with pytest.raises(FitError, match=r"all D are equal \(1e\+10\): 'hoffmann2022'"):
        hoffmann2022(one_d, LOSSES[:5])


def test_exact_losses_give_the_law_back():
    fit = hoffmann2022(PAIRS, LOSSES, num_starts=20)
    # L-BFGS stops where the objective falls by less than 2e-9: a residual of 1e-5 in log L.
    np.testing.assert_allclose(fit.predict(PAIRS), LOSSES, rtol=1e-4)


def test_the_slope_is_the_derivative_of_the_objective():
    from scipy.optimize import approx_fprime

    from scaling.published.hoffmann2022 import _objective

    theta, data = np.array([6.0, 7.0, 0.4, 0.3, 0.35]), (np.log(PAIRS), np.log(LOSSES), 0.05, 1.0)
    numeric = approx_fprime(theta, lambda t: _objective(t, *data)[0], 1e-7)
    np.testing.assert_allclose(_objective(theta, *data)[1], numeric, rtol=1e-4)  # a forward difference


@pytest.mark.parametrize(
    ("params", "loss"), [(HOFFMANN_2022, 1.9208), (HOFFMANN_2022_ROUNDED, 1.9366)], ids=["full", "rounded"]
)
def test_rounded_constants_are_off_at_the_size_of_chinchilla(params, loss):
    predicted = law_value("additive", params, np.array([[70e9, 1.4e12]]))[0]
    assert predicted == pytest.approx(loss, abs=5e-5)  # rounding


@pytest.mark.parametrize(
    ("params", "exponent"), [(HOFFMANN_2022, 0.457), (BESIROGLU_2024, 0.513)], ids=["2022", "2024"]
)
def test_the_exponent_of_the_best_model_size(params, exponent):
    """Hoffmann et al., Table 2: .46 (approach 3); Besiroglu et al.: .513."""
    small, large = compute_optimal_params(params, [1e20, 1e24])
    assert np.log(large / small) / np.log(1e4) == pytest.approx(exponent, abs=0.0005)  # rounding


def test_the_best_model_size_is_where_the_loss_is_least():
    compute = 5.76e23
    best = compute_optimal_params(HOFFMANN_2022, compute)
    sizes = best * np.array([0.99, 1.0, 1.01])
    losses = law_value("additive", HOFFMANN_2022, np.stack([sizes, compute / (6 * sizes)], axis=1))
    assert losses.argmin() == 1
    assert best == pytest.approx(40e9, rel=0.02)  # Table 3 of Hoffmann et al. 2022, approach 3: "40.0 Billion"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"reduction": "max"}, "reduction must be one of .* got 'max'"), ({"delta": 0}, "delta must be positive"),
     ({"num_starts": 0}, "num_starts must be None or from 1 to 4500, got 0")],
)  # fmt: skip
def test_hoffmann_refuses_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        hoffmann2022(PAIRS, LOSSES, **options)


# Cherti et al. 2023, Nezhurina et al. 2025 ----------------------------------------------------------------------


def test_cherti_is_exact_where_the_best_runs_lie_at_bin_centres():
    edges = np.linspace(8, 12.1, 6)
    x = 10 ** np.array([8, *(edges[:-1] + edges[1:]) / 2, 12])
    y = 5 * x**-0.1
    y[[0, -1]] *= 2  # the first and last run set the bins and are not the best of them
    assert cherti2023(x, y).params == pytest.approx({"a": 5, "b": 0.1}, rel=1e-9)  # rounding, at the edge of a bin


def test_cherti_moves_the_best_run_to_the_bin_centre():
    x = 10 ** np.linspace(8, 12, 5)  # each at the left end of its bin, or near
    fit = cherti2023(x, 5 * x**-0.1)
    assert fit.predict(x[0])[()] != pytest.approx(5 * x[0] ** -0.1, rel=0.01)


def test_nezhurina_takes_the_best_of_each_bin():
    x = np.geomspace(1e7, 1e11, 80)
    law = 2 * (x + 1e8) ** -0.15 + 0.1
    on_law = np.arange(80) % 4 == 0
    y = law * np.where(on_law, 1.0, 1.3)
    assert np.all(on_law[_binned_frontier(x, y, num_edges=None)])
    # Local searches in raw GFLOP stop short of the law: 1.7 % off from the full grid, 4.5 % from the best 20 starts.
    np.testing.assert_allclose(nezhurina2025(x, y, num_starts=20).predict(x), law, rtol=0.05)


def test_nezhurina_fits_only_up_to_a_budget():
    x = np.geomspace(1e7, 1e11, 80)
    y = 3 * x**-0.15
    y[60:] /= 10
    fit = nezhurina2025(x, y, offset=False, max_x=x[59])
    np.testing.assert_allclose(fit.predict(x[:60]), y[:60], rtol=0.01)  # a local search in raw units stops early
    with pytest.raises(FitError, match="on its frontier"):
        nezhurina2025(x, y, max_x=1e7)
    with pytest.raises(ValueError, match="num_edges must be at least 2"):
        nezhurina2025(x / 1e9, y)
