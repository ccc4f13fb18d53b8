"""Whether a model's features survive half precision."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from ..data.images import Images
from .subject import Subject

__all__ = ["cosines", "measure"]

_MOST_OF = 8  # of `measure.max_examples` an eighth: few processors compute fast in these formats
_FORMATS = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Cosine of the pre-logit features in half precision with those in float32, on the test images.

    Rows: `feature_cosine_mean` and `feature_cosine_min` over the images; `other` is "float16" or "bfloat16". Weights,
    images and every operation are in that format, unlike under autocast, which keeps norms and sums in float32.
    """
    images = subject.some(subject.test, _MOST_OF)
    full = _features(subject, images, subject.model, torch.float32)
    for name, dtype in _FORMATS.items():
        found = cosines(full, _features(subject, images, copy.deepcopy(subject.model).to(dtype), dtype))
        where = {"layer": "pre_logits", "other": name, "split": "test", "num_examples": len(found)}
        yield subject.row("feature_cosine_mean", found.mean().item(), **where)
        yield subject.row("feature_cosine_min", found.min().item(), **where)


def cosines(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Of vectors (n, width), two by two, in float64 (n,); no number where one of two is 0 or not finite.

    >>> cosines(torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([[2.0, 0.0], [4.0, 3.0]]))
    tensor([1.0000, 0.9600], dtype=torch.float64)
    """
    first, second = first.double(), second.double()
    return (first * second).sum(1) / (first.norm(dim=1) * second.norm(dim=1))


def _features(subject: Subject, images: Images, model: nn.Module, dtype: torch.dtype) -> torch.Tensor:
    batches = (pixels.to(dtype) for pixels, _ in subject.batches(images))
    return torch.cat([model.forward_head(model.forward_features(x), pre_logits=True) for x in batches])  # type: ignore[operator]
