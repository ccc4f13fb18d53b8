"""Printed laws at the end where there is no training: an error can not be worse than a guess."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_columns, positive_column
from ..inputs import check_fractions, check_same_index
from ..laws import find_law
from .audit import checks_table
from .rounding import half_unit, printed_decimals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["audit_law_ends"]

_LAW = find_law("double_saturating_power")


def audit_law_ends(laws: pd.DataFrame, chance_error: ArrayLike, *, where: Sequence[Any] | None = None) -> pd.DataFrame:
    """E(0) = c + a d^-b of printed laws against the error of a guess, which it must not exceed.

    A law that does is not valid near x = 0, where it was not fitted.

    Args:
        laws: columns a, b, c, d of E = a (x + d)^-b + c, E a fraction, as printed (strings keep their
            decimals).
        chance_error: error of a guess, 1 - 1 / classes where they are balanced, one number or one a law.
        where: names of the laws; without, the index.

    Returns:
        A row a law, columns `CHECKS`: `printed` is E(0), `follows` the largest it may be, `tolerance` how much lower
        E(0) could be with the parameters anywhere within their rounding.

    Raises:
        ValueError: a column is missing, a parameter is not positive, E(0) is beyond float64, or `chance_error` is not a
            fraction or one a law.

    Source: Zhai et al. 2021 (arXiv 2106.04560), Figures 2 and 9; d is their shift from trivial solutions.

    >>> import pandas as pd
    >>> laws = pd.DataFrame({"a": [0.26, 0.63], "b": [0.35, 0.32], "c": [0.09, 0.12], "d": [0.01, 0.52]})
    >>> checks = audit_law_ends(laws, 0.999, where=["fine-tuned", "10-shot"])
    >>> checks.printed.round(2).tolist(), checks.is_consistent.tolist()
    ([1.39, 0.9], [False, True])
    """
    check_columns(laws, *_LAW.params)
    check_same_index(laws=laws["a"], chance_error=chance_error)
    params = np.stack([positive_column(laws, name) for name in _LAW.params], axis=1)
    chance = check_fractions("chance_error", chance_error)
    if chance.shape not in ((), (len(params),)):
        raise ValueError(f"chance_error must be one number or one a law, {len(params)}, got shape {chance.shape}")
    chance = np.broadcast_to(chance, len(params))
    printed = [printed_decimals(laws[name].to_numpy(dtype=object)) for name in _LAW.params]
    half = half_unit(np.stack(printed, axis=1))
    corners = np.array(list(product((-1, 1), repeat=params.shape[1])))
    # A shift or an exponent of 0 at a corner is no law.
    around = np.maximum(params[:, None] + corners * half[:, None], np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        start = _LAW.value(params, np.zeros(1))[:, 0]
        least = _LAW.value(around, np.zeros(1))[..., 0].min(axis=1)
    if not np.isfinite(start).all():
        raise ValueError(f"E(0) = c + a d^-b must be finite; row {np.argmin(np.isfinite(start))} is {start.max()}")
    tolerance = start - least
    details = ["E(0) of the law against the error of a guess"] * len(params)
    names = list(laws.index) if where is None else where
    beyond = np.maximum(start - chance, 0.0)
    return checks_table("law end", names, start, chance, tolerance, beyond <= tolerance, details, beyond)
