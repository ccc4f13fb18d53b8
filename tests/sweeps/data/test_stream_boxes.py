"""The boxes of random resized crops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.v2 import RandomResizedCrop

from sweeps.augment.boxes import AREA, RATIO, crop_boxes, crop_flips


@given(
    seed=st.integers(0, 20), step=st.integers(0, 99), height=st.integers(1, 300), width=st.integers(1, 300),
    least=st.sampled_from([0.05, 0.5, 1.0]),
)  # fmt: skip
def test_boxes_lie_in_their_images(seed, step, height, width, least):
    boxes = crop_boxes(seed, step, 20, (height, width), (least, 1.0))
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] >= 1).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= [height, width]).all()


def test_areas_and_ratios_are_spread_over_their_ranges():
    boxes = crop_boxes(0, 0, 20_000, (500, 500))
    share = boxes[:, 2] * boxes[:, 3] / 500**2
    ratio = boxes[:, 3] / boxes[:, 2]
    assert share.min() >= AREA[0] * 0.99  # whole pixels: half of one of 112 and of 97 is under 1 %
    assert RATIO[0] * 0.99 < ratio.min() < RATIO[0] * 1.02
    assert RATIO[1] * 0.98 < ratio.max() < RATIO[1] * 1.01
    # Nothing under 3/4 of the image fails to fit, so that below it the areas are as uniform as they are drawn.
    low, high = (((share >= a) & (share < a + 0.2)).mean() for a in (0.1, 0.4))
    assert low == pytest.approx(high, abs=4 * np.sqrt(2 * 0.21 / 20_000))  # four standard errors of the difference
    room = 500 - boxes[:, :2] - boxes[:, 2:]
    assert abs((boxes[:, 0] - room[:, 0]).mean()) < 4 * (boxes[:, 0] - room[:, 0]).std() / np.sqrt(20_000)


@pytest.mark.parametrize(("height", "width"), [(10, 400), (400, 10)])
def test_a_strip_in_which_nothing_fits_gives_torchvisions_central_box(height, width):
    import torch

    (box,) = np.unique(crop_boxes(0, 0, 50, (height, width), (0.9, 1.0)), axis=0)
    theirs = RandomResizedCrop(8, (0.9, 1.0)).make_params([torch.zeros(3, height, width)])
    assert box.tolist() == [theirs[key] for key in ("top", "left", "height", "width")]


def test_a_box_depends_on_its_place_and_its_own_image_only():
    sizes = np.random.default_rng(0).integers(20, 400, (16, 2))
    boxes = crop_boxes(3, 7, 16, sizes)
    others = sizes.copy()
    others[5:] = 33
    assert np.array_equal(crop_boxes(3, 7, 16, others)[:5], boxes[:5])
    assert not np.array_equal(crop_boxes(3, 8, 16, sizes), boxes)
    assert not np.array_equal(crop_boxes(4, 7, 16, sizes), boxes)


def test_half_of_the_images_are_mirrored_whatever_their_boxes():
    flips = crop_flips(0, 0, 10_000)
    assert abs(flips.mean() - 0.5) < 4 * 0.5 / 100  # four standard errors
    left = crop_boxes(0, 0, 10_000, (100, 100))[:, 1]
    assert abs(np.corrcoef(flips, left)[0, 1]) < 4 / 100
    assert np.array_equal(flips, crop_flips(0, 0, 10_000))
    assert not np.array_equal(flips, crop_flips(0, 1, 10_000))
