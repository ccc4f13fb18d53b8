"""A figure of matplotlib as a picture of a page, with what its points say."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .parts import Picture, Points
from .texts import permitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    Hover: TypeAlias = tuple[Axes, ArrayLike, ArrayLike, Sequence[str]]

__all__ = ["picture_of"]

# Names inside the document come from this text, not from chance, and glyphs are drawn: no font is asked for.
_SVG: Any = {"svg.hashsalt": "scaling", "svg.fonttype": "path"}
_MOST_MARKERS = 600  # of a figure: more are an image inside the document, as a browser draws each one slowly
_FEW_MARKERS = 20  # of one artist: as sharp as ever, such as those of a legend
_NO_MARKER = ("None", "none", "", " ", None)
_DPI = 200  # of that image


def picture_of(drawn: Axes | Figure, caption: str, hover: Hover | list[Hover] | None = None) -> Picture:
    """A drawn figure, or that of these axes, as SVG; the figure is closed. Equal figures give equal bytes.

    Args:
        drawn: axes or a figure.
        caption: also what a screen reader says.
        hover: (axes, x, y, labels) of the points that say what they are, x and y in data coordinates, shape (n,); or
            a list of these. Points outside the axes' limits, and those without a place on a logarithmic axis, are
            left out.

    Raises:
        ValueError: x, y and labels differ in length.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> picture = picture_of(axes, "One point.", hover=(axes, [0.5], [0.5], ["run a"]))
    >>> picture.points.x.round(2), picture.points.labels
    (array([0.51]), ('run a',))
    """
    import matplotlib.pyplot as plt

    figure: Any = drawn.get_figure(root=True)
    _make_drawable(figure)
    svg = _svg(figure)
    groups: Any = [hover] if isinstance(hover, tuple) else hover or []
    points = [_points_of(figure, *group) for group in groups]
    plt.close(figure)
    return Picture(svg, caption, _joined(points) if points else None)


def _make_drawable(figure: Figure) -> None:
    """Many markers as an image; names, texts of any kind, without what cannot be drawn and what is no formula."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.mathtext import MathTextParser
    from matplotlib.text import Text

    marked = [
        (line, np.size(line.get_xdata())) for line in figure.findobj(Line2D) if line.get_marker() not in _NO_MARKER
    ]
    marked += [(cloud, np.shape(cloud.get_offsets())[0]) for cloud in figure.findobj(PathCollection)]
    if sum(num for _, num in marked) > _MOST_MARKERS:
        for artist, num in marked:
            artist.set_rasterized(num > _FEW_MARKERS)
    parser = MathTextParser("path")
    for text in figure.findobj(Text):
        words = text.get_text()
        text.set_text(permitted(words))
        if text.get_parse_math() and words.count("$") > 1:
            try:
                parser.parse(text.get_text())
            except ValueError:
                text.set_parse_math(False)


def _svg(figure: Figure) -> bytes:
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context(_SVG), warnings.catch_warnings():
        # A name in letters that the font lacks is drawn as boxes; the page's own text has it as it is.
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        figure.savefig(file, format="svg", dpi=_DPI, facecolor="white", metadata={"Date": None})
    # Texts stand in comments too: one control character there and no browser draws the document.
    return permitted(file.getvalue()).encode()


def _points_of(figure: Figure, axes: Axes, x: ArrayLike, y: ArrayLike, labels: Sequence[str]) -> Points:
    """Read off the axes once the figure has been laid out."""
    given = Points(np.asarray(x, dtype=float), np.asarray(y, dtype=float), tuple(labels))
    with np.errstate(all="ignore"):  # logarithms of 0 and below: no place
        place = axes.transData.transform(np.column_stack([given.x, given.y]))
    inside = axes.transAxes.inverted().transform(place)
    slack = 1e-9  # of the axes: a point on its edge is drawn
    shown = (np.isfinite(inside) & (inside >= -slack) & (inside <= 1 + slack)).all(axis=1)
    share = figure.transFigure.inverted().transform(place[shown]).reshape(-1, 2)
    return Points(share[:, 0], 1 - share[:, 1], tuple(given.labels[i] for i in np.flatnonzero(shown)))


def _joined(points: Sequence[Points]) -> Points:
    x, y = (np.concatenate([getattr(each, axis) for each in points]) for axis in ("x", "y"))
    return Points(x, y, sum((each.labels for each in points), ()))
