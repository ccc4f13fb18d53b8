"""y = A x^(-+B) [+ C]: the power law, with an irreducible error, and the law of transfer."""

import numpy as np

from .base import Law, columns, exponents_over

__all__ = ["power", "saturating_power", "transfer"]


def _power_law(
    name: str, formula: str, source: str, params: tuple[str, ...], sign: int, upper_offset: float = np.inf
) -> Law:
    """y = A x^(sign * B), with a third parameter also + C."""
    offset = len(params) == 3

    def powers(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.exp(sign * theta[..., 1:2] * np.log(x))

    def value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = theta[..., 0:1] * powers(theta, x)
        return y + theta[..., 2:3] if offset else y

    def jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        log_x = np.log(x)
        power = np.exp(sign * theta[..., 1:2] * log_x)
        out = np.ones((*power.shape, len(params)))
        out[..., 0] = power
        out[..., 1] = sign * log_x * theta[..., 0:1] * power
        return out

    def inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        never = 0.0 if sign > 0 else np.inf
        with np.errstate(all="ignore"):
            above = (y - theta[..., 2:3] if offset else np.asarray(y, dtype=float)) / theta[..., 0:1]
            x = np.exp(np.log(above) / (sign * theta[..., 1:2]))
        return np.where((above > 0) & ~np.isnan(x), x, never)

    def in_units(theta: np.ndarray, x_unit: float, y_unit: float) -> np.ndarray:
        amplitude = theta[..., 0] * y_unit * np.exp(-sign * theta[..., 1] * np.log(x_unit))
        return columns(amplitude, theta[..., 1], *([theta[..., 2] * y_unit] if offset else []))

    def basis(exponent: np.ndarray, x: np.ndarray) -> np.ndarray:
        power = np.exp(sign * exponent * np.log(x))
        return np.stack([power, np.ones_like(power)], axis=1) if offset else power[:, None]

    return Law(
        name, formula, source, params,
        lower=(0.0,) * len(params),
        upper=(np.inf, np.inf, upper_offset)[: len(params)],
        value=value, jacobian=jacobian, inverse=inverse, in_units=in_units,
        grid=lambda x: exponents_over(np.log(x))[:, None],
        basis=basis, linear=(0, 2) if offset else (0,), nonlinear=(1,),
        mixed=params[:1], rate=params[1], offset=params[2] if offset else None, increasing=sign > 0,
    )  # fmt: skip


power = _power_law("power", "a x^-b", "Hestness et al. 2017 (arXiv 1712.00409)", ("a", "b"), sign=-1)
saturating_power = _power_law(
    "saturating_power",
    "a x^-b + c",
    "E = aC^-b + c on a compute frontier; M2 of Alabdulmohsin et al. 2022 (arXiv 2209.06640)",
    ("a", "b", "c"),
    sign=-1,
)
transfer = _power_law(
    "transfer",
    "k e^alpha + e_ir",
    "Abnar et al. 2021 (arXiv 2110.02095), Eq. 1",
    ("k", "alpha", "e_ir"),
    sign=1,
    upper_offset=1.0,
)
