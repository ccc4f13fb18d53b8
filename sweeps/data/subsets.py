"""Nested, class-balanced subsets of a training set, and a part of it held out for every choice."""

import numpy as np

__all__ = ["class_balanced_order", "sample_rows", "split_train_val"]

_SAMPLE_SEED = 0  # a sample is the same for every run, so that errors on it compare
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
    by_class = shuffled[_stable_order(labels[shuffled])]
    counts = np.bincount(labels)
    rank_in_class = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    within_rank = np.argsort(rng.random(len(labels)), kind="stable")
    return by_class[within_rank[_stable_order(rank_in_class[within_rank])]]


def _stable_order(numbers: np.ndarray) -> np.ndarray:
    """Of 16 bits numpy sorts in linear time."""
    fits = len(numbers) and numbers.max() < 2**16
    return np.argsort(numbers.astype(np.uint16) if fits else numbers, kind="stable")


def sample_rows(num_images: int, num_wanted: int | None, shuffled: bool) -> np.ndarray:
    """So many rows of a split, ascending, on which an error is that of the split but for chance; all where it is None.

    Args:
        shuffled: the images lie in no order, so that the first ones will do; else they are drawn, since of images that
            lie class by class the first ones are of a few classes.

    >>> sample_rows(100, 3, shuffled=True), len(sample_rows(100, None, shuffled=False))
    (array([0, 1, 2]), 100)
    """
    if num_wanted is None or num_wanted >= num_images or shuffled:
        return np.arange(num_images)[:num_wanted]
    return np.sort(np.random.default_rng(_SAMPLE_SEED).permutation(num_images)[:num_wanted])


def split_train_val(labels: np.ndarray, num_val: int, num_train: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of a training subset of `num_train` images and of the `num_val` held out, which no subset holds.

    A class's last image is held out only where nothing else is left: else a class of one image would not be learned.
    """
    order = class_balanced_order(labels, _HELD_OUT_SEED)
    place = np.full(int(labels.max(initial=0)) + 1, -1)
    place[labels[order]] = np.arange(len(order))  # of each class's last image
    is_last = np.zeros(len(order), bool)
    is_last[place[place >= 0]] = True
    held_out = np.concatenate([order[~is_last], order[is_last]])[:num_val]
    is_left = np.ones(len(labels), bool)
    is_left[held_out] = False
    rest = np.flatnonzero(is_left)
    return rest[class_balanced_order(labels[rest], seed)[:num_train]], held_out
