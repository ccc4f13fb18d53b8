"""Figure of a transfer law's errors against the number of models that it was fitted to."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from ..transfer import SampleSizes
from .legends import legend_above
from .style import STYLES, new_axes

__all__ = ["plot_sample_sizes"]

_TITLES = {"mse": "mean squared error of accuracy", "mae": "mean absolute error of accuracy"}
_LINES = {"fitting": ":", "hull": "-", "best": "--", "all": "-."}
_LABELS = {
    "fitting": "to the points fitted", "hull": "to the hull held out", "best": "to the best held out",
    "all": "to all held out",
}  # fmt: skip
_LEAST = 0.8  # of the least value drawn: where the axis begins
_POOL_SHARE = 0.5  # of the models, up to which samples differ enough for their spread to say something
_FEW_DECADES = 1e3  # between the ends of an axis on which 1, 2 and 5 are labelled
_APART = 0.12  # decades between two labelled sizes
_MOST_TOLD = 2  # sizes with trials without a fit; more are told together


def plot_sample_sizes(
    sizes: SampleSizes, *, measure: str = "mse", errors: tuple[str, ...] = ("hull", "fitting"), ax: Axes | None = None
) -> Axes:
    """Mean over the trials against the number of models, on log axes.

    Of the first error each fit has a band of one standard deviation of the trials, up to half the models that samples
    are drawn from: larger samples share most of their models, and their spread says nothing of other models'. A hollow
    marker stands where trials had no fit, which the legend counts.

    Args:
        sizes: from `compare_sample_sizes`.
        measure: "mse" or "mae".
        errors: which of its errors: "fitting", "hull", "best", "all".
        ax: where to draw; a new figure without.

    Raises:
        ValueError: an unknown measure or error.
    """
    if measure not in _TITLES:
        raise ValueError(f"measure must be one of {tuple(_TITLES)}, got {measure!r}")
    if not errors or not set(errors) <= set(_LINES):
        raise ValueError(f"errors must be among {tuple(_LINES)}, got {errors!r}")
    ax = ax or new_axes()
    table = sizes.table[sizes.table["error"].isin(errors)]
    banded = table.loc[table["error"] == errors[0], measure]
    floor = float(banded[banded > 0].min())
    for place, name in enumerate(table["fit"].unique()):
        for error in errors:
            part = table[(table["fit"] == name) & (table["error"] == error)]
            label = f"{name}, {_LABELS[error]}" + (_failures(part) if error == errors[0] else "")
            band_to = _POOL_SHARE * sizes.num_pool if error == errors[0] else 0.0
            _draw(ax, part, measure, STYLES[place % len(STYLES)], _LINES[error], label, floor, band_to)
    ax.fill_between([], [], [], color="0.5", alpha=0.3, lw=0, label="1 standard deviation of samples of one pool")
    ax.set(xscale="log", yscale="log", xlabel="models", ylabel=_TITLES[measure])
    _label_sizes(ax, np.unique(table["num_models"]))
    if floor > 0:
        ax.set_ylim(bottom=_LEAST * float(table.loc[table[measure] > 0, measure].min()))
    low, high = ax.get_ylim()
    if high < _FEW_DECADES * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
    legend_above(ax, handlelength=3.5)
    return ax


def _draw(
    ax: Axes,
    part: pd.DataFrame,
    measure: str,
    style: tuple[str, str],
    line: str,
    label: str,
    floor: float,
    band_to: float,
) -> None:
    n, mean, std = (part[name].to_numpy() for name in ("num_models", measure, f"{measure}_std"))
    colour, marker = style
    if np.isnan(mean).all():
        ax.plot([], [], ls="none", label=f"{label}: no fit")
        return
    ax.plot(n, mean, line, marker=marker, color=colour, ms=5, label=label)
    failed = (part["num_failed"] > 0).to_numpy() & ~np.isnan(mean)
    ax.plot(n[failed], mean[failed], marker, color=colour, mfc="white", ms=5, ls="none")
    drawn = n <= band_to
    if drawn.any():
        low, high = _band_low(mean, std, floor)[drawn], (mean + std)[drawn]
        ax.fill_between(n[drawn], low, high, color=colour, alpha=0.15, lw=0)


def _failures(part: pd.DataFrame) -> str:
    """For the legend: how many trials of which sizes have no fit."""
    sizes = part[part["num_failed"] > 0]
    rows = zip(sizes["num_failed"], sizes["num_trials"], sizes["num_models"], strict=True)
    told = [f"{num} of {of} at {size}" for num, of, size in rows]
    if len(told) > _MOST_TOLD:
        told = [f"{sizes['num_failed'].sum()} of {sizes['num_trials'].sum()} at {len(told)} sizes"]
    return "\n(without a fit: " + ", ".join(told) + ")" if told else ""


def _band_low(mean: np.ndarray, std: np.ndarray, floor: float) -> np.ndarray:
    """mean - std, but no less than the least mean: a band to 0 has no end on a logarithmic axis."""
    return np.maximum(mean - std, np.minimum(floor, mean))


def _label_sizes(ax: Axes, sizes: np.ndarray) -> None:
    """Ticks at the sizes themselves, from the largest down, as far as their labels do not touch."""
    shown: list[int] = []
    for size in sizes[::-1].tolist():
        if not shown or np.log10(shown[-1] / size) >= _APART:
            shown.append(size)
    ax.xaxis.set_major_locator(FixedLocator(shown))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:.0f}")
