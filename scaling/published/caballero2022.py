"""The broken neural scaling law of Caballero et al. 2022 (arXiv 2210.14891), fitted as the authors do."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_number, check_whole
from .result import PublishedFit, check_curve, law_value

__all__ = ["bnsl"]

# The authors' grid; a, b, c, d, f are their letters. Amplitudes and breaks are 1.25^g - 1 + 1e-8.
_LIMITS = np.arange(0.0, 1.0, 0.1)
_SLOPES = np.arange(0.0, 1.0, 0.25)
_SHARPNESSES = np.arange(0.0, 1.0, 0.25)
_GEOMETRIC = 1.25 ** np.arange(0.0, 40.0, 2.5) - 1 + 1e-8
_MAX_BREAKS = 2  # each break multiplies the grid by 256: three are ten thousand million points
_MAX_EVALUATIONS = 100_000_000  # the authors' limit
_LAWS = ("saturating_power", "broken_power", "broken_power_2")
_CONVERGED = (1, 2, 3, 4)  # codes of MINPACK


def bnsl(x: ArrayLike, y: ArrayLike, *, num_breaks: int = 1, x_unit: float = 1.0) -> PublishedFit:
    """y = c + a x^-b prod_i (1 + (x/d_i)^(1/f_i))^(-b_i f_i): a grid, then Levenberg-Marquardt on log(y + 1) unbounded.

    The breaks of the grid lie below 4,300, so that x must be of that size: `x_unit` divides it first. A break beyond
    the data cannot be predicted, and more breaks than the data show are not determined.

    Args:
        x: positive, shape (n,).
        y: positive, shape (n,): an error, a loss.
        num_breaks: 0, 1 or 2.
        x_unit: the unit in which x is of the size of the grid.

    Raises:
        ValueError: a row of x or y is not positive and finite, num_breaks or x_unit out of range.
        FitError: fewer than 3 + 3 num_breaks points, or all x or all y equal.
    """
    from scipy.optimize import leastsq

    check_whole("num_breaks", num_breaks, 0)
    if num_breaks > _MAX_BREAKS:
        raise ValueError(f"num_breaks must be from 0 to {_MAX_BREAKS}, got {num_breaks!r}")
    check_number("x_unit", x_unit, positive=True)
    x, y = check_curve("bnsl", x, y, min_points=3 + 3 * num_breaks)
    scaled = x / x_unit
    law = _LAWS[num_breaks]

    def residuals(theta: np.ndarray) -> np.ndarray:
        return np.log(law_value(law, _named(theta), scaled) + 1) - np.log(y + 1)

    start, num_starts = _best_of_grid(scaled, y, num_breaks)
    with np.errstate(all="ignore"):  # nothing keeps the search inside the law's domain: outside it is nan, and refused
        found: Any = leastsq(residuals, start, full_output=True, maxfev=_MAX_EVALUATIONS)
        theta, num_evaluations, code = found[0], found[2]["nfev"], found[-1]
        value = float(np.mean(residuals(theta) ** 2))
    converged = code in _CONVERGED and np.isfinite(value)
    return PublishedFit(
        "bnsl", law, _in_units(_named(theta), x_unit, num_breaks), value, int(num_evaluations),
        num_starts, bool(converged),
        note="mean squared residual of log(y + 1), one local search, no bounds: c and the b_i may be negative",
        source="Caballero et al. 2022 (arXiv 2210.14891), Eq. 1 and the code for 4-digit addition",
    )  # fmt: skip


def _best_of_grid(x: np.ndarray, y: np.ndarray, num_breaks: int) -> tuple[np.ndarray, int]:
    """The point of the grid with the least mean squared log(y + 1), the first of equals, and the size of the grid."""
    breaks = np.array(list(product(*[_SLOPES] * num_breaks, *[_GEOMETRIC] * num_breaks, *[_SHARPNESSES] * num_breaks)))
    shapes = np.exp(_log_breaks(breaks.reshape(len(breaks), 3, num_breaks), np.log(x)))  # (g, n)
    best, best_value, target = (), np.inf, np.log(y + 1)
    for c, a, b in product(_LIMITS, _GEOMETRIC, _SLOPES):
        values = np.mean((np.log1p(c + a * x**-b * shapes) - target) ** 2, axis=1)
        index = int(np.argmin(values))
        if values[index] < best_value:
            best, best_value = (a, b, c, *breaks[index].reshape(3, num_breaks).T.ravel()), float(values[index])
    return np.array(best), len(_LIMITS) * len(_GEOMETRIC) * len(_SLOPES) * len(shapes)


def _log_breaks(breaks: np.ndarray, log_x: np.ndarray) -> np.ndarray:
    """log prod_i (1 + (x/d_i)^(1/f_i))^(-b_i f_i) at breaks (g, 3, m) of (b_i, d_i, f_i), shape (g, n)."""
    total = np.zeros((len(breaks), log_x.size))
    for slope, place, sharpness in np.moveaxis(breaks, 2, 0).swapaxes(1, 2)[..., None]:
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = -slope * sharpness * np.logaddexp(0, (log_x - np.log(place)) / sharpness)
        total += np.where(sharpness == 0, 0.0, bend)  # in the authors' code f = 0 is no break
    return total


def _named(theta: np.ndarray) -> dict[str, float]:
    """a, b, c, then b_i, d_i, f_i of each break; in the authors' code f_i = 0 is no break: b_i = 0 here."""
    names = [f"{name}{i}" for i in range(1, (theta.size - 3) // 3 + 1) for name in ("b", "d", "f")]
    params = {name: float(value) for name, value in zip(["a", "b", "c", *names], theta, strict=True)}
    for name in [name for name, value in params.items() if name[0] == "f" and value == 0]:
        params |= {name: 1.0, name.replace("f", "b"): 0.0}
    return params


def _in_units(params: dict[str, float], x_unit: float, num_breaks: int) -> dict[str, float]:
    """The same law in x, where `params` are in x / x_unit."""
    breaks = {f"d{i}": params[f"d{i}"] * x_unit for i in range(1, num_breaks + 1)}
    return params | {"a": params["a"] * x_unit ** params["b"]} | breaks
