"""What makes a model fast or small and leaves what it computes alone.

Memory format, recomputed blocks, compiled blocks, a CUDA graph.
"""

import copy
import os
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ..paths import cache_folder
from ..specs.config import RunConfig
from .precision import autocast

__all__ = ["accelerate", "blocks_of", "checkpoint_blocks", "compile_blocks", "record_cuda_graph"]

_BLOCK_NAMES = ("Block", "Bottleneck")  # how timm's classes of repeated blocks are named


def accelerate(model: nn.Module, config: RunConfig, device: torch.device) -> nn.Module:
    """The model on its device, as fast as the config asks for; it stays the same object."""
    model = model.to(device)
    if config.model.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if config.checkpoint_activations:
        checkpoint_blocks(model)
    if config.compile == "blocks" or (config.compile == "auto" and device.type == "cuda"):
        compile_blocks(model)
    if config.cuda_graph and device.type == "cuda":
        record_cuda_graph(model, config, device)
    return model


def checkpoint_blocks(model: nn.Module) -> int:
    """Let each repeated block keep only its input for the backward pass, where it is computed anew; says how many.

    Memory for activations falls from all of a model's to one block's and the blocks' inputs, for a forward pass more.
    What is random is drawn as it was. Parameters keep their names, and copies of the model do the same.

    Source: Chen et al. 2016 (arXiv 1604.06174), section 4.
    """
    blocks = blocks_of(model)
    for block in blocks:
        block.__class__ = _recomputed(type(block))
    return len(blocks)


@cache
def _recomputed(kind: type[nn.Module]) -> type[nn.Module]:
    """A class of blocks that are computed anew; by class and not by object, so that a copied block runs its own."""

    class Recomputed(kind):
        def forward(self, *args: Any, **options: Any) -> Any:
            if not (self.training and torch.is_grad_enabled()):
                return super().forward(*args, **options)
            return checkpoint(super().forward, *args, use_reentrant=False, **options)

    Recomputed.__name__ = Recomputed.__qualname__ = kind.__name__  # by which blocks are found
    return Recomputed


def compile_blocks(model: nn.Module, **options: object) -> int:
    """Compile each repeated block in place and say how many there are.

    Block by block the time to compile does not grow with depth, and shapes that a sweep repeats come from one cache on
    disk. Parameters keep their names.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "inductor"))
    blocks = blocks_of(model)
    for block in blocks:
        block.compile(**options)
    return len(blocks)


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """The repeated blocks, of nested ones the outermost.

    >>> from sweeps.models import VitConfig
    >>> len(blocks_of(VitConfig(width=16, depth=3, patch=4).build(8, 10)))
    3
    """
    found, inside = [], set()
    for module in model.modules():
        if module not in inside and type(module).__name__.endswith(_BLOCK_NAMES):
            found.append(module)
            inside |= set(module.modules())
    return found


def record_cuda_graph(model: nn.Module, config: RunConfig, device: torch.device) -> None:
    """Record the forward and backward pass of a training batch, to be replayed with one launch each.

    The passes that warm up must leave no trace, such as running statistics. In evaluation mode the model runs as ever.
    """
    before = copy.deepcopy(model.state_dict())
    size = config.image_size
    sample = torch.zeros(config.recipe.batch_size, 3, size, size, device=device)
    sample = sample.to(memory_format=torch.channels_last)  # as `augment_batch` gives them
    model.train()
    with autocast(config, device):
        torch.cuda.make_graphed_callables(model, (sample,))
    model.load_state_dict(before)
