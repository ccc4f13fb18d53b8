"""One contract for every law of the table: a new law is tested by its formula and its example."""

import pickle
import re

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

from scaling import fit_law
from scaling.laws import LAWS, find_law
from scaling.laws.sigmoidal import _solve_logit

from .truths import ALL_LAWS, TRUTHS, truths_of

EVERY_TRUTH = pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: f"{t.name}-{t.source[:24]}")
EVERY_LAW = pytest.mark.parametrize("name", ALL_LAWS)


def _broken(x, a, b, c, *breaks):
    y = a * x**-b
    for d, b_i, f in zip(breaks[::3], breaks[1::3], breaks[2::3], strict=True):
        y = y * (1 + (x / d) ** (1 / f)) ** (-b_i * f)
    return c + y


# The formulas of the laws, written out a second time, plainly. Of other laws it is their own text that is computed.
FORMULAS = {
    "power": lambda x, a, b: a * x**-b,
    "saturating_power": lambda x, a, b, c: a * x**-b + c,
    "shifted_power": lambda x, a, b, d: a * (x + d) ** -b,
    "reciprocal_shift_power": lambda x, a, b, d: a * (1 / x + d) ** b,
    "double_saturating_power": lambda x, a, b, c, d: a * (x + d) ** -b + c,
    "broken_power": _broken,
    "broken_power_2": _broken,
    "transfer": lambda x, k, alpha, e_ir: k * x**alpha + e_ir,
    "log_linear": lambda x, slope, intercept: 1 - np.exp(-intercept) * (1 - x) ** slope,
    "logit_linear": lambda x, slope, intercept: expit(slope * logit(x) + intercept),
    "probit_linear": lambda x, slope, intercept: ndtr(slope * ndtri(x) + intercept),
    "additive": lambda x, e, a, b, alpha, beta: e + a / x[:, 0] ** alpha + b / x[:, 1] ** beta,
}


def computed(formula, x, names, params):
    """
    >>> float(computed("a exp(-b x^2) + c", 2.0, ("a", "b", "c"), (1.0, 0.0, 0.5)))
    1.5
    """
    words = re.findall(r"[\w.]+|\S", formula.replace("^", "**").replace("* *", "**"))
    text = ""
    for before, word in zip(["", *words], words, strict=False):
        product = re.match(r"[\w.)]", before[-1:]) and re.match(r"[\w.(]", word) and before not in FUNCTIONS
        text += f"*{word}" if product else word
    return eval(text, {"__builtins__": {}}, FUNCTIONS | dict(zip(names, params, strict=True)) | {"x": x})


def plain_formula(law):
    return FORMULAS.get(law.name, lambda x, *params: computed(law.formula, x, law.params, params))


FUNCTIONS = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt}


@EVERY_LAW
def test_law_is_in_the_tables_of_the_tests(name):
    assert truths_of(name)


@pytest.mark.parametrize("name", ["power", "saturating_power", "shifted_power", "reciprocal_shift_power"])
def test_a_formula_is_computed_as_it_is_written(name):
    for truth in truths_of(name):
        found = computed(truth.law.formula, truth.x, truth.law.params, truth.params)
        np.testing.assert_allclose(found, FORMULAS[name](truth.x, *truth.params), rtol=1e-14)


# Value and derivative -----------------------------------------------------------------------------------------


@EVERY_TRUTH
def test_value_is_the_formula(truth):
    if truth.name == "sigmoidal_power":  # an implicit equation, put back into it
        a, b, c, alpha, e0 = truth.params
        left = (truth.y - c) / (e0 - truth.y) ** alpha
        # 1e-9: e0 - y cancels to a relative 1e-9 near the upper plateau; the exact test is below.
        np.testing.assert_allclose(left, a * truth.x**-b, rtol=1e-9)
    else:
        # 1e-12: x^b = e^(b log x) rounds by |b log x| times 1e-16, and b log x is up to 50.
        np.testing.assert_allclose(truth.y, plain_formula(truth.law)(truth.x, *truth.params), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in ALL_LAWS if find_law(n).num_inputs == 1 and not find_law(n).increasing])
