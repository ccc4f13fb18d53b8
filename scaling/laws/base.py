"""What a law is: a frozen object of pure functions, which a fit, a plot and the contract test iterate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["GROUP", "Law", "Link", "columns", "expit", "exponents_over", "log_range", "softplus"]

# A scan over exponents b is made in units of 1 / (range of log x): at the low end the law falls by 0.1 % over
# the data (a straight line in log x), at the high end by a factor e^40 (a step).
_SCANNED_EXPONENTS = np.geomspace(1e-3, 40.0, 64)

GROUP = "group"  # the input that is no amount


def log_range(x: np.ndarray) -> float:
    """log of the largest x over the least."""
    return float(np.ptp(np.log(x)))


@dataclass(frozen=True)
class Link:
    """A scale of y on which residuals are taken, with its derivative and its inverse."""

    name: str
    forward: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    backward: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, repr=False)
class Law:
    """A law y = f(x; params).

    Arrays of parameters have shape (..., num_params), x has shape (n,) (for the law of two inputs (n, 2)), y (..., n).

    Attributes:
        name, formula, source: what it is and where it comes from.
        params: names of the parameters, in order.
        lower, upper: bounds of each parameter.
        value: f(params, x).
        jacobian: df/dparams, shape (..., n, num_params).
        inverse: least x at which the law takes the value y; inf where it never does.
        in_units: params of the law in x * x_unit and y * y_unit, given those in x and y.
        mixed: parameters whose change of units depends on other parameters.
        grid: values of the nonlinear parameters worth trying on x, shape (..., q): one leading axis a direction; None
            for a law whose starts come from others.
        basis: what the k linear parameters are multiplied by, at values (g, q) of the nonlinear: (g, k, n).
        linear, nonlinear: which parameter each of these is; None for one made of several.
        assemble: params (..., num_params) of linear (..., k) and nonlinear (..., q) values, where any is None.
        rate: name of the parameter that is 0 where the law is flat: of a power its exponent.
        span: range over x, shape (n,), of what the rate is multiplied by: of a power the range of log x.
        offset: name of the irreducible error, where there is one.
        increasing: whether y grows with x.
        bends_down: whether it can bend downwards in log-log, e.g. by a shift of x.
        inputs: names of the columns of x.
        in_log: parameters that the search moves by factors (positions, widths), never to 0.
        num_starts: local minima of the scan that are polished.
        cells: axes of the grid of which every combination gives a start; without them the local minima of the grid do.
        held_first: parameters that keep their start until the others have come near it.
        link: the scale on which a straight line is straight; None for a law of positive values.
        simpler, extend: for a law with several parts, the law with one less, and starts made of its params.
        canonical: of parameters (num_params,) that give the same law with its parts in another order, the one to show.
        both: value and jacobian at once, where one helps the other; `linearised` uses it.
        maker: a function and its arguments that make the law again, where its name does not say all.
        example: params that show its shape for x from 1 to 1,000: what the tests and the pages try it on where nobody
            wrote others down.
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
    in_units: Callable[[np.ndarray, Any, float], np.ndarray]
    grid: Callable[[np.ndarray], np.ndarray] | None
    basis: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
    linear: tuple[int | None, ...]
    nonlinear: tuple[int | None, ...]
    assemble: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    mixed: tuple[str, ...] = ("a",)
    rate: str = "b"
    span: Callable[[np.ndarray], float] = log_range
    offset: str | None = None
    increasing: bool = False
    bends_down: bool = False
    inputs: tuple[str, ...] = ("x",)
    in_log: tuple[str, ...] = ()
    num_starts: int = 3
    cells: tuple[int, ...] = ()
    held_first: tuple[str, ...] = ()
    link: Link | None = None
    simpler: "Law | None" = None
    extend: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    canonical: Callable[[np.ndarray], np.ndarray] | None = None
    both: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    maker: tuple[Callable[..., "Law"], tuple[Any, ...]] | None = None
    example: tuple[float, ...] = ()

    @property
    def num_inputs(self) -> int:
        return len(self.inputs)

    @property
    def is_amount(self) -> np.ndarray:
        """Which inputs are amounts, shape (num_inputs,): all but the number of a group."""
        return np.array([name != GROUP for name in self.inputs])

    @property
    def can_be_scanned(self) -> bool:
        """Whether a grid leads to its optimum; else starts are made of other laws' fits."""
        return self.grid is not None and self.simpler is None

    def linearised(self, params: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(x; params) and df/dparams."""
        if self.both is not None:
            return self.both(params, x)
        return self.value(params, x), self.jacobian(params, x)

    def limit(self, params: np.ndarray) -> np.ndarray:
        """What a law that falls with x falls to at infinite x, shape (...): its irreducible error, 0 of one without."""
        with np.errstate(all="ignore"):
            at_infinity, anywhere = (self.value(params, np.array([x]))[..., 0] for x in (np.inf, 1.0))
        if self.offset is not None:
            at_infinity = params[..., self.index(self.offset)]
        return np.where(params[..., self.index(self.rate)] > 0, at_infinity, anywhere)

    def bound_units(self, x_unit: Any, y_unit: float) -> np.ndarray:
        """What a bound in scaled units is multiplied by to be in the user's, shape (num_params,).

        A mixed parameter's unit depends on others: it has its own bounds (0, inf), or the units are one.
        """
        with np.errstate(over="ignore"):
            unit = self.in_units(np.ones(len(self.params)), x_unit, y_unit)
        return np.where([name in self.mixed for name in self.params], 1.0, unit)

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
        """A law is what makes it, its name or its maker: so a fit can be pickled and copied."""
        from . import find_law

        return self.maker or (find_law, (self.name,))


def exponents_over(log_x: np.ndarray) -> np.ndarray:
    """Exponents worth trying for a power of exp(log_x), whose last axis is the points: shape (..., g)."""
    spread = np.maximum(np.ptp(log_x, axis=-1), 1e-12)
    return _SCANNED_EXPONENTS / spread[..., None]


def softplus(u: np.ndarray) -> np.ndarray:
    """log(1 + e^u); in this form numpy does it many numbers at once, unlike `logaddexp`."""
    return np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u)))


def expit(u: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-u)."""
    e = np.exp(-np.abs(u))
    return np.where(u > 0, 1.0, e) / (1 + e)


def columns(*values: np.ndarray) -> np.ndarray:
    """Stack along a new last axis, shapes broadcast."""
    return np.stack(np.broadcast_arrays(*values), axis=-1)
