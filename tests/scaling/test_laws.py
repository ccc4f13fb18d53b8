"""One contract for every law of the table."""

from contextlib import nullcontext

import numpy as np
import pytest

from scaling import LAWS, fit_law
from scaling.laws import find_law

X = {False: np.geomspace(1e18, 1e21, 9), True: np.linspace(0.1, 0.95, 9)}
TRUE = {
    "power": [(15811.4, 0.25), (3e6, 0.4)],
    "saturating_power": [(15811.388300841898, 0.25, 0.1), (1e6, 0.35, 0.02), (3e7, 0.4, 0.0)],
    "transfer": [(0.7957, 3.23, 0.1233), (0.8659, 9.723, 0.04), (0.5, 0.6, 0.2)],  # Abnar 2021, Figure 1, digitised
}
EVERY_LAW = pytest.mark.parametrize("name", LAWS)


def cases(name):
    law = LAWS[name]
    return [(law, np.array(theta), X[law.increasing]) for theta in TRUE[name]]


@EVERY_LAW
def test_jacobian_is_the_derivative(name):
    for law, theta, x in cases(name):
        step = 1e-30
        complex_step = np.stack(
            [law.value(theta + 1j * step * unit, x).imag / step for unit in np.eye(theta.size)], axis=-1
        )
        np.testing.assert_allclose(law.jacobian(theta, x), complex_step, rtol=1e-12)


@EVERY_LAW
def test_basis_spans_the_law(name):
    for law, theta, x in cases(name):
        offset = theta[2] if law.has_offset else 0.0
        np.testing.assert_allclose(theta[0] * law.basis(theta[1:2], x)[0] + offset, law.value(theta, x), rtol=1e-14)


@EVERY_LAW
def test_inverse_undoes_value(name):
    for law, theta, x in cases(name):
        # 1e-8: y - e_ir cancels where k e^alpha is small.
        np.testing.assert_allclose(law.inverse(theta, law.value(theta, x)), x, rtol=1e-8)


@EVERY_LAW
def test_inverse_of_what_the_law_never_reaches(name):
    law, theta, _ = cases(name)[0]
    beyond = law.inverse(theta, np.array([-1.0]))
    assert beyond[0] == (0.0 if law.increasing else np.inf)


@EVERY_LAW
def test_units_change_x_and_y_and_nothing_else(name):
    for law, theta, x in cases(name):
        changed = law.in_units(theta, 1e-15, 100.0)
        np.testing.assert_allclose(law.value(changed, x * 1e-15), 100 * law.value(theta, x), rtol=1e-11)


@EVERY_LAW
def test_law_is_monotone(name):
    for law, theta, x in cases(name):
        assert np.all(np.diff(law.value(theta, x)) > 0) == law.increasing


@EVERY_LAW
@pytest.mark.parametrize("unit", [1.0, 1e-15, 1e-18, 1e-21 / 86400, 1e9])
def test_noise_free_data_are_recovered_in_any_unit(name, unit):
    for law, theta, x in cases(name):
        y = law.value(theta, x)
        with pytest.warns(UserWarning, match="bound") if theta[-1] == 0 else nullcontext():
            fit = fit_law(law, x * unit, y)
        far = x[-1:] * (10.0 if not law.increasing else 1.05)
        # 1e-9: the law's own rounding, amplified by an extrapolation of one decade.
        np.testing.assert_allclose(fit.predict(far * unit), law.value(theta, far), rtol=1e-9)
        assert fit.params[law.exponent] == pytest.approx(theta[1], rel=1e-8)


def test_unknown_law_lists_the_laws():
    with pytest.raises(ValueError, match=r"law must be one of \['power', 'saturating_power', 'transfer'\], got 'foo'"):
        find_law("foo")
