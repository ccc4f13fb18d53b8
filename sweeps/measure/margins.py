"""How far images lie from the boundary between their class and the next, in logits and where the classifier reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.datasets import find_dataset, task_name
from ..evaluation.evaluate import task_images
from ..evaluation.features import extract_features
from ..evaluation.fewshot import fit_probe, rank_in_class
from ..models.layers import HEAD, PRE_LOGITS
from .subject import Subject

__all__ = ["margins", "measure"]

_MOST_OF = 2  # of `measure.max_examples` the half: a mean of 128 is known to a tenth of the margins' own spread
_MOST_FITTED_OF = 4  # of a task the quarter, since tasks are several


def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Means of two margins over the training and over the test images, and of each task's few-shot classifier.

    That classifier is the whitened probe with l2 = 2^10 and the first draw, over the images it was fitted to: of the
    most shots that make no more than 64 images, a quarter of `measure.max_examples`, or else of the fewest. Its split
    is "fewshot", as the upstream set may be a task too.

    Rows: `head_margin`, the correct class's logit less the best other one; `pre_logits_margin`, that difference over
    the 2-norm of its gradient by what the classifier takes in, which is the distance to the boundary; below 0 where
    another class is predicted.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11, 41 and 42; the margin at a layer from Elsayed et al.
    2018 (arXiv 1803.05598), equation 3, and Jiang et al. 2018 (arXiv 1810.00113), equation 3.
    """
    subject.model.requires_grad_(False)  # the classifier's inputs alone have a gradient
    for split, all_images in (("train", subject.train), ("test", subject.test)):
        images = subject.some(all_images, _MOST_OF)
        found = [margins(subject.model, *batch) for batch in subject.batches(images)]
        yield from _rows(subject, *map(torch.cat, zip(*found, strict=True)), split=split)
    for task in subject.config.downstream.tasks:
        yield from _rows(subject, *_fewshot_margins(subject, task), split="fewshot", dataset=task_name(task))


def _rows(subject: Subject, head: torch.Tensor, pre_logits: torch.Tensor, **where: Any) -> Iterator[dict[str, Any]]:
    where["num_examples"] = len(head)
    yield subject.row("head_margin", head.double().mean().item(), layer=HEAD, **where)
    yield subject.row("pre_logits_margin", pre_logits.double().mean().item(), layer=PRE_LOGITS, **where)


def _fewshot_margins(subject: Subject, task: str) -> tuple[torch.Tensor, torch.Tensor]:
    downstream = subject.config.downstream
    pool = task_images(task, subject.config.image_size, downstream)[0]
    ranks = rank_in_class(pool.labels.numpy(), np.random.default_rng([0, 0]))  # the draw 0 of `evaluate_fewshot`
    most = max(1, subject.config.measure.max_examples // _MOST_FITTED_OF)
    shots = [count for count in downstream.shots if np.sum(ranks < count) <= most] or [min(downstream.shots)]
    fitted = pool.take(np.flatnonzero(ranks < max(shots)))
    features, labels = extract_features(subject.model, fitted, [PRE_LOGITS])[PRE_LOGITS].double(), fitted.labels
    nothing = (features[:0], labels[:0].numpy())  # its l2 is fixed
    probe = fit_probe("whitened", (features, labels.numpy()), nothing, find_dataset(task).num_classes)
    difference, other = _difference(features @ probe.weights + probe.bias, labels)
    return _over(difference, (probe.weights[:, labels] - probe.weights[:, other]).norm(dim=0))


def margins(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each image (n,) the margin of the logits and the margin of the classifier's input.

    Of two classifiers whose logits are averaged, of a distilled model, the input is both tokens.

    Args:
        images: normalised (n, 3, height, width).
        labels: int64 (n,).
    """
    with _classifier_inputs(model) as inputs:
        logits = model(images)
    difference, _ = _difference(logits, labels)
    gradients = torch.autograd.grad(difference.sum(), inputs)
    norm = torch.cat([gradient.flatten(1) for gradient in gradients], 1).norm(dim=1)
    return _over(difference.detach(), norm)


def _difference(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The correct logit less the best other one, and whose that is, each (n,)."""
    best = logits.scatter(1, labels[:, None], -torch.inf).max(1)
    return logits.gather(1, labels[:, None])[:, 0] - best.values, best.indices


def _over(difference: torch.Tensor, norm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two classes of one kernel row, neither of which was ever trained on, tie everywhere."""
    return difference, torch.where(difference == 0, difference, difference / norm)


@contextmanager
def _classifier_inputs(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """Within it a forward pass leaves what the classifiers take in, cut off from what comes before."""
    inputs: list[torch.Tensor] = []

    def cut_off(module: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        inputs.append(args[0].detach().requires_grad_())
        return (inputs[-1], *args[1:])

    classifier: nn.Module = model.get_classifier()  # type: ignore[operator]
    parts = list(classifier) if isinstance(classifier, nn.ModuleList) else [classifier]
    hooks = [part.register_forward_pre_hook(cut_off) for part in parts]
    try:
        yield inputs
    finally:
        for hook in hooks:
            hook.remove()
