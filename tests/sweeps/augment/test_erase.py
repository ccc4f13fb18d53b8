import numpy as np
import pytest
import torch

from sweeps.augment.erase import erase_rectangles, random_erase

FLAT = 7.0  # a value that noise does not take


def flat(num_images, size):
    images = torch.full((num_images, 3, size, size), FLAT)
    return images.contiguous(memory_format=torch.channels_last)


def test_the_boxes_and_nothing_else_become_noise():
    erased = erase_rectangles(flat(3, 8), np.array([0, 2]), np.array([[1, 2, 3, 4], [0, 0, 8, 1]]), noise_seed=0)
    changed = erased != FLAT
    expected = torch.zeros(3, 3, 8, 8, dtype=torch.bool)
    expected[0, :, 1:4, 2:6] = True
    expected[2, :, :, :1] = True
    assert torch.equal(changed, expected)
    assert len(torch.unique(erased[0, :, 1:4, 2:6])) == 3 * 12  # each pixel and channel its own


def test_share_of_images_area_and_aspect():
    size, num_images = 48, 1000
    changed = (random_erase(flat(num_images, size), 0.25, seed=0, step=0) != FLAT)[:, 0]
    chosen = changed.flatten(1).any(1)
    # 4 standard deviations of 1,000 draws of probability .25.
    assert int(chosen.sum()) == pytest.approx(250, abs=4 * np.sqrt(1000 * 0.25 * 0.75))
    heights = changed.any(2).sum(1)[chosen].double()
    widths = changed.any(1).sum(1)[chosen].double()
    areas = changed.flatten(1).sum(1)[chosen].double()
    assert torch.equal(areas, heights * widths)  # one rectangle
    area = areas / size**2
    # Sides are whole pixels: half a pixel of a side of at least 3 is up to a sixth of it.
    assert area.min() >= 0.02 * 0.7
    assert area.max() <= 1 / 3 * 1.1
    assert float(area.mean()) == pytest.approx((0.02 + 1 / 3) / 2, abs=4 * 0.09 / np.sqrt(250))
    ratio = heights / widths
    assert 0.3 * 0.7 <= ratio.min() < 0.4
    assert 2.5 < ratio.max() <= 1 / 0.3 * 1.4
    assert float(ratio.log().mean()) == pytest.approx(0, abs=4 * 0.7 / np.sqrt(250))


def test_corners_reach_every_side():
    changed = (random_erase(flat(400, 16), 1.0, seed=1, step=0) != FLAT)[:, 0].any(0)
    assert changed.all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_images_of_few_pixels(size):
    assert random_erase(flat(20, size), 1.0, seed=0, step=0).isfinite().all()


def test_probability_zero_to_one():
    assert (random_erase(flat(10, 8), 0.0, 0, 0) == FLAT).all()
    assert (random_erase(flat(10, 8), 1.0, 0, 0) != FLAT).flatten(1).any(1).all()
