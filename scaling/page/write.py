"""Sections into one HTML file that loads nothing and in which only its own script can run."""

import base64
import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..whole_files import written_whole
from .cells import table_cells
from .parts import Picture, Points, Section
from .texts import prose, readable, shortened

__all__ = ["page_text", "write_page"]

_PACKAGE = "scaling.page"
_LONGEST_LINE = 120  # characters of a line that a point says
_LONGEST_TITLE, _LONGEST_FACT = 200, 500  # characters
_LONGEST_ENTRY = 60  # characters of a title in the table of contents


def write_page(
    path: str | os.PathLike[str], title: str, facts: Mapping[str, object], sections: Sequence[Section]
) -> None:
    """Write a page, whole or not at all: one file, which opens from a disk and asks nothing of any network.

    Args:
        path: of the file; its folder must be there.
        title: of the page.
        facts: what a reader must know first, by name, below the title.
        sections: in the order of the page.

    Raises:
        OSError: the file cannot be written.
    """
    text = page_text(title, facts, sections)
    with written_whole(path) as file:
        file.write_text(text, encoding="utf-8", newline="\n")


def page_text(title: str, facts: Mapping[str, object], sections: Sequence[Section]) -> str:
    """The page as a document; equal input gives equal text.

    >>> text = page_text("Runs", {"source": "<script>"}, [Section("Law", ("E = 0.1",))])
    >>> "&lt;script&gt;" in text, "://" in text
    (True, False)
    """
    style, script = _own_text("page.css"), _own_text("page.js")
    return _environment().get_template("page.html").render(
        title=prose(title, _LONGEST_TITLE),
        facts={prose(name, _LONGEST_TITLE): prose(value, _LONGEST_FACT) for name, value in facts.items()},
        sections=[_section(section, place) for place, section in enumerate(sections, start=1)],
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )  # fmt: skip


def _policy(style: str, script: str) -> str:
    """Whatever got past the escaping would neither run nor load."""
    return (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _own_text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath("templates", name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    loader = PackageLoader(_PACKAGE)
    found = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=loader)
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return found


def _section(section: Section, place: int) -> dict[str, Any]:
    """What the template shows of a section; names of places on the page are numbers, never texts of the user's."""
    title = prose(section.title, _LONGEST_TITLE)
    return {
        "id": f"part-{place}",
        "title": title,
        "entry": shortened(title, _LONGEST_ENTRY),
        "paragraphs": [prose(text) for text in section.paragraphs],
        "warnings": [(prose(kind), prose(text)) for kind, text in section.warnings],
        "pictures": [_picture(picture) for picture in section.pictures],
        "tables": [table_cells(view) for view in section.tables],
    }


def _picture(picture: Picture) -> dict[str, Any]:
    # An image is a document of its own: its names meet no other figure's, and no script in it runs.
    source = f"data:image/svg+xml;base64,{base64.b64encode(picture.svg).decode()}"
    points = None if picture.points is None or not picture.points.labels else _points(picture.points)
    return {"source": source, "caption": prose(picture.caption), "points": points}


def _points(points: Points) -> list[list[Any]]:
    """x, y and label of each point, by x: the order in which the arrow keys step through them."""
    labels = [_lines(text) for text in points.labels]
    rows = zip(points.x.tolist(), points.y.tolist(), labels, strict=True)
    return [[round(x, 5), round(y, 5), label] for x, y, label in sorted(rows)]


def _lines(text: str) -> str:
    return "\n".join(shortened(line, _LONGEST_LINE) for line in readable(text).split("\n"))
