"""What training a shape takes of a device's memory, counted without allocating it.

Bytes = weights + gradients + optimizer state + activations. Weights, gradients and state are exact, from the
parameters' shapes. Activations are the tensors that the backward pass keeps, counted on the meta device: within a
percent of those of a CPU in float32, and within an eighth in bfloat16; a library's work space is not in them.

Source of the form: Zhai et al. 2021 (arXiv 2106.04560), section 3.4 and Figure 8, whose state is 2, 1.5 and .5 of the
parameters for Adam, Adam with a half-precision first moment and their Adafactor.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from ..models.depth import deeper_memory, one_and_two
from ..models.shape import ModelShape
from ..specs.config import RunConfig
from ..training.acceleration import blocks_of

__all__ = [
    "PROCESS_BYTES", "ModelMemory", "TrainingMemory", "count_memory", "memory_of", "optimizer_bytes", "padded_tokens",
    "training_memory",
]  # fmt: skip

PROCESS_BYTES = 512 * 2**20  # of a worker beside all that is counted: Python and torch, or a CUDA context
_FLOAT, _HALF = 4, 2
_HALF_SHARE = 0.56  # of the float32 activations, what bfloat16 autocast keeps: .50 (ResNet) to .57 (ViT) on a CPU
_COUNTED_BATCH = 2  # BatchNorm on a map of one pixel takes no fewer
_TOKEN_TILE = 128  # tokens are padded to a multiple of it on an accelerator
_LEAST_FACTORED = 32  # Adafactor keeps rows and columns of parameters whose two longest sides are at least so long


@dataclass(frozen=True)
class ModelMemory:
    """A model's parameters by shape, the bytes of its other state, and those that an image leaves for the backward
    pass in float32: in all, of the blocks' inputs, and of the largest block."""

    shapes: tuple[tuple[int, ...], ...]
    buffer_bytes: int
    image_bytes: float
    input_bytes: float
    block_bytes: float

    @property
    def num_params(self) -> int:
        return sum(map(math.prod, self.shapes))


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes of a training on one device."""

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations

    @property
    def state(self) -> int:
        """What a checkpoint holds."""
        return self.weights + self.optimizer


def training_memory(config: RunConfig, on_accelerator: bool = False, half: bool | None = None) -> TrainingMemory:
    """Of a run on one of its devices.

    Args:
        on_accelerator: pads tokens and, where the precision is "auto", takes bfloat16.
        half: whether matrix products are in bfloat16; None goes by the config.
    """
    recipe = config.recipe
    counted = _counted(config.model, config.image_size, config.num_classes)  # type: ignore[arg-type] frozen
    if half is None:
        half = config.precision == "bfloat16" or (config.precision == "auto" and on_accelerator)
    per_image = counted.image_bytes
    if config.checkpoint_activations:
        per_image = min(per_image, counted.input_bytes + counted.block_bytes)
    if on_accelerator:
        per_image *= padded_tokens(config.model, config.image_size)
    return memory_of(
        counted, images=math.ceil(recipe.batch_size / config.devices_per_run / config.micro_batches),
        image_bytes=per_image, optimizer=recipe.optimizer, half=half,
        copies=1 + (recipe.ema_decay is not None) + (recipe.sam_rho is not None),
    )  # fmt: skip


def memory_of(
    counted: ModelMemory, *, images: int, image_bytes: float, optimizer: str, half: bool, copies: int = 1
) -> TrainingMemory:
    """The sum, for so many images at once and so many copies of the weights.

    Args:
        image_bytes: activations of an image in float32.
    """
    activations = images * image_bytes * (_HALF_SHARE if half else 1) + (_HALF * counted.num_params if half else 0)
    return TrainingMemory(
        copies * (_FLOAT * counted.num_params + counted.buffer_bytes), _FLOAT * counted.num_params,
        optimizer_bytes(counted.shapes, optimizer), round(activations),
    )  # fmt: skip


def padded_tokens(model: Any, image_size: int) -> float:
    """How many times its tokens a transformer's are when they are padded; 1 of other models.

    >>> from sweeps.models import VitConfig
    >>> 257 * padded_tokens(VitConfig(variant="B/14", pooling="token"), 224)
    384.0
    """
    tokens = model.shape_columns(image_size).get("num_tokens")
    return math.ceil(tokens / _TOKEN_TILE) * _TOKEN_TILE / tokens if tokens else 1.0


def optimizer_bytes(shapes: tuple[tuple[int, ...], ...], optimizer: str) -> int:
    """Exactly what the state of an optimizer of `sweeps.optimizers.OPTIMIZERS` takes between steps.

    >>> [optimizer_bytes(((64, 64), (64,)), name) for name in ("adamw", "adamw_bf16", "adafactor")]
    [33288, 24968, 9096]
    """
    return sum(_state_bytes(shape, optimizer) for shape in shapes)


def _state_bytes(shape: tuple[int, ...], optimizer: str) -> int:
    size = math.prod(shape)
    if optimizer == "sgd":
        return _FLOAT * size
    moments = {"adamw": _FLOAT * size, "adamw_bf16": _HALF * size, "adafactor": _HALF * size}[optimizer]
    return moments + _FLOAT * (_factored(shape) if optimizer == "adafactor" else size) + _FLOAT  # a counter of steps


def _factored(shape: tuple[int, ...]) -> int:
    """Numbers of Adafactor's second moment: rows and columns of the two longest sides, or all."""
    size, sides = math.prod(shape), sorted(shape)
    if len(shape) < 2 or sides[-2] < _LEAST_FACTORED:
        return size
    return size // sides[-1] + size // sides[-2]


