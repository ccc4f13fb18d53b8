"""What a page is made of."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["Picture", "Points", "Section", "TableView"]


@dataclass(frozen=True, eq=False)
class Points:
    """Where the points of a picture lie, and what each says when the pointer is near.

    Attributes:
        x, y: shares of the picture's width from the left and of its height from the top, shape (n,).
        labels: a text a point, lines separated by newlines.
    """

    x: np.ndarray
    y: np.ndarray
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = (len(self.x), len(self.y), len(self.labels))
        if len(set(lengths)) > 1:
            raise ValueError(f"x, y and labels must have one value a point each, got {lengths} values")


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure as an SVG document, with a caption that is also what a screen reader says."""

    svg: bytes
    caption: str
    points: Points | None = None


@dataclass(frozen=True, eq=False)
class TableView:
    """A table to read and to sort: numbers in four significant digits, sorted at full precision.

    Its first column names the rows. The frame's index is not shown.
    """

    caption: str
    frame: pd.DataFrame
    note: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: a title, paragraphs, warnings by kind, tables, pictures."""

    title: str
    paragraphs: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[TableView, ...] = ()
