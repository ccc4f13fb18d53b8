"""The loss around the trained weights, on a plane."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.func import functional_call

from .subject import Subject

__all__ = ["measure"]


@torch.inference_mode()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Cross-entropy of training images at w + x u + y v, u and v random directions, on a grid over [-1, 1] twice.

    A direction is normal noise, each filter of which (a row of a kernel) has the norm of the weights' own, so that 1 is
    as far as the weights are large; biases, norms and other vectors stay where they are. The grid has
    `measure.landscape_points` on each side and is drawn on the first `measure.landscape_examples` training images.

    Rows: `loss`, in nats, `other` the coordinates x and y, "0.5,-0.25"; "0,0" is the loss of the model itself.

    Source: Li et al. 2018 (arXiv 1712.09913), section 4, and the authors' code (`xignore=biasbn`, `xnorm=filter`);
    Chen, Hsieh and Gong 2021 (arXiv 2106.01548), Figure 1.
    """
    options, images = subject.config.measure, subject.train
    images = images.take(np.arange(min(options.landscape_examples, len(images.labels))))
    weights = dict(subject.model.named_parameters())
    u, v = (filter_normalised(weights, subject.rng(f"loss_landscape {axis}")) for axis in "uv")
    ticks = np.linspace(-1, 1, options.landscape_points)
    batches = list(subject.batches(images))
    for x in ticks:
        for y in ticks:
            moved = {name: weight + x * u[name] + y * v[name] for name, weight in weights.items() if name in u}
            loss = sum(
                F.cross_entropy(
                    functional_call(subject.model, moved, (inputs,)).double(), labels, reduction="sum"
                ).item()
                for inputs, labels in batches
            )
            where = {"other": f"{x:g},{y:g}", "split": "train", "num_examples": len(images.labels)}
            yield subject.row("loss", loss / len(images.labels), **where)


def filter_normalised(weights: Mapping[str, torch.Tensor], rng: np.random.Generator) -> dict[str, torch.Tensor]:
    """A random direction for each weight of more than one dimension, each row as long as the weight's own."""
    directions = {}
    for name, weight in weights.items():
        if weight.ndim > 1:
            noise = torch.from_numpy(rng.standard_normal(weight.shape, dtype=np.float32)).to(weight)
            rows, noise_rows = weight.detach().flatten(1), noise.flatten(1)
            lengths = rows.norm(dim=1, keepdim=True) / noise_rows.norm(dim=1, keepdim=True)
            directions[name] = (noise_rows * lengths).view_as(weight)
    return directions
