"""Randomised classifiers: what is attained by picking a classifier at random for each input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_fractions, numbers
from ..selection.hulls import convex_hull

__all__ = ["Mixture", "mix_classifiers"]

_ROUNDING = 1e-12  # of an accuracy on the hull, which interpolation rounds


@dataclass(frozen=True, repr=False, eq=False)
class Mixture:
    """A randomised classifier. Made by `mix_classifiers`.

    Attributes:
        points: (upstream, downstream) accuracies of all classifiers, shape (n, 2).
        models: rows of the classifiers that it picks from, upstream accuracy ascending; each once.
        weights: probabilities of picking them, all above 0, their sum 1.
        upstream_accuracy, downstream_accuracy: what it attains in expectation.
    """

    points: np.ndarray
    models: np.ndarray
    weights: np.ndarray
    upstream_accuracy: float
    downstream_accuracy: float

    def draw(self, num_inputs: int, rng: np.random.Generator) -> np.ndarray:
        """Which classifier answers each input, as rows of `points`, shape (num_inputs,)."""
        return rng.choice(self.models, size=num_inputs, p=self.weights)

    def summary(self) -> str:
        """The classifiers with their weights, and what the mixture attains."""
        lines = [
            f"  {weight:.4g} of model {row}, accuracies ({self.points[row, 0]:.4g}, {self.points[row, 1]:.4g})"
            for row, weight in zip(self.models, self.weights, strict=True)
        ]
        attained = f"({self.upstream_accuracy:.4g}, {self.downstream_accuracy:.4g})"
        return "\n".join([f"randomised classifier of accuracies (upstream, downstream) {attained}", *lines])

    def __repr__(self) -> str:
        return self.summary()


def mix_classifiers(points: ArrayLike, upstream_accuracy: float, downstream_accuracy: float | None = None) -> Mixture:
    """The randomised classifier that attains a point of the convex hull of classifiers.

    With probability p_j classifier j answers, upstream and downstream: the accuracies are sum_j p_j (a_US_j, a_DS_j).
    So each point of the hull is attained; the upper hull is the best that models can do at an upstream accuracy.

    Args:
        points: (upstream, downstream) accuracies of the classifiers, fractions, shape (n, 2); a guess may be one.
        upstream_accuracy: of the mixture; between the least and the largest of the classifiers'.
        downstream_accuracy: of the mixture, anywhere between the lower and the upper hull, which takes up to four
            classifiers; None: on the upper hull, which takes at most two.

    Raises:
        ValueError: accuracies that are no fractions, or that no mixture attains: what is in reach.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Lemma 2.1 and Appendix B.

    >>> mix = mix_classifiers([(0.2, 0.5), (0.3, 0.4), (0.6, 0.7)], upstream_accuracy=0.3)
    >>> mix.models.tolist(), mix.weights.round(6).tolist(), round(mix.downstream_accuracy, 6)
    ([0, 2], [0.75, 0.25], 0.55)
    """
    points = _check_classifiers(points)
    least, largest = points[:, 0].min(), points[:, 0].max()
    at = _one_accuracy("upstream_accuracy", upstream_accuracy)
    if least - _ROUNDING <= at <= largest + _ROUNDING:
        at = float(np.clip(at, least, largest))
    else:
        raise ValueError(f"upstream_accuracy must lie between the classifiers', [{least:g}, {largest:g}], got {at:g}")
    weights = _side_weights(points, at, "upper")
    if downstream_accuracy is not None:
        other = _side_weights(points, at, "lower")
        asked = _one_accuracy("downstream_accuracy", downstream_accuracy)
        share = _share_of_upper(asked, float(other @ points[:, 1]), float(weights @ points[:, 1]))
        weights = share * weights + (1 - share) * other
    models = np.flatnonzero(weights)
    models = models[np.argsort(points[models, 0], kind="stable")]
    attained = weights @ points
    return Mixture(points, models, weights[models], float(attained[0]), float(attained[1]))


def _side_weights(points: np.ndarray, at: float, side: str) -> np.ndarray:
    """Weights, shape (n,), of the point of one side of the hull at an upstream accuracy: of one or two vertices."""
    hull = convex_hull(points[:, 0], points[:, 1], side=side)
    us, weights = points[hull, 0], np.zeros(len(points))
    right = int(np.searchsorted(us, at))  # the first vertex that is not left of it
    if us[right] == at:
        weights[hull[right]] = 1.0
        return weights
    share = (at - us[right - 1]) / (us[right] - us[right - 1])
    weights[hull[right - 1]], weights[hull[right]] = 1 - share, share
    return weights


def _share_of_upper(at: float, low: float, high: float) -> float:
    if not low - _ROUNDING <= at <= high + _ROUNDING:
        raise ValueError(
            f"downstream_accuracy must lie between the hulls at that upstream accuracy, [{low:g}, {high:g}], got {at:g}"
        )
    return 1.0 if high == low else float(np.clip((at - low) / (high - low), 0, 1))


def _one_accuracy(name: str, value: float) -> float:
    found = check_fractions(name, value)
    if found.ndim > 0:
        raise ValueError(f"{name} must be one number, got shape {found.shape}")
    return float(found)


def _check_classifiers(points: ArrayLike) -> np.ndarray:
    points = numbers("points", points)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"points must be (upstream, downstream) accuracies, shape (n, 2), got {points.shape}")
    return np.stack([check_fractions(f"points[:, {i}]", points[:, i]) for i in range(2)], axis=1)
