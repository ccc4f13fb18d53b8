"""The table of laws: each a frozen object of pure functions, which a fit, a plot and the contract test iterate.

To add a law, write its functions and add one row to `LAWS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LAWS", "Law", "find_law"]

# A scan over exponents b is made in units of 1 / (range of log x): at the low end the law falls by 0.1 % over
# the data (a straight line in log x), at the high end by a factor e^40 (a step).
_SCANNED_EXPONENTS = np.geomspace(1e-3, 40.0, 80)


@dataclass(frozen=True, repr=False)
class Law:
    """A law y = f(x; params). Arrays of parameters have shape (..., num_params), x has shape (n,), y (..., n).

    Attributes:
        name, formula, source: what it is and where it comes from.
        params: names of the parameters, in order: amplitude, exponent, offset where there is one.
        lower, upper: bounds of each parameter.
        value: f(params, x).
        jacobian: df/dparams, shape (..., n, num_params).
        inverse: x at which the law takes the value y; inf where it never does.
        in_units: params of the law in x * x_unit and y * y_unit, given those in x and y.
        basis: what the amplitude is multiplied by, at values (g,) of the exponent: (g, n).
        scan: values of the exponent worth trying on x, shape (g,).
        increasing: whether y grows with x.
    """

    name: str
    formula: str
    source: str
    params: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray, np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray, np.ndarray], np.ndarray]
    in_units: Callable[[np.ndarray, float, float], np.ndarray]
    basis: Callable[[np.ndarray, np.ndarray], np.ndarray]
    scan: Callable[[np.ndarray], np.ndarray]
    increasing: bool = False

    @property
    def exponent(self) -> str:
        """Name of the exponent."""
        return self.params[1]

    @property
    def has_offset(self) -> bool:
        """Whether a constant is added."""
        return len(self.params) == 3

    def index(self, name: str) -> int:
        """Place of a parameter.

        Raises:
            ValueError: the law has no such parameter.
        """
        if name not in self.params:
            raise ValueError(f"{self.name!r} has the parameters {self.params}, got {name!r}")
        return self.params.index(name)

    def __repr__(self) -> str:
        return f"Law({self.name!r}: {self.formula})"

    def __reduce__(self) -> tuple[Any, ...]:
        """A law is its name: so a fit can be pickled and copied."""
        return find_law, (self.name,)


def find_law(law: str | Law) -> Law:
    """The law of that name.

    Raises:
        ValueError: no law has that name.

    >>> find_law("saturating_power").formula
    'a x^-b + c'
    """
    if isinstance(law, Law):
        return law
    if law not in LAWS:
        raise ValueError(f"law must be one of {sorted(LAWS)}, got {law!r}")
    return LAWS[law]


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
        power = powers(theta, x)
        columns = [power, sign * np.log(x) * theta[..., 0:1] * power]
        return np.stack([*columns, np.ones_like(power)] if offset else columns, axis=-1)

    def inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        never = 0.0 if sign > 0 else np.inf
        with np.errstate(all="ignore"):
            above = (y - theta[..., 2:3] if offset else np.asarray(y, dtype=float)) / theta[..., 0:1]
            x = np.exp(np.log(above) / (sign * theta[..., 1:2]))
        return np.where((above > 0) & ~np.isnan(x), x, never)

    def in_units(theta: np.ndarray, x_unit: float, y_unit: float) -> np.ndarray:
        amplitude = theta[..., 0] * y_unit * np.exp(-sign * theta[..., 1] * np.log(x_unit))
        rest = [theta[..., 2] * y_unit] if offset else []
        return np.stack([amplitude, theta[..., 1], *rest], axis=-1)

    def basis(exponent: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.exp(sign * exponent[:, None] * np.log(x))

    def scan(x: np.ndarray) -> np.ndarray:
        return _SCANNED_EXPONENTS / np.ptp(np.log(x))

    return Law(
        name, formula, source, params,
        lower=(0.0,) * len(params),
        upper=(np.inf, np.inf, upper_offset)[: len(params)],
        value=value, jacobian=jacobian, inverse=inverse, in_units=in_units, basis=basis, scan=scan,
        increasing=sign > 0,
    )  # fmt: skip


LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        _power_law("power", "a x^-b", "Hestness et al. 2017 (arXiv 1712.00409)", ("a", "b"), sign=-1),
        _power_law(
            "saturating_power", "a x^-b + c", "E = aC^-b + c on a compute frontier; M2 of Alabdulmohsin et al. 2022"
            " (arXiv 2209.06640)", ("a", "b", "c"), sign=-1,
        ),
        _power_law(
            "transfer", "k e^alpha + e_ir", "Abnar et al. 2021 (arXiv 2110.02095), Eq. 1",
            ("k", "alpha", "e_ir"), sign=1, upper_offset=1.0,
        ),
    )
}  # fmt: skip
