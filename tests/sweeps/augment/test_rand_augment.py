import random

import numpy as np
import pytest
import torch
from PIL import Image
from timm.data import auto_augment

from sweeps.augment.operations import POLICIES
from sweeps.augment.rand_augment import rand_augment

TIMM = {
    "auto_contrast": "AutoContrast",
    "equalize": "Equalize",
    "invert": "Invert",
    "rotate": "Rotate",
    "posterize": "Posterize",
    "solarize": "Solarize",
    "solarize_add": "SolarizeAdd",
    "color": "Color",
    "contrast": "Contrast",
    "brightness": "Brightness",
    "sharpness": "Sharpness",
    "shear_x": "ShearX",
    "shear_y": "ShearY",
    "translate_x": "TranslateXRel",
    "translate_y": "TranslateYRel",
}
GEOMETRIC = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
LEVELS = (0.3, 0.6, 0.9)


def pixels(num_images=6, size=24):
    """Smooth images, so that ways to interpolate agree."""
    rng = np.random.default_rng(0)
    waves = rng.uniform(0, 0.4, (num_images, 3, 2)) * np.pi
    rows, columns = np.mgrid[:size, :size]
    angles = waves[..., :1, None] * rows + waves[..., 1:, None] * columns
    return torch.from_numpy(np.rint(127.5 + 110 * np.sin(angles)).astype(np.uint8))


def ours(policy, name, level, sign=1, images=None):
    operation = POLICIES[policy].operations[name]
    arguments = [sign * operation.argument(level)] if operation.argument else []
    return operation.apply(pixels() if images is None else images, *arguments)


def theirs(monkeypatch, increasing, name, level, sign):
    """timm's operation on PIL images, its coin for the sign replaced."""
    monkeypatch.setattr(random, "random", lambda: 0.9 if sign < 0 else 0.1)
    named = TIMM[name] + ("Increasing" if increasing and f"{TIMM[name]}Increasing" in auto_augment.NAME_TO_OP else "")
    settings = {"img_mean": (128, 128, 128), "interpolation": Image.Resampling.BILINEAR, "translate_pct": 0.45}
    operation = auto_augment.AugmentOp(named, prob=1.0, magnitude=10 * level, hparams=settings)
    changed = [np.asarray(operation(Image.fromarray(image))) for image in pixels().permute(0, 2, 3, 1).numpy()]
    return torch.from_numpy(np.stack(changed)).permute(0, 3, 1, 2)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", [name for name in TIMM if name not in GEOMETRIC])
def test_colours_are_timms_increasing_ones(monkeypatch, name, level, sign):
    operation = POLICIES["timm"].operations[name]
    expected = theirs(monkeypatch, True, name, level, sign)
    difference = (ours("timm", name, level, sign if operation.signed else 1).int() - expected.int()).abs()
    # PIL rounds down or to the nearest where torchvision does the other, before and after a blend of up to 1.9.
    assert difference.max() <= 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", [name for name in TIMM if name not in GEOMETRIC])
def test_colours_of_big_vision_are_timms_that_do_not_increase(monkeypatch, name, level):
    difference = (ours("big_vision", name, level).int() - theirs(monkeypatch, False, name, level, 1).int()).abs()
    assert difference.max() <= 2


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", GEOMETRIC)
def test_geometry_is_timms_up_to_its_direction(monkeypatch, name, sign):
    """A sign is drawn evenly, so that which of the two is called negative does not matter."""
    level = 20 / 27  # of .45 of 24 pixels: 8 whole ones, to which translations are rounded here
    mine = ours("timm", name, level, sign).int()
    errors = []
    for direction in (1, -1):
        expected = theirs(monkeypatch, True, name, level, direction)
        errors.append(float((mine - expected.int()).abs().double().mean()))
    # PIL cuts its output off at half a pixel where torchvision fades into grey, and shears about a pixel's corner
    # where torchvision does about its centre: .1 pixel of waves that change by up to 35 levels a pixel.
    assert min(errors) < 5
    assert max(errors) > 25


def test_what_is_empty_is_grey_and_borders_are_not_dark():
    white = torch.full((1, 3, 24, 24), 255, dtype=torch.uint8)
    for name in GEOMETRIC:
        changed = ours("timm", name, 0.9, images=white)
        assert changed.min() == 128
        assert changed.max() == 255
        assert (changed == 128).any()


def test_cutout_is_a_grey_square_cut_off_at_the_border():
    operation = POLICIES["big_vision"].operations["cutout"]
    images = torch.zeros(2, 3, 28, 28, dtype=torch.uint8)
    cut = operation.apply(images, operation.argument(1.0), 0.5, 0.0)
    expected = torch.zeros(28, 28, dtype=torch.uint8)
    expected[14 - 5 : 14 + 5, :5] = 128  # half of 80 / 224 of 28 pixels is 5
    assert torch.equal(cut, expected.expand(2, 3, 28, 28))


def test_lists_are_those_published():
    assert len(POLICIES["timm"].operations) == len(auto_augment._RAND_INCREASING_TRANSFORMS) == 15
    assert [TIMM[name] for name in POLICIES["timm"].operations] == auto_augment._RAND_TRANSFORMS
    assert set(POLICIES["big_vision"].operations) - set(POLICIES["timm"].operations) == {"cutout"}


def test_groups_are_the_same_as_image_by_image():
    """An image's result is one of what its operation gives alone."""
    images = pixels(40).permute(0, 2, 3, 1).contiguous()
    changed = rand_augment(images, 1, 10.0, "big_vision", seed=0, step=1)
    operations = POLICIES["big_vision"].operations
    plain = [name for name in operations if name != "cutout"]
    for image, result in zip(images, changed, strict=True):
        alone = image.permute(2, 0, 1)[None]
        results = [
            ours("big_vision", name, 1.0, sign, alone)[0].permute(1, 2, 0)
            for name in plain
            for sign in ((1, -1) if operations[name].signed else (1,))
        ]
        inside = result[(result != 128).any(2)]
        is_cut = bool((result == 128).all(2).any()) and bool(torch.isin(inside, image).all())
        # Batches round the convolution and the resampling of floats otherwise now and then, by a level.
        assert is_cut or min(int((result.int() - each.int()).abs().max()) for each in results) <= 1


def test_half_of_timms_operations_are_left_out_and_none_of_big_visions():
    size = 8
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (600, size, size, 3), dtype=np.uint8))
    unchanged = {
        name: float((rand_augment(images, 1, 9.0, name, 0, 0) == images).flatten(1).all(1).double().mean())
        for name in POLICIES
    }
    # 4 standard deviations of 600 coins. Noise with all levels is left as it is by no operation that is applied but
    # auto-contrast, 1 of 15 or 16, where an image has both 0 and 255.
    assert unchanged["timm"] == pytest.approx(0.5 + 0.5 / 15 * 0.4, abs=0.1)
    assert unchanged["big_vision"] < 0.15


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("magnitude", [0.0, 10.0])
def test_all_operations_at_the_ends_of_their_range(policy, magnitude):
    images = pixels(200, size=6).permute(0, 2, 3, 1).contiguous()
    changed = rand_augment(images, 3, magnitude, policy, seed=0, step=0)
    assert (changed.shape, changed.dtype) == (images.shape, torch.uint8)
    assert not torch.equal(changed, images)
