"""Legends where no point is."""

from __future__ import annotations

from typing import Any, Literal

from matplotlib.axes import Axes

__all__ = ["legend", "legend_above", "legend_beside", "legend_clear"]

_WITH_LEGEND = 10.0  # inches, of one plot with its legend beside it
_MOST_INSIDE = 8  # entries of a legend among the points; more stand beside them


def legend(ax: Axes, loc: Any) -> None:
    num_entries = len(ax.get_legend_handles_labels()[0])
    if num_entries == 0:
        return
    if num_entries <= _MOST_INSIDE:
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="0.85", loc=loc)  # over a band its edge is no step
    else:
        legend_beside(ax, fontsize="x-small")


def legend_clear(ax: Axes, loc: Any = "best") -> None:
    """As `legend`, but above the axes where no place among the points is free."""
    legend(ax, loc)
    figure, inside = ax.get_figure(root=True), ax.get_legend()
    if figure is None or figure.get_layout_engine() is None or inside is None:
        return
    figure.draw_without_rendering()
    box = inside.get_window_extent()
    points = [ax.transData.transform(line.get_xydata()) for line in ax.lines if line.get_linestyle() == "None"]
    if any(box.contains(*point) for line in points for point in line):
        _legend_above(ax, ax.get_window_extent().width)


def legend_above(ax: Axes, side: Literal["left", "right"] = "left", num_columns: int = 2, **options: Any) -> None:
    """Between the axes and its title, where it hides no point; in one column where more would be wider than the axes,
    which a layout would make narrow for it."""
    figure = ax.get_figure(root=True)
    if figure is not None and num_columns > 1:
        figure.draw_without_rendering()  # a layout tells how wide the axes are
    _legend_above(ax, ax.get_window_extent().width, side, num_columns, **options)


def _legend_above(ax: Axes, width: float, side: str = "left", num_columns: int = 2, **options: Any) -> None:
    where: dict[str, Any] = {"loc": f"lower {side}", "bbox_to_anchor": (0 if side == "left" else 1, 1)}
    look: dict[str, Any] = {"fontsize": "small", "frameon": False} | where | options
    drawn = ax.legend(ncols=num_columns, **look)
    if num_columns > 1 and ax.get_figure(root=True) is not None and drawn.get_window_extent().width > width:
        ax.legend(ncols=1, **look)


def legend_beside(ax: Axes, **options: Any) -> None:
    """On the right of the axes, where it hides no point; of a figure of one plot, which is widened for it.

    In a figure without a layout, which would cut it off, it stands inside.
    """
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        ax.legend(framealpha=0.8, edgecolor="none", loc="best", **options)
        return
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), **options)
    if figure is not None and len(figure.axes) == 1:
        figure.set_figwidth(_WITH_LEGEND)
