"""Figure of a randomised classifier on the hull."""

from matplotlib.axes import Axes

from ..selection.hulls import convex_hull
from ..transfer import Mixture
from .legends import legend
from .style import LAW_COLOUR, TRANSFER_COLOUR, draw_points, new_axes
from .words import amount, shown_name

__all__ = ["plot_mixture"]


def plot_mixture(mixture: Mixture, *, ax: Axes | None = None, task: str = "downstream") -> Axes:
    """All classifiers and their upper hull, the mixture, and the classifiers that it picks from with their shares.

    Args:
        mixture: from `mix_classifiers`.
        ax: where to draw; a new figure without.
        task: for the label of the axis.
    """
    ax = ax or new_axes()
    us, ds = mixture.points.T
    draw_points(ax, us, ds, ["classifiers"] * us.size)
    hull = convex_hull(us, ds)
    ax.plot(us[hull], ds[hull], "-", color=LAW_COLOUR, lw=1, label="upper hull")
    at = (mixture.upstream_accuracy, mixture.downstream_accuracy)
    for row, weight in zip(mixture.models, mixture.weights, strict=True):
        ax.plot([us[row], at[0]], [ds[row], at[1]], ":", color=TRANSFER_COLOUR, lw=1.5)
        ax.plot(us[row], ds[row], "o", mfc="none", mec=TRANSFER_COLOUR, ms=10, mew=1.5)
        beside = {"textcoords": "offset points", "xytext": (0, 10), "ha": "center", "fontsize": "small"}
        beside["bbox"] = {"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 0.5}
        ax.annotate(f"{amount(100 * weight)} %", (us[row], ds[row]), color=TRANSFER_COLOUR, weight="bold", **beside)
    label = f"mixture: {at[0]:.3f} upstream, {at[1]:.3f} {shown_name(task)}"
    ax.plot(*at, "*", color=TRANSFER_COLOUR, ms=14, mec="white", mew=0.8, label=label)
    ax.margins(0.08, 0.12)
    ax.set(xlabel="upstream accuracy", ylabel=f"{shown_name(task)} accuracy")
    legend(ax, "best")
    return ax
