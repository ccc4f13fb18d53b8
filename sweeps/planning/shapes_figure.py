"""The regimes of a family's shapes: width against depth, coloured by the optimizers that fit, as large as fast."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from .shapes import OUT_OF_MEMORY, Found, regime_of

__all__ = ["shapes_figure"]

_COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7")  # Okabe and Ito's, told apart by all
_GREY = "#BBBBBB"
_SMALLEST, _LARGEST = 10.0, 90.0  # areas of marks
_ROOM = 0.7  # of the distance from width to width, for shapes of one width and depth


def shapes_figure(shapes: Sequence[Found], speeds: Sequence[float], title: str) -> Figure:
    """A mark a shape; shapes that differ in heads or MLP stand beside each other.

    Args:
        speeds: images per second, one a shape.
    """
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    ax = figure.subplots()
    regimes = np.array([regime_of(shape) for shape in shapes])
    width, depth = _apart(shapes), np.array([shape.depth for shape in shapes])
    logs = np.log(np.asarray(speeds, float))
    share = (logs - logs.min()) / max(np.ptp(logs), 1e-9)
    sizes = _SMALLEST + (_LARGEST - _SMALLEST) * share
    names = [*shapes[0].fits, OUT_OF_MEMORY]
    for place, name in enumerate(names):
        of = regimes == name
        colour = _GREY if name == OUT_OF_MEMORY else _COLOURS[place % len(_COLOURS)]
        label = name if place in (0, len(names) - 1) else f"only from {name} on"
        ax.scatter(width[of], depth[of], sizes[of], color=colour, label=f"{label} ({of.sum()})", linewidths=0)
    widths = sorted({shape.width for shape in shapes})
    ax.set_xticks(range(len(widths)), [str(width) for width in widths])
    ax.set_yticks(sorted({shape.depth for shape in shapes}))
    ax.set_xlabel("width")
    ax.set_ylabel("depth in blocks")
    ax.set_title(title, fontsize="medium")
    legend = ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="fits with\n(larger: faster)")
    for handle in legend.legend_handles:
        handle.set_sizes([40])  # type: ignore[union-attr]
    return figure


def _apart(shapes: Sequence[Found]) -> np.ndarray:
    """A place for each width, about which shapes of one width and depth stand apart by their MLP and heads."""
    widths = sorted({shape.width for shape in shapes})
    kinds = sorted({_kind(shape) for shape in shapes})
    step = _ROOM / max(1, len(kinds) - 1)
    return np.array([widths.index(s.width) + step * kinds.index(_kind(s)) - _ROOM / 2 for s in shapes])


def _kind(shape: Found) -> tuple[float, float]:
    """MLP and heads over the width, to a percent."""
    return round((shape.mlp_dim or 0) / shape.width, 2), round(100 * (shape.heads or 0) / shape.width, 2)
