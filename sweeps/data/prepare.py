"""Before the first run of a sweep: whether its data are there, and everything decoded."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import product
from typing import NamedTuple

from ..paths import cache_folder, write_text
from ..specs.config import RunConfig
from .cache import is_decoded, open_split
from .datasets import find_dataset, task_name, why_missing

__all__ = ["missing_data", "prepare_data", "undecoded"]


class _Split(NamedTuple):
    field: str
    dataset: str
    folder: str | None
    split: str
    image_size: int
    num_images: int | None


def missing_data(configs: Iterable[RunConfig]) -> list[str]:
    """A sentence for each data set that the runs need and that is not there, with its field; quick.

    Raises:
        ValueError: data that are there and are not a data set.
    """
    needed = {split[:3]: None for split in _needed(configs)}
    reasons = ((field, why_missing(dataset, folder, field)) for field, dataset, folder in needed)
    return [reason if reason.startswith(field) else f"{field}: {reason}" for field, reason in reasons if reason]


def prepare_data(configs: Collection[RunConfig]) -> None:
    """Decode what the runs need and the cache lacks, so that a fault of the data ends a sweep before it starts.

    Raises:
        ValueError: files that cannot be decoded, or data that are not what their set should hold.
        FileNotFoundError: data that are not there.
        OSError: the disk is full.
    """
    streams = {(c.upstream.dataset, c.upstream.folder): c.upstream.workers for c in configs if c.upstream.stream}
    for (dataset, folder), workers in streams.items():
        _verify_stream(dataset, folder or "", workers)
    for split in dict.fromkeys(_needed(configs)):
        try:
            dataset = find_dataset(split.dataset, split.folder)
            open_split(dataset, split.split, split.image_size, split.num_images, split.folder)
        except ValueError as error:
            name = task_name(split.dataset, split.folder)
            raise ValueError(f"{split.field}: {name} ({split.split}): {error}") from error


def undecoded(configs: Iterable[RunConfig]) -> list[tuple[int, int]]:
    """Number and side of the images of each split that `prepare_data` would decode; of data that are there."""
    found = []
    for split in dict.fromkeys(_needed(configs)):
        with suppress(FileNotFoundError):
            dataset = find_dataset(split.dataset, split.folder)
            if not is_decoded(dataset, split.split, split.image_size, split.num_images, split.folder):
                in_all = dataset.num_images(split.split)
                is_part = dataset.generated and split.num_images is not None
                found.append((split.num_images if is_part else in_all, split.image_size))
    return found


def _verify_stream(dataset: str, folder: str, workers: int) -> None:
    """Once for each state of the data: headers of all images, and a sample in full."""
    from .stream.images import stream_images
    from .stream.verify import verify_images

    splits = [stream_images(folder, split, 1, dataset=dataset, workers=workers) for split in ("train", "test")]
    verified = cache_folder() / "verified" / splits[0].index.version
    if not verified.exists():
        for images in splits:
            verify_images(images)
        with suppress(OSError):  # a cache that cannot be written costs only time
            write_text(verified, "", waits=False)


def _needed(configs: Iterable[RunConfig]) -> Iterator[_Split]:
    """A streamed set is not decoded ahead."""
    for config in configs:
        up, size = config.upstream, config.image_size
        if not up.stream:
            yield _Split("upstream", up.dataset, up.folder, "train", size, up.num_train)
            yield _Split("upstream", up.dataset, up.folder, "test", size, config.evaluate.max_upstream)
        for task, split in product(config.downstream.tasks, ("train", "test")):
            yield _Split("downstream.tasks", task, None, split, size, None)
        for task, split in product(config.finetune.tasks, ("train", "test")):
            yield _Split("finetune.tasks", task, None, split, config.finetune.image_size or size, None)
