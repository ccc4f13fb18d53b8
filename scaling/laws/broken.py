"""c + a x^-b prod_i (1 + (x / d_i)^(1 / f_i))^(-b_i f_i): a power law whose exponent changes by b_i at each d_i."""

from functools import cache

import numpy as np

from .base import Law, softplus

__all__ = ["broken_power"]

_SLOPES = np.concatenate([[0.0], np.geomspace(0.2, 24.0, 9)])  # before a break, in 1 / (range of log x)
_CHANGES = np.geomspace(0.2, 24.0, 8)  # of the slope at a break
_NEW_CHANGES = (-30.0, -6.0, -1.0, 1.0, 6.0, 30.0)  # at a further break
_POSITIONS = np.linspace(0.05, 0.95, 12)  # of a break, in ranges of log x
_WIDTHS = np.array([0.02, 0.06, 0.15, 0.4])  # of a break, in ranges of log x
_LOG_X = np.linspace(-140.0, 140.0, 1401)  # where the inverse looks for a crossing, around the breaks
_HALVINGS = 60


@cache
def broken_power(num_breaks: int) -> Law:
    """The law with that many breaks."""
    names = [f"{letter}{i}" for i in range(1, num_breaks + 1) for letter in ("d", "b", "f")]
    factors = tuple(f"(1 + (x/d{i})^(1/f{i}))^(-b{i} f{i})" for i in range(1, num_breaks + 1))
    return Law(
        "broken_power" if num_breaks == 1 else f"broken_power_{num_breaks}",
        " ".join(("c + a x^-b", *factors)),
        "Caballero et al. 2022 (arXiv 2210.14891), Eq. 1",
        ("a", "b", "c", *names),
        lower=(0.0, 0.0, 0.0, *(0.0, -np.inf, 0.0) * num_breaks),
        upper=(np.inf,) * (3 + 3 * num_breaks),
        value=_value, jacobian=_jacobian, both=_both, inverse=_inverse, in_units=_in_units,
        grid=_grid, basis=_basis, linear=(0, 2), nonlinear=(1, 3, 4, 5),
        offset="c", bends_down=True, num_starts=96,
        cells=(2, 3, 4), held_first=tuple(name for name in names if name[0] != "b"),
        in_log=tuple(name for name in names if name[0] != "b"),
        simpler=broken_power(num_breaks - 1) if num_breaks > 1 else None,
        extend=_extend if num_breaks > 1 else None,
        canonical=_canonical,
    )  # fmt: skip


def _places(theta: np.ndarray) -> np.ndarray:
    """Where the d_i stand among the parameters; b_i and f_i follow each."""
    return np.arange(3, theta.shape[-1], 3)


def _parts(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """log x, distances z from each break, log(1 + e^z), and the power without its amplitude."""
    log_x = np.log(x)
    d, b_i, f = (theta[..., _places(theta) + k, None] for k in range(3))
    z = (log_x[..., None, :] - np.log(d)) / f
    bend = softplus(z)
    power = np.exp(-theta[..., 1:2] * log_x - np.sum(b_i * f * bend, axis=-2))
    return log_x, z, bend, power


def _value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    return theta[..., 0:1] * _parts(theta, x)[-1] + theta[..., 2:3]


def _jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _both(theta, x)[1]


def _both(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    log_x, z, bend, power = _parts(theta, x)
    height = theta[..., 0:1] * power
    out = np.ones((*power.shape, theta.shape[-1]))
    out[..., 0], out[..., 1] = power, -log_x * height
    share = np.exp(z - bend)  # how far a break is passed
    for i, at in enumerate(_places(theta)):
        d, b_i, f = (theta[..., at + k, None] for k in range(3))
        out[..., at] = height * b_i * share[..., i, :] / d
        out[..., at + 1] = -height * f * bend[..., i, :]
        out[..., at + 2] = -height * b_i * (bend[..., i, :] - share[..., i, :] * z[..., i, :])
    return height + theta[..., 2:3], out


def _in_units(theta: np.ndarray, x_unit: float, y_unit: float) -> np.ndarray:
    unit = np.ones(theta.shape[-1], dtype=theta.dtype)
    unit[2], unit[_places(theta)] = y_unit, x_unit
    out = theta * unit
    out[..., 0] = theta[..., 0] * y_unit * np.exp(theta[..., 1] * np.log(x_unit))
    return out


def _grid(x: np.ndarray) -> np.ndarray:
    """Of one break."""
    low, spread = np.min(np.log(x)), np.ptp(np.log(x))
    places, widths = np.exp(low + _POSITIONS * spread), _WIDTHS * spread
    before, change, sign, place, width = np.meshgrid(
        _SLOPES / spread, _CHANGES / spread, np.array([1.0, -1.0]), places, widths, indexing="ij"
    )
    return np.stack([before, place, sign * change, width], axis=-1)


def _basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
    one, none = np.ones(len(nonlinear)), np.zeros(len(nonlinear))
    power = _value(np.column_stack([one, nonlinear[:, 0], none, nonlinear[:, 1:]]), x)
    return np.stack([power, np.ones_like(power)], axis=1)


def _extend(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Parameters (num_starts, p + 3) of those (m, p) of the law with one break less, and a further break."""
    low, spread = np.min(np.log(x)), np.ptp(np.log(x))
    new = [(np.exp(low + p * spread), s / spread, 0.05 * spread) for p in _POSITIONS for s in _NEW_CHANGES]
    return np.array([np.concatenate([t, part]) for t in theta for part in new])


def _canonical(theta: np.ndarray) -> np.ndarray:
    """Breaks in the order of their places."""
    order = np.argsort(theta[_places(theta)])
    return np.concatenate([theta[:3], theta[3:].reshape(-1, 3)[order].ravel()])


def _inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least x at which the law has fallen below y, shape (..., m): by halving the first interval of a crossing."""
    y = np.asarray(y, dtype=float)
    middle = np.log(theta[..., _places(theta)]).mean(axis=-1)
    theta = theta[..., None, :]  # x differs between members and between the values of y
    grid = np.asarray(middle)[..., None, None] + _LOG_X
    with np.errstate(over="ignore"):
        is_below = _value(theta, np.exp(grid)) < y[:, None]
        first = np.argmax(is_below, axis=-1)
        high = np.take_along_axis(np.broadcast_to(grid, is_below.shape), first[..., None], axis=-1)
        low = high - (_LOG_X[1] - _LOG_X[0])
        for _ in range(_HALVINGS):
            half = (low + high) / 2
            below = _value(theta, np.exp(half)) < y[:, None]
            low, high = np.where(below, low, half), np.where(below, half, high)
        x = np.where(first == 0, 0.0, np.exp(high[..., 0]))
    return np.where(is_below.any(axis=-1), x, np.inf)
