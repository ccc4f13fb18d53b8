"""Results as plain values, for JSON: what a reader of another program needs of them, without their draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .chained import Chain, ComputeTarget
from .ensemble.weighted import EnsembleFit
from .errors import FitError, FitWarning
from .fitting.fit import Fit
from .fitting.grouped import GroupedFit
from .frontier import CostRatio, FrontierFit
from .prediction import Prediction
from .selection.selected import SelectedFit
from .transfer import TransferFit

__all__ = ["interval_or_none", "plain"]


def plain(result: Any, level: float = 0.95) -> dict[str, Any]:
    """A result as a dict of numbers, texts, lists and dicts, at full precision; an open end is inf.

    Rows are told by their place in what the result was made of (`selected`).

    Args:
        result: from `fit_law` (as `Fit.to_dict`, and intervals), `fit_frontier`, `fit_transfer`, `fit_ensemble`,
            `chain`, `cost_ratio`, or what `predict` and `solve_for_compute` return.
        level: of the intervals of its parameters.

    Raises:
        TypeError: a result of another kind.

    >>> from scaling import fit_law
    >>> values = plain(fit_law("power", [1, 10, 100, 1000], [1, 0.52, 0.24, 0.13]))
    >>> values["law"], [round(end, 2) for end in values["intervals"]["b"]]
    ('power', [0.26, 0.34])
    """
    for kind, function in _KINDS.items():
        if isinstance(result, kind):
            return function(result, level)
    raise TypeError(f"a result of {', '.join(kind.__name__ for kind in _KINDS)} is wanted, got {type(result).__name__}")


def interval_or_none(interval: Callable[[], tuple[float, float]]) -> list[float] | None:
    """The two ends, None where there is no interval: of a parameter that is fixed, at its bound or not identified.

    >>> interval_or_none(lambda: (1, 2))
    [1.0, 2.0]
    """
    try:
        return [float(end) for end in interval()]
    except FitError:
        return None


def _fit(fit: Fit, level: float) -> dict[str, Any]:
    ends = {name: interval_or_none(lambda name=name: fit.interval(name, level)) for name in fit.params}
    return fit.to_dict() | {"level": level, "intervals": ends, "residual_std": float(fit.residual_std)}


def _grouped(fit: GroupedFit, level: float) -> dict[str, Any]:
    own = [name for name in fit.law.params if name not in fit.shared]
    shared = {name: interval_or_none(lambda name=name: fit.interval(name, level=level)) for name in fit.shared}
    groups = {
        label: {name: interval_or_none(lambda n=name, g=label: fit.interval(n, g, level)) for name in own}
        for label in fit.labels
    }
    return {
        "law": fit.law.name, "formula": fit.law.formula, "objective": fit.joint.objective.name,
        "shared": list(fit.shared), "groups": list(fit.labels), "num_points": int(fit.joint.y.size),
        "params": fit.params, "level": level, "intervals": shared | groups,
        "residual_std": float(fit.joint.residual_std), "warnings": _warnings(fit.warnings),
    }  # fmt: skip


def _selected(fit: SelectedFit, level: float) -> dict[str, Any]:
    """Of a law on a frontier or hull."""
    return {
        "law": fit.fit.law.name, "formula": fit.fit.law.formula, "params": fit.params, "level": level,
        "intervals": {name: [float(end) for end in fit.interval(name, level)] for name in fit.params},
        "draws": fit.intervals, "warnings": _warnings(fit.warnings),
    }  # fmt: skip


def _frontier(front: FrontierFit, level: float) -> dict[str, Any]:
    return _selected(front, level) | {
        "selection": front.selection, "hull_axes": front.hull_axes, "num_runs": int(front.x.size),
        "selected": front.selected.tolist(), "x_range": [float(front.x.min()), float(front.x.max())],
        "irreducible_error": float(front.fit.limit), **_edge(front),
    }  # fmt: skip


def _transfer(trans: TransferFit, level: float) -> dict[str, Any]:
    return _selected(trans, level) | {
        "selection": trans.selection, "num_models": int(trans.upstream.size), "selected": trans.selected.tolist(),
        "num_right_of_best": trans.num_right_of_best, "anchors": list(trans.anchors),
        "anchor_points": trans.anchor_points.tolist(), "upstream_bayes_error": trans.upstream_bayes_error,
        "saturation": trans.saturation, "saturation_interval": list(trans.saturation_interval(level)), **_edge(trans),
    }  # fmt: skip


def _edge(fit: FrontierFit | TransferFit) -> dict[str, Any]:
    """Noise and excess of a stochastic frontier."""
    if fit.stochastic is None:
        return {"stochastic": None}
    edge = fit.stochastic
    numbers = {
        "noise": np.median(edge.noise), "mean_excess": edge.mean_excess, "num_effective_draws": edge.num_effective
    }  # fmt: skip
    return {"stochastic": {name: float(value) for name, value in numbers.items()}}


def _chain(both: Chain, level: float) -> dict[str, Any]:
    return {
        "upstream": _frontier(both.front, level) if isinstance(both.front, FrontierFit) else _fit(both.front, level),
        "downstream": _transfer(both.trans, level),
        "saturation": both.saturation, "saturation_interval": list(both.saturation_interval(level)),
    }  # fmt: skip


def _ensemble(fit: EnsembleFit, level: float) -> dict[str, Any]:
    return {"num_points": int(fit.y.size), "noise": float(fit.noise), "members": fit.table.to_dict("records")}


def _cost_ratio(ratios: CostRatio, level: float) -> dict[str, Any]:
    laws = {"reference_law": ratios.reference_law, "rival_law": ratios.rival_law}
    return {
        "reference": ratios.reference.name, "rival": ratios.rival.name, "level": ratios.level,
        "ratios": ratios.table.to_dict("records"), "left_out": ratios.left_out.to_dict("records"),
        "contradictions": ratios.contradictions, "warnings": _warnings(ratios.warnings),
        **{name: None if law is None else _frontier(law, level) for name, law in laws.items()},
    }  # fmt: skip


def _prediction(band: Prediction, level: float) -> dict[str, Any]:
    values = {name: np.asarray(getattr(band, name)).tolist() for name in ("x", "median", "low", "high")}
    return values | {"level": band.level, "kind": band.kind}


def _target(target: ComputeTarget, level: float) -> dict[str, Any]:
    names = ("accuracy", "compute", "low", "high", "level", "probability_never", "saturation", "searched")
    values = {name: float(getattr(target, name)) for name in names}
    return values | {"saturation_interval": list(target.saturation_interval)}


def _warnings(found: Iterable[FitWarning]) -> list[list[str]]:
    return [[warning.kind, str(warning)] for warning in found]


_KINDS: dict[type, Callable[[Any, float], dict[str, Any]]] = {
    Fit: _fit, GroupedFit: _grouped, FrontierFit: _frontier, TransferFit: _transfer, Chain: _chain,
    EnsembleFit: _ensemble, CostRatio: _cost_ratio, Prediction: _prediction, ComputeTarget: _target,
}  # fmt: skip
