"""What the choice of the evaluation images leaves open of an accuracy."""

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_fractions, check_same_index, numbers
from ..prediction import check_level

__all__ = ["accuracy_interval", "corrected", "sampling_variance"]


def accuracy_interval(accuracy: ArrayLike, num_eval: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's interval of accuracies: what the choice of the evaluation images leaves open.

    It covers at least `level`; not in it are seeds of the training.

    Args:
        accuracy: fractions, any shape.
        num_eval: evaluation images of each, whole numbers.

    Returns:
        (low, high), of the accuracies' shape.

    Source: Clopper and Pearson 1934 (Biometrika 26), as in Miller et al. 2021.

    >>> [end.round(4).tolist() for end in accuracy_interval([0.0, 0.5], 10)]
    [[0.0, 0.1871], [0.3085, 0.8129]]
    """
    from scipy.special import betaincinv

    check_level(level)
    check_same_index(accuracy=accuracy, num_eval=num_eval)
    accuracy = check_fractions("accuracy", accuracy)
    num = _check_num_eval("num_eval", num_eval, accuracy.shape)
    right = accuracy * num
    wrong = num - right
    with np.errstate(all="ignore"):  # the ends at 0 and 1 are replaced
        low = np.where(right > 0, betaincinv(right, wrong + 1, (1 - level) / 2), 0.0)
        high = np.where(wrong > 0, betaincinv(right + 1, wrong, (1 + level) / 2), 1.0)
    return low, high


def corrected(name: str, accuracy: np.ndarray, num_eval: ArrayLike | None) -> np.ndarray:
    """(correct + 1/2) / (images + 1): Haldane 1956 and Anscombe 1956, of all accuracies alike."""
    if num_eval is None:
        return accuracy
    num = _check_num_eval(name, num_eval, accuracy.shape)
    return (accuracy * num + 0.5) / (num + 1)


def sampling_variance(name: str, accuracy: np.ndarray, num_eval: ArrayLike | None) -> np.ndarray:
    """p (1 - p) / images, of p with one right and one wrong answer added, for it is not 0 where p is 0 or 1."""
    if num_eval is None:
        return np.zeros(accuracy.shape)
    num = _check_num_eval(name, num_eval, accuracy.shape)
    p = (accuracy * num + 1) / (num + 2)
    return p * (1 - p) / num


def _check_num_eval(name: str, num_eval: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    num = numbers(name, num_eval)
    if num.shape not in ((), shape) or not np.all((num >= 1) & (num % 1 == 0)):
        raise ValueError(f"{name} must be whole numbers of images, one or of shape {shape}, got {num}")
    return num
