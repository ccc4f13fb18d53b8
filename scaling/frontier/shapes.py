"""How each dimension of a compute-optimal shape grows with compute, from sweeps of one dimension at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from ..attempt import attempt_each
from ..errors import FitError, FitWarning, issue, warning_lines
from ..fitting.fit_law import quiet_fit
from ..frames import check_frame, check_names, finished_rows, loss_column, positive_column
from ..inputs import check_num_draws, check_positive, generator, numbers
from ..intervals.bootstrap import bootstrap_fit
from ..intervals.draws import BootstrapFit
from ..prediction import Prediction, check_level, warn_beyond
from .shape_law import SHAPE_LAW, log_optimum

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIMENSIONS", "SOVIT_EXPONENTS", "ShapeFit", "fit_shapes"]

DIMENSIONS = ("width", "depth", "mlp_dim")
SOVIT_EXPONENTS = {"width": 0.22, "depth": 0.45, "mlp_dim": 0.6}
"""By which power of compute each grows: Alabdulmohsin et al. 2023 (arXiv 2305.13035), image classification."""

_LEAST_COMPUTE_VALUES = 2  # values of compute at which the optimum must lie inside a sweep


@dataclass(frozen=True, repr=False, eq=False)
class ShapeFit:
    """x* ~ t^s for each dimension x of a shape. Made by `fit_shapes`.

    Attributes:
        draws: of each dimension whose optimum the sweep shows, the law's draws; `draws[name].fit` is the law.
        reasons: why not, for each other dimension.
        center: the shape from which one dimension at a time was moved.
    """

    draws: dict[str, BootstrapFit]
    reasons: dict[str, str]
    center: dict[str, float]

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """What a reader must know of each law; a dimension never spans a decade, and that is left out."""
        found = [
            FitWarning(warning.kind, f"{name}: {warning}")
            for name, draws in self.draws.items()
            for warning in (*draws.fit.warnings, *draws.warnings)
            if not (warning.kind == "under_one_decade" and str(warning).startswith("x "))
        ]
        return tuple(found)

    @property
    def exponents(self) -> pd.DataFrame:
        """`exponent_table` at 95 %."""
        return self.exponent_table()

    def exponent_table(self, level: float = 0.95) -> pd.DataFrame:
        """A row a dimension: dimension, s, s_low, s_high, share_inside (of the values of compute), num_runs, reason."""
        import pandas as pd

        check_level(level)
        rows = []
        for name in self.center:
            row: dict[str, object] = {"dimension": name, "s": np.nan, "s_low": np.nan, "s_high": np.nan}
            row |= {"share_inside": 0.0, "num_runs": 0}
            if name in self.draws:
                draws = self.draws[name]
                low, high = draws.quantiles(_exponent(draws.params), level)
                row |= {"s": float(_exponent(draws.fit.params)), "s_low": float(low), "s_high": float(high)}
                row |= {"share_inside": float(_is_inside(draws).mean()), "num_runs": draws.fit.y.size}
            rows.append(row | {"reason": self.reasons.get(name, "")})
        return pd.DataFrame(rows)

    @overload
    def optimum(self, dimension: str, compute: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def optimum(self, dimension: str, compute: ArrayLike, level: float) -> Prediction: ...
    def optimum(self, dimension: str, compute: ArrayLike, level: float | None = None) -> np.ndarray | Prediction:
        """The dimension with the least error at so much compute: an ndarray, or with a `level` a `Prediction`.

        Raises:
            FitError: the sweep does not show it.

        Warns:
            FitWarning: `extrapolation` more than a decade beyond the runs.
        """
        if dimension not in self.draws:
            reason = self.reasons.get(dimension, f"the dimensions are {[*self.center]}")
            raise FitError(f"no optimum of {dimension!r}: {reason}")
        draws = self.draws[dimension]
        compute = check_positive("compute", numbers("compute", compute))
        warn_beyond(compute, draws.fit.x[:, 1], "compute")
        value = np.exp(log_optimum(draws.fit.params, np.log(compute)))
        if level is None:
            return value
        drawn = {name: values[:, None] for name, values in draws.params.items()}
        log_x = log_optimum(drawn, np.log(compute).ravel())
        low, high = (end.reshape(value.shape) for end in np.exp(draws.quantiles(log_x, level)))
        return Prediction(compute, value, low, high, level, "confidence")

    def summary(self, level: float = 0.95) -> str:
        """The exponent of each dimension, and what a reader must know."""
        lines = ["compute-optimal shape: x ~ t^s, around " + ", ".join(f"{n} {v:g}" for n, v in self.center.items())]
        for row in self.exponent_table(level).to_dict("records"):
            text = f"s = {row['s']:.3f} [{row['s_low']:.3f}, {row['s_high']:.3f}], {level:.0%} interval"
            lines.append(f"  {row['dimension']:>8}: " + (f"none ({row['reason']})" if row["reason"] else text))
        return "\n".join([*lines, *warning_lines(self.warnings)])

    def __repr__(self) -> str:
        return self.summary()


def fit_shapes(
    runs: pd.DataFrame,
    *,
    dimensions: Sequence[str] = DIMENSIONS,
    compute: str = "compute_flops",
    y: str = "upstream_error",
    center: Mapping[str, float] | None = None,
    num_draws: int = 500,
    rng: np.random.Generator | None = None,
) -> ShapeFit:
    """Exponents s of the compute-optimal x* ~ t^s of each dimension, from a star sweep.

    To the runs in which only x moves, the law f(x, t) = alpha x^-a + (beta x^b + xi) t^-c + eps is fitted. Its
    optimum is x* = (a alpha t^c / (b beta))^(1 / (a + b)), so s = c / (a + b). A dimension is refused whose optimum
    lies strictly inside its sweep at fewer than two values of compute.

    The 95 % interval of s covered it in .93 to .95 of 60 simulated depth sweeps (six depths, the optimum inside): of 8
    values of compute over .8 decades with .3 % and 1 % noise, and of 12 over 1.5 decades. It contains the noise of the
    runs, not what another center would say.

    Args:
        runs: records, a row an evaluated model, several values of compute for each shape.
        dimensions: columns of the shape.
        compute, y: columns; y an error or a loss.
        center: of the star; None: the most frequent value of each dimension. The sweep of a dimension is the runs whose
            other dimensions have the center's values.
        num_draws, rng: of the residual bootstrap; None is `numpy.random.default_rng(0)`.

    Raises:
        ValueError: bad input: which column, which row, what is valid.
        FitError: no dimension has an optimum, with each reason.

    Warns:
        FitWarning: `unfinished_runs`; those of `fit_law`.

    Source: Alabdulmohsin et al. 2023 (arXiv 2305.13035), sections 3 and 4: width .22, depth .45, MLP .6.

    >>> import pandas as pd
    >>> depth, t = (grid.ravel() for grid in np.meshgrid([8.0, 12, 16, 24, 32], np.geomspace(1e9, 1e11, 6)))
    >>> error = 0.1 + 0.5 * depth**-0.5 + (0.01 * depth + 0.1) * (t / 1e9) ** -0.6
    >>> runs = pd.DataFrame({"depth": depth, "width": 2000, "compute_flops": t, "upstream_error": error})
    >>> shapes = fit_shapes(runs, dimensions=["depth"], num_draws=50)
    >>> float(shapes.exponents["s"].round(4)[0])  # 0.6 / (0.5 + 1)
    0.4
    """
    check_frame(runs)
    check_num_draws(num_draws)
    dimensions = check_names("dimensions", dimensions, runs)
    if runs.empty:
        raise ValueError("runs must have a row or more, got none")
    runs = runs[finished_rows(runs)]
    _check_one_family(runs)
    t = positive_column(runs, compute)
    values = loss_column(runs, y)
    shape = {name: positive_column(runs, name) for name in dimensions}
    middle = _center(shape, center)
    rng = generator(rng)

    def way(name: str) -> BootstrapFit:
        others = [shape[other] == middle[other] for other in shape if other != name]
        rows = np.flatnonzero(np.all(others, axis=0)) if others else np.arange(values.size)
        return _fitted(name, shape[name][rows], t[rows], values[rows], num_draws, rng)

    ways = {name: partial(way, name) for name in shape}
    draws, reasons = attempt_each(ways, "no dimension has an optimum")
    result = ShapeFit(draws, reasons, middle)
    issue(*result.warnings)
    return result


def _check_one_family(runs: pd.DataFrame) -> None:
    """A width of one family is no width of another."""
    families = sorted(map(str, runs["model_family"].dropna().unique())) if "model_family" in runs else []
    if len(families) > 1:
        raise ValueError(
            f"runs must be of one model family, got {', '.join(families)}: "
            f"choose one, runs[runs['model_family'] == {families[-1]!r}]"
        )


def _center(shape: dict[str, np.ndarray], center: Mapping[str, float] | None) -> dict[str, float]:
    if center is None:
        counted = {name: np.unique(column, return_counts=True) for name, column in shape.items()}
        return {name: float(found[np.argmax(counts)]) for name, (found, counts) in counted.items()}
    if not isinstance(center, Mapping) or set(center) != set(shape):
        raise ValueError(f"center must have a value for each of {list(shape)}, got {center!r}")
    return {name: float(numbers(f"center of {name!r}", center[name])) for name in shape}


def _fitted(
    name: str, x: np.ndarray, compute: np.ndarray, y: np.ndarray, num_draws: int, rng: np.random.Generator
) -> BootstrapFit:
    if np.unique(x).size < 3:
        raise FitError(f"{np.unique(x).size} values of {name} where the other dimensions are the center's, at least 3")
    fit = quiet_fit(SHAPE_LAW, np.stack([x, compute], axis=1), y)
    draws = bootstrap_fit(fit, num_draws=num_draws, rng=rng)
    draws = draws.keep(_has_optimum(draws.params))
    inside = _is_inside(draws)
    if inside.sum() < _LEAST_COMPUTE_VALUES:
        first, last = np.exp(log_optimum(fit.params, np.log([compute.min(), compute.max()])))
        raise FitError(
            f"the optimum of {name} goes from {first:.3g} to {last:.3g}: it must lie strictly inside the sweep,"
            f" {x.min():g} to {x.max():g}, at {_LEAST_COMPUTE_VALUES} values of compute; it does at {inside.sum()}"
        )
    return draws


def _has_optimum(params: dict) -> np.ndarray:
    """Whether each draw's law has an optimum and its exponent: not where a and b, or alpha and beta, are both 0."""
    return np.isfinite(_exponent(params)) & ~np.isnan(log_optimum(params, np.asarray(0.0)))


def _is_inside(draws: BootstrapFit) -> np.ndarray:
    """Whether the optimum lies strictly inside the sweep, at each of its values of compute."""
    x, compute = draws.fit.x.T
    best = log_optimum(draws.fit.params, np.log(np.unique(compute)))
    return (best > np.log(x.min())) & (best < np.log(x.max()))


def _exponent(params: dict) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(params["c"]) / (np.asarray(params["a"]) + np.asarray(params["b"]))