def test_a_law_bends_down_in_log_log_where_it_says_so(name):
    law, rng = find_law(name), np.random.default_rng(0)
    truths = np.array([truth.params for truth in truths_of(name)])
    params = np.concatenate([truths, *(truths * np.exp(rng.normal(0, 1, truths.shape)) for _ in range(200))])
    x = np.geomspace(1e-3, 1e6, 400) * truths_of(name)[0].x.min()
    with np.errstate(all="ignore"):
        curvature = np.diff(np.log(law.value(params, x)), 2, axis=-1)
    curvature = curvature[np.isfinite(curvature)]
    assert bool(np.any(curvature < -1e-6)) == law.bends_down


@EVERY_TRUTH
def test_jacobian_is_the_derivative(truth):
    law, theta = truth.law, truth.theta
    # Central differences of order 4 with a step of 1e-3 of each parameter: 1e-12 of truncation, 1e-13 of rounding,
    # each times a few; a parameter's column is compared on its own scale.
    step = 1e-3 * np.abs(theta)
    near, far = (
        np.stack([law.value(theta + k * h, truth.x) - law.value(theta - k * h, truth.x) for h in np.diag(step)], -1)
        for k in (1, 2)
    )
    differences = (8 * near - far) / (12 * step)
    scale = np.max(np.abs(differences), axis=0)
    # 1e-7: the break widths enter as exp(1 / f), whose fifth derivative magnifies the truncation.
    np.testing.assert_allclose(law.jacobian(theta, truth.x) / scale, differences / scale, atol=1e-7)


@pytest.mark.parametrize("name", ["power", "saturating_power", "shifted_power", "double_saturating_power", "transfer"])
def test_jacobian_is_the_complex_step(name):
    """To all digits, where the law is analytic."""
    for truth in truths_of(name):
        columns = [
            truth.law.value(truth.theta + 1e-30j * unit, truth.x).imag / 1e-30 for unit in np.eye(len(truth.params))
        ]
        np.testing.assert_allclose(truth.law.jacobian(truth.theta, truth.x), np.stack(columns, axis=-1), rtol=1e-12)


@EVERY_TRUTH
def test_a_batch_is_its_members(truth):
    law, batch = truth.law, truth.theta * np.array([[1.0], [1.01], [0.99]])
    values, jacobians = law.value(batch, truth.x), law.jacobian(batch, truth.x)
    for theta, value, jacobian in zip(batch, values, jacobians, strict=True):
        # 1e-14: numpy's vectorised exp may round otherwise in another place of an array.
        np.testing.assert_allclose(law.value(theta, truth.x), value, rtol=1e-14)
        np.testing.assert_allclose(law.jacobian(theta, truth.x), jacobian, rtol=1e-12)


@EVERY_TRUTH
def test_basis_spans_the_law(truth):
    """Linear parameters times the basis are the law, where the nonlinear ones are parameters."""
    law, theta = truth.law, truth.theta
    if law.assemble is not None or law.simpler is not None:
        pytest.skip("its grid is in other coordinates")
    basis = law.basis(theta[list(law.nonlinear)][None], truth.x)[0]
    total = theta[list(law.linear)] @ basis
    np.testing.assert_allclose(total if law.link is None else law.link.backward(total), truth.y, rtol=1e-13)


@EVERY_LAW
def test_assemble_and_grid_make_laws_within_bounds(name):
    """Each point of the scan's grid, with the linear parameters at one, is a law that is finite and in its bounds."""
    for truth in truths_of(name):
        law = truth.law
        x = truth.x / (1.0 if law.link is not None else np.exp(np.mean(np.log(truth.x), axis=0)))
        grid = law.grid(x) if law.simpler is None else law.simpler.grid(x)
        if law.link is None:
            flat = grid.reshape(-1, grid.shape[-1])
            basis = (law.simpler or law).basis(flat, x)
            assert np.all(np.isfinite(flat))
            assert np.mean(np.all(np.isfinite(basis), axis=(1, 2))) > 0.9


# Shape --------------------------------------------------------------------------------------------------------


