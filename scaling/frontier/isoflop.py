"""Approach 2: a parabola of loss in log model size at each budget of compute, and a power law through the vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import FitError, FitWarning
from ..intervals.bootstrap import residual_scale_up
from .allocation import AllocationFit, Runs, power_line

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IsoflopBudgets", "fit_isoflop"]

_FLAT = 1e-9  # curvature, relative to the loss, that rounding can make
_APART = np.log(1.1)
_FAR = np.log(100.0)
_LEAST_BUDGETS = 3  # a line goes through two vertices whatever they are, and its interval says too little
_REASONS = 2  # of refused budgets that a warning gives


@dataclass(frozen=True, repr=False, eq=False)
class IsoflopBudgets:
    """The runs of each budget of compute and their parabola.

    Attributes:
        runs: finished runs; `budget` is each one's row of `table`, -1 for none, shape (n,).
        table: a row a budget, as `AllocationFit.points` of "isoflop".
        middle, coefficients: y = p0 + p1 u + p2 u^2 with u = log N - middle; shapes (k,) and (k, 3), nan without.
    """

    runs: Runs
    budget: np.ndarray
    table: pd.DataFrame
    middle: np.ndarray
    coefficients: np.ndarray

    def parabola(self, row: int, num_params: np.ndarray) -> np.ndarray:
        """The parabola of a budget at model sizes."""
        u = np.log(num_params) - self.middle[row]
        return self.coefficients[row] @ np.stack([np.ones_like(u), u, u**2])


@dataclass(frozen=True)
class _Parabola:
    """The least-squares parabola of one budget, for any losses of its runs."""

    runs: Runs
    middle: float
    design: np.ndarray  # (m, 3)
    inverse: np.ndarray  # (3, m)

    @classmethod
    def of(cls, runs: Runs) -> _Parabola:
        middle = float(np.mean(runs.log_n))
        design = (runs.log_n - middle)[:, None] ** np.arange(3)
        return cls(runs, middle, design, np.linalg.pinv(design))

    def coefficients(self, y: np.ndarray) -> np.ndarray:
        """(..., m) -> (..., 3)."""
        return y @ self.inverse.T

    def judged(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """log N and loss at the vertex, and each reason to refuse it, of losses y (..., m)."""
        p0, p1, p2 = np.moveaxis(self.coefficients(y), -1, 0)
        smallest, largest = self.runs.log_n.min(), self.runs.log_n.max()
        best = self.runs.log_n[np.argmin(y, axis=-1)]
        is_concave = p2 <= _FLAT * np.abs(self.runs.y).max()
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex, lowest = self.middle - p1 / (2 * p2), p0 - p1**2 / (4 * p2)
        return vertex, lowest, {
            "concave or flat: the loss has no minimum in model size": is_concave,
            "vertex {vertex} outside the model sizes {smallest:.3g} to {largest:.3g}":
                ~((vertex >= smallest) & (vertex <= largest)),
            "the best run is at an end of the model sizes {smallest:.3g} to {largest:.3g}: the minimum may lie beyond":
                (best <= smallest) | (best >= largest),
            "the parabola falls below 0 between the model sizes tried": lowest <= 0,
        }  # fmt: skip

    def log_images(self, vertex: np.ndarray) -> np.ndarray:
        """log D at the vertex: at equal compute a straight line in log N."""
        slope, level = np.polyfit(self.runs.log_n - self.middle, self.runs.log_d, 1)
        return level + slope * (vertex - self.middle)


def fit_isoflop(
    runs: Runs, budgets: Sequence[float] | None, tolerance: float, num_draws: int, rng: np.random.Generator
) -> AllocationFit:
    """Power laws through the vertices of the budgets' parabolas.

    A budget is refused whose parabola is concave or falls below 0, whose vertex lies outside its sizes, or whose best
    run is of the smallest or the largest of them: a row of the table with its reason, that no power law sees. A draw
    refuses more of them by the same rules. With fewer than three budgets left the intervals are open.

    Args:
        budgets: compute of each, or None: runs of three sizes or more within the tolerance of each other.
        tolerance: how much more compute the largest run of a budget may have than the least; with `budgets` given, how
            far from them, as a share.

    Raises:
        FitError: fewer than two budgets have a vertex.
    """
    budget, nominal = _found(runs, tolerance) if budgets is None else _given(runs.log_c, budgets, tolerance)
    if nominal.size == 0:
        raise FitError(f"no three model sizes have runs of equal compute, within {tolerance:.3g} of it")
    parts = [runs.take(np.flatnonzero(budget == row)) for row in range(nominal.size)]
    parabolas = [_Parabola.of(part) if _num_sizes(part.log_n) >= 3 else None for part in parts]
    rows = [_row(part, parabola, log_c) for part, parabola, log_c in zip(parts, parabolas, nominal, strict=True)]
    found = IsoflopBudgets(runs, budget, _table(rows), *_coefficients(parabolas))
    return _power_laws(found, parabolas, num_draws, rng)


def _found(runs: Runs, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Windows of compute, the one with most runs first; each run's window, numbered by compute, and its log compute."""
    width, budget = np.log1p(tolerance), np.full(runs.y.size, -1)
    left, windows = np.argsort(runs.log_c, kind="stable"), []
    while left.size >= 3:
        c = runs.log_c[left]
        end = np.searchsorted(c, c + width * (1 + 1e-9), side="right")
        start = int(np.argmax(end - np.arange(c.size)))
        inside, left = left[start : end[start]], np.delete(left, np.s_[start : end[start]])
        if inside.size < 3:
            break
        if _num_sizes(runs.log_n[inside]) >= 3:
            windows.append(inside)
    windows.sort(key=lambda rows: runs.log_c[rows].mean())
    for number, rows in enumerate(windows):
        budget[rows] = number
    return budget, np.array([runs.log_c[rows].mean() for rows in windows])


