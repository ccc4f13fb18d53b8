"""How alike two layers are in which images they hold to be alike: linear CKA, within a model and between two."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ..data.images import normalise
from ..models.layers import layer_outputs, layers_of
from ..training.saved_model import load_model, read_config
from .subject import Subject

__all__ = ["Similarity", "centred_gram", "measure"]

_MOST_OF = 2  # of `measure.max_examples` the half
_BATCH = 128  # images a minibatch; the cost grows with its square, the estimate is unbiased at any size
_LEAST = 4  # images that the unbiased estimator needs


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Linear CKA of every two layers on the test images, by the unbiased minibatch estimator.

    Rows: `cka`, each pair of layers once, `layer` the earlier; a layer's with itself is 1 and has no row. With
    `measure.against` also every layer with every layer of the other model, whose `other` is "<run id>:<layer>", of the
    untrained model "init:<layer>". A layer's features are all of its output, not its mean over the tokens or the map.

    Raises:
        ValueError: fewer than 4 images, or the file of the other model has changed.

    Source: Kornblith et al. 2019 (arXiv 1905.00414), the estimator of Nguyen et al. 2020 (arXiv 2010.15327), equations
    2 and 3; Raghu et al. 2021 (arXiv 2108.08810), Figures 1 and 2.
    """
    layers = layers_of(subject.model)
    name, other = _other_model(subject)
    within, between, num_images = Similarity(), Similarity(), 0
    for images in _minibatches(subject):
        ours = [centred_gram(output) for output in layer_outputs(subject.model, images, layers).values()]
        within.add(ours, ours)
        if other is not None:
            between.add(
                ours, [centred_gram(output) for output in layer_outputs(other, images, layers_of(other)).values()]
            )
        num_images += len(images)
    where = {"split": "test", "num_examples": num_images}
    values = within.values()
    for i, layer in enumerate(layers):
        for j, later in enumerate(layers[i + 1 :], i + 1):
            yield subject.row("cka", values[i, j].item(), layer=layer, other=later, **where)
    if other is not None:
        for layer, row in zip(layers, between.values(), strict=True):
            for theirs, value in zip(layers_of(other), row, strict=True):
                yield subject.row("cka", value.item(), layer=layer, other=f"{name}:{theirs}", **where)


def centred_gram(features: torch.Tensor) -> torch.Tensor:
    """The Gram matrix of features (n, ...), centred so that the inner product of two is n (n - 3) HSIC_1: float64
    (n, n) with zeros in its diagonal, its rows of sum 0.

    Source: Székely & Rizzo 2014 (arXiv 1310.2926), equation 3.1, whose inner product (3.2) is the estimator of Song et
    al. 2012.
    """
    flat = features.flatten(1)
    flat = flat - flat.mean(0)  # changes nothing but the rounding
    gram, n = (flat @ flat.T).double().fill_diagonal_(0), len(flat)
    rows = gram.sum(0) / (n - 2)
    centred = gram - rows[:, None] - rows[None, :] + rows.sum() / (n - 1)
    return centred.fill_diagonal_(0)


class Similarity:
    """CKA of every layer of one list with every layer of another: HSIC is averaged over minibatches, then divided.

    Source: Nguyen et al. 2020 (arXiv 2010.15327), equation 2.
    """

    def __init__(self) -> None:
        self._sums = _Sums(torch.zeros(()), torch.zeros(()), torch.zeros(()))

    def add(self, first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> None:
        """A minibatch: centred Gram matrices of each layer."""
        a, b = (torch.stack([gram.flatten().cpu() for gram in grams]) for grams in (first, second))
        n = len(first[0])
        found = _Sums(a @ b.T, a.square().sum(1), b.square().sum(1))
        self._sums = _Sums(*(total + part / (n * (n - 3)) for total, part in zip(self._sums, found, strict=True)))

    def values(self) -> torch.Tensor:
        """(layers of the first, layers of the second)."""
        cross, first, second = self._sums
        return cross / (first[:, None] * second[None, :]).sqrt()


class _Sums(NamedTuple):
    cross: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor


def _minibatches(subject: Subject) -> Iterator[torch.Tensor]:
    """Of equal size, at least 128 images where there are so many."""
    images = subject.some(subject.test, _MOST_OF)
    if (num_images := len(images.labels)) < _LEAST:
        raise ValueError(f"cka needs {_LEAST} test images or more, got {num_images}")
    num_batches = max(1, num_images // _BATCH)
    for start in range(num_batches):  # each spread over all: files often lie class by class
        rows = np.arange(start, num_images, num_batches)[: num_images // num_batches]
        yield normalise(images.take(rows).pixels)


def _other_model(subject: Subject) -> tuple[str, nn.Module | None]:
    path = subject.config.measure.against
    if path is None:
        return "", None
    if path == "init":
        return path, subject.untrained.eval()
    from .options import check_unchanged

    check_unchanged("against", subject.config.measure)
    return read_config(path).run_id, load_model(path, subject.device)
