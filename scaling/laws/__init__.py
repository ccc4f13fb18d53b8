"""The table of laws. To add one, write its functions in a file here and add one row to `LAWS`."""

import re

from .additive import additive
from .base import Law
from .broken import broken_power
from .lines import log_linear, logit_linear, probit_linear
from .power import power, saturating_power, transfer
from .shifted import double_saturating_power, reciprocal_shift_power, shifted_power
from .sigmoidal import sigmoidal_power

__all__ = ["LAWS", "Law", "find_law"]

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        power, saturating_power, shifted_power, reciprocal_shift_power, double_saturating_power, sigmoidal_power,
        broken_power(1), transfer, log_linear, logit_linear, probit_linear, additive,
    )
}  # fmt: skip
"""The laws by name. `broken_power_2` to `broken_power_9` are names too, with that many breaks."""

_BROKEN = re.compile(r"broken_power_([2-9])")


def find_law(law: str | Law) -> Law:
    """The law of that name; `broken_power_2` to `broken_power_9` have that many breaks.

    Raises:
        ValueError: no law has that name.

    >>> find_law("saturating_power").formula
    'a x^-b + c'
    """
    if isinstance(law, Law):
        return law
    if isinstance(law, str) and (match := _BROKEN.fullmatch(law)):
        return broken_power(int(match[1]))
    if not isinstance(law, str) or law not in LAWS:
        raise ValueError(f"law must be one of {sorted(LAWS)} or broken_power_2 to broken_power_9, got {law!r}")
    return LAWS[law]
