"""Scaling laws for vision: read the records of trained models, fit laws, predict with an interval.

The data flow one way: records -> selection (frontier, hull) -> law -> fit -> bootstrap -> prediction -> plots.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import frontier, transfer, tuning
from .bootstrap import bootstrap_fit
from .chain import chain
from .comparison import compare_laws
from .derived import derived_interval
from .ensemble import fit_ensemble
from .errors import FitError, FitWarning
from .fit import Fit
from .fitting import fit_law
from .frontier import fit_frontier
from .hulls import convex_hull, pareto_frontier
from .laws import LAWS
from .objectives import OBJECTIVES
from .profile import profile_interval
from .transfer import fit_transfer, mix_classifiers

if TYPE_CHECKING:
    from . import datasets, measurements, plots, published, report, tables
    from .records import read_evals, read_measurements, read_records, validate_records, write_records

__all__ = [
    "LAWS",
    "OBJECTIVES",
    "Fit",
    "FitError",
    "FitWarning",
    "bootstrap_fit",
    "chain",
    "compare_laws",
    "convex_hull",
    "datasets",
    "derived_interval",
    "fit_ensemble",
    "fit_frontier",
    "fit_law",
    "fit_transfer",
    "frontier",
    "measurements",
    "mix_classifiers",
    "pareto_frontier",
    "plots",
    "profile_interval",
    "published",
    "read_evals",
    "read_measurements",
    "read_records",
    "report",
    "tables",
    "transfer",
    "tuning",
    "validate_records",
    "write_records",
]


def __getattr__(name: str) -> Any:
    """`plots` and the functions on records on first use: matplotlib and pandas are most of the time of the import."""
    if name in ("datasets", "measurements", "plots", "published", "report", "tables"):
        return import_module(f".{name}", __name__)
    if name in __all__:
        return getattr(import_module(".records", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
