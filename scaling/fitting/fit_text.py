"""A fit as text and as plain values: what a paper must report of it."""

import hashlib
from importlib import metadata
from typing import Any

import numpy as np

from ..errors import FitWarning, warning_lines
from ..laws import find_law
from .fit import Fit
from .objectives import find_objective
from .problem import Problem

__all__ = ["data_hash", "fit_from_dict", "fit_summary", "fit_to_dict"]


_NEEDED = ("law", "objective", "delta", "objective_value", "warnings", "points", "scaled", "data_sha256")


def data_hash(*arrays: np.ndarray) -> str:
    """sha256 of arrays as float64, in the order of their rows."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def fit_summary(fit: Fit) -> str:
    return "\n".join([*_headline(fit), *_parameters(fit), *_checklist(fit), *_warnings(fit)])


def _headline(fit: Fit) -> list[str]:
    rule = fit.objective
    delta = "" if rule.delta is None else f", delta {rule.delta:g}"
    return [f"{fit.law.name}: {fit.law.formula}   (n = {fit.num_points:g}, objective {rule.name}{delta})"]


def _parameters(fit: Fit) -> list[str]:
    lines = []
    for name, error in fit.standard_errors.items():
        index = fit.law.index(name)
        is_fixed = fit.problem.lower[index] == fit.problem.upper[index]
        bound = "fixed" if is_fixed else "at its bound"
        told = "not identified" if np.isnan(error) else f"+- {error:.3g} (standard error)"
        note = bound if name in fit.at_bound else told
        lines.append(f"  {name:>6} = {fit.params[name]:<12.6g} {note}")
    if fit.law.num_inputs == 1 and fit.law.link is None:
        middle = float(np.exp(np.mean(np.log(fit.x))))
        offset = fit.params[fit.law.offset] if fit.law.offset else 0.0
        lines.append(f"  amplitude at the geometric mean of x, {middle:.4g}: {fit.predict(middle) - offset:.6g}")
    return lines


def _checklist(fit: Fit) -> list[str]:
    """The part of the reporting checklist (Li et al. 2025) that a fit knows."""
    columns = np.atleast_2d(fit.x.T)
    ranges = " and ".join(f"{c.min():.4g} to {c.max():.4g}" for c in columns)
    own = [f"{n} in [{low:.4g}, {high:.4g}]" for n, (low, high) in fit.bounds.items()]
    weights = ["counts"] if np.any(fit.problem.weights != 1) else []
    if np.ptp(fit.problem.residual_scale) > 0:
        weights.append("num_eval" if fit.objective.is_binomial else "y_std")
    weighted = " and ".join(weights) or "equal"
    return [
        f"  residual standard deviation {fit.residual_std:.3g}, objective (sum) {fit.objective_value:.6g}",
        f"  {fit.num_free} free of {len(fit.law.params)} parameters; x from {ranges}; y {fit.y.min():.4g} to"
        f" {fit.y.max():.4g}; weights {weighted}",
        f"  bounds {', '.join(own)}; starts: at most {fit.law.num_starts} from a scan, none given",
        f"  data sha256 {data_hash(fit.x, fit.y)[:16]}; not known to a fit: how x was counted, tuning, dropped runs",
    ]


def _warnings(fit: Fit) -> list[str]:
    return warning_lines(fit.warnings)


def fit_to_dict(fit: Fit) -> dict[str, Any]:
    problem = fit.problem
    if fit.law.maker is not None:
        raise ValueError("the joint fit of groups cannot be written: its law is not one of the table")
    return {
        "law": fit.law.name,
        "formula": fit.law.formula,
        "objective": fit.objective.name,
        "delta": fit.objective.delta,
        "params": dict(fit.params),
        "standard_errors": {k: None if np.isnan(v) else v for k, v in fit.standard_errors.items()},
        "at_bound": fit.at_bound,
        "objective_value": fit.objective_value,
        "num_points": int(fit.y.size),
        "x_range": [np.min(fit.x, axis=0).tolist(), np.max(fit.x, axis=0).tolist()],
        "warnings": [[w.kind, str(w)] for w in fit.warnings],
        "points": {
            "x": fit.x.tolist(), "y": fit.y.tolist(), "counts": problem.weights[0].tolist(),
            "residual_scale": problem.residual_scale.tolist(),
        },
        "data_sha256": data_hash(fit.x, fit.y),
        "scaled": {
            "theta": fit.theta.tolist(), "lower": _finite(problem.lower), "upper": _finite(problem.upper),
            "x_unit": np.asarray(fit.x_unit).tolist(), "y_unit": fit.y_unit,
        },
        "versions": {name: metadata.version(name) for name in ("numpy", "scipy", "vision-scaling-laws")},
    }  # fmt: skip


def fit_from_dict(values: dict[str, Any]) -> Fit:
    missing = [name for name in _NEEDED if name not in values]
    if missing:
        raise ValueError(f"not a fit's dictionary: it lacks {missing}")
    points, scaled = values["points"], values["scaled"]
    x, y = np.array(points["x"], dtype=float), np.array(points["y"], dtype=float)
    if data_hash(x, y) != values["data_sha256"]:
        raise ValueError("the points of this fit are not those of its data_sha256")
    x_unit = np.array(scaled["x_unit"]) if isinstance(scaled["x_unit"], list) else scaled["x_unit"]
    rule = find_objective(values["objective"], values["delta"])
    problem = Problem(
        find_law(values["law"]), rule, x / x_unit, y / scaled["y_unit"], np.array([points["counts"]]),
        np.array(points["residual_scale"]), _unbounded(scaled["lower"], -np.inf), _unbounded(scaled["upper"], np.inf),
    )  # fmt: skip
    said = tuple(FitWarning(kind, text) for kind, text in values["warnings"])
    return Fit(problem, np.array(scaled["theta"]), x, y, x_unit, scaled["y_unit"], values["objective_value"], said)


def _finite(bounds: np.ndarray) -> list[float | None]:
    return [float(b) if np.isfinite(b) else None for b in bounds]


def _unbounded(bounds: list[float | None], limit: float) -> np.ndarray:
    return np.array([limit if b is None else b for b in bounds])
