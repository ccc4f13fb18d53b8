"""Figures of a report: a few thousand points, each of which says what run it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..page import Picture, picture_of
from ..plots import plot_frontier, plot_transfer
from ..plots.legends import legend
from ..plots.style import BESIDE_COLOUR, draw_points, error_axis, law_at, new_axes
from ..plots.words import column_words
from ..transfer import TransferFit
from .asked import Asked
from .edge import Edge, sampled
from .words import number, short

__all__ = ["drawn_rows", "frontier_picture", "group_labels", "hover_labels", "transfer_picture"]

_MOST_DRAWN = 3_000
_MOST_NAMED = 8  # groups in a legend
_MOST_MARKED = 1_000
_MOST_RINGED = 100  # runs near the frontier; of more, whose rings would hide the points, those on it
_SAID = ("model_family", "model_variant", "train_examples", "step", "seed", "lr")


def drawn_rows(num: int, marked: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows to draw, ascending: those marked, and of the others as many at random as there is room for."""
    if num <= _MOST_DRAWN:
        return np.arange(num)
    marked = marked[sampled(marked.size, _MOST_MARKED, rng)]
    others = np.setdiff1d(np.arange(num), marked, assume_unique=True)
    return np.union1d(marked, others[sampled(others.size, _MOST_DRAWN - marked.size, rng)])


def group_labels(frame: pd.DataFrame, by: str | None) -> list[str] | None:
    """A short label a row, the small groups together."""
    if by is None or by not in frame:
        return None
    labels = frame[by].astype(object).where(frame[by].notna(), "none").map(lambda value: short(value, 24))
    counts = labels.value_counts()
    if len(counts) > _MOST_NAMED:
        labels = labels.where(labels.isin(counts.index[:_MOST_NAMED]), f"{len(counts) - _MOST_NAMED} others")
    return labels.tolist()


def hover_labels(frame: pd.DataFrame, *values: tuple[str, np.ndarray]) -> list[str]:
    """What the point of each row says."""
    told = [name for name in _SAID if name in frame]
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in told]
    texts = []
    for place, run in enumerate(frame["run_id"].astype(str)):
        own = [
            f"{name} {_told(column[place])}"
            for name, column in zip(told, columns, strict=True)
            if column[place] is not None
        ]
        ends = [f"{name} = {number(at[place])}" for name, at in values]
        texts.append("\n".join([short(run), ", ".join(own), ", ".join(ends)]))
    return texts


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else short(value, 40)


def frontier_picture(edge: Edge, asked: Asked) -> Picture:
    """All runs by group, the law with its band, the published convention beside it."""
    assert edge.usable is not None
    marked = edge.best
    if edge.front is not None and edge.fitted.size == edge.x.size and edge.front.selected.size <= _MOST_RINGED:
        marked = edge.front.selected
    rows = drawn_rows(edge.x.size, np.union1d(marked, edge.best), asked.rng)
    frame, x, y = edge.usable.frame.iloc[rows], edge.x[rows], edge.y[rows]
    labels = group_labels(frame, asked.by)
    x_label, y_label = (column_words(name) for name in (asked.x, asked.y))
    ends: dict[str, Any] = {"x_label": x_label, "y_label": y_label}
    if edge.front is None:
        ax = _points_only(x, y, labels, **ends)
    else:
        shown = replace(edge.front, x=x, y=y, selected=np.flatnonzero(np.isin(rows, marked)))
        ax = plot_frontier(shown, groups=labels, level=asked.level, **ends)
        _draw_convention(ax, edge)
    _as_they_are(ax)
    caption = f"{y_label} against {x_label}: {_share(rows.size, edge.x.size)}."
    if edge.front is not None:
        what = "the Pareto points" if edge.front.stochastic is None else "the lower edge of all runs"
        caption += f" The band is the {asked.level:.0%} interval of the law of {what}."
    return picture_of(ax, caption, hover=(ax, x, y, hover_labels(frame, (asked.x, x), (asked.y, y))))


def transfer_picture(frame: pd.DataFrame, trans: TransferFit, task: str, asked: Asked) -> Picture:
    """A task's accuracy against upstream accuracy: models, law, saturation; a row of `frame` a model of `trans`."""
    rows = drawn_rows(len(frame), trans.selected, asked.rng)
    kept = frame.iloc[rows]
    shown = replace(
        trans, upstream=trans.upstream[rows], downstream=trans.downstream[rows],
        selected=np.flatnonzero(np.isin(rows, trans.selected)),
    )  # fmt: skip
    ax = plot_transfer(shown, groups=group_labels(kept, asked.by), level=asked.level, task=short(task, 50))
    _as_they_are(ax)
    hover = hover_labels(kept, ("upstream accuracy", shown.upstream), (f"{short(task, 40)} accuracy", shown.downstream))
    caption = f"{short(task)} against upstream accuracy: {_share(rows.size, len(frame))}."
    return picture_of(ax, caption, hover=(ax, shown.upstream, shown.downstream, hover))


def _share(drawn: int, num: int) -> str:
    if drawn == num:
        return f"all {num:,} runs" if num > 1 else "one run"
    return f"{drawn:,} of {num:,} runs, those on or near the frontier and a random sample of the others"


def _points_only(x: np.ndarray, y: np.ndarray, labels: Sequence[str] | None, x_label: str, y_label: str) -> Axes:
    ax = new_axes()
    draw_points(ax, x, y, labels)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    error_axis(ax, y)
    legend(ax, "best")
    return ax


def _draw_convention(ax: Axes, edge: Edge) -> None:
    if edge.convention is None:
        return
    grid = np.geomspace(edge.x[edge.best].min(), edge.x.max(), 100)
    ax.plot(grid, law_at(edge.convention, grid), "-.", color=BESIDE_COLOUR, lw=1.2, label="law on the Pareto points")
    legend(ax, "best")


def _as_they_are(ax: Axes) -> None:
    """Texts of the user's are no formulas, whatever signs they hold."""
    listed = ax.get_legend()
    for text in (ax.xaxis.label, ax.yaxis.label, *ax.texts, *([] if listed is None else listed.get_texts())):
        text.set_parse_math(False)
