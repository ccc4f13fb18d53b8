"""The frontier of a sweep as text: error against compute, both logarithmic, a letter for each family."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["PlotPoint", "frontier_plot"]

_MARGIN = 9  # columns left of the axis, for its numbers
_LEAST_COLUMNS, _LEAST_ROWS = 20, 4


@dataclass(frozen=True)
class PlotPoint:
    """One evaluated model."""

    compute: float
    error: float
    family: str


def frontier_plot(points: Sequence[PlotPoint], width: int = 80, height: int = 14) -> list[str]:
    """Lines of text: on the frontier the first letter of the family, large; dots are the other models.

    Points where a logarithm is none are left out and counted.
    """
    from scaling import pareto_frontier

    shown = [p for p in points if p.compute > 0 and p.error > 0 and math.isfinite(p.compute) and math.isfinite(p.error)]
    if not shown:
        return ["no finished run has an upstream error and a compute yet"]
    compute, error = np.array([p.compute for p in shown]), np.array([p.error for p in shown])
    best = [shown[i] for i in pareto_frontier(compute, error)]
    columns, rows = max(width - _MARGIN - 2, _LEAST_COLUMNS), max(height, _LEAST_ROWS)
    x_range, y_range = _range(compute), _range(error)
    marks = _marks(best)
    cells = [[" "] * columns for _ in range(rows)]
    for point, mark in [(p, "·") for p in shown] + [(p, marks[p.family]) for p in best]:
        cells[rows - 1 - _place(point.error, y_range, rows)][_place(point.compute, x_range, columns)] = mark
    lines = [f"upstream error by FLOPs: {len(best)} of {len(shown)} models on the frontier"]
    lines += list(_with_axes(cells, x_range, y_range))
    lines.append(" " * _MARGIN + "  ".join(f"{mark} {family}" for family, mark in marks.items()) + "  · not on it")
    if hidden := len(points) - len(shown):
        lines.append(f"{hidden} of error or compute 0 are not shown")
    return lines


def _marks(points: Sequence[PlotPoint]) -> dict[str, str]:
    """The first letter of each family's name that no other has."""
    marks: dict[str, str] = {}
    for family in dict.fromkeys(point.family for point in points):
        free = [letter for letter in family.upper() + "*" if letter not in marks.values()]
        marks[family] = free[0] if free else "*"
    return marks


def _range(values: np.ndarray) -> tuple[float, float]:
    """Ends of an axis in log10; of one value alone a tenth of a decade to each side."""
    low, high = float(np.log10(values.min())), float(np.log10(values.max()))
    return (low, high) if high - low > 1e-9 else (low - 0.1, high + 0.1)


def _place(value: float, ends: tuple[float, float], num: int) -> int:
    share = (math.log10(value) - ends[0]) / (ends[1] - ends[0])
    return min(num - 1, max(0, round(share * (num - 1))))


def _with_axes(cells: list[list[str]], x_range: tuple[float, float], y_range: tuple[float, float]) -> Iterator[str]:
    numbers = _ticks(y_range, len(cells), step=4)
    for row, line in enumerate(cells):
        label = numbers.get(len(cells) - 1 - row)
        start = f"{'' if label is None else f'{label:.3g}':>{_MARGIN - 1}} {'│' if label is None else '┤'}"
        yield (start + "".join(line)).rstrip()
    columns = len(cells[0])
    ticks = _ticks(x_range, columns, step=20)
    yield " " * _MARGIN + "└" + "".join("┬" if column in ticks else "─" for column in range(columns))
    labels = [" "] * (_MARGIN + 1 + columns + 4)
    for column, value in ticks.items():
        text = f"{value:.1e}"
        start = min(_MARGIN + 1 + column - len(text) // 2, _MARGIN + 1 + columns - len(text))
        labels[start : start + len(text)] = text
    yield "".join(labels).rstrip()


def _ticks(ends: tuple[float, float], num: int, step: int) -> Mapping[int, float]:
    """Values at both ends of an axis and between, about `step` characters apart."""
    count = max(2, 1 + num // step)
    places = dict.fromkeys(round(i * (num - 1) / (count - 1)) for i in range(count))
    return {place: 10 ** (ends[0] + (ends[1] - ends[0]) * place / (num - 1)) for place in places}
