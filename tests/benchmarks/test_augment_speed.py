"""Time of each augmentation of a batch on one thread: `make bench`. Without it each runs once."""

from itertools import count

import numpy as np
import pytest
import torch
from PIL import Image
from timm.data.auto_augment import rand_augment_transform

from sweeps.augment import augment_batch
from sweeps.specs.config import RecipeConfig

AUGMENTATIONS = {
    "none": {"augment": "none"},
    "crop_flip": {"augment": "crop_flip"},
    "inception_flip": {"augment": "inception_flip"},
    "rand_augment timm": {"augment": "none", "rand_augment_ops": 2},
    "rand_augment big_vision": {"augment": "none", "rand_augment_ops": 2, "rand_augment_policy": "big_vision"},
    "mixup": {"augment": "none", "mixup": 0.8},
    "cutmix": {"augment": "none", "cutmix": 1.0},
    "erase": {"augment": "none", "erase": 0.25},
    "deit": {"name": "deit"},
}
BATCHES = {"128 of 32 px": (128, 32), "64 of 224 px": (64, 224)}

pytestmark = pytest.mark.usefixtures("one_thread")


def batch(name):
    num_images, size = BATCHES[name]
    pixels = np.random.default_rng(0).integers(0, 256, (num_images, size, size, 3), dtype=np.uint8)
    return torch.from_numpy(pixels), torch.zeros(num_images, dtype=torch.int64)


@pytest.mark.parametrize("shape", BATCHES)
@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_a_batch_augmented(benchmark, name, shape):
    pixels, labels = batch(shape)
    recipe = RecipeConfig.model_validate(AUGMENTATIONS[name])

    steps = count()
    run = lambda: augment_batch(pixels, labels, recipe, seed=0, step=next(steps), num_classes=1000)  # noqa: E731
    benchmark.pedantic(run, rounds=9, iterations=1, warmup_rounds=1)


@pytest.mark.parametrize("shape", BATCHES)
def test_timms_rand_augment_image_by_image(benchmark, shape):
    """What `rand_augment timm` is measured against."""
    transform = rand_augment_transform("rand-m9-inc1", {})
    images = [Image.fromarray(image) for image in batch(shape)[0].numpy()]
    run = lambda: [np.asarray(transform(image)) for image in images]  # noqa: E731
    benchmark.pedantic(run, rounds=9, iterations=1, warmup_rounds=1)
