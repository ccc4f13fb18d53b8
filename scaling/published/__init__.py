"""The estimators of papers, where they differ from `fit_law`: to have a paper's number, not to fit new data with.

To add one, write its function in a file of its own and add one row to `PUBLISHED_ESTIMATORS`.

>>> fit = PUBLISHED_ESTIMATORS["alabdulmohsin2022_m3"]([1, 10, 100, 1000], [0.9, 0.5, 0.3, 0.2])
>>> fit.law, sorted(fit.params), fit.converged
('reciprocal_shift_power', ['a', 'b', 'd'], True)
"""

from collections.abc import Callable

from .alabdulmohsin2022 import alabdulmohsin2022_m1, alabdulmohsin2022_m2, alabdulmohsin2022_m3, alabdulmohsin2022_m4
from .caballero2022 import bnsl
from .cherti2023 import cherti2023
from .hoffmann2022 import BESIROGLU_2024, HOFFMANN_2022, HOFFMANN_2022_ROUNDED, compute_optimal_params, hoffmann2022
from .nezhurina2025 import nezhurina2025
from .result import PublishedFit

__all__ = [
    "BESIROGLU_2024",
    "HOFFMANN_2022",
    "HOFFMANN_2022_ROUNDED",
    "PUBLISHED_ESTIMATORS",
    "PublishedFit",
    "alabdulmohsin2022_m1",
    "alabdulmohsin2022_m2",
    "alabdulmohsin2022_m3",
    "alabdulmohsin2022_m4",
    "bnsl",
    "cherti2023",
    "compute_optimal_params",
    "hoffmann2022",
    "nezhurina2025",
]

PUBLISHED_ESTIMATORS: dict[str, Callable[..., PublishedFit]] = {
    estimator.__name__: estimator
    for estimator in (
        alabdulmohsin2022_m1,
        alabdulmohsin2022_m2,
        alabdulmohsin2022_m3,
        alabdulmohsin2022_m4,
        bnsl,
        cherti2023,
        hoffmann2022,
        nezhurina2025,
    )
}
"""The estimators by name."""
