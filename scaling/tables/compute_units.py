"""Compute as papers report it: core-days, chip-days, days on a machine, and their ratios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_positive, numbers
from .labels import check_shapes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CORES_PER_CHIP", "chip_days", "core_days", "days_on_cores", "pairwise_ratios"]

CORES_PER_CHIP = 2  # of a TPUv3 chip: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 4.2


def core_days(num_cores: ArrayLike, days: ArrayLike) -> np.ndarray:
    """Core-days of training: cores times days, elementwise.

    Core-days are not FLOPs: what a core does in a day grows fourfold from the small to the large models of Zhai et al.
    2021 (arXiv 2106.04560).

    Raises:
        ValueError: a number of cores or days is not positive.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 4.2.

    >>> float(core_days(num_cores=8, days=30))
    240.0
    """
    check_shapes(num_cores=num_cores, days=days)
    return _positive("num_cores", num_cores) * _positive("days", days)


def chip_days(core_days: ArrayLike, cores_per_chip: float = CORES_PER_CHIP) -> np.ndarray:
    """Chip-days of so many core-days.

    >>> float(chip_days(9900))
    4950.0
    """
    check_shapes(core_days=core_days, cores_per_chip=cores_per_chip)
    return _positive("core_days", core_days) / _positive("cores_per_chip", cores_per_chip)


def days_on_cores(core_days: ArrayLike, num_cores: ArrayLike) -> np.ndarray:
    """Days that so many core-days take on `num_cores` cores.

    >>> float(days_on_cores(9900, num_cores=8))
    1237.5
    """
    check_shapes(core_days=core_days, num_cores=num_cores)
    return _positive("core_days", core_days) / _positive("num_cores", num_cores)


def pairwise_ratios(costs: Mapping[str, float] | pd.Series) -> pd.DataFrame:
    """Every cost over every other, all in one unit: row i, column j is costs[i] / costs[j].

    Raises:
        ValueError: a cost is not positive.

    Source: the ratios of the last row of Table 2 of Dosovitskiy et al. 2020.

    >>> ratios = pairwise_ratios({"ViT-L/16": 0.68, "BiT-L": 9.9})
    >>> float(ratios.loc["BiT-L", "ViT-L/16"].round(1))
    14.6
    """
    import pandas as pd

    series = pd.Series(costs)
    values = _positive("costs", series)
    return pd.DataFrame(values[:, None] / values, index=series.index, columns=series.index)


def _positive(name: str, values: ArrayLike) -> np.ndarray:
    return check_positive(name, numbers(name, values))
