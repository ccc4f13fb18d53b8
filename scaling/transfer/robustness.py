"""Robustness to a shift of the data: what a model does beyond the line of standard models, and beyond its base.

Both accuracies of a model should be of the same classes: of a shifted set with 200 of 1,000 classes the standard
accuracy is that on the same 200 (the line is fitted to whatever is passed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_accuracies, check_fractions, check_same_index, model_names
from ..prediction import Prediction, check_level
from ..quantiles import normal_quantile
from .eval_images import corrected, sampling_variance
from .lines import AccuracyLine, fit_line

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Robustness", "accuracy_difference", "effective_robustness"]


@dataclass(frozen=True, repr=False, eq=False)
class Robustness:
    """Effective robustness of models. Made by `effective_robustness`.

    Attributes:
        line: of the shifted accuracy against the standard, through the standard models.
        names: of all models.
        standard, shifted: their accuracies, corrected where the numbers of images were given, shape (n,).
        is_standard: which models the line was asked to go through, shape (n,).
        note: what the reader must know of that choice.
        effective: shifted accuracy less that of the line, shape (n,).
        standard_error: of `effective`, shape (n,).
        level: of the intervals and the band.
    """

    line: AccuracyLine
    names: tuple[str, ...]
    standard: np.ndarray
    shifted: np.ndarray
    is_standard: np.ndarray
    note: str
    effective: np.ndarray
    standard_error: np.ndarray
    level: float

    @property
    def table(self) -> pd.DataFrame:
        """A row a model, the most robust first: accuracies, drop, that of the line, effective robustness with interval.

        The interval is Student's, with the degrees of freedom of the line. `band_low` and `band_high`: between them a
        new standard model would lie; `outside_band`: whether the model is unusual beyond their scatter.
        """
        import pandas as pd

        half = self.line.student_quantile(self.level) * self.standard_error
        band = self._band()
        columns = {
            "model": self.names, "standard_accuracy": self.standard, "shifted_accuracy": self.shifted,
            "drop": self.standard - self.shifted, "predicted_accuracy": self.shifted - self.effective,
            "effective_robustness": self.effective, "low": self.effective - half, "high": self.effective + half,
            "band_low": band.low, "band_high": band.high, "outside_band": self._outside(band),
            "is_standard": self.is_standard,
        }  # fmt: skip
        frame = pd.DataFrame(columns).sort_values("effective_robustness", ascending=False, kind="stable")
        return frame.reset_index(drop=True)

    def _band(self) -> Prediction:
        return self.line.predict(self.standard, self.level, kind="prediction")

    def _outside(self, band: Prediction) -> np.ndarray:
        return (self.shifted < band.low) | (self.shifted > band.high)

    def summary(self) -> str:
        """The line, the models that are most and least robust, and whether a new standard model might be as far off."""
        outside, ends = self._outside(self._band()), []
        for word, i in (("most", int(np.argmax(self.effective))), ("least", int(np.argmin(self.effective)))):
            band = f"{'outside' if outside[i] else 'inside'} the {self.level:.0%} band of a new standard model"
            error = f"standard error of the line {self.standard_error[i]:.4f}; {band}"
            ends.append(f"  {word} robust: {self.names[i]}, {self.effective[i]:+.4f} ({error})")
        return "\n".join(
            [f"effective robustness of {len(self.names)} models", f"  {self.note}", *ends, repr(self.line)]
        )

    def __repr__(self) -> str:
        return self.summary()


def effective_robustness(
    standard_accuracy: ArrayLike,
    shifted_accuracy: ArrayLike,
    *,
    is_standard: ArrayLike | None = None,
    scaling: str = "logit",
    standard_num_eval: ArrayLike | None = None,
    shifted_num_eval: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> Robustness:
    """Accuracy on a shifted set beyond what the standard models' line says at the same standard accuracy.

    The standard error holds that of the line, and, where the numbers of images are given, the sampling of both sets of
    images (binomial, taken for independent of each other). It does not hold seeds of the training, nor the scatter of
    standard models about their line: a model is unusual only if it lies outside the band of a new standard model, which
    the table has. The standard error of a model that the line goes through ignores that it is one of them.

    Args:
        standard_accuracy, shifted_accuracy: fractions, shape (n,), the standard one strictly between 0 and 1 but on the
            scale "identity" or with its number of images; the standard accuracy on the shifted set's classes where it
            has fewer.
        is_standard: which models the line goes through (those trained on the standard set alone, without an
            intervention), booleans, shape (n,); all without, which a note says.
        scaling: of the line, see `fit_line`; the paper's is the logit.
        standard_num_eval, shifted_num_eval: evaluation images, one number or shape (n,). Where given, accuracies are
            corrected as in `fit_line`, so that one of 0 or 1 has a place.
        names: of the models; row numbers without.
        level: of the intervals of the table, and of the band of a new standard model.

    Raises:
        ValueError: bad input.
        FitError: fewer than three standard models.

    Warns:
        FitWarning: `dropped_points`, of standard models with a shifted accuracy of 0 or 1 and no number of images;
            `poor_fit` where the standard models' scatter is curved on the scale.

    Source: Taori et al. 2020 (arXiv 2007.00644), section 2; Miller et al. 2021 (arXiv 2107.04649).

    >>> robust = effective_robustness([0.6, 0.7, 0.8, 0.8], [0.3, 0.4, 0.5, 0.7], scaling="identity",
    ...                               is_standard=[True, True, True, False])
    >>> robust.effective.round(3).tolist()
    [0.0, 0.0, 0.0, 0.2]
    """
    check_level(level)
    names_of_both = ("standard_accuracy", "shifted_accuracy")
    check_same_index(
        standard_accuracy=standard_accuracy, is_standard=is_standard, standard_num_eval=standard_num_eval,
        shifted_num_eval=shifted_num_eval, names=names,
    )  # fmt: skip
    given = check_accuracies(standard_accuracy, shifted_accuracy, below_one=False, names=names_of_both)
    mask, note = _standard_models(is_standard, given[0].size)
    labels = model_names(names, given[0].size)
    chosen = [label for label, is_in in zip(labels, mask, strict=True) if is_in]
    standard = corrected("standard_num_eval", given[0], standard_num_eval)
    shifted = corrected("shifted_num_eval", given[1], shifted_num_eval)
    _check_place(standard, scaling)
    line = fit_line(standard[mask], shifted[mask], scaling=scaling, names=chosen)
    effective = shifted - line.predict(standard)
    variance = _line_variance(line, standard, sampling_variance("standard_num_eval", given[0], standard_num_eval))
    variance += sampling_variance("shifted_num_eval", given[1], shifted_num_eval)
    return Robustness(line, tuple(labels), standard, shifted, mask, note, effective, np.sqrt(variance), level)


def accuracy_difference(
    accuracy: ArrayLike,
    base_accuracy: ArrayLike,
    *,
    num_eval: ArrayLike | None = None,
    base_num_eval: ArrayLike | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy less that of a base: relative robustness on a shifted set, or the drop from a standard to a shifted set.

    Relative robustness is the gain of a model over its base (the same without the intervention) on the shifted set.
    An intervention is of use where relative and effective robustness are both positive.

    Args:
        accuracy, base_accuracy: fractions; one dimension, or numbers.
        num_eval, base_num_eval: evaluation images of each; with both, an interval.
        level: of the interval: normal, of the sampling of the images, taken for independent. Two models on the same
            images mostly err on the same ones: then it is too wide.

    Returns:
        A row a pair: `difference`, and with the numbers of images `standard_error, low, high`.

    Source: Taori et al. 2020 (arXiv 2007.00644), section 2, Eq. 2.

    >>> accuracy_difference(0.617, 0.587, num_eval=1000, base_num_eval=1000).round(4).to_dict("records")
    [{'difference': 0.03, 'standard_error': 0.0219, 'low': -0.0129, 'high': 0.0729}]
    """
    import pandas as pd

    check_same_index(accuracy=accuracy, base_accuracy=base_accuracy, num_eval=num_eval, base_num_eval=base_num_eval)
    ours = np.atleast_1d(check_fractions("accuracy", accuracy))
    base = np.atleast_1d(check_fractions("base_accuracy", base_accuracy))
    shapes = f"accuracy {ours.shape} and base_accuracy {base.shape}"
    if ours.ndim != 1 or base.ndim != 1 or (ours.shape != base.shape and 1 not in (ours.size, base.size)):
        raise ValueError(f"accuracies must be numbers, or one-dimensional and of one shape, got {shapes}")
    difference = ours - base
    if (num_eval is None) != (base_num_eval is None):
        raise ValueError("an interval needs num_eval and base_num_eval, got one of them")
    if num_eval is None:
        return pd.DataFrame({"difference": difference})
    variance = sampling_variance("num_eval", ours, num_eval) + sampling_variance("base_num_eval", base, base_num_eval)
    error = np.sqrt(variance)
    half = normal_quantile(level) * error
    ends = {"low": difference - half, "high": difference + half}
    return pd.DataFrame({"difference": difference, "standard_error": error, **ends})