@EVERY_TRUTH
def test_law_is_monotone(truth):
    if truth.name == "additive":
        for axis in (0, 1):
            x = np.column_stack([truth.x[:5, 0] if axis == k else np.full(5, truth.x[0, k]) for k in (0, 1)])
            x[:, axis] = np.geomspace(*np.sort(truth.x[[0, -1], axis]), 5)
            assert np.all(np.diff(truth.law.value(truth.theta, x)) < 0)
    elif "it rises" in truth.source:
        turn = truth.x[np.argmin(truth.y)]
        assert 1e13 < turn < 1e17  # b + b1 + b2 = -.271: it falls, and rises some time after its second break at 1e14
    else:
        steps = np.diff(truth.y)
        assert np.all(steps > 0) if truth.law.increasing else np.all(steps < 0)


@EVERY_TRUTH
def test_true_parameters_lie_in_the_bounds(truth):
    assert np.all((truth.theta >= truth.law.lower) & (truth.theta <= truth.law.upper))


@EVERY_TRUTH
def test_inverse_undoes_value(truth):
    law, theta, x = truth.law, truth.theta, truth.x
    if law.num_inputs == 2:
        with pytest.raises(ValueError, match="law of one input"):
            law.inverse(theta, truth.y)
        return
    reached = x[: np.argmin(truth.y) + 1] if "it rises" in truth.source else x
    y = law.value(theta, reached)
    # By x: an error of 1 ulp in y - c, over the slope of the law there. By y: what an inverse is for.
    slope = np.abs(np.gradient(np.log(y), np.log(reached)))
    found = law.inverse(theta, y)
    assert np.all(np.abs(np.log(found / reached)) <= 1e-13 / slope + 1e-12)
    np.testing.assert_allclose(law.value(theta, found), y, rtol=1e-12)


@EVERY_LAW
def test_inverse_of_what_is_never_or_already_reached(name):
    truth = truths_of(name)[0]
    law, theta = truth.law, truth.theta
    if law.num_inputs == 2 or law.link is not None:
        return  # no curve of one input; a line takes every accuracy
    never = 0.0 if law.increasing else np.inf
    below = [-1.0, 0.0, *([theta[law.index(law.offset)]] if law.offset else [])]
    assert law.inverse(theta, np.array(below)).tolist() == [never] * len(below)
    highest = {  # the value at x = 0, where it is finite
        "shifted_power": lambda a, b, d: a * d**-b,
        "double_saturating_power": lambda a, b, c, d: c + a * d**-b,
        "sigmoidal_power": lambda a, b, c, alpha, e0: e0,
    }
    if name in highest:
        assert law.inverse(theta, np.array([1.001 * highest[name](*theta)])).tolist() == [0.0]
    if name == "reciprocal_shift_power":
        a, b, d = theta
        assert law.inverse(theta, np.array([0.999 * a * d**b])).tolist() == [np.inf]  # its limit for large x


# Units --------------------------------------------------------------------------------------------------------


@EVERY_TRUTH
@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e-15, 100.0), (1e25, 1.0), (1 / 86400, 1 / np.log(2))])
def test_units_change_x_and_y_and_nothing_else(truth, x_unit, y_unit):
    law = truth.law
    if law.link is not None:
        x_unit = y_unit = 1.0  # accuracies have no unit
    changed = law.in_units(truth.theta, x_unit, y_unit)
    # 1e-11: the amplitude is multiplied by x_unit^b, whose logarithm of up to 60 rounds to 1e-14 of itself.
    np.testing.assert_allclose(law.value(changed, truth.x * x_unit), y_unit * truth.y, rtol=1e-11)


@EVERY_TRUTH
def test_units_compose(truth):
    law, theta = truth.law, truth.theta
    if law.link is not None:
        assert law.in_units(theta, 1.0, 1.0) == pytest.approx(theta)
        return
    twice = law.in_units(law.in_units(theta, 1e-9, 100.0), 1e5, 0.01)
    np.testing.assert_allclose(twice, law.in_units(theta, 1e-4, 1.0), rtol=1e-12)
    np.testing.assert_allclose(law.in_units(twice, 1e4, 1.0), theta, rtol=1e-12)


def test_additive_has_a_unit_for_each_input():
    truth = truths_of("additive")[0]
    changed = truth.law.in_units(truth.theta, np.array([1e-9, 1e-12]), 1.0)
    np.testing.assert_allclose(truth.law.value(changed, truth.x * [1e-9, 1e-12]), truth.y, rtol=1e-12)


# Limits into each other ---------------------------------------------------------------------------------------

