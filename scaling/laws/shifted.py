"""Power laws of a shifted input: a (x + d)^-b [+ c], and a (1/x + d)^b."""

import numpy as np

from .base import Law, columns, exponents_over

__all__ = ["double_saturating_power", "reciprocal_shift_power", "shifted_power"]

# Shifts worth trying, from none to so large that the power is an exponential of x over the data.
_SHIFTS = np.concatenate([[0.0], np.geomspace(1e-2, 1.0, 9), np.geomspace(2.0, 1e2, 6)])


def _shifted_law(name: str, formula: str, source: str, offset: bool = False, reciprocal: bool = False) -> Law:
    """y = a (u + d)^(sign b) [+ c], with u = x and sign -1, or u = 1 / x and sign 1."""
    sign = 1 if reciprocal else -1
    params = ("a", "b", "c", "d") if offset else ("a", "b", "d")

    def moved(x: np.ndarray) -> np.ndarray:
        return 1 / x if reciprocal else x

    def value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = theta[..., 0:1] * np.exp(sign * theta[..., 1:2] * np.log(moved(x) + theta[..., -1:]))
        return y + theta[..., 2:3] if offset else y

    def jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        shifted = moved(x) + theta[..., -1:]
        log_shifted = np.log(shifted)
        power = np.exp(sign * theta[..., 1:2] * log_shifted)
        out = np.ones((*power.shape, len(params)), dtype=power.dtype)
        out[..., 0] = power
        out[..., 1] = sign * log_shifted * theta[..., 0:1] * power
        out[..., -1] = sign * theta[..., 1:2] * theta[..., 0:1] * power / shifted
        return out

    def inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            above = (y - theta[..., 2:3] if offset else np.asarray(y, dtype=float)) / theta[..., 0:1]
            u = np.exp(np.log(above) / (sign * theta[..., 1:2])) - theta[..., -1:]
            if reciprocal:
                return np.where((above > 0) & (u > 0), 1 / u, np.inf)
        # Above the law's value at x = 0 there is nothing to reach.
        return np.where(above > 0, np.maximum(np.nan_to_num(u, nan=np.inf, posinf=np.inf), 0.0), np.inf)

    def in_units(theta: np.ndarray, x_unit: float, y_unit: float) -> np.ndarray:
        unit = 1 / x_unit if reciprocal else x_unit
        amplitude = theta[..., 0] * y_unit * np.exp(-sign * theta[..., 1] * np.log(unit))
        offsets = [theta[..., 2] * y_unit] if offset else []
        return columns(amplitude, theta[..., 1], *offsets, theta[..., -1] * unit)

    def grid(x: np.ndarray) -> np.ndarray:
        u = moved(x)
        shifts = _SHIFTS * np.exp(np.mean(np.log(u)))
        smallest = np.min(u) * np.geomspace(0.1, 1.0, 3)  # a shift of the least u bends the law at its end
        shifts = np.unique(np.concatenate([shifts, smallest]))
        exponents = exponents_over(np.log(u + shifts[:, None]))[:, ::2]
        return np.stack([exponents, np.broadcast_to(shifts[:, None], exponents.shape)], axis=-1)

    def basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
        power = np.exp(sign * nonlinear[:, :1] * np.log(moved(x) + nonlinear[:, 1:]))
        return np.stack([power, np.ones_like(power)], axis=1) if offset else power[:, None]

    return Law(
        name, formula, source, params,
        lower=(0.0,) * len(params), upper=(np.inf,) * len(params),
        value=value, jacobian=jacobian, inverse=inverse, in_units=in_units,
        grid=grid, basis=basis, linear=(0, 2) if offset else (0,), nonlinear=(1, len(params) - 1),
        offset="c" if offset else None, bends_down=not reciprocal, num_starts=6,
    )  # fmt: skip


shifted_power = _shifted_law("shifted_power", "a (x + d)^-b", "d moves the divergence away from x = 0")
double_saturating_power = _shifted_law(
    "double_saturating_power", "a (x + d)^-b + c", "Zhai et al. 2021 (arXiv 2106.04560), section 2", offset=True
)
reciprocal_shift_power = _shifted_law(
    "reciprocal_shift_power",
    "a (1/x + d)^b",
    "M3 of Alabdulmohsin et al. 2022 (arXiv 2209.06640), whose gamma is d",
    reciprocal=True,
)