def _standard_models(is_standard: ArrayLike | None, n: int) -> tuple[np.ndarray, str]:
    if is_standard is None:
        return np.ones(n, dtype=bool), "all models are taken for standard: robust ones among them lift the line"
    flags = np.asarray(is_standard, dtype=object)
    kinds = ", ".join(sorted({type(flag).__name__ for flag in flags.ravel()}))
    if flags.shape != (n,) or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise ValueError(f"is_standard must be booleans of shape ({n},), got {kinds} of shape {flags.shape}")
    mask = flags.astype(bool)
    return mask, f"the line goes through {int(mask.sum())} standard models"


def _check_place(standard: np.ndarray, scaling: str) -> None:
    ends = np.flatnonzero((standard == 0) | (standard == 1))
    if ends.size and scaling != "identity":
        value = f"row {ends[0]} is {standard[ends[0]]:g} ({ends.size} such)"
        raise ValueError(
            f"a standard_accuracy of 0 or 1 has no place on the scale {scaling!r}; {value};"
            " standard_num_eval= gives it one"
        )


def _line_variance(line: AccuracyLine, standard: np.ndarray, sampling: np.ndarray) -> np.ndarray:
    """Of the line's accuracy at the standard ones: of its slope and intercept, and of the standard accuracy itself."""
    link = line.link
    z = link.forward(standard)
    back = 1 / link.slope(link.backward(line.slope * z + line.intercept))
    return back**2 * (line.variance_at(z) + (line.slope * link.slope(standard)) ** 2 * sampling)
