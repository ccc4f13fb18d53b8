"""Corruptions against Pillow, scipy and numpy, and what all of them have in common."""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.ndimage import correlate

from sweeps.augment.corrupt import CORRUPTIONS, NUM_SEVERITIES, corrupt
from sweeps.data.images import load_images

SIZES = (8, 32, 64, 224)


def images_of(size, num_images=6):
    """Noise, rounded to 8 bits: no size is a multiple of a pattern's."""
    return torch.randint(256, (num_images, 3, size, size), generator=torch.Generator().manual_seed(0)) / 255


def drawn_images():
    return load_images("procedural", "test", num_images=20).pixels.permute(0, 3, 1, 2) / 255


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("images", ["noise of 8", "noise of 32", "noise of 64", "procedural"])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_each_severity_is_further_from_the_clean_image(name, images):
    size = int(images.split()[-1]) if " " in images else 32
    clean = images_of(size) if " " in images else drawn_images()
    found = [corrupt(clean, name, severity, rng()) for severity in range(NUM_SEVERITIES + 1)]
    assert torch.equal(found[0], clean)
    distances = [(image - clean).square().mean().item() for image in found]
    steps = np.diff(distances)
    if (name, size) == ("pixelate", 8):  # 7, 7, 6, 6 and 5 pixels a side
        assert (steps >= 0).all()
        steps = steps[[0, 2, 4]]
    assert (steps > 0).all()
    for image in found:
        assert image.shape == clean.shape
        assert 0 <= image.min() <= image.max() <= 1


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_same_numbers_give_the_same_images_and_others_other_noise(name):
    clean = images_of(32)
    one, same, other = (corrupt(clean, name, 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert torch.equal(one, other) == (name != "gaussian_noise")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("severity", range(1, NUM_SEVERITIES + 1))
def test_pixelate_is_pillows_box_filter_there_and_back(size, severity):
    strengths = CORRUPTIONS["pixelate"].strengths
    share = strengths[32 if size < 45 else 64 if size < 120 else 224][severity - 1]
    clean = images_of(size, 1)
    found = corrupt(clean, "pixelate", severity, rng())[0]
    image = Image.fromarray((clean[0] * 255).round().byte().permute(1, 2, 0).numpy())
    small = image.resize((int(share * size),) * 2, Image.Resampling.BOX)
    wanted = np.asarray(small.resize((size,) * 2, Image.Resampling.BOX)) / 255
    # Pillow rounds to 8 bits after each direction.
    assert np.abs(found.permute(1, 2, 0).numpy() - wanted).max() < 1.01 / 255


@pytest.mark.parametrize(("size", "severity", "radius"), [(32, 5, 1.5), (64, 3, 1.5), (64, 5, 3), (224, 1, 3)])
def test_defocus_is_the_mean_over_a_disk_with_a_soft_rim(size, severity, radius):
    """Their rim of .1 pixels is a Gaussian that leaves next to nothing outside: exp(-50)."""
    clean = images_of(size, 2)
    steps = np.arange(-np.ceil(radius), np.ceil(radius) + 1)
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(float)
    wanted = correlate(clean.numpy().astype(float), (disk / disk.sum())[None, None], mode="mirror")
    assert np.abs(corrupt(clean, "defocus_blur", severity, rng()).numpy() - wanted).max() < 1e-6  # float32


def test_noise_and_contrast_are_the_authors_formulas():
    clean = torch.full((4, 3, 32, 32), 0.5)
    noise = corrupt(clean, "gaussian_noise", 2, rng()) - 0.5
    assert noise.std().item() == pytest.approx(0.06, rel=0.03)  # 12,288 values: 2 % is three standard errors
    image = images_of(32, 1)
    faded = corrupt(image, "contrast", 5, rng())
    assert faded.mean((2, 3)).numpy() == pytest.approx(image.mean((2, 3)).numpy(), abs=1e-6)
    assert faded.std((2, 3)).numpy() == pytest.approx(0.15 * image.std((2, 3)).numpy(), rel=1e-4)


def test_strengths_are_those_of_the_nearest_size():
    half = torch.full((8, 3, 44, 44), 0.5)
    assert corrupt(half, "gaussian_noise", 5, rng()).std().item() == pytest.approx(0.10, rel=0.03)
    half = torch.full((8, 3, 48, 48), 0.5)
    assert corrupt(half, "gaussian_noise", 5, rng()).std().item() == pytest.approx(0.18, rel=0.03)