def _given(log_c: np.ndarray, budgets: Sequence[float], tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    nominal = np.log(np.sort(np.asarray(budgets, dtype=float)))
    distance = np.abs(log_c[:, None] - nominal)
    near = distance.min(axis=1) <= np.log1p(tolerance) * (1 + 1e-9)
    return np.where(near, distance.argmin(axis=1), -1), nominal


def _row(part: Runs, parabola: _Parabola | None, nominal: float) -> dict[str, object]:
    """One row of the table."""
    compute = np.exp(part.log_c.mean() if part.y.size else nominal)
    row: dict[str, object] = {"compute_flops": compute, "num_params": np.nan, "images_seen": np.nan, "y": np.nan}
    row |= {"num_runs": part.y.size, "reason": ""}
    if parabola is None:
        return row | {"reason": f"{_num_sizes(part.log_n)} model sizes, a parabola needs 3"}
    vertex, lowest, refused = parabola.judged(part.y)
    for reason, is_refused in refused.items():
        if is_refused:
            return row | {"reason": reason.format(**_sizes(part.log_n, float(vertex)))}
    return row | {"num_params": np.exp(vertex), "images_seen": np.exp(parabola.log_images(vertex)), "y": float(lowest)}


def _sizes(log_n: np.ndarray, vertex: float) -> dict[str, object]:
    """What a reason names. The vertex of a nearly straight line is any number: beyond a factor it is "far"."""
    smallest, largest = log_n.min(), log_n.max()
    is_near = smallest - _FAR < vertex < largest + _FAR
    return {
        "vertex": f"{np.exp(vertex):.3g}" if is_near else "far", "smallest": np.exp(smallest),
        "largest": np.exp(largest),
    }  # fmt: skip


def _num_sizes(log_n: np.ndarray) -> int:
    """Sizes that are apart by 10 % or more: a parabola through nearer ones follows their noise."""
    num, last = 0, -np.inf
    for size in np.unique(log_n):
        if size >= last + _APART:
            num, last = num + 1, size
    return num


def _table(rows: list[dict[str, object]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


def _coefficients(parabolas: list[_Parabola | None]) -> tuple[np.ndarray, np.ndarray]:
    middle = np.array([np.nan if p is None else p.middle for p in parabolas])
    return middle, np.array([np.full(3, np.nan) if p is None else p.coefficients(p.runs.y) for p in parabolas])


def _power_laws(
    found: IsoflopBudgets, parabolas: list[_Parabola | None], num_draws: int, rng: np.random.Generator
) -> AllocationFit:
    table = found.table
    kept = (table["reason"] == "").to_numpy()
    refused = [f"{c:.3g}: {why}" for c, why in zip(table["compute_flops"][~kept], table["reason"][~kept], strict=True)]
    if kept.sum() < 2:
        raise FitError("; ".join([f"{kept.sum()} of {kept.size} budgets have a vertex, a power law needs 2", *refused]))
    log_c, log_n, log_d = (np.log(table[name].to_numpy()) for name in ("compute_flops", "num_params", "images_seen"))
    accepted = [parabola for parabola, is_kept in zip(parabolas, kept, strict=True) if parabola is not None and is_kept]
    drawn_n, drawn_d, freedom = _draws(accepted, num_draws, rng)
    freedom = freedom if len(accepted) >= _LEAST_BUDGETS else 0.0
    weights, drawn = np.ones(len(accepted)), np.isfinite(drawn_n)
    size, failed = power_line(log_c[kept], log_n[kept], weights, drawn_n, drawn, freedom)
    data, _ = power_line(log_c[kept], log_d[kept], weights, drawn_d, drawn, freedom)
    return AllocationFit("isoflop", size, data, table, _notes(refused, kept, freedom) + failed, budgets=found)


def _notes(refused: list[str], kept: np.ndarray, freedom: float) -> tuple[FitWarning, ...]:
    found = []
    if refused:
        first = "; ".join(refused[:_REASONS]) + (f"; and {len(refused) - _REASONS} more" if refused[_REASONS:] else "")
        found.append(
            FitWarning("refused_budget", f"{len(refused)} of {kept.size} budgets are left out: budget {first}")
        )
    if kept.sum() < _LEAST_BUDGETS:
        text = f"{kept.sum()} budgets have a vertex: an interval of a power law needs {_LEAST_BUDGETS}"
        found.append(FitWarning("few_points", text))
    elif freedom == 0:
        found.append(FitWarning("few_points", "every budget has three runs: no residual says how wide an interval is"))
    return tuple(found)


def _draws(
    parabolas: list[_Parabola], num_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """log N and log D at the vertices of each draw, nan where refused, shape (num_draws, k); degrees of freedom.

    A draw keeps the runs and draws their residuals: with 5 to 9 runs a budget a draw of the runs often has no parabola.
    """
    fitted = [p.coefficients(p.runs.y) @ p.design.T for p in parabolas]
    pool = np.concatenate([_scaled_residuals(p, curve) for p, curve in zip(parabolas, fitted, strict=True)])
    pool = pool - pool.mean() if pool.size else np.zeros(1)
    log_n, log_d = (np.full((num_draws, len(parabolas)), np.nan) for _ in range(2))
    for column, (parabola, curve) in enumerate(zip(parabolas, fitted, strict=True)):
        y = curve * (1 + rng.choice(pool, size=(num_draws, curve.size)))
        vertex, _, refused = parabola.judged(y)
        vertex = np.where(np.any(list(refused.values()), axis=0), np.nan, vertex)
        log_n[:, column], log_d[:, column] = vertex, parabola.log_images(vertex)
    return log_n, log_d, float(sum(p.runs.y.size - 3 for p in parabolas))


def _scaled_residuals(parabola: _Parabola, curve: np.ndarray) -> np.ndarray:
    """Relative to the loss and freed of leverage; none of a budget whose parabola goes through its runs."""
    if parabola.runs.y.size <= parabola.design.shape[1]:
        return np.empty(0)
    leverage = np.einsum("ij,ji->i", parabola.design, parabola.inverse)
    return (parabola.runs.y / curve - 1) * residual_scale_up(leverage)
