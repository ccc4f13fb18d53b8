"""Scaling laws for vision: read the records of trained models, fit laws, predict with an interval.

The data flow one way: records -> selection (frontier, hull) -> law -> fit -> bootstrap -> prediction -> plots.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, frontier, measurements, plots, published, report, tables, transfer, tuning
    from .chained import chain
    from .ensemble.comparison import compare_laws
    from .ensemble.weighted import fit_ensemble
    from .errors import FitError, FitWarning
    from .fitting.fit import Fit
    from .fitting.fit_law import fit_law
    from .fitting.objectives import OBJECTIVES
    from .frontier import fit_frontier
    from .intervals.bootstrap import bootstrap_fit
    from .intervals.derived import derived_interval
    from .intervals.profile import profile_interval
    from .laws import LAWS
    from .records import read_evals, read_measurements, read_records, validate_records
    from .selection.hulls import convex_hull, pareto_frontier
    from .transfer import fit_transfer, mix_classifiers
    from .writing import write_records

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
    "LAWS": "laws", "OBJECTIVES": "fitting.objectives", "Fit": "fitting.fit", "FitError": "errors",
    "FitWarning": "errors", "bootstrap_fit": "intervals.bootstrap", "chain": "chained",
    "compare_laws": "ensemble.comparison", "convex_hull": "selection.hulls", "derived_interval": "intervals.derived",
    "fit_ensemble": "ensemble.weighted", "fit_frontier": "frontier", "fit_law": "fitting.fit_law",
    "fit_transfer": "transfer", "mix_classifiers": "transfer", "pareto_frontier": "selection.hulls",
    "profile_interval": "intervals.profile", "read_evals": "records", "read_measurements": "records",
    "read_records": "records", "validate_records": "records", "write_records": "writing",
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
