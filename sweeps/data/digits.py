"""UCI digits: 1,797 real 8x8 images of handwritten digits, in scikit-learn's wheel."""

import numpy as np

__all__ = ["NUM_TEST", "NUM_TRAIN", "load"]

NUM_TRAIN, NUM_TEST = 1000, 797
_SPLIT_SEED = 0  # scikit-learn carries only the set's test part, without a split of its own
_MAX_VALUE = 16  # pixels are counts from 0 to 16


def load(split: str, num_images: int | None = None, folder: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (n, 8, 8) and labels int64 (n,).

    Source: Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI.

    >>> load("test")[0].shape
    (797, 8, 8)
    """
    from sklearn.datasets import load_digits  # a second of import, needed only here

    flat, targets = map(np.asarray, load_digits(return_X_y=True))
    images = np.round(flat.reshape(-1, 8, 8) * (255 / _MAX_VALUE)).astype(np.uint8)
    labels = targets.astype(np.int64)
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(labels))
    chosen = (order[:NUM_TRAIN] if split == "train" else order[NUM_TRAIN:])[:num_images]
    return images[chosen], labels[chosen]
