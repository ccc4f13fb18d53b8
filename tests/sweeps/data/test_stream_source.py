"""Batches of streamed images: order, pixels, resume, workers that die, and the choice between sources."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sweeps.augment.boxes import crop_boxes, crop_flips
from sweeps.data import sources
from sweeps.data.batches import ResidentSource, batch_indices
from sweeps.data.decode import read_photo
from sweeps.data.image_folder import forget_folders
from sweeps.data.images import Images
from sweeps.data.sources import fits_on_device, make_source
from sweeps.data.stream import workers
from sweeps.data.stream.images import stream_images
from sweeps.data.stream.order import BlockOrder
from sweeps.data.stream.parquets import ParquetReader
from sweeps.data.stream.prefetch import PrefetchSource
from sweeps.data.stream.source import StreamSource
from sweeps.data.stream.verify import verify_images
from sweeps.data.stream.workers import ImageError

from .stream_sets import DATASETS, KINDS, write_set

CPU = torch.device("cpu")
SIZE = 12
ORDER = {"seed": 3, "batch_size": 40}  # two pieces a batch, and epochs of 90 that end within one


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    root = tmp_path_factory.mktemp("sets")
    os.environ["SWEEPS_CACHE_DIR"] = str(root / "cache")
    yield {kind: write_set(root / kind, kind) for kind in KINDS}
    del os.environ["SWEEPS_CACHE_DIR"]


def source(sets, kind, num_workers=0, crops=True, **changes):
    return StreamSource(stream(sets, kind, workers=num_workers), crops=crops, **ORDER | changes)


def stream(sets, kind, split="train", workers=0):
    return stream_images(sets[kind], split, SIZE, dataset=DATASETS[kind], workers=workers)


def equal(first, second):
    return torch.equal(first.pixels, second.pixels) and torch.equal(first.labels, second.labels)


@pytest.fixture(scope="module")
def uninterrupted(sets):
    return {kind: [source(sets, kind).batch(step) for step in range(6)] for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_workers", [0, 1, 2, 4])
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker processes")  # on a machine of fewer cores
def test_a_batch_is_the_same_from_any_first_step_with_any_workers(sets, uninterrupted, kind, num_workers):
    resumed = source(sets, kind, num_workers)
    for step in (3, 4, 1, 2, 3, 5):  # a resume, then a jump back as branches do, and one ahead
        assert equal(resumed.batch(step), uninterrupted[kind][step]), step
    resumed.close()


def test_workers_outlive_jumps_and_leave_on_close(sets):
    streamed = source(sets, "folder", 2)
    streamed.batch(0)
    processes = list(streamed._decoded._workers)
    streamed.batch(5)
    assert [p.pid for p in streamed._decoded._workers] == [p.pid for p in processes]
    streamed.close()
    for process in processes:
        process.join(10)
        assert not process.is_alive()
    with pytest.raises(ValueError, match="closed"):
        streamed.batch(6)


def test_torchs_global_stream_is_left_alone(sets):
    state = torch.random.get_rng_state()
    streamed = source(sets, "folder", 1)
    streamed.batch(0)
    streamed.batch(4)
    streamed.close()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_centred_pixels_are_those_of_the_decoded_cache(sets):
    images = stream_images(sets["folder"], "train", SIZE, workers=0)
    files = [os.path.join(sets["folder"], file.as_py()) for file in images.index.table["file"]]
    expected = np.stack([read_photo(files[row], SIZE) for row in images.rows])
    assert np.array_equal(images.read().pixels.numpy(), expected)


def test_a_large_jpeg_is_streamed_as_it_is_decoded_for_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    for split in ("train", "test"):
        (tmp_path / "set" / split / "a").mkdir(parents=True)
        noise = np.random.default_rng(0).integers(0, 256, (99, 140, 3), dtype=np.uint8)
        Image.fromarray(noise).save(tmp_path / "set" / split / "a" / "0.jpg")
    streamed = stream_images(tmp_path / "set", "train", SIZE, workers=0).read().pixels
    assert np.array_equal(streamed[0].numpy(), read_photo(str(tmp_path / "set" / "train" / "a" / "0.jpg"), SIZE))


@pytest.mark.parametrize("kind", ["folder", "tar"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_uncropped_batches_are_those_of_the_same_images_held_in_memory(sets, kind, repeats):
    images = stream(sets, kind)
    streamed = StreamSource(images, **ORDER, repeats=repeats)
    resident = ResidentSource(images.read(), **ORDER, repeats=repeats)
    for step in range(4):
        assert equal(streamed.batch(step), resident.batch(step))
    assert not streamed.crops


def test_pixels_are_those_of_pil_one_by_one(sets):
    images = stream_images(sets["folder"], "train", SIZE, workers=0)
    streamed = source(sets, "folder")
    pixels, labels = streamed.batch(2)
    index = batch_indices(3, 2, 40, 90)
    files = [os.path.join(sets["folder"], images.index.table["file"][row].as_py()) for row in images.rows[index]]
    opened = [Image.open(file).convert("RGB") for file in files]
    boxes = crop_boxes(3, 2, 40, np.array([(image.height, image.width) for image in opened]))
    flips = crop_flips(3, 2, 40)
    for i, (image, (top, left, height, width)) in enumerate(zip(opened, boxes, strict=True)):
        cut = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flips[i] else cut
        assert np.array_equal(pixels[i].numpy(), np.asarray(cut))
    assert [images.index.classes[label] for label in labels] == [os.path.basename(os.path.dirname(f)) for f in files]
    assert streamed.crops
    assert pixels.dtype == torch.uint8


def test_a_grey_or_indexed_image_is_rgb_and_its_orientation_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "set" / "train").mkdir(parents=True)
    folder = tmp_path / "set" / "train" / "a"
    folder.mkdir()
    (tmp_path / "set" / "test").symlink_to(tmp_path / "set" / "train")
    pixels = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE), dtype=np.uint8)
    turned = Image.Exif()
    turned[0x0112] = 3  # upside down
    Image.fromarray(pixels).save(folder / "0.png", exif=turned)
    Image.fromarray(pixels).convert("P").save(folder / "1.png")
    Image.fromarray(np.stack([pixels] * 4, -1), "CMYK").save(folder / "2.jpg")
    read = stream_images(tmp_path / "set", "train", SIZE, workers=0).read().pixels
    assert read.shape == (3, SIZE, SIZE, 3)
    assert np.array_equal(read[0].numpy(), np.stack([pixels] * 3, -1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_subset_is_read_alone_and_evaluation_goes_through_a_split_in_order(sets, kind):
    images = stream(sets, kind)
    subset = images.take(np.arange(0, 90, 9))
    seen = [StreamSource(subset, seed=0, batch_size=5).batch(step).labels for step in (0, 1)]
    assert sorted(torch.cat(seen).tolist()) == sorted(images.labels[::9].tolist())
    whole = images.read()
    parts = list(images.batches(batch_size=50))
    assert [len(part.labels) for part in parts] == [50, 40]
    assert torch.equal(torch.cat([part.pixels for part in parts]), whole.pixels)
    assert torch.equal(whole.pixels[::9], subset.read().pixels)
    nothing = images.take(np.arange(0)).read()  # of a run that holds nothing out
    assert (nothing.pixels.shape, nothing.labels.shape) == ((0, SIZE, SIZE, 3), (0,))


# Order of blocks ----------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 9), epoch=st.integers(0, 3), window=st.integers(1, 8),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=20),
)  # fmt: skip
def test_an_epoch_of_blocks_is_a_permutation_that_reads_each_block_in_one_window(seed, epoch, window, sizes):
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    order = BlockOrder(blocks, window)(seed, epoch)
    assert sorted(order.tolist()) == list(range(len(blocks)))
    seen = blocks[order].tolist()
    held, finished = set(), set()
    for i, block in enumerate(seen):
        assert block not in finished
        held.add(block)
        if block not in seen[i + 1 :]:
            finished.add(block)
        assert len(held - finished) <= window


def test_blocks_and_their_images_are_shuffled_anew_each_epoch():
    blocks = np.repeat(np.arange(10), 10)
    order = BlockOrder(blocks, window=3)
    first, second = order(0, 0), order(0, 1)
    assert first.tolist() != second.tolist()
    assert set(blocks[first[:30]]) != set(blocks[second[:30]])
    assert len(set(blocks[first[:10]])) > 1  # images of the window's blocks are mixed


def test_a_row_group_is_read_once_an_epoch(sets, monkeypatch):
    monkeypatch.setattr(workers, "WINDOW_GROUPS", 4)
    monkeypatch.setattr("sweeps.data.stream.source.WINDOW_GROUPS", 4)
    read = Counter()
    read_group = ParquetReader.read_group

    def counted(self, file, block):
        read[file, block] += 1
        return read_group(self, file, block)

    monkeypatch.setattr(ParquetReader, "read_group", counted)
    streamed = source(sets, "parquet", batch_size=45)
    streamed.batch(0)
    streamed.batch(1)
    assert set(read.values()) == {1}
    assert len(read) == 2 * 7  # two shards of 45 images in groups of 7


# Faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_damaged_image_ends_the_run_with_its_path_and_is_found_before(tmp_path, monkeypatch, num_workers):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    root = write_set(tmp_path / "set", "folder")
    verify_images(stream_images(root, "train", SIZE, workers=num_workers))
    bad = root / "train" / "dog" / "00007.png"
    bad.write_bytes(bad.read_bytes()[:200])
    images = stream_images(root, "train", SIZE, workers=num_workers)
    with pytest.raises(ImageError, match=r"cannot be decoded: .*/train/dog/00007\.png: OSError") as error:
        list(map(StreamSource(images, **ORDER).batch, range(3)))
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"upstream\.folder: 1 of 90 images are damaged: .*00007\.png"):
        verify_images(images)
    bad.write_bytes(b"")
    with pytest.raises(ValueError, match=r"1 of 90 images are damaged: .*00007\.png"):
        verify_images(images, num_decoded=0)  # its header tells


@pytest.mark.slow  # the loader looks for dead workers every 5 seconds
def test_a_killed_worker_is_one_clear_error(sets):
    streamed = source(sets, "folder", 2)
    streamed.batch(0)
    os.kill(streamed._decoded._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a process that reads images died"):
        list(map(streamed.batch, range(1, 50)))


@pytest.mark.slow  # a process of its own that imports torch
def test_workers_leave_when_their_parent_is_killed(sets):
    code = (
        "import sys, time; from sweeps.data.stream.images import stream_images;"
        "from sweeps.data.stream.source import StreamSource\n"
        "if __name__ == '__main__':\n"
        "    s = StreamSource(stream_images(sys.argv[1], 'train', 12, workers=2), seed=0, batch_size=8)\n"
        "    s.batch(0); print(*[w.pid for w in s._decoded._workers], flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(sets["folder"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        process.kill()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert len(pids) == 2


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_data_that_changed_under_a_run_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    root = write_set(tmp_path / "set", "folder")
    streamed = source({"folder": root}, "folder")
    write_set(root, "folder", num_train=93)
    forget_folders()
    stream_images(root, "train", SIZE)
    with pytest.raises(ImageError, match="have changed since the run began"):
        streamed.batch(0)


# Choice of a source -------------------------------------------------------------------------------------------


def resident_images():
    return Images(torch.randint(0, 256, (50, 8, 8, 3), dtype=torch.uint8), torch.arange(50))


def test_read_ahead_batches_are_bitwise_those_of_the_source(sets):
    plain = ResidentSource(resident_images(), **ORDER)
    ahead = PrefetchSource(plain, CPU)
    for step in (3, 4, 5, 1, 2, 9):
        assert equal(ahead.batch(step), plain.batch(step))
    ahead.close()
    assert ahead._thread is None
    streamed = PrefetchSource(source(sets, "folder", 1), CPU)
    assert streamed.crops
    assert equal(streamed.batch(2), source(sets, "folder").batch(2))
    streamed.close()


def test_an_error_while_reading_ahead_is_raised_where_the_batch_is_asked_for():
    class Failing:
        crops = False

        def batch(self, step):
            if step == 2:
                raise ImageError("image cannot be decoded: here")
            return Images(torch.zeros(1), torch.zeros(1))

        def close(self):
            pass

    ahead = PrefetchSource(Failing(), CPU)
    ahead.batch(0)
    ahead.batch(1)
    with pytest.raises(ImageError, match="here"):
        ahead.batch(2)
    ahead.close()


def test_the_source_is_chosen_by_where_the_images_are(sets, monkeypatch):
    options = {"device": CPU, **ORDER}
    assert isinstance(make_source(resident_images(), **options), ResidentSource)
    chosen = make_source(stream_images(sets["folder"], "train", SIZE, workers=0), **options, crops=True)
    assert isinstance(chosen, StreamSource)
    assert chosen.crops
    assert not make_source(resident_images(), **options, crops=True).crops
    assert fits_on_device(10**15, CPU)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 9000))
    assert [fits_on_device(n, torch.device("cuda")) for n in (500, 501)] == [True, False]
    images = resident_images()
    monkeypatch.setattr(sources, "PrefetchSource", lambda source, device: ("ahead", source, device))
    kind, inner, device = make_source(images, device=torch.device("cuda"), **ORDER)
    assert (kind, type(inner), device.type) == ("ahead", ResidentSource, "cuda")
