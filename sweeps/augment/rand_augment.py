"""RandAugment of whole batches on the device: images that got the same operation go through it together.

An operation, its sign and whether it is applied are drawn for each image; a magnitude's noise and a cutout's place for
each group of a batch with the same operation and sign. So every image has the distribution of the published code, and
a batch costs some tens of calls in place of one an image.
"""

from collections.abc import Iterator

import numpy as np
import torch

from .operations import POLICIES, Operation, Policy
from .streams import rng_of

__all__ = ["rand_augment"]


def rand_augment(
    pixels: torch.Tensor, num_ops: int, magnitude: float, policy_name: str, seed: int, step: int
) -> torch.Tensor:
    """Each image through `num_ops` operations of a policy in turn: uint8 (b, height, width, 3).

    Args:
        magnitude: of 10.
        policy_name: a key of `POLICIES`.
    """
    rng = rng_of(seed, step, "rand_augment")
    for _ in range(num_ops):
        changed = pixels.clone()
        for operation, images, arguments in _groups(POLICIES[policy_name], len(pixels), magnitude, rng):
            index = torch.from_numpy(images).to(pixels.device)
            result = operation.apply(pixels.index_select(0, index).permute(0, 3, 1, 2), *arguments)
            changed.index_copy_(0, index, result.permute(0, 2, 3, 1))
        pixels = changed
    return pixels


def _groups(
    policy: Policy, num_images: int, magnitude: float, rng: np.random.Generator
) -> Iterator[tuple[Operation, np.ndarray, list[float]]]:
    """The operations of one turn, each with the images it is for and its arguments."""
    operations = list(policy.operations.values())
    drawn = rng.integers(len(operations), size=num_images)
    negative = rng.random(num_images) < 0.5
    applied = rng.random(num_images) < policy.probability
    levels = np.clip(magnitude + rng.normal(0, policy.magnitude_std, (len(operations), 2)), 0, 10) / 10
    places = rng.random((len(operations), 2, 2))
    signed = np.array([operation.signed for operation in operations])
    groups = np.where(applied, 2 * drawn + (negative & signed[drawn]), -1)
    for group in np.unique(groups[applied]):
        number, sign = divmod(int(group), 2)
        operation = operations[number]
        arguments = [operation.argument(float(levels[number, sign]))] if operation.argument else []
        arguments = [-argument if sign else argument for argument in arguments]
        arguments += places[number, sign].tolist() if operation.placed else []
        yield operation, np.flatnonzero(groups == group), arguments
