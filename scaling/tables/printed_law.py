"""A law that a paper prints beside the one that was fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..inputs import numbers
from .rounding import half_unit, printed_decimals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_with_printed"]


class _HasParams(Protocol):
    @property
    def params(self) -> dict[str, float]: ...
    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]: ...


def compare_with_printed(fit: _HasParams, printed: Mapping[str, Any], *, level: float = 0.95) -> pd.DataFrame:
    """Each parameter as it is printed and as it was fitted, with its interval.

    Args:
        fit: from `fit_law` or `fit_frontier`.
        printed: parameters by name, as many of the law's as are printed, a dict or a Series; strings keep their
            decimals.
        level: of the intervals.

    Returns:
        A row a parameter, by name: `printed`, `fitted`, `low`, `high`, and `is_inside`: whether the interval holds a
        value that rounds to the printed one.

    Raises:
        ValueError: none is printed, one that the law does not have, or one that is no finite number.
        FitError: a parameter has no interval, as in `Fit.interval`.

    >>> from scaling import fit_law
    >>> x = np.geomspace(1, 1000, 12)
    >>> y = 0.5 * x**-0.25 * np.exp(0.02 * np.random.default_rng(0).standard_normal(12))
    >>> table = compare_with_printed(fit_law("power", x, y), {"a": "0.50", "b": "0.31"})
    >>> table["is_inside"].to_dict()
    {'a': True, 'b': False}
    """
    import pandas as pd

    if not hasattr(fit, "params"):
        raise ValueError(f"fit must be a result of fit_law or fit_frontier, got {type(fit).__name__}")
    if not hasattr(printed, "items"):
        raise ValueError(f"printed must hold values by name of the parameter, got {printed!r}")
    printed = dict(printed)
    unknown = [name for name in printed if name not in fit.params]
    if unknown or not printed:
        raise ValueError(f"printed must name parameters among {tuple(fit.params)}, got {tuple(printed)}")
    names = list(printed)
    values = numbers("printed", [printed[name] for name in names])
    if not np.isfinite(values).all():
        raise ValueError(f"printed must hold finite numbers, got {printed}")
    half = half_unit(printed_decimals([printed[name] for name in names]))
    low, high = np.array([fit.interval(name, level) for name in names]).T
    fitted = [fit.params[name] for name in names]
    is_inside = (values + half >= low) & (values - half <= high)
    columns = {"printed": values, "fitted": fitted, "low": low, "high": high, "is_inside": is_inside}
    return pd.DataFrame(columns, index=pd.Index(names, name="param"))
