"""How often a model errs on images that were made to mislead it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from ..data.images import Images
from ..training.attacks import attack, step_size
from .subject import Subject

__all__ = ["measure"]


def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Errors on test images attacked within each `measure.attack_radii`: one step, and `measure.attack_steps` of them.

    The attacks raise the cross-entropy of the labels, know the model and run in evaluation mode, as it is asked.
    Rows: `fgsm_error` (fast gradient sign method) and `pgd_error` (projected gradient descent from a random start),
    `other` the radius in units of pixels in [0, 1], "eps=0.003922".

    Source: Goodfellow et al. 2014 (arXiv 1412.6572); Madry et al. 2018 (arXiv 1706.06083); Chen, Hsieh and Gong 2021
    (arXiv 2106.01548).
    """
    images, num_steps = subject.robustness_images(), subject.config.measure.attack_steps
    for radius in subject.config.measure.attack_radii:
        where = {"other": f"eps={radius:.4g}", "split": "test", "num_examples": len(images.labels)}
        yield subject.row("fgsm_error", _error(subject, images, radius=radius), **where)
        several = {"num_steps": num_steps, "step": step_size(radius, num_steps), "rng": subject.rng("attack")}
        yield subject.row("pgd_error", _error(subject, images, radius=radius, **several), **where)


def _error(subject: Subject, images: Images, **how: Any) -> float:
    wrong = 0
    for inputs, labels in subject.batches(images):
        attacked = attack(inputs, partial(_loss, subject.model, labels), **how)
        with torch.inference_mode():
            wrong += int((subject.model(attacked).argmax(1) != labels).sum())
    return wrong / len(images.labels)


def _loss(model: torch.nn.Module, labels: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(images), labels, reduction="sum")