X = np.geomspace(0.1, 1e4, 11)
LIMITS = [
    (("saturating_power", (0.6, 0.3, 0.0)), ("power", (0.6, 0.3))),
    (("shifted_power", (0.6, 0.3, 0.0)), ("power", (0.6, 0.3))),
    (("reciprocal_shift_power", (0.6, 0.3, 0.0)), ("power", (0.6, 0.3))),
    (("double_saturating_power", (0.6, 0.3, 0.1, 0.0)), ("saturating_power", (0.6, 0.3, 0.1))),
    (("double_saturating_power", (0.6, 0.3, 0.0, 0.5)), ("shifted_power", (0.6, 0.3, 0.5))),
    (("broken_power", (0.6, 0.3, 0.1, 30.0, 0.0, 0.2)), ("saturating_power", (0.6, 0.3, 0.1))),
    (("broken_power", (0.6, 0.3, 0.1, 1e30, 0.7, 0.2)), ("saturating_power", (0.6, 0.3, 0.1))),  # a break far beyond
    # With f = 1 a break is a shift: a d^b (x + d)^-b.
    (("broken_power", (0.6 * 5**-0.3, 0.0, 0.1, 5.0, 0.3, 1.0)), ("double_saturating_power", (0.6, 0.3, 0.1, 5.0))),
    (("broken_power_2", (1, 0.3, 0.1, 9, 0.2, 0.3, 50, 0, 0.5)), ("broken_power", (1, 0.3, 0.1, 9, 0.2, 0.3))),
    (("transfer", (0.6, 0.3, 0.0)), ("power", (0.6, -0.3))),
]  # fmt: skip


@pytest.mark.parametrize(("special", "plain"), LIMITS, ids=lambda pair: pair[0])
def test_a_law_is_another_in_its_limit(special, plain):
    values = [find_law(name).value(np.array(theta), X) for name, theta in (special, plain)]
    np.testing.assert_allclose(*values, rtol=1e-13)


def test_sigmoidal_without_alpha_is_saturating_below_its_upper_plateau():
    sigmoidal, saturating = LAWS["sigmoidal_power"], LAWS["saturating_power"]
    y = sigmoidal.value(np.array([0.6, 0.3, 0.1, 0.0, 0.7]), X)
    np.testing.assert_allclose(y, np.minimum(saturating.value(np.array([0.6, 0.3, 0.1]), X), 0.7), rtol=1e-13)


def test_additive_without_data_term_is_saturating_in_the_number_of_parameters():
    x = np.column_stack([X, X[::-1]])
    y = LAWS["additive"].value(np.array([0.1, 0.6, 0.0, 0.3, 0.5]), x)
    np.testing.assert_allclose(y, LAWS["saturating_power"].value(np.array([0.6, 0.3, 0.1]), X), rtol=1e-14)
    # With N = D it is a law of one input.
    y = LAWS["additive"].value(np.array([0.1, 0.6, 0.2, 0.3, 0.3]), np.column_stack([X, X]))
    np.testing.assert_allclose(y, LAWS["saturating_power"].value(np.array([0.8, 0.3, 0.1]), X), rtol=1e-13)


def test_log_linear_is_transfer_without_offset_on_errors():
    truth = truths_of("log_linear")[0]
    slope, intercept = truth.params
    errors = LAWS["transfer"].value(np.array([np.exp(-intercept), slope, 0.0]), 1 - truth.x)
    np.testing.assert_allclose(1 - truth.y, errors, rtol=1e-12)


# The implicit law is solved exactly ---------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 1e-3, 0.5, 1.0, 3.0, 50.0])
def test_sigmoidal_is_solved_to_rounding(alpha):
    """log w - alpha log(1 - w) = log t, with w given by its logit u so that both plateaus keep their digits."""
    log_t = np.concatenate([-np.geomspace(700, 1e-12, 40), [0.0], np.geomspace(1e-12, 700, 40)])
    u = _solve_logit(log_t, np.array(alpha))
    left = -np.logaddexp(0, -u) + alpha * np.logaddexp(0, u)
    reached = (u < 745) & (log_t < alpha * 744 if alpha else log_t < 0)  # beyond: w = 1 to the smallest double
    assert reached.sum() > (20 if alpha < 1e-6 else 60)
    # 1e-13, of the larger of log t and the condition of the equation: the terms that cancel.
    size = np.maximum(1.0, np.abs(np.logaddexp(0, -u)) + alpha * np.logaddexp(0, u))
    assert np.max(np.abs(left - log_t)[reached] / size[reached]) < 1e-13
    assert np.all(np.diff(u) >= 0)
    assert np.all(np.isfinite(u))


