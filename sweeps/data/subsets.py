"""Nested, class-balanced subsets of a training set, and a part of it held out for every choice."""

import numpy as np

__all__ = ["class_balanced_order", "split_train_val"]

_HELD_OUT_SEED = 0  # the held-out part is the same for every run, so that errors on it compare


def class_balanced_order(labels: np.ndarray, seed: int) -> np.ndarray:
    """An order of the images whose every prefix holds the classes as evenly as they last: subsets are prefixes.

    Args:
        labels: int, shape (n,).
        seed: of the order within and between classes.

    >>> labels = np.repeat([0, 1, 2], 5)
    >>> np.bincount(labels[class_balanced_order(labels, seed=0)[:6]])
    array([2, 2, 2])
    """
    rng = np.random.default_rng([seed, len(labels)])
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    rank_in_class = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_class[np.lexsort((rng.random(len(labels)), rank_in_class))]


def split_train_val(labels: np.ndarray, num_val: int, num_train: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of a training subset of `num_train` images and of the `num_val` held out, which no subset holds."""
    held_out = class_balanced_order(labels, _HELD_OUT_SEED)[:num_val]
    rest = np.setdiff1d(np.arange(len(labels)), held_out)
    return rest[class_balanced_order(labels[rest], seed)[:num_train]], held_out
