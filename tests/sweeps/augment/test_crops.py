import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import functional

from sweeps.augment.boxes import crop_boxes, crop_flips
from sweeps.augment.crops import crop_flip, inception_flip, resample_boxes, shift_and_mirror
from sweeps.augment.streams import rng_of


def pixels(num_images=20, height=10, width=14):
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.integers(0, 256, (num_images, height, width, 3), dtype=np.uint8))


def test_shift_and_mirror_against_padding_and_slicing():
    images = pixels()
    rng = np.random.default_rng(2)
    shift, flip = rng.integers(-4, 5, (2, 20, 1)), rng.random((20, 1)) < 0.5
    padded = np.pad(images.numpy(), ((0, 0), (4, 4), (4, 4), (0, 0)), mode="reflect")
    moved = shift_and_mirror(images, shift, flip)
    for i in range(20):
        down, right = shift[:, i, 0]
        expected = padded[i, 4 - down : 14 - down, 4 - right : 18 - right]
        np.testing.assert_array_equal(moved[i], expected[:, ::-1] if flip[i, 0] else expected)


def test_crop_flip_draws_as_it_always_has():
    """The golden losses of the trainer rest on these draws."""
    rng = rng_of(5, 9, "crop")
    shift = rng.integers(-4, 4, size=(2, 20, 1), endpoint=True)
    expected = shift_and_mirror(pixels(), shift, rng.random((20, 1)) < 0.5)
    assert torch.equal(crop_flip(pixels(), 5, 9), expected)


@pytest.mark.parametrize("antialias", [True, False])
def test_resampled_boxes_are_torchvisions_resized_crop(antialias):
    images, size = pixels(), (10, 14)
    boxes, flip = crop_boxes(0, 1, 20, size), crop_flips(0, 1, 20)
    ours = resample_boxes(images, boxes, flip)
    assert ours.dtype == torch.uint8
    for i, (top, left, height, width) in enumerate(boxes.tolist()):
        image = images[i].permute(2, 0, 1).float()
        expected = functional.resized_crop(image, top, left, height, width, list(size), antialias=antialias)
        expected = expected.flip(2) if flip[i] else expected
        # Half a level from rounding, and float32's of places up to 14 pixels times steps of up to 255 levels.
        torch.testing.assert_close(ours[i].permute(2, 0, 1).float(), expected, rtol=0, atol=0.501)


def test_the_whole_image_as_a_box_is_the_image():
    whole = np.tile([0, 0, 10, 14], (20, 1))
    assert torch.equal(resample_boxes(pixels(), whole, np.zeros(20, bool)), pixels())
    assert torch.equal(resample_boxes(pixels(), whole, np.ones(20, bool)), pixels().flip(2))


def test_nothing_outside_of_a_box_is_mixed_in():
    images = torch.full((1, 8, 8, 3), 255, dtype=torch.uint8)
    images[:, 2:5, 3:7] = 100
    assert (resample_boxes(images, np.array([[2, 3, 3, 4]]), np.array([False])) == 100).all()


def test_inception_flip_is_boxes_and_flips_of_the_step():
    expected = resample_boxes(pixels(), crop_boxes(3, 4, 20, (10, 14)), crop_flips(3, 4, 20))
    assert torch.equal(inception_flip(pixels(), 3, 4), expected)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 8), (2, 3), (4, 4), (5, 5)])
def test_images_smaller_than_the_padding_are_moved_by_less_than_their_side(height, width):
    images = torch.arange(64 * height * width * 3, dtype=torch.int64).remainder(251).to(torch.uint8)
    images = images.reshape(64, height, width, 3)
    for image, moved in zip(images, crop_flip(images, 0, 0), strict=True):
        assert set(moved.reshape(-1, 3)[:, 0].tolist()) <= set(image.reshape(-1, 3)[:, 0].tolist())
