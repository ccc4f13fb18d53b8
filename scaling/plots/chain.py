"""Figure of a chain: downstream accuracy against compute."""

import numpy as np
from matplotlib.axes import Axes

from ..chained import Chain, ComputeTarget
from .legends import legend_beside
from .style import BESIDE_COLOUR, TRANSFER_COLOUR, draw_points, law_at, new_axes
from .words import shown_name

__all__ = ["plot_chain"]

_EXTRAPOLATED = 100.0  # how far beyond the largest run, as a factor of compute
_MARGIN = 1.5  # around a target's compute


def plot_chain(
    chain: Chain,
    *,
    target: ComputeTarget | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
    x_label: str = "training compute (FLOPs)",
    task: str = "downstream",
) -> Axes:
    """Downstream accuracy of the best model of each compute with a band, solid over the runs, dashed beyond them.

    Where both laws were fitted to the same runs in the same order, the runs are drawn too.

    Args:
        chain: from `scaling.chain`.
        target: from `chain.solve_for_compute`, drawn as a bar from the low to the high end of its compute; an arrow
            where that end is never reached.
        level: of the band.
        ax: where to draw; a new figure without.
        x_label: names the unit of compute.
        task: for the label of the axis.
    """
    ax = ax or new_axes()
    if chain.has_shared_runs:
        draw_points(ax, chain.compute, chain.trans.downstream, None)
    least, largest = float(chain.compute.min()), float(chain.compute.max())
    end = _EXTRAPOLATED * largest
    if target is not None and np.isfinite(target.compute):
        end = max(end, _MARGIN * target.compute)
    grid = np.geomspace(least, end, 300)
    band, seen = law_at(chain, grid, level), grid <= largest
    ax.plot(grid[seen], band.median[seen], "-", color=TRANSFER_COLOUR, lw=2, label="best model, over the runs")
    ax.plot(grid[~seen], band.median[~seen], "--", color=TRANSFER_COLOUR, lw=2, label="extrapolated")
    ax.fill_between(grid, band.low, band.high, color=TRANSFER_COLOUR, alpha=0.18, lw=0, label=f"{level:.0%} band")
    low, high = chain.saturation_interval(level)
    label = f"saturation {chain.saturation:.3f} [{low:.3f}, {high:.3f}]"
    ax.axhline(chain.saturation, color=TRANSFER_COLOUR, lw=1, ls=":", label=label)
    if target is not None:
        _draw_target(ax, target, end)
    ax.set(xscale="log", xlabel=x_label, ylabel=f"{shown_name(task)} accuracy", xlim=(least, end))
    legend_beside(ax, fontsize="small")
    return ax


def _draw_target(ax: Axes, target: ComputeTarget, end: float) -> None:
    label = str(target).split(";")[0].replace("downstream accuracy", "target").replace(" (", "\n(")
    if np.isinf(target.compute):
        label = f"target {target.accuracy:g}: never"
    low, high = min(target.low, end), min(target.high, end)
    ax.axhline(target.accuracy, color=BESIDE_COLOUR, lw=0.8, ls="-.")
    ax.plot([low, high], [target.accuracy] * 2, "-", color=BESIDE_COLOUR, lw=3, alpha=0.6, label=label)
    if np.isfinite(target.compute):
        ax.plot(target.compute, target.accuracy, "D", color=BESIDE_COLOUR, ms=7)
    if target.high > end:
        ax.plot(end, target.accuracy, ">", color=BESIDE_COLOUR, ms=9, clip_on=False)
