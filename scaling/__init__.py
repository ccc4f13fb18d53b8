"""Scaling laws for vision: read the records of trained models, fit laws, predict with an interval.

The data flow one way: records -> selection (frontier, hull) -> law -> fit -> bootstrap -> prediction -> plots.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, frontier, measurements, plots, published, report, tables, transfer, tuning
    from .bootstrap import bootstrap_fit
    from .chained import chain
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
    from .records import read_evals, read_measurements, read_records, validate_records, write_records
    from .transfer import fit_transfer, mix_classifiers

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

_MODULES = {
    "LAWS": "laws", "OBJECTIVES": "objectives", "Fit": "fit", "FitError": "errors", "FitWarning": "errors",
    "bootstrap_fit": "bootstrap", "chain": "chained", "compare_laws": "comparison", "convex_hull": "hulls",
    "derived_interval": "derived", "fit_ensemble": "ensemble", "fit_frontier": "frontier", "fit_law": "fitting",
    "fit_transfer": "transfer", "mix_classifiers": "transfer", "pareto_frontier": "hulls",
    "profile_interval": "profile", "read_evals": "records", "read_measurements": "records", "read_records": "records",
    "validate_records": "records", "write_records": "records",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Each name on first use: whoever takes a part of this package does not wait for scipy, pandas or matplotlib."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _MODULES:
        return import_module(f".{name}", __name__)
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
