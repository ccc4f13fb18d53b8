"""How well the laws and the ensemble extrapolate real curves: `python -m tests.benchmarks.extrapolation` prints it.

36 few-shot curves (ImageNet and Birds; 6 models) of Alabdulmohsin, Neyshabur and Zhai 2022 (arXiv 2209.06640): fit
where the examples seen are at most half the largest, score the root mean square of log prediction - log error above.
The reference is the plain mean, in log error, of five laws each with four weightings of the points.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from scaling import FitError, FitWarning, fit_law
from scaling.datasets import paths
from scaling.datasets.shipped import shipped
from scaling.ensemble.weighted import EnsembleFit, fit_ensemble

NMT = shipped("published/alabdulmohsin2022_nmt.csv")
REFERENCE_LAWS = ("power", "saturating_power", "double_saturating_power", "sigmoidal_power", "broken_power")
LAWS = (*REFERENCE_LAWS, "reciprocal_shift_power", "shifted_power")
NUM_DRAWS, SEED, LEVEL = 10_000, 0, 0.95


@dataclass(frozen=True, eq=False)
class Curve:
    """Points to fit (x, y) and to score (new_x, new_y), x ascending."""

    name: str
    x: np.ndarray
    y: np.ndarray
    new_x: np.ndarray
    new_y: np.ndarray

    def score(self, log_prediction: np.ndarray) -> float:
        return float(np.sqrt(np.mean((log_prediction - np.log(self.new_y)) ** 2)))


def read_curves(path: Path) -> Iterator[Curve]:
    rows = pd.read_csv(path).sort_values("Seen Examples", kind="stable")
    for key, group in rows.groupby(["Task", "Model"]):
        fitted = (group["Training"] == 1).to_numpy()
        x, y = group["Seen Examples"].to_numpy(float), group["Loss"].to_numpy(float)
        yield Curve(" ".join(map(str, key)), x[fitted], y[fitted], x[~fitted], y[~fitted])


def vision_curves() -> list[Curve]:
    """Of the whole file, which is what is fetched, and of its half the same: ImageNet and Birds."""
    [path] = paths("fewshot_curves").values()
    return [curve for curve in read_curves(path) if curve.name.startswith(("inet_", "bird_"))]


def weightings(x: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of the points (n,), x ascending; 0 leaves a point out."""
    share = x / x[-1]
    return {
        "all": np.ones(x.size),
        "last half": 1.0 * (np.arange(x.size) >= x.size // 2),
        "root": share**0.5,
        "x": share,
    }


def log_prediction(law: str, curve: Curve, weights: np.ndarray) -> np.ndarray | None:
    """Of one weighted fit, None where it cannot be had."""
    kept = weights > 0
    y_std = curve.y[kept] / np.sqrt(weights[kept])
    try:
        fit = fit_law(law, curve.x[kept], curve.y[kept], y_std=y_std)
    except FitError:
        return None
    return np.log(fit.predict(curve.new_x))


def reference_members(curve: Curve) -> dict[tuple[str, str], np.ndarray]:
    """Log predictions of every law of the reference at every weighting, and of the other laws on all points."""
    found = {}
    for name, weights in weightings(curve.x).items():
        for law in REFERENCE_LAWS if name != "all" else LAWS:
            prediction = log_prediction(law, curve, weights)
            if prediction is not None:
                found[law, name] = prediction
    return found


@cache
def ensemble_scores(which: str = "vision") -> tuple[np.ndarray, list[tuple[Curve, EnsembleFit]]]:
    curves = vision_curves() if which == "vision" else list(read_curves(NMT))
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        pairs = [(curve, fit_ensemble(curve.x, curve.y)) for curve in curves]
        scores = [curve.score(np.log(ensemble.predict(curve.new_x))) for curve, ensemble in pairs]
    return np.array(scores), pairs


@cache
def reference_scores(which: str = "vision") -> dict[str, np.ndarray]:
    """Scores (num_curves,) of each law alone on all points (nan where it has no fit), and of the plain mean."""
    scores: dict[str, list[float]] = {law: [] for law in LAWS} | {"reference": []}
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        for curve in vision_curves() if which == "vision" else read_curves(NMT):
            members = reference_members(curve)
            for law in LAWS:
                scores[law].append(curve.score(members[law, "all"]) if (law, "all") in members else np.nan)
            mean = np.mean([members[key] for key in members if key[0] in REFERENCE_LAWS], axis=0)
            scores["reference"].append(curve.score(mean))
    return {name: np.array(values) for name, values in scores.items()}


def paired_interval(scores: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    """Mean difference over curves, and its 95 % bootstrap interval over curves."""
    difference = scores - reference
    rows = np.random.default_rng(SEED).integers(len(difference), size=(NUM_DRAWS, len(difference)))
    low, high = np.quantile(difference[rows].mean(axis=1), [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)


def coverage(pairs: list[tuple[Curve, EnsembleFit]], kind: str) -> tuple[float, float, float]:
    """Share of held-out points inside the 95 % interval: over points, and the median curve's; median half-width."""
    inside, widths = [], []
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        for curve, ensemble in pairs:
            band = ensemble.predict(curve.new_x, level=LEVEL, kind=kind)
            inside.append((band.low <= curve.new_y) & (curve.new_y <= band.high))
            widths.append(np.log(band.high / band.low) / 2)
    shares = [float(np.mean(each)) for each in inside]
    return float(np.mean(np.concatenate(inside))), float(np.median(shares)), float(np.median(np.concatenate(widths)))


def table(which: str) -> str:
    ensemble, pairs = ensemble_scores(which)
    scores = reference_scores(which)
    reference = scores["reference"]
    lines = [f"{which}: {len(pairs)} curves", f"{'':26}{'mean':>9}{'median':>9}   mean difference from the reference"]
    for name, values in {**scores, "ensemble": ensemble}.items():
        kept = np.isfinite(values) & np.isfinite(reference)
        middle, low, high = paired_interval(values[kept], reference[kept])
        note = "" if kept.all() else f"  ({kept.sum()} curves)"
        lines.append(
            f"{name:26}{values[kept].mean():9.5f}{np.median(values[kept]):9.5f}"
            f"   {middle:+.5f} [{low:+.5f}, {high:+.5f}]{note}"
        )
    for kind in ("confidence", "prediction"):
        over, middle, width = coverage(pairs, kind)
        lines.append(
            f"95 % {kind} interval: {over:.3f} of the points, median curve {middle:.3f}, half-width {width:.3f}"
        )
    sharp = sum(np.ptp(fit.weights) > 1e-12 for _, fit in pairs)
    lines.append(f"curves whose weights are not equal: {sharp}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(__doc__)
    print("The ensemble's rule was chosen by rolling hold-out inside the fitting points only.")
    print("RMSE of log error on the held-out points; intervals: paired bootstrap over curves, 10,000 draws, seed 0.\n")
    print(table("vision"))
    print()
    print(table("nmt"))
