"""Durations that carry their unit: "30 steps", "2 epochs", "1000 examples", "20%"; a bare number is steps."""

import math
import re
from typing import NamedTuple

__all__ = ["UNITS", "Duration", "parse_duration"]

UNITS = ("steps", "epochs", "examples", "%")
_MOST_STEPS = 2**53
_PATTERN = re.compile(r"^\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*(steps?|epochs?|examples?|%)?\s*$", re.IGNORECASE)


class Duration(NamedTuple):
    """A value and its unit, one of `UNITS`."""

    value: float
    unit: str

    def in_steps(self, *, batch_size: int, train_examples: int, total_steps: int | None = None) -> int:
        """Optimizer steps, rounded to the nearest; a percentage is of `total_steps`.

        Only a duration of zero is no step: a shorter one than a step is one, as in big_vision.

        Raises:
            ValueError: a percentage of nothing, or more steps than a float64 counts one by one.
        """
        steps = self._steps(batch_size, train_examples, total_steps)
        if steps > _MOST_STEPS:
            raise ValueError(f"must be at most {_MOST_STEPS:g} steps, got {self.value:g} {self.unit}")
        return max(1, round(steps)) if self.value else 0

    def _steps(self, batch_size: int, train_examples: int, total_steps: int | None) -> float:
        if self.unit == "%":
            if total_steps is None:
                raise ValueError(f"{self.value:g}% has nothing to be a percentage of: give steps, epochs or examples")
            return self.value / 100 * total_steps
        examples = {"steps": batch_size, "epochs": train_examples, "examples": 1}[self.unit]
        return self.value * examples / batch_size


def parse_duration(value: object, unit: str = "steps") -> Duration:
    """A duration from a spec's number or text; `unit` is that of a bare number.

    Raises:
        ValueError: not a number with one of the units.

    >>> parse_duration("20%").in_steps(batch_size=32, train_examples=1000, total_steps=800)
    160
    """
    match = _PATTERN.match(str(value)) if not isinstance(value, bool) else None
    if match is None or not math.isfinite(float(match.group(1))):
        raise ValueError(f"must be a number with a unit of {UNITS}, such as '30 steps' or '20%', got {value!r}")
    found = (match.group(2) or unit).lower()
    return Duration(float(match.group(1)), found if found == "%" else found.rstrip("s") + "s")
