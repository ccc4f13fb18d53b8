"""Draws the figures of the pages of laws, from the laws of the library: `python docs/law_figures.py`.

They are committed, so that the pages show them wherever they are read; each PNG holds what `described` says of its
curves, by which a test finds a figure that is not the library's any more.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from scaling.laws import LAWS

__all__ = ["FIGURES", "described", "draw"]

_FOLDER = Path(__file__).parent / "laws"
_NUM_POINTS = 200
_DIGITS = 6  # of the curves, in the digest: the last ones may differ between machines


class Figure(NamedTuple):
    """Curves by label, each a law's name and parameters, over x from `low` to `high`."""

    curves: dict[str, tuple[str, tuple[float, ...]]]
    low: float
    high: float
    x: str = "x"
    y: str = "error"
    is_linear: bool = False


def _vary(name: str, letter: str, params: dict[str, float], *values: float) -> dict[str, tuple[str, tuple[float, ...]]]:
    return {f"{letter} = {value:g}": (name, tuple((params | {letter: value}).values())) for value in values}


_DOUBLE = {"a": 0.63, "b": 0.32, "c": 0.12, "d": 0.52}  # Zhai et al. 2021, Figure 9, ImageNet 10-shot
_SIGMOIDAL = {"a": 5.0, "b": 0.5, "c": 0.05, "alpha": 0.5, "e0": 0.9}
_BROKEN = {"a": 0.8, "b": 0.1, "c": 0.02, "d1": 100.0, "b1": 0.4, "f1": 0.3}
_ADDITIVE = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}  # Hoffmann et al. 2022, Eq. 10
_LINES = {"log_linear": (0.6, 0.0), "logit_linear": (1.0, -1.0), "probit_linear": (0.7, -0.3)}

FIGURES = {
    "power": Figure(_vary("power", "b", {"a": 0.8, "b": 0.0}, 0.1, 0.2, 0.4), 1, 1e5),
    "saturating_power": Figure(_vary("saturating_power", "c", {"a": 0.8, "b": 0.3, "c": 0.0}, 0, 0.02, 0.1), 1, 1e6),
    "shifted_power": Figure(_vary("shifted_power", "d", {"a": 0.63, "b": 0.32, "d": 0.0}, 0, 0.5, 10), 0.1, 1e5),
    "double_saturating_power": Figure(
        _vary("double_saturating_power", "d", _DOUBLE, 0, 0.52, 10)
        | {"d = 0.52, c = 0": ("double_saturating_power", tuple((_DOUBLE | {"c": 0.0}).values()))},
        0.1, 1e5,
    ),
    "reciprocal_shift_power": Figure(
        _vary("reciprocal_shift_power", "d", {"a": 0.8, "b": 0.3, "d": 0.0}, 0, 1e-5, 1e-3), 1, 1e7
    ),
    "sigmoidal_power": Figure(_vary("sigmoidal_power", "alpha", _SIGMOIDAL, 0.1, 0.5, 2), 1, 1e6),
    "broken_power": Figure(_vary("broken_power", "b1", _BROKEN, -0.08, 0, 0.4), 1, 1e5),
    "transfer": Figure(
        _vary("transfer", "alpha", {"k": 0.7, "alpha": 1.0, "e_ir": 0.1}, 0.6, 1, 2),
        0.01, 1, x="upstream error", y="downstream error", is_linear=True,
    ),
    "lines": Figure(
        {name: (name, line) for name, line in _LINES.items()},
        0.02, 0.98, x="accuracy on one set", y="accuracy on the other", is_linear=True,
    ),
    "additive": Figure(
        {f"D = {d:.0e}".replace("e+", "e"): ("additive", (*_ADDITIVE.values(), d)) for d in (1e9, 1e10, 1e11, 1e12)},
        1e7, 1e12, x="N, parameters", y="loss in nats",
    ),
}  # fmt: skip


def curves(figure: Figure) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """x, shape (n,), and each curve's y."""
    spaced = np.linspace if figure.is_linear else np.geomspace
    x = spaced(figure.low, figure.high, _NUM_POINTS)
    found = {}
    for label, (name, params) in figure.curves.items():
        law = LAWS[name]
        theta, held = np.array(params[: len(law.params)]), params[len(law.params) :]
        inputs = np.stack([x, np.full_like(x, held[0])], axis=-1) if held else x
        found[label] = law.value(theta, inputs)
    return x, found


def described(name: str) -> str:
    """What a figure shows: its laws' formulas, and a digest of its curves."""
    figure = FIGURES[name]
    digits = [[f"{value:.{_DIGITS}g}" for value in y] for y in curves(figure)[1].values()]
    formulas = sorted({LAWS[law].formula for law, _ in figure.curves.values()})
    return f"{'; '.join(formulas)} {hashlib.sha256(repr(digits).encode()).hexdigest()[:12]}"


def draw(name: str, path: Path) -> None:
    figure = FIGURES[name]
    x, found = curves(figure)
    canvas, axes = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    for label, y in found.items():
        axes.plot(x, y, label=label)
    if not figure.is_linear:
        axes.set(xscale="log", yscale="log")
    axes.set(xlabel=figure.x, ylabel=figure.y)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    canvas.savefig(path, dpi=110, metadata={"Description": described(name)})
    plt.close(canvas)


if __name__ == "__main__":
    for each in FIGURES:
        draw(each, _FOLDER / f"{each}.png")
