"""The error where an image has several right answers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..data.datasets import find_dataset
from ..data.images import normalise
from ..data.subsets import sample_rows
from .options import check_unchanged, read_label_sets
from .subject import Subject

__all__ = ["measure", "multi_label_error"]

_BATCH = 250


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """The share of test images whose predicted class is none of those that `measure.label_sets` names for the image.

    Rows: `multi_label_error`, of `num_examples` images, and `multi_label_left_out`, how many images have no label.
    Of all test images that the errors are of, not of `measure.max_examples`, and in float32.

    Raises:
        ValueError: the file has changed since the run was planned.

    Source: Beyer et al. 2020 (arXiv 2006.07159), section 4.
    """
    config, images = subject.config, subject.test if subject.all_test is None else subject.all_test
    check_unchanged("label_sets", config.measure)
    sets = read_label_sets(config)
    dataset = find_dataset(config.upstream.dataset, config.upstream.folder)
    rows = sample_rows(len(sets), config.evaluate.max_upstream, dataset.shuffled)
    batches = (normalise(batch.pixels.to(subject.device)) for batch in images.batches(_BATCH))
    predictions = torch.cat([subject.model(batch).argmax(1) for batch in batches])
    error, num_labelled = multi_label_error(predictions.cpu().numpy(), [sets[row] for row in rows])
    yield subject.row("multi_label_error", error, split="test", num_examples=num_labelled)
    yield subject.row("multi_label_left_out", len(rows) - num_labelled, split="test", num_examples=len(rows))


def multi_label_error(predictions: np.ndarray, label_sets: list[list[int]]) -> tuple[float, int]:
    """The error on the images that have a label, and how many they are.

    >>> multi_label_error(np.array([3, 1, 0, 2, 4]), [[1, 3], [0], [], [2], [5]])
    (0.5, 4)
    """
    is_right = [label in labels for label, labels in zip(predictions.tolist(), label_sets, strict=True) if labels]
    return 1 - sum(is_right) / len(is_right), len(is_right)