# Counting -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _counted(model: ModelShape, image_size: int, num_classes: int) -> ModelMemory:
    """Of a deep model from shallow ones, which many have in common."""
    if shallow := one_and_two(model):
        one, two = (count_memory(each, image_size, num_classes) for each in shallow)
        return deeper_memory(one, two, model.depth)  # type: ignore[attr-defined]
    return count_memory(model, image_size, num_classes)  # pyright: ignore[reportArgumentType]  # frozen: it hashes


@lru_cache(maxsize=1024)
def count_memory(model: ModelShape, image_size: int, num_classes: int) -> ModelMemory:
    """Builds the model on the meta device and goes through it once."""
    with torch.device("meta"):
        built = model.build(image_size, num_classes).train()
        images = torch.empty(_COUNTED_BATCH, 3, image_size, image_size)
    blocks, inputs, largest = blocks_of(built), [0], [0]
    with _saved(built) as saved, _watched(blocks, saved, inputs, largest), _FusedAttention():
        outputs = built(images)
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            F.cross_entropy(output, torch.zeros(len(output), dtype=torch.long, device="meta"))
    buffers = [*built.buffers(), *(p for p in built.parameters() if not p.requires_grad)]
    return ModelMemory(
        tuple(tuple(p.shape) for p in built.parameters() if p.requires_grad),
        sum(t.numel() * t.element_size() for t in buffers),
        *(number / _COUNTED_BATCH for number in (sum(saved.values()), inputs[0], largest[0])),
    )


@contextmanager
def _saved(model: nn.Module) -> Iterator[dict[Any, int]]:
    """Within it, bytes of each storage that is kept for the backward pass, the model's own apart."""
    found: dict[Any, int] = {}
    kept = []  # so that no storage's address is given anew
    own = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers())}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            found[storage._cdata] = storage.nbytes()
            kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield found


@contextmanager
def _watched(blocks: list[nn.Module], saved: dict[Any, int], inputs: list[int], largest: list[int]) -> Iterator[None]:
    """Adds up the blocks' inputs, and finds what the largest block keeps."""
    before: list[int] = []

    def enter(module: nn.Module, args: tuple[Any, ...]) -> None:
        before.append(sum(saved.values()))
        inputs[0] += sum(a.numel() * a.element_size() for a in args if isinstance(a, torch.Tensor))

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        largest[0] = max(largest[0], sum(saved.values()) - before.pop())

    hooks = [h for b in blocks for h in (b.register_forward_pre_hook(enter), b.register_forward_hook(leave))]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _FusedAttention(TorchFunctionMode):
    """Attention as a device does it: keeps its inputs, its output and a number a row; not its square of weights."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.scaled_dot_product_attention:
            return _Attention.apply(*args[:3])
        return func(*args, **(kwargs or {}))


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        output = torch.empty_like(query)
        ctx.save_for_backward(query, key, value, output, query.new_empty(query.shape[:-1]))
        return output
