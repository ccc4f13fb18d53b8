"""The images of a run: the subset trained on, the held-out part, the test images."""

from dataclasses import dataclass

import torch

from ..config import RunConfig, UpstreamConfig
from .batches import Source
from .images import Images, MappedImages, load_images, subset
from .kept import kept_rows
from .stream.images import StreamedImages, stream_images
from .stream.prefetch import fits_on_device, make_source
from .subsets import split_train_val

__all__ = ["TrainingData", "load_training_data", "training_source"]


@dataclass(frozen=True)
class TrainingData:
    """What a run's models learn from and are asked about; the same for all branches of a trunk.

    Attributes:
        train: the subset trained on, on the host.
        seen: some of it, for the training error.
        val: the held-out part of the training set.
        test: images of the test part.
    """

    train: Images | MappedImages | StreamedImages
    seen: Images
    val: Images
    test: Images


def load_training_data(config: RunConfig, device: torch.device) -> TrainingData:
    """Subset, held-out part and test images of a run; those that models are asked about lie on the device if they fit.

    Raises:
        ValueError: the data are not those that the run was planned with, or are damaged.
        FileNotFoundError: they are not there.
    """
    upstream, asked = config.upstream, config.evaluate
    train, test = (_split(upstream, split, asked.max_upstream) for split in ("train", "test"))
    kept = kept_rows(upstream, config.downstream.tasks)
    chosen, held_out = split_train_val(train.labels.numpy()[kept], upstream.num_val, config.train_examples, config.seed)
    seen, val = (train.take(kept[rows]).read() for rows in (chosen[: asked.max_train], held_out))
    images = subset(train, kept[chosen]) if isinstance(train, Images) else train.take(kept[chosen])
    return TrainingData(images, *(_on(part, device) for part in (seen, val, test.read())))


def training_source(config: RunConfig, data: TrainingData, device: torch.device) -> Source:
    """The batches of a run by step."""
    recipe = config.recipe
    return make_source(
        data.train, device=device, seed=config.seed, batch_size=recipe.batch_size, repeats=recipe.repeats,
        crops=recipe.augment == "inception_flip",
    )  # fmt: skip


def _split(upstream: UpstreamConfig, split: str, max_test: int | None) -> Images | StreamedImages:
    num_images = upstream.num_train if split == "train" else max_test
    if upstream.stream:
        assert upstream.folder is not None  # refused when the spec is resolved
        return stream_images(
            upstream.folder, split, upstream.image_size, workers=upstream.workers, num_images=num_images
        )
    return load_images(upstream.dataset, split, upstream.image_size, num_images, upstream.folder)


def _on(images: Images, device: torch.device) -> Images:
    return images.to(device) if fits_on_device(images.num_bytes, device) else images
