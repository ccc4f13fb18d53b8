"""Random choices of a step: one stream of the seed for each purpose, so that none depends on what others draw."""

import numpy as np

__all__ = ["rng_of"]

# 1 is the order of the images (`sweeps.data.batches`).
_STREAMS = {
    "crop": 2, "rand_augment": 3, "mix": 4, "erase": 5, "drop_path": 6, "measure": 7, "finetune": 8, "attack": 9,
}  # fmt: skip


def rng_of(seed: int, step: int, purpose: str) -> np.random.Generator:
    """The generator of a step and purpose.

    >>> int(rng_of(0, 3, "crop").integers(10)) == int(rng_of(0, 3, "crop").integers(10))
    True
    """
    return np.random.default_rng([seed, step, _STREAMS[purpose]])
