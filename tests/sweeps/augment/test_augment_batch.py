"""What every augmentation keeps, whatever it does to the pixels."""

import numpy as np
import pytest
import torch

from sweeps.augment import augment_batch, describe_augment
from sweeps.data.images import normalise
from sweeps.specs.config import RecipeConfig

NUM_CLASSES = 7
CHANGES = {
    "crop_flip": {"augment": "crop_flip"},
    "inception_flip": {"augment": "inception_flip"},
    "rand_augment": {"augment": "none", "rand_augment_ops": 2},
    "big_vision": {"augment": "none", "rand_augment_ops": 2, "rand_augment_policy": "big_vision"},
    "mixup": {"augment": "none", "mixup": 0.8},
    "cutmix": {"augment": "none", "cutmix": 1.0},
    "erase": {"augment": "none", "erase": 0.5},
    "all": {
        "augment": "inception_flip",
        "rand_augment_ops": 2,
        "mixup": 0.8,
        "cutmix": 1.0,
        "erase": 0.25,
        "label_smoothing": 0.1,
    },
}


def batch(num_images=24, height=12, width=16):
    rng = np.random.default_rng(0)
    pixels = torch.from_numpy(rng.integers(0, 256, (num_images, height, width, 3), dtype=np.uint8))
    return pixels, torch.from_numpy(rng.integers(0, NUM_CLASSES, num_images))


def augmented(recipe, seed=0, step=3, images=None):
    pixels, labels = images or batch()
    config = RecipeConfig.model_validate(recipe)
    return augment_batch(pixels, labels, config, seed=seed, step=step, num_classes=NUM_CLASSES)


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_pure_in_seed_and_step(name):
    once = augmented(CHANGES[name])
    assert same(once, augmented(CHANGES[name]))
    assert not torch.equal(once[0], augmented(CHANGES[name], step=4)[0])
    assert not torch.equal(once[0], augmented(CHANGES[name], seed=1)[0])


@pytest.mark.parametrize("name", CHANGES)
def test_the_global_generators_are_neither_read_nor_moved(name):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    once = augmented(CHANGES[name])
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(once, augmented(CHANGES[name]))


@pytest.mark.parametrize("name", CHANGES)
def test_shape_type_and_memory_of_what_the_model_takes(name):
    images = batch()
    before = images[0].clone()
    inputs, targets = augmented(CHANGES[name], images=images)
    assert torch.equal(images[0], before)
    assert (inputs.shape, inputs.dtype) == ((24, 3, 12, 16), torch.float32)
    assert inputs.is_contiguous(memory_format=torch.channels_last)
    mixed = "mixup" in CHANGES[name] or "cutmix" in CHANGES[name]
    assert targets.dtype == (torch.float32 if mixed else torch.int64)
    assert targets.shape == ((24, NUM_CLASSES) if mixed else (24,))
    if "erase" not in CHANGES[name]:
        assert inputs.abs().max() <= 1


@pytest.mark.parametrize("num_images", [1, 2, 3])
@pytest.mark.parametrize("name", CHANGES)
def test_small_batches(name, num_images):
    inputs, targets = augmented(CHANGES[name], images=batch(num_images))
    assert len(inputs) == len(targets) == num_images
    assert inputs.isfinite().all()


def test_no_augmentation_only_normalises():
    images = batch()
    assert same(augmented({"augment": "none"}, images=images), (normalise(images[0]), images[1]))


def test_the_shares_of_the_classes_sum_to_one():
    for step in range(20):
        _, targets = augmented(CHANGES["all"], step=step)
        # Two shares a row, each within half a unit in the last place of float32.
        torch.testing.assert_close(targets.sum(1), torch.ones(24), rtol=0, atol=1e-6)


def test_what_one_purpose_draws_does_not_depend_on_the_others():
    """With mixing on, the images that are mixed are those of the same recipe without."""
    base = {"augment": "crop_flip", "rand_augment_ops": 1, "erase": 0.5}
    alone, labels = augmented(base)
    mixed, targets = augmented({**base, "mixup": 1.0})
    share = float(targets[0].max()) if labels[0] != labels[12] else None
    assert share is not None
    own = float(targets[0, labels[0]])
    # One rounding of float32 for each product and the sum, of values up to about 2.
    torch.testing.assert_close(mixed, own * alone + (1 - own) * alone.roll(12, 0), rtol=0, atol=1e-6)
    erased = augmented({"augment": "crop_flip", "erase": 0.5})[0] != augmented({"augment": "crop_flip"})[0]
    assert torch.equal(erased, augmented({"erase": 0.5, "augment": "none"})[0] != augmented({"augment": "none"})[0])


def test_repeated_images_are_seen_differently():
    pixels, labels = batch(4)
    inputs, _ = augmented({"augment": "inception_flip"}, images=(pixels.repeat_interleave(3, 0), labels.repeat(3)))
    assert len({tuple(image.flatten().tolist()) for image in inputs}) == 12


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ({"augment": "none"}, "none"),
        ({}, "crop_flip"),
        ({"augment": "none", "mixup": 0.2}, "mixup(0.2)"),
        ({"name": "bv_vit_s16"}, "inception_flip+rand_augment(2,10,big_vision)+mixup(0.2)"),
        ({"name": "convnext"}, "inception_flip+rand_augment(2,9)+mixup(0.8)+cutmix(1.0)+erase(0.25)"),
        ({"name": "deit"}, "inception_flip+rand_augment(2,9)+mixup(0.8)+cutmix(1.0)+erase(0.25)+repeats(3)"),
    ],
)
def test_description(recipe, text):
    assert describe_augment(RecipeConfig.model_validate(recipe)) == text


@pytest.mark.gpu
@pytest.mark.parametrize("name", CHANGES)
def test_the_choices_are_the_same_on_a_gpu(name):
    pixels, labels = batch()
    there = augmented(CHANGES[name], images=(pixels.cuda(), labels.cuda()))
    here = augmented(CHANGES[name], images=(pixels, labels))
    torch.testing.assert_close(there[1].cpu(), here[1])
    if "erase" not in CHANGES[name]:  # its noise is drawn on the device
        # Resampling may round one of 255 levels otherwise.
        torch.testing.assert_close(there[0].cpu(), here[0], rtol=0, atol=2.1 / 127.5)
    assert same(there, augmented(CHANGES[name], images=(pixels.cuda(), labels.cuda())))
