"""What makes a model fast and leaves what it computes alone: memory format, compiled blocks, a CUDA graph."""

import copy
import os

import torch
from torch import nn

from .config import RunConfig
from .paths import cache_folder
from .precision import autocast

__all__ = ["accelerate", "blocks_of", "compile_blocks", "record_cuda_graph"]

_BLOCK_NAMES = ("Block", "Bottleneck")  # how timm's classes of repeated blocks are named


def accelerate(model: nn.Module, config: RunConfig, device: torch.device) -> nn.Module:
    """The model on its device, as fast as the config asks for; it stays the same object."""
    model = model.to(device)
    if config.model.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if config.compile == "blocks" or (config.compile == "auto" and device.type == "cuda"):
        compile_blocks(model)
    if config.cuda_graph and device.type == "cuda":
        record_cuda_graph(model, config, device)
    return model


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
