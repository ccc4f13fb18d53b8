"""For mkdocstrings: docstrings as the house writes them, put as its parser wants them."""

import re
from typing import Any

from griffe import Extension, Object

__all__ = ["Docstrings"]

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *\n).+)*(?:\n+\1>>> .*(?:\n(?! *\n).+)*)*", flags=re.MULTILINE)
_SEVERAL = re.compile(r"^ +\*{0,2}\w+(?:, \*{0,2}\w+)+(?=: )", flags=re.MULTILINE)


def fenced(text: str) -> str:
    """Each example between fences: the parser knows examples only in a section of their own."""
    return _EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0]}\n{match[1]}```", text)


def joined(text: str) -> str:
    """Arguments that share a line, "a, b: ...", as one name, of which the parser makes no type."""
    return _SEVERAL.sub(lambda match: match[0].replace(", ", ",\N{NO-BREAK SPACE}"), text)


class Docstrings(Extension):
    def on_object(self, *, obj: Object, **others: Any) -> None:
        if obj.docstring:
            obj.docstring.value = joined(fenced(obj.docstring.value))
