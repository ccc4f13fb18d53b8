"""The next compute-optimal shape: an anchor from a grid sweep, and how far each dimension grows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FitError
from ..frames import check_frame, check_names, column_of, loss_column, positive_column
from ..inputs import check_number, check_positive, numbers
from .curves import compute_grid, curve_on_grid
from .shapes import DIMENSIONS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best_shapes", "find_anchor", "next_shape"]

_MULTIPLES = {"width": 16, "depth": 1, "mlp_dim": 16}
_LARGEST_LOG_TAU = 100.0  # e^100: far beyond any shape


def next_shape(
    anchor: Mapping[str, float],
    exponents: Mapping[str, float],
    *,
    tau: float | None = None,
    cost: Callable[[dict[str, float]], float] | None = None,
    target: float | None = None,
    multiples: Mapping[str, int] | None = None,
    num_heads: int | None = None,
) -> dict[str, int]:
    """The shape that grows from an anchor: dimension k times tau^(s_k / D), D being the number of dimensions.

    Args:
        anchor: a compute-optimal shape, e.g. of `find_anchor`.
        exponents: s_k of each of its dimensions, e.g. of `fit_shapes`, or `SOVIT_EXPONENTS`.
        tau: how far; below 1 the shape shrinks.
        cost, target: instead of tau: that for which cost(shape) is the target, e.g. its parameters; cost takes the
            dimensions as floats and grows with them.
        multiples: what each dimension is rounded to a multiple of; None: 16 for width and MLP, else 1.
        num_heads: width is also rounded to a multiple of it.

    Raises:
        ValueError: other dimensions in one than in the other, not exactly one of tau and cost, or a target that is not
            reached.

    Source: Alabdulmohsin et al. 2023 (arXiv 2305.13035), section 4. Their text prints tau^(1/D) without s_k, from which
    SoViT-400m does not follow; with s_k it does, up to rounding.

    >>> anchor, exponents = {"width": 608, "depth": 10, "mlp_dim": 928}, {"width": 0.22, "depth": 0.45, "mlp_dim": 0.6}
    >>> next_shape(anchor, exponents, tau=100)
    {'width': 848, 'depth': 20, 'mlp_dim': 2336}
    >>> body = lambda s: s["depth"] * (4 * s["width"] ** 2 + 2 * s["width"] * s["mlp_dim"])  # parameters of the blocks
    >>> next_shape(anchor, exponents, cost=body, target=4e8, num_heads=16)
    {'width': 1056, 'depth': 31, 'mlp_dim': 4128}
    """
    if not isinstance(anchor, Mapping) or not isinstance(exponents, Mapping):
        raise ValueError(f"anchor and exponents must be numbers by dimension, got {anchor!r} and {exponents!r}")
    if set(anchor) != set(exponents) or not anchor:
        raise ValueError(f"anchor and exponents must be of the same dimensions, got {[*anchor]} and {[*exponents]}")
    start, powers = (
        numbers(what, [values[name] for name in anchor])
        for what, values in (("anchor", anchor), ("exponents", exponents))
    )
    check_positive("anchor", start)
    if not np.isfinite(powers).all():
        raise ValueError(f"exponents must be finite, got {dict(exponents)}")

    def grown(log_tau: float) -> dict[str, float]:
        values = start * np.exp(log_tau * powers / len(start))
        return dict(zip(anchor, values.tolist(), strict=True))

    if tau is not None and cost is None and target is None:
        check_number("tau", tau, positive=True)
        log_tau = float(np.log(float(tau)))
    elif tau is None and callable(cost) and target is not None:
        check_number("target", target)
        log_tau = _log_tau_at(lambda value: cost(grown(value)), target)
    else:
        raise ValueError("give tau=, or cost= and target=, and not both")
    units = _check_multiples(anchor, multiples, num_heads)
    if num_heads is not None and "width" in units:
        units["width"] = lcm(units["width"], num_heads)
    return {name: max(round(value / units[name]), 1) * units[name] for name, value in grown(log_tau).items()}


def _check_multiples(
    anchor: Mapping[str, float], multiples: Mapping[str, int] | None, num_heads: int | None
) -> dict[str, int]:
    """What each dimension is rounded to a multiple of."""
    if not isinstance(multiples, Mapping | None):
        raise ValueError(f"multiples must be whole numbers by dimension, got {multiples!r}")
    given = {**(multiples or {}), **({} if num_heads is None else {"num_heads": num_heads})}
    for name, unit in given.items():
        if name not in (*anchor, "num_heads"):
            raise ValueError(f"multiples must be of dimensions of the anchor, {[*anchor]}, got {name!r}")
        if not isinstance(unit, int | np.integer) or unit < 1:
            raise ValueError(f"multiples and num_heads must be whole and positive, got {name} {unit!r}")
    return {name: (multiples or _MULTIPLES).get(name, 1) for name in anchor}


def _log_tau_at(cost: Callable[[float], float], target: float) -> float:
    from scipy.optimize import brentq

    low, high = cost(-_LARGEST_LOG_TAU), cost(_LARGEST_LOG_TAU)
    if not low < target < high:
        raise ValueError(f"target must lie between the costs {low:.3g} and {high:.3g} of the shapes, got {target!r}")
    root: Any = brentq(lambda value: cost(value) - target, -_LARGEST_LOG_TAU, _LARGEST_LOG_TAU, xtol=1e-12)
    return float(root)


def best_shapes(
    runs: pd.DataFrame,
    *,
    dimensions: Sequence[str] = DIMENSIONS,
    compute: str = "compute_flops",
    y: str = "upstream_error",
    min_decades: float = 0.1,
) -> pd.DataFrame:
    """The shapes of a grid sweep that are the best at some compute, the one of least compute first.

    Errors are interpolated in log compute between a shape's runs, of which those at one compute (seeds) are averaged.

    Args:
        runs: records of a grid of shapes, several values of compute for each.
        dimensions, compute, y: columns.
        min_decades: of compute over which a shape must be the best.

    Returns:
        A row a shape: its dimensions, compute_low and compute_high between which it is the best, decades of compute in
        which it is, and the reason why it can be no anchor: a dimension at an end of the grid, or too few decades ("":
        none).

    Raises:
        ValueError: bad input: which column, which row, what is valid.
    """
    import pandas as pd

    check_frame(runs)
    dimensions = check_names("dimensions", dimensions, runs)
    if runs.empty:
        raise ValueError("runs must have a row or more, got none")
    log_c = np.log(positive_column(runs, compute))
    loss = loss_column(runs, y)
    shape = np.stack([column_of(runs, name) for name in dimensions], axis=1)
    check_number("min_decades", min_decades)
    shapes, place = np.unique(shape, axis=0, return_inverse=True)
    grid, members = compute_grid(log_c), [place.ravel() == k for k in range(len(shapes))]
    curves = np.stack([curve_on_grid(log_c[member], loss[member], grid) for member in members])
    best = np.argmin(curves, axis=0)
    rows = []
    for number in np.unique(best[np.isfinite(curves.min(axis=0))]):
        at = grid[(best == number) & np.isfinite(curves[number])]
        decades = at.size * (grid[1] - grid[0]) / np.log(10)
        rows.append({
            **dict(zip(dimensions, shapes[number].tolist(), strict=True)),
            "compute_low": np.exp(at.min()), "compute_high": np.exp(at.max()), "decades": decades,
            "reason": _why_no_anchor(shapes[number], shapes, dimensions, decades, min_decades),
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values("compute_low", ignore_index=True)


def _why_no_anchor(
    shape: np.ndarray, shapes: np.ndarray, names: Sequence[str], decades: float, min_decades: float
) -> str:
    ends = (shape <= shapes.min(axis=0)) | (shape >= shapes.max(axis=0))
    if ends.any():
        return "at an end of the grid: " + ", ".join(np.asarray(names)[ends])
    return "" if decades >= min_decades else f"the best over {decades:.2g} decades, less than {min_decades:g}"


def find_anchor(
    runs: pd.DataFrame,
    *,
    dimensions: Sequence[str] = DIMENSIONS,
    compute: str = "compute_flops",
    y: str = "upstream_error",
    min_decades: float = 0.1,
) -> dict[str, float]:
    """The shape to grow from: inside the grid in every dimension, the best over a range of compute, the least of these.

    Args: as `best_shapes`.

    Raises:
        ValueError: bad input.
        FitError: no shape of the grid is one, with the reason of each that is the best somewhere.

    Source: Alabdulmohsin et al. 2023 (arXiv 2305.13035), section 4: from a grid of 64 shapes (608, 10, 928).
    """
    table = best_shapes(runs, dimensions=dimensions, compute=compute, y=y, min_decades=min_decades)
    found = table[table["reason"] == ""]
    if found.empty:
        named = [f"{tuple(row[: len(dimensions)])} {row[-1]}" for row in table.itertuples(index=False)]
        raise FitError("no shape of the grid is an anchor: " + "; ".join(named))
    return {name: float(found[name].iloc[0]) for name in dimensions}
