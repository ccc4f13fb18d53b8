import io

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from sweeps.data.decode import IMAGE_ERRORS, fit_arrays, fit_photo, read_photo

RNG = np.random.default_rng(0)
PHOTO = Image.fromarray(RNG.integers(0, 256, (40, 60, 3), dtype=np.uint8))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV"])
def test_every_mode_becomes_what_pillow_makes_of_it(mode):
    image = PHOTO.convert(mode)
    assert np.array_equal(fit_photo(image, 40), np.asarray(image.convert("RGB"))[:, 10:50])


def test_sixteen_bits_keep_the_upper_eight(tmp_path):
    values = np.array([[0, 257, 65535], [128 * 257, 255 * 257, 514], [1, 2, 3]], np.uint16)
    Image.fromarray(values).save(tmp_path / "x.png")
    pixels = read_photo(str(tmp_path / "x.png"), 3)
    assert pixels[..., 0].tolist() == [[0, 1, 255], [128, 255, 2], [0, 0, 0]]
    assert np.array_equal(pixels[..., 0], pixels[..., 2])


def test_a_transparent_palette_is_read_without_a_warning(tmp_path):
    Image.new("P", (8, 8), 3).save(tmp_path / "x.png", transparency=b"\x00\x80\xff\x10")
    assert read_photo(str(tmp_path / "x.png"), 8).shape == (8, 8, 3)


@pytest.mark.parametrize("mode", ["F", "I"])
def test_pixels_of_unknown_range_are_refused(mode):
    with pytest.raises(ValueError, match="pixels"):
        fit_photo(Image.new(mode, (8, 8), 70_000), 8)


@pytest.mark.parametrize(("size", "short"), [(16, 16), (223, 223), (224, 256), (384, 439)])
def test_the_short_side_is_resized_and_the_centre_cut_out(size, short):
    """By hand: a picture of its own columns shows which were kept."""
    columns = np.tile(np.linspace(0, 255, 1200).round().astype(np.uint8), (800, 1))
    pixels = fit_photo(Image.fromarray(columns), size)
    assert pixels.shape == (size, size, 3)
    share = size / (short * 1200 / 800)  # of the width that is kept
    near = 2 + 255 * share / size  # grey levels: rounding, and a pixel's width at the border
    assert pixels[0, 0, 0] == pytest.approx(255 * (1 - share) / 2, abs=near)
    assert pixels[0, -1, 0] == pytest.approx(255 * (1 + share) / 2, abs=near)


def test_a_large_jpeg_is_decoded_at_a_part_of_its_size_and_looks_the_same(tmp_path):
    (large,) = load_sample_images().images[:1]
    Image.fromarray(large).save(tmp_path / "x.jpg", quality=95)
    with Image.open(tmp_path / "x.jpg") as image:
        whole = fit_photo(image, 32)
    drafted = read_photo(str(tmp_path / "x.jpg"), 32)
    difference = np.abs(whole.astype(int) - drafted)
    # Grey levels: two filters for the same shrinking differ most at edges.
    assert 0 < difference.mean() < 1.5
    # A size too near to that of the file is not drafted.
    with Image.open(tmp_path / "x.jpg") as image:
        assert np.array_equal(fit_photo(image, 224), read_photo(str(tmp_path / "x.jpg"), 224))


def test_squeezing_keeps_the_borders():
    columns = np.tile(np.arange(200, dtype=np.uint8), (100, 1))
    pixels = fit_photo(Image.fromarray(columns), 50, keeps_aspect=False)
    assert (pixels[0, 0, 0], pixels[0, -1, 0]) == (pytest.approx(2, abs=1), pytest.approx(197, abs=1))


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_damaged_files_raise_what_the_cache_catches(tmp_path, damage):
    buffer = io.BytesIO()
    PHOTO.save(buffer, "JPEG")
    content = {"cut": buffer.getvalue()[:-400], "text": b"no image", "empty": b""}[damage]
    (tmp_path / "x.jpg").write_bytes(content)
    with pytest.raises(IMAGE_ERRORS):
        read_photo(str(tmp_path / "x.jpg"), 8)


def test_arrays_that_fit_are_left_alone_and_grey_is_repeated():
    grey = RNG.integers(0, 256, (3, 7, 7), dtype=np.uint8)
    assert np.array_equal(fit_arrays(grey, 7), np.stack([grey] * 3, axis=3))
    assert np.array_equal(fit_arrays(np.stack([grey] * 3, axis=3), 7), fit_arrays(grey, 7))


def test_wide_arrays_lose_their_borders():
    wide = np.zeros((2, 8, 16), np.uint8)
    wide[:, :, 4:12] = 200
    assert (fit_arrays(wide, 8) == 200).all()


def test_halving_is_nearly_the_mean_of_four_for_arrays_and_photographs():
    smooth = np.add.outer(np.arange(32) * 3, np.arange(32) * 4).astype(np.uint8)
    means = smooth.reshape(16, 2, 16, 2).mean(axis=(1, 3))
    for halved in (fit_arrays(smooth[None], 16)[0], fit_photo(Image.fromarray(smooth), 16)):
        # To one grey level and rounding: on a plane a bilinear mean is the mean, but for the border.
        assert np.abs(halved[1:-1, 1:-1, 0] - means[1:-1, 1:-1]).max() <= 1


def test_an_image_of_too_many_pixels_is_a_damaged_one(tmp_path, monkeypatch):
    Image.new("L", (40, 40)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 700)  # of twice as many Pillow raises an error of its own
    with pytest.raises(ValueError, match="exceeds limit"):
        read_photo(str(tmp_path / "a.png"), 8)


@pytest.mark.parametrize("size", [(1, 1), (1, 40_000), (30_000, 1), (2, 33)])
@pytest.mark.parametrize("image_size", [1, 7, 224])
def test_strips_and_single_pixels_fill_no_memory(tmp_path, size, image_size, monkeypatch):
    resize, largest = Image.Image.resize, []
    monkeypatch.setattr(Image.Image, "resize", lambda image, to, *rest: largest.append(to) or resize(image, to, *rest))
    Image.new("RGB", size, (9, 8, 7)).save(tmp_path / "a.png")
    pixels = read_photo(str(tmp_path / "a.png"), image_size)
    assert np.array_equal(pixels, np.full((image_size, image_size, 3), (9, 8, 7)))
    assert all(max(to) <= 17 * min(to) for to in largest)
