"""Fit Eq. 1 to one window of upstream accuracy and see what it predicts of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..attempt import attempt, table_lines
from ..errors import FitError
from ..frames import check_names
from ..inputs import check_accuracies, generator, numbers
from ..prediction import check_level
from ..selection.rules import select
from .fit import TransferFit, fit_transfer
from .scores import score
from .selection import HULL_POINTS, check_window

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FITS",
    "HeldOut",
    "Window",
    "WindowComparison",
    "check_fits",
    "check_windows",
    "compare_windows",
    "find_held_out",
    "selection_of",
]

FITS: tuple[str, ...] = (
    "vertices",
    "sampled",
    "near",
    "pareto",
    "all",
    "stochastic",
)
"""What `compare_windows` fits the law to; the first three are of the convex hull."""

_DEFAULT_FITS = ("vertices", "sampled", "near", "all", "stochastic")
_NUM_SAMPLES = 100  # of a held-out hull

Window = tuple[float, float]


@dataclass(frozen=True, repr=False, eq=False)
class HeldOut:
    """What a law fitted elsewhere is compared with: upstream and downstream accuracies, each of shape (m,).

    Attributes:
        window: upstream accuracies (from, to].
        hull: the upper hull of the models up to the window's end, at 100 equally spaced upstream accuracies inside, up
            to the best model.
        best: the models inside that are better than every model with less upstream accuracy.
        all: every model inside.
    """

    window: Window
    hull: tuple[np.ndarray, np.ndarray]
    best: tuple[np.ndarray, np.ndarray]
    all: tuple[np.ndarray, np.ndarray]

    def __repr__(self) -> str:
        points = ", ".join(f"{name} {len(us)}" for name, (us, _) in self.items())
        return f"held out of ({self.window[0]:g}, {self.window[1]:g}]: points of {points}"

    def items(self) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
        """Name and points of each."""
        return ((name, getattr(self, name)) for name in ("hull", "best", "all"))


@dataclass(frozen=True, repr=False, eq=False)
class WindowComparison:
    """Fits to a window of models and their errors in others. Made by `compare_windows`.

    Attributes:
        table: a row for each fit and held-out window; see `compare_windows`.
        fits: the fits by name; one that failed is not there.
        held_out: what each held-out window has.
        fit_window: upstream accuracies (from, to] of the models fitted.
        upstream, downstream: accuracies of all models, shape (n,).
        level: of the intervals.
    """

    table: pd.DataFrame
    fits: dict[str, TransferFit]
    held_out: tuple[HeldOut, ...]
    fit_window: Window
    upstream: np.ndarray
    downstream: np.ndarray
    level: float

    def summary(self) -> str:
        """The table."""
        return f"fitted to upstream accuracies {self.fit_window}\n{table_lines(self.table, 'fit')}"

    def __repr__(self) -> str:
        return self.summary()


def compare_windows(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    fit_window: Window = (0.0, 0.45),
    held_out: Sequence[Window] = ((0.45, 0.50),),
    fits: Sequence[str] = _DEFAULT_FITS,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> WindowComparison:
    """Fit Eq. 1 to a window of upstream accuracy in several ways, and compare each with other windows.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        fit_window, held_out: upstream accuracies (from, to]; the paper's by default, and (0.45, 1.0) is all above. A
            fit window that begins a little right of the leftmost model is more exact, see `fit_transfer`.
        fits: what the law is fitted to: "vertices", "sampled" or "near" (of the convex hull), "pareto", "all",
            "stochastic" (the edge of all models).
        level: of the intervals.
        options: of `fit_transfer`, such as anchors, tolerance, num_draws; each goes to the fits that it is for.

    Returns:
        In its `table`, a row for each fit and held-out window:

        - `fit, held_out`, and `k, alpha, e_ir`; `num_points`: hull points or models that the law was fitted to;
        - `fitting_mse, fitting_mae`: mean squared and mean absolute difference, in accuracy, to those points (of
          "stochastic" to the models near the edge);
        - `hull_mse, hull_mae`, `best_mse, best_mae`, `all_mse, all_mae`: the same to what is held out: the hull there,
          the best models there, all models there (`HeldOut`). The paper says only "difference" and not to which;
        - `hull_covered, best_covered`: share of those points in the interval of the law;
        - `warnings`: kinds, comma-separated; `reason`: why there is no fit, empty where there is one.

    Raises:
        ValueError: bad input, or held-out windows that overlap the fitted one.
        FitError: no fit can be had; a held-out window has no model that is better than all with less upstream accuracy.

    Source: Abnar et al. 2021 (arXiv 2110.02095), section 2, Figures 18 to 21.

    >>> upstream = np.linspace(0.1, 0.6, 51)
    >>> found = compare_windows(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), fits=["vertices"], num_draws=20)
    >>> found.table[["num_points", "hull_mae"]].round(4).values.tolist()
    [[35.0, 0.0]]
    """
    import pandas as pd

    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy)
    fits = check_fits(fits)
    if "window" in options:
        raise ValueError("the window of compare_windows is fit_window=, got window=")
    fit_window, *held_out = check_windows(fit_window, held_out)
    check_level(level)
    rng = generator(rng)
    targets = tuple(find_held_out(upstream, downstream, window) for window in held_out)
    # A stream of its own each: a fit's intervals do not depend on the fits beside it.
    streams = dict(zip(FITS, rng.spawn(len(FITS)), strict=True))
    found, notes = {}, {}
    for name in fits:
        options["rng"] = streams[name]
        fit, kinds, reason = attempt(partial(_fit, upstream, downstream, name, window=fit_window, **options))
        notes[name] = {"warnings": kinds, "reason": reason}
        found |= {} if fit is None else {name: fit}
    if not found:
        raise FitError("; ".join(f"{name}: {note['reason']}" for name, note in notes.items()))
    rows = []
    for target in targets:
        for name in fits:
            scores = _scores(found[name], target, level) if name in found else {"num_points": 0}
            rows.append({"fit": name, "held_out": target.window, **scores, **notes[name]})
    table = pd.DataFrame(rows)
    table = table[[*(column for column in table if column not in notes[fits[0]]), *notes[fits[0]]]]
    return WindowComparison(table, found, targets, fit_window, upstream, downstream, level)


def find_held_out(upstream: np.ndarray, downstream: np.ndarray, window: Window) -> HeldOut:
    """What a window of models has.

    Raises:
        FitError: no model in it is better than all with less upstream accuracy.
    """
    rows = np.flatnonzero(upstream <= window[1])  # the hull of the inside alone would begin at its leftmost model
    us, ds = upstream[rows], downstream[rows]
    hull, best = (select(us, 1 - ds, selection) for selection in ("convex_hull", "pareto"))
    best = best[us[best] > window[0]]
    if best.size == 0:
        raise FitError(
            f"no model in the held-out window {window} is better than all with less upstream accuracy:"
            " the hull ends before it"
        )
    grid = np.linspace(max(window[0], us.min()), us[hull[-1]], _NUM_SAMPLES + 1)[1:]
    inside = us > window[0]
    return HeldOut(window, (grid, np.interp(grid, us[hull], ds[hull])), (us[best], ds[best]), (us[inside], ds[inside]))


def selection_of(name: str) -> dict[str, Any]:
    """The options of `fit_transfer` that a name in `FITS` stands for."""
    return {"selection": "convex_hull", "hull_points": name} if name in HULL_POINTS else {"selection": name}


def check_fits(fits: Sequence[str], valid: Sequence[str] = FITS) -> tuple[str, ...]:
    """The names as a tuple, or a ValueError."""
    names = tuple(check_names("fits", fits))
    if not set(names) <= set(valid):
        raise ValueError(f"fits must be a list of different names among {tuple(valid)}, got {fits!r}")
    return names


def check_windows(fit_window: Window, held_out: Sequence[Window]) -> list[Window]:
    """All of them, the fitted one first; a ValueError where one is none, or overlaps the fitted one."""
    fitted = check_window(fit_window, "fit_window")
    windows = numbers("held_out", held_out)
    if windows.ndim != 2 or len(windows) == 0:
        raise ValueError(f"held_out must be a list of windows (from, to), got {held_out!r}")
    found = [check_window(window, "each of held_out") for window in windows.tolist()]
    for window in found:
        if window[0] < fitted[1] and fitted[0] < window[1]:
            raise ValueError(f"a held-out window must not overlap the fitted one {fitted}, got {window}")
    return [fitted, *found]


def _fit(upstream: np.ndarray, downstream: np.ndarray, name: str, **options: Any) -> TransferFit:
    choice = selection_of(name)
    unused = set() if choice["selection"] == "convex_hull" else {"anchors", "chance", "tolerance"}
    unused |= {"objective", "intervals", "groups"} if name == "stochastic" else {"noise_std"}
    if name == "all" and options.get("intervals") == "simulated_world":  # it has no frontier to simulate
        unused.add("intervals")
    options = {key: value for key, value in options.items() if key not in unused}
    return fit_transfer(upstream, downstream, **choice, **options)


def _scores(trans: TransferFit, target: HeldOut, level: float) -> dict[str, Any]:
    fitted = _fitted_points(trans)
    row = {**trans.params, "num_points": fitted[0].size}
    for of, (us, ds) in (("fitting", fitted), *target.items()):
        names = ("mse", "mae", "covered") if of in ("hull", "best") else ("mse", "mae")
        found = score(trans.predict(us, level), ds)
        row |= {f"{of}_{name}": found[name] for name in names}
    return row


def _fitted_points(trans: TransferFit) -> tuple[np.ndarray, np.ndarray]:
    if trans.stochastic is not None:
        return trans.upstream[trans.selected], trans.downstream[trans.selected]
    return 1 - trans.fit.x, 1 - trans.fit.y
