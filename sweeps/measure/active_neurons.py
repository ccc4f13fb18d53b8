"""What share of the neurons an image activates, block by block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ..models.layers import named_blocks
from .subject import Subject

__all__ = ["activations", "measure"]

_MOST_OF = 4  # of `measure.max_examples` a quarter: each image is a mean over thousands of outputs already
# Names of torch's and timm's classes that are positive exactly where what goes in is. A gate, such as a sigmoid, is
# positive everywhere and says nothing.
_ACTIVATIONS = {
    "ReLU", "ReLU6", "GELU", "GELUTanh", "QuickGELU", "SiLU", "Swish", "Mish", "HardSwish", "Hardswish", "LeakyReLU",
}  # fmt: skip


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """The share of outputs above 0 of each block's activation functions, over tokens or pixels, channels and images.

    Rows: `active_share`, a block each. One with several activation functions, such as a Mixer's two MLPs, has also a
    row for each, with its name of timm as `other`. On the training images.

    Source: Chen, Hsieh and Gong 2022 (arXiv 2106.01548), section 4.4; Li et al. 2022 (arXiv 2210.06313).
    """
    images = subject.some(subject.train, _MOST_OF)
    with counted_outputs(subject.model) as counts:
        for batch, _ in subject.batches(images):
            subject.model(batch)
    where: dict[str, Any] = {"split": "train", "num_examples": len(images.labels)}
    for block, of_block in counts.items():
        active, total = (sum(count) for count in zip(*of_block.values(), strict=True))
        yield subject.row("active_share", active / total, layer=block, **where)
        for name, (active, total) in of_block.items() if len(of_block) > 1 else ():
            yield subject.row("active_share", active / total, layer=block, other=name, **where)


def activations(model: nn.Module) -> dict[str, dict[str, nn.Module]]:
    """The activation functions of each block that has any, by their names within it.

    >>> from sweeps.models import MixerConfig
    >>> {block: list(found) for block, found in activations(MixerConfig(width=8, depth=1, patch=4).build(8, 2)).items()}
    {'block_1': ['mlp_tokens', 'mlp_channels']}
    """
    found = {
        block: {
            name.removesuffix(".act"): part
            for name, part in module.named_modules()
            if type(part).__name__ in _ACTIVATIONS
        }
        for block, module in named_blocks(model).items()
    }
    return {block: parts for block, parts in found.items() if parts}


@contextmanager
def counted_outputs(model: nn.Module) -> Iterator[dict[str, dict[str, tuple[int, int]]]]:
    """Within it forward passes add up, for each activation function, outputs above 0 and all outputs."""
    found = activations(model)
    counts: dict[str, dict[str, tuple[int, int]]] = {
        block: dict.fromkeys(parts, (0, 0)) for block, parts in found.items()
    }

    def count(block: str, name: str):
        def hook(module: nn.Module, args: Any, output: torch.Tensor) -> None:
            active, total = counts[block][name]  # counted at once: what follows may write over the output
            counts[block][name] = active + int((output > 0).sum()), total + output.numel()

        return hook

    hooks = [
        part.register_forward_hook(count(block, name)) for block, parts in found.items() for name, part in parts.items()
    ]
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()
