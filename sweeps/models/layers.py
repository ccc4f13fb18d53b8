"""The layers of a model by name, the same names for every family, and what goes through them.

`embedding` is what the first block takes in, `block_1` ... `block_n` what the blocks put out, `pre_logits` what the
classifier takes in. Parameters have one layer more, `head`, the classifier's.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import nn

from ..training.acceleration import blocks_of
from .shape import ModelShape

__all__ = [
    "EMBEDDING", "HEAD", "PRE_LOGITS", "check_layers", "layer_names", "layer_outputs", "layers_of", "named_blocks",
    "parameter_layers", "pool",
]  # fmt: skip

EMBEDDING, PRE_LOGITS, HEAD = "embedding", "pre_logits", "head"


def named_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """The blocks from the input to the output, `block_1` first. Those of a hybrid's stem belong to its embedding.

    >>> from sweeps.models import VitConfig
    >>> list(named_blocks(VitConfig(width=16, depth=2, patch=4).build(8, 10)))
    ['block_1', 'block_2']
    """
    body = _body(model)
    stem = set(getattr(body, "patch_embed", nn.Identity()).modules())
    blocks = [block for block in blocks_of(body) if block not in stem]
    return {f"block_{place}": block for place, block in enumerate(blocks, 1)}


@lru_cache(maxsize=256)
def layer_names(config: ModelShape, image_size: int) -> tuple[str, ...]:
    """Names of a shape's layers, from the input to the output; builds it on the meta device."""
    with torch.device("meta"):
        return layers_of(config.build(image_size, 2))


def layers_of(model: nn.Module) -> tuple[str, ...]:
    """Names of its layers, from the input to the output. A checkpoint whose class has no blocks of the kind that
    `blocks_of` knows, such as an EfficientNet's, has only `pre_logits`."""
    blocks = named_blocks(model)
    return (EMBEDDING, *blocks, PRE_LOGITS) if blocks else (PRE_LOGITS,)


def check_layers(layers: Iterable[str], config: ModelShape, image_size: int, field: str) -> None:
    """Nothing, where the shape has layers of these names.

    Raises:
        ValueError: it has not: the field, the name and those there are.
    """
    valid = layer_names(config, image_size)  # pyright: ignore[reportArgumentType] frozen, so it has a hash
    for layer in layers:
        if layer not in valid:
            raise ValueError(f"{field}: {config.family} {config.variant} has the layers {_short(valid)}, got {layer!r}")


def layer_outputs(
    model: nn.Module,
    images: torch.Tensor,
    layers: Iterable[str],
    keep: Callable[[torch.Tensor], torch.Tensor] = lambda output: output,
) -> dict[str, torch.Tensor]:
    """What each of the named layers puts out for images (n, 3, height, width), as the model has it, from one pass.

    A mixture of two classifiers, of a distilled model, takes in the mean of their tokens as `pre_logits`.

    Args:
        keep: what is kept of an output as it comes, such as its mean over the tokens.
    """
    wanted = set(layers)
    with _kept(model, wanted - {PRE_LOGITS}, keep) as outputs:
        features = model.forward_features(images)  # type: ignore[operator]
    if PRE_LOGITS in wanted:
        outputs[PRE_LOGITS] = keep(model.forward_head(features, pre_logits=True))  # type: ignore[operator]
    return outputs


@contextmanager
def _kept(
    model: nn.Module, layers: set[str], keep: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[dict[str, torch.Tensor]]:
    """Within it a forward pass leaves what is kept of the layers' outputs."""
    outputs: dict[str, torch.Tensor] = {}

    def keep_output(name: str):
        return lambda module, args, output: outputs.__setitem__(name, keep(output))

    blocks = named_blocks(model) if layers else {}
    hooks = [block.register_forward_hook(keep_output(name)) for name, block in blocks.items() if name in layers]
    if EMBEDDING in layers:
        first = next(iter(blocks.values()))
        hooks.append(
            first.register_forward_pre_hook(lambda module, args: outputs.__setitem__(EMBEDDING, keep(args[0])))
        )
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def pool(model: nn.Module, output: torch.Tensor) -> torch.Tensor:
    """One vector an image, (n, width), of a layer's output: the class token where the model's classifier reads it,
    else the mean over the patches or the map."""
    body = _body(model)
    if output.ndim == 3:
        if getattr(body, "global_pool", "avg") == "token":
            return output[:, 0]
        return output[:, getattr(body, "num_prefix_tokens", 0) :].mean(1)
    if output.ndim == 4:
        return output.mean((1, 2) if getattr(body, "output_fmt", "NCHW") == "NHWC" else (2, 3))
    return output


def parameter_layers(model: nn.Module) -> dict[str, str]:
    """The layer of each parameter by name: one between two blocks belongs to the later one, one after the last to
    `pre_logits`, the classifier's to `head`."""
    head = {id(p) for p in model.get_classifier().parameters()}  # type: ignore[operator]
    of_block = {id(p): name for name, block in named_blocks(model).items() for p in block.parameters()}
    found: dict[str, str] = {}
    later = PRE_LOGITS
    for name, parameter in reversed(list(model.named_parameters())):
        if id(parameter) in head:
            found[name] = HEAD
            continue
        later = of_block.get(id(parameter), later if later != "block_1" else EMBEDDING)
        found[name] = later
    return dict(reversed(found.items()))


def _body(model: nn.Module) -> nn.Module:
    """A checkpoint of timm is wrapped."""
    inner = getattr(model, "model", model)
    return inner if isinstance(inner, nn.Module) else model


def _short(names: tuple[str, ...]) -> str:
    shown = names if len(names) < 7 else (*names[:3], "...", *names[-2:])
    return ", ".join(shown)
