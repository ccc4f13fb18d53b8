"""What is wrong in a spec, in one line a fault: the field, the value, what is valid."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from ..models import FAMILIES
from .cell import CellSpec
from .fields import Section, near_name
from .rates import RATE_FIELDS, RateRule

__all__ = ["SWEEP_FIELDS", "SpecError", "fault_lines", "near", "sentences"]

_MAX_SHOWN_ERRORS = 8
_LONGEST_LINE, _END = 1200, 200  # characters of a fault, room for each list of valid names; of them after a cut
SWEEP_FIELDS = ("name", "order")  # of the sweep, not of a cell


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - _END]} ... {line[-_END:]}"


class SpecError(ValueError):
    """A spec that cannot be run; a line a fault: the field, the value got, what is valid.

    A line that a value makes longer than a terminal shows is cut in its middle.
    """

    def __init__(self, message: str):
        super().__init__("\n".join(_cut(line) for line in message.split("\n")))


def fault_lines(faults: Mapping[str, int], num_cells: int) -> str:
    """A line a fault, with how many of the cells have it where it is not all of them; of many the first few.

    >>> print(fault_lines({"steps: ...": 2, "threads: ...": 8}, num_cells=8))
    steps: ... (in 2 of 8 cells)
    threads: ...
    """
    lines = [
        line if count == num_cells else f"{line} (in {count} of {num_cells} cells)" for line, count in faults.items()
    ]
    more = [f"and {len(lines) - _MAX_SHOWN_ERRORS} more"] if len(lines) > _MAX_SHOWN_ERRORS else []
    return "\n".join(lines[:_MAX_SHOWN_ERRORS] + more)


def sentences(error: ValidationError) -> Iterator[str]:
    faults = error.errors(include_url=False)
    inner = {fault["loc"][:-1] for fault in faults}
    for fault in faults:
        if fault["type"] == "too_short" and fault["loc"] in inner:
            continue  # pydantic counts the valid values only, and the others are told
        field = ".".join(str(part) for part in fault["loc"])
        field = "seeds" if field == "seed" else field
        got = fault["input"]
        if fault["type"] == "extra_forbidden":
            valid = _valid_fields(fault["loc"][:-1])
            yield f"{field}: unknown field{near(fault['loc'][-1], valid)} valid: {valid}"
        elif fault["type"] == "missing":
            yield f"{field}: missing"
        elif fault["type"] == "model_type":
            yield f"{field}: must be a mapping of {_valid_fields(fault['loc'])}, got {got!r}"
        else:
            message = fault["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
            if fault["type"] == "too_short":
                message = "needs at least one value"
            shown = "" if isinstance(got, Mapping) or f"got {got!r}" in message else f", got {got!r}"
            yield f"{field}: {message[0].lower() + message[1:]}{shown}{_near_choice(message + shown)}"


def _near_choice(sentence: str) -> str:
    """What was meant by a name that is none of those in quotes before it."""
    *valid, got = re.findall(r"'([^']+)'", sentence) or [""]
    return near_name(got, valid) if sentence.endswith(f"got {got!r}") else ""


def near(name: Any, valid: list[str]) -> str:
    """What was meant by an unknown name: a near one of its section, or the same one of another."""
    of_sections = {f"{section}.{name}" for section in CellSpec.model_fields if name in _fields_in(section)}
    return near_name(str(name), valid, *sorted(of_sections)) or ";"


def _fields_in(section: str) -> list[str]:
    """Of a section other than the model, whose fields depend on the family; [] of what is no section."""
    annotation = CellSpec.model_fields[section].annotation
    sections = [t for t in (annotation, *get_args(annotation)) if isinstance(t, type) and issubclass(t, Section)]
    return [] if section == "model" else [name for found in sections for name in found.model_fields]


def _valid_fields(path: tuple[Any, ...]) -> list[str]:
    """The fields of the section at a path of fields."""
    if not path:
        return sorted({*CellSpec.model_fields, *SWEEP_FIELDS, "seeds"} - {"seed"})
    if path[0] == "model":
        return sorted({*FAMILIES[path[1]].model_fields, "variant"} - {"family"})
    if path[0] == "recipe" and path[1:2] and path[1] in RATE_FIELDS:
        return sorted(RateRule.model_fields)
    return sorted(_fields_in(path[0]))
