"""The images of a run: the subset trained on, the held-out part, the test images."""

from dataclasses import dataclass

import torch

from ..specs.class_map import labels_as_outputs
from ..specs.config import RunConfig, UpstreamConfig
from .batches import Source
from .datasets import find_dataset, folder_versions
from .images import Images, MappedImages, load_images, subset
from .kept import kept_rows
from .sources import fits_on_device, make_source
from .stream.images import StreamedImages, stream_images
from .subsets import sample_rows, split_train_val

__all__ = ["TrainingData", "load_training_data", "training_source"]


@dataclass(frozen=True)
class TrainingData:
    """What a run's models learn from and are asked about; the same for all branches of a trunk.

    Attributes:
        train: the subset trained on, on the host.
        seen: some of it, for the training error.
        val: the held-out part of the training set.
        test: images of the test part.

    Labels of those that a model is asked about are numbers of its outputs, by `evaluate.class_map` where there is one.
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
    _check_tasks(config)
    kept = kept_rows(upstream, config.tasks)  # before anything is decoded of data that have changed
    train, test = _split(upstream, "train", upstream.num_train), _test_images(upstream, asked.max_upstream)
    chosen, held_out = split_train_val(train.labels.numpy()[kept], upstream.num_val, config.train_examples, config.seed)
    seen = train.take(kept[chosen[: asked.max_train]]).read()
    val, test = (part.read_once() for part in (train.take(kept[held_out]), test))
    images = subset(train, kept[chosen]) if isinstance(train, Images) else train.take(kept[chosen])
    parts = (labels_as_outputs(part, asked.class_map) for part in (seen, val, test))
    return TrainingData(images, *(_on(part, device) for part in parts))


def training_source(config: RunConfig, data: TrainingData, device: torch.device) -> Source:
    """The batches of a run by step."""
    recipe = config.recipe
    return make_source(
        data.train, device=device, seed=config.seed, batch_size=recipe.batch_size, repeats=recipe.repeats,
        crops=recipe.augment == "inception_flip",
    )  # fmt: skip


def _check_tasks(config: RunConfig) -> None:
    """The upstream set is looked at where its rows are chosen."""
    for section in ("downstream", "finetune"):
        asked, field = getattr(config, section), f"{section}.tasks"
        if folder_versions(asked.tasks, field) != asked.folder_versions:
            tasks = [task for task in asked.tasks if ":" in task]
            raise ValueError(f"{field}: data of {tasks} have changed since this run was planned; plan it anew")


def _split(upstream: UpstreamConfig, split: str, num_images: int | None) -> Images | StreamedImages:
    """Of a generated set so many images; of others all."""
    if not upstream.stream:
        return load_images(upstream.dataset, split, upstream.image_size, num_images, upstream.folder)
    assert upstream.folder is not None  # refused when the spec is resolved
    images = stream_images(
        upstream.folder, split, upstream.image_size, dataset=upstream.dataset, workers=upstream.workers
    )
    if images.index.version != upstream.version:
        raise ValueError(f"upstream: the data in {upstream.folder} are changing; plan it anew")
    return images


def _test_images(upstream: UpstreamConfig, max_images: int | None) -> Images | StreamedImages:
    dataset = find_dataset(upstream.dataset, upstream.folder)
    test = _split(upstream, "test", max_images if dataset.generated else None)
    return test.take(sample_rows(len(test.labels), max_images, dataset.shuffled))


def _on(images: Images, device: torch.device) -> Images:
    return images.to(device) if fits_on_device(images.num_bytes, device) else images
