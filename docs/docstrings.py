"""For mkdocstrings: docstrings as the house writes them, put as its parser wants them."""

import re
import textwrap
from typing import Any

from griffe import Attribute, Class, Docstring, Extension, Object

__all__ = ["Docstrings"]

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *\n).+)*(?:\n+\1>>> .*(?:\n(?! *\n).+)*)*", flags=re.MULTILINE)
_RETURNS = re.compile(r"^Returns:\n((?:(?: {4}.*)?\n?)+?)(?=^\S|\Z)", flags=re.MULTILINE)
_TYPE = re.compile(r"[\w.]+(?:\[.*\])?")
_SEVERAL = re.compile(r"^ +\*{0,2}\w+(?:, \*{0,2}\w+)+(?=: )", flags=re.MULTILINE)


def fenced(text: str) -> str:
    """Each example between fences: the parser knows examples only in a section of their own."""
    return _EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0]}\n{match[1]}```", text)


def joined(text: str) -> str:
    """Arguments that share a line, "a, b: ...", as one name, of which the parser makes no type."""
    return _SEVERAL.sub(lambda match: match[0].replace(", ", ",\N{NO-BREAK SPACE}"), text)


def told(text: str) -> str:
    """What is returned, in words with a colon in them: the parser would take those before it for a type."""

    def in_words(match: re.Match[str]) -> str:
        words, colon, _ = match[1].partition(":")
        is_type = not colon or _TYPE.fullmatch(words.strip())
        return match[0] if is_type else f"**Returns:** {textwrap.dedent(match[1]).strip()}\n\n"

    return _RETURNS.sub(in_words, text)


def fields(cls: Class) -> str:
    """The fields of a class as it lists them, with types and defaults: one block in place of a heading each."""
    lines = [
        f"{name}: {member.annotation}" + (f" = {member.value}" if member.value is not None else "")
        for name, member in cls.members.items()
        if isinstance(member, Attribute)
        and member.annotation
        and not name.startswith("_")
        and "property" not in member.labels
    ]
    return "\n".join(["```python", *lines, "```"])


class Docstrings(Extension):
    def on_object(self, *, obj: Object, **others: Any) -> None:
        if obj.docstring:
            obj.docstring.value = joined(fenced(told(obj.docstring.value)))
        if obj.name.startswith("__") and obj.name.endswith("__") and obj.name != "__call__":
            obj.public = False  # what Python calls, no reader

    def on_class(self, *, cls: Class, **others: Any) -> None:
        """Of the classes that a spec's sections are; their pages show no members."""
        if cls.name.endswith(("Config", "Spec")) and cls.path.startswith("sweeps."):
            said = cls.docstring.value if cls.docstring else ""
            cls.docstring = Docstring(f"{said}\n\n{fields(cls)}".strip(), parent=cls)