# Objects ------------------------------------------------------------------------------------------------------


@EVERY_LAW
def test_law_is_pickled_by_its_name(name):
    law = find_law(name)
    twin = pickle.loads(pickle.dumps(law))
    assert twin is find_law(name)
    assert repr(twin) == repr(law) == f"Law({name!r}: {law.formula})"


@EVERY_LAW
def test_law_names_its_parts(name):
    law = find_law(name)
    assert len(law.params) == len(law.lower) == len(law.upper) == len(set(law.params))
    for part in (law.rate, *law.mixed, *law.in_log, *([law.offset] if law.offset else [])):
        assert part in law.params
    assert law.source
    assert law.name == name
    with pytest.raises(ValueError, match=r"has the parameters .* got 'gamma'"):
        law.index("gamma")


def test_unknown_law_lists_the_laws():
    with pytest.raises(ValueError, match=r"law must be one of \['additive', .*'transfer'\] or broken_power_2 .*'foo'"):
        find_law("foo")
    for name in ("broken_power_1", "broken_power_10", "broken_power_", "Power", None, 3):
        with pytest.raises(ValueError, match="law must be one of"):
            find_law(name)
    assert find_law("broken_power_9").params[-1] == "f9"


# Recovery -----------------------------------------------------------------------------------------------------

UNITS = {
    "raw": (1.0, 1.0),
    "tiny x, percent": (1e-15, 100.0),
    "huge x": (1e25, 1.0),
    "per day, bits": (1 / 86400, 1 / np.log(2)),
    "both small": (1e-9, 1e-6),
}


def cases():
    """Every law in every unit; the costly ones in one in the quick run. Accuracies have no unit."""
    for truth in TRUTHS:
        for units in UNITS if truth.law.link is None else ["raw"]:
            is_slow = truth.name in ("sigmoidal_power", "broken_power", "broken_power_2") and units != "raw"
            identifier = f"{truth.name}-{truth.source[:24]}-{units}"
            yield pytest.param(truth, units, marks=pytest.mark.slow if is_slow else (), id=identifier)


@pytest.mark.parametrize(("truth", "units"), list(cases()))
def test_noise_free_points_give_the_law_in_any_unit(truth, units):
    law, (x_unit, y_unit) = truth.law, UNITS[units]
    if truth.name == "transfer":
        y_unit = 1.0  # its e_ir is a fraction, bounded by 1
    fit = fit_law(law, truth.x * x_unit, truth.y * y_unit)
    wanted = law.in_units(truth.theta, x_unit, y_unit)
    beyond = law.value(truth.theta, truth.beyond) * y_unit
    # 1e-9: doubles of y (1e-16) times the condition of the parameters, at most 1e6 in these laws.
    np.testing.assert_allclose(fit.predict(truth.beyond * x_unit), beyond, rtol=1e-9)
    # The amplitude also has x_unit^b, whose logarithm of 60 multiplies the error of b.
    tolerance = np.where([name in law.mixed for name in law.params], 1e-7, 1e-9)
    assert np.all(np.abs(list(fit.params.values()) - wanted) <= tolerance * np.abs(wanted))
    assert fit.warnings == ()


@EVERY_TRUTH
def test_limit_is_where_a_falling_law_ends(truth):
    law, far = truth.law, np.array([1e290, 1e300])
    if law.num_inputs > 1 or law.link is not None or law.increasing:
        pytest.skip("has no limit at infinite x")
    ends = law.value(truth.theta, far)
    if not ends[1] <= ends[0]:
        pytest.skip("these breaks turn the law upwards")
    # 1e-12 of y: b is .05 or more, and (1e300)^-.05 = 1e-15.
    assert law.limit(truth.theta) == pytest.approx(ends[1], abs=1e-12 * truth.y.max())


def test_the_limit_of_an_exponent_of_zero_is_the_constant():
    assert LAWS["saturating_power"].limit(np.array([[0.3, 0.0, 0.1], [0.3, 0.2, 0.1]])).tolist() == [0.4, 0.1]
