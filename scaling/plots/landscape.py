"""Figure of the loss around a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm

from ..frames import check_columns, positive_column
from .style import name_lines, new_axes
from .words import MODEL_LABEL, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_landscape"]

_NUM_LEVELS = 14


def plot_landscape(
    table: pd.DataFrame, of: str | None = None, *, label: str | Sequence[str] = MODEL_LABEL, ax: Axes | None = None
) -> Axes:
    """Contours of the loss along two directions in the weights, the trained model in the centre.

    The levels are those of all models in the table, evenly spaced in log, so that figures of the models side by side
    have one scale: call it once a model with `of`, on Axes of one figure.

    Args:
        table: from `measurement_table`, of `loss`; of one model or several.
        of: which model is drawn, by its name; may be left out where there is one.
        label: column, or columns, that name the models.
        ax: where to draw; a new figure without.

    Raises:
        ValueError: an unknown name, several models of it, or a grid with gaps.

    Source: Li et al. 2018 (arXiv 1712.09913); Chen, Hsieh and Gong 2021 (arXiv 2106.01548), Figure 1.
    """
    check_columns(table, "run_id", "along_1", "along_2", "value")
    names, losses = name_lines(table, label)[0], positive_column(table, "value")
    known = list(dict.fromkeys(names))
    if of not in known and not (of is None and len(known) == 1):
        raise ValueError(f"of must be a model of the table, one of {known[:12]}, got {of!r}")
    shown = known[0] if of is None else of
    grid = _grid(table[(names == shown).to_numpy()], shown)
    low, high = losses.min(), losses.max()
    levels = np.geomspace(low, max(high, low * 1.001), _NUM_LEVELS)
    levels[0], levels[-1] = low * (1 - 1e-9), max(high, low * 1.001) * (1 + 1e-9)  # the ends lie inside
    ax = ax or new_axes()
    across, up, height = grid.columns.to_numpy(), grid.index.to_numpy(), grid.to_numpy()
    drawn = ax.contourf(across, up, height, levels=levels, cmap="viridis", norm=BoundaryNorm(levels, 256))
    ax.contour(across, up, height, levels=levels, colors="white", linewidths=0.5, alpha=0.6)
    ax.plot(0, 0, "+", color="#D55E00", ms=12, mew=2.5)
    centre = height[np.ix_(up == 0, across == 0)].ravel()
    if centre.size:
        at_centre = {"textcoords": "offset points", "xytext": (8, 6), "color": "white", "fontsize": "small"}
        box = {"facecolor": "black", "alpha": 0.45, "edgecolor": "none", "pad": 1.5}
        ax.annotate(f"{centre[0]:.3g}", (0, 0), bbox=box, **at_centre)
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, ticks=levels[::2])
    bar.ax.set_yticklabels(_told_apart(levels[::2]))
    bar.set_label("loss (nats)")
    ax.set(xlabel="along direction 1 (1: as long as the weights)", ylabel="along direction 2", title=shown_name(shown))
    ax.set_aspect("equal")
    return ax


def _told_apart(values: np.ndarray) -> list[str]:
    """With as few digits as tell each from the next."""
    for digits in range(2, 6):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _grid(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Losses, direction 2 down, direction 1 across."""
    if rows["run_id"].nunique() != 1:
        raise ValueError(f"{rows['run_id'].nunique()} models are called {name!r}: choose one, or a `label` for each")
    grid = rows.pivot_table(index="along_2", columns="along_1", values="value", aggfunc="mean")
    if min(grid.shape) < 2 or grid.isna().to_numpy().any():
        raise ValueError(f"the losses of {name!r} must be on a grid of two points or more each way, without gaps")
    return grid
