"""How often a model errs on corrupted images."""

from collections.abc import Iterator
from typing import Any

import torch

from ..augment.corrupt import CORRUPTIONS, NUM_SEVERITIES, corrupt
from ..data.images import Images, normalise
from .subject import Subject

__all__ = ["measure"]


@torch.inference_mode()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Errors on test images under each corruption of `sweeps.augment.corrupt` at each severity.

    Rows: `corruption_error`, `other` the corruption and its severity, "gaussian_noise:3"; "clean:0" is the error on the
    same images as they are. `corruption_error_mean`, the mean over all corruptions and severities.

    Source: Hendrycks and Dietterich 2019 (arXiv 1903.12261), section 4.2: the unnormalised corruption errors; Chen,
    Hsieh and Gong 2021 (arXiv 2106.01548), Table 2.
    """
    images = subject.robustness_images()
    where = {"split": "test", "num_examples": len(images.labels)}
    yield subject.row("corruption_error", _error(subject, images, "clean", 0), other="clean:0", **where)
    errors = []
    for name in CORRUPTIONS:
        for severity in range(1, NUM_SEVERITIES + 1):
            errors.append(_error(subject, images, name, severity))
            yield subject.row("corruption_error", errors[-1], other=f"{name}:{severity}", **where)
    yield subject.row("corruption_error_mean", sum(errors) / len(errors), **where)


def _error(subject: Subject, images: Images, name: str, severity: int) -> float:
    rng = subject.rng(f"corruptions {name}")
    wrong = 0
    for batch in images.batches(128):
        clean = (normalise(batch.pixels) + 1) / 2
        logits = subject.model(corrupt(clean, name, severity, rng) * 2 - 1)
        wrong += int((logits.argmax(1) != batch.labels).sum())
    return wrong / len(images.labels)
