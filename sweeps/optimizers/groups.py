"""Which weights decay, and how fast each group of them learns."""

from collections.abc import Iterable
from typing import NamedTuple

from torch import nn

from ..specs.config import RecipeConfig

__all__ = ["ParameterGroup", "decay_groups"]


class ParameterGroup(NamedTuple):
    """Parameters with one learning rate and one decay.

    Attributes:
        names: of the parameters, as `model.named_parameters` calls them.
        lr_multiplier: of the learning rate.
        weight_decay: by the optimizer's own rule: times the group's learning rate, or added to the gradient ("l2").
    """

    names: tuple[str, ...]
    parameters: tuple[nn.Parameter, ...]
    lr_multiplier: float
    weight_decay: float


def decay_groups(model: nn.Module, recipe: RecipeConfig) -> list[ParameterGroup]:
    """The parameters in up to four groups: classifier or body, decaying or not.

    Kernels decay: parameters called `weight` with more than one dimension. Biases, norms, position embeddings, class
    tokens, the probe of attention pooling and layer scale do not, as in big_vision, whose mask is ".*/kernel$".

    A decoupled decay becomes the one that optimizers know by its division by the group's peak learning rate. It does
    not grow with `head_lr_multiplier`, which in big_vision multiplies the update before the decay is added.

    Raises:
        ValueError: a decoupled decay would shrink a weight to nothing in one step, or turn its sign.
    """
    head = {id(p) for p in model.get_classifier().parameters()}  # type: ignore[operator]
    members: dict[tuple[bool, bool], list[tuple[str, nn.Parameter]]] = {}
    for name, parameter in model.named_parameters():
        is_kernel = name.rpartition(".")[2].endswith("weight") and parameter.ndim > 1
        members.setdefault((id(parameter) in head, is_kernel), []).append((name, parameter))
    groups = [_group(named, recipe, in_head, decays) for (in_head, decays), named in members.items()]
    return _merged(groups)


def _merged(groups: list[ParameterGroup]) -> list[ParameterGroup]:
    """Those of one learning rate and decay as one: an optimizer's step takes .1 ms a group."""
    merged: dict[tuple[float, float], ParameterGroup] = {}
    for group in groups:
        key = (group.lr_multiplier, group.weight_decay)
        before = merged.get(key, group._replace(names=(), parameters=()))
        merged[key] = before._replace(names=before.names + group.names, parameters=before.parameters + group.parameters)
    return list(merged.values())


def _group(
    named: Iterable[tuple[str, nn.Parameter]], recipe: RecipeConfig, in_head: bool, decays: bool
) -> ParameterGroup:
    names, parameters = zip(*named, strict=True)
    lr_multiplier = recipe.head_lr_multiplier if in_head else 1.0
    decay = _weight_decay(recipe, in_head, recipe.lr * lr_multiplier) if decays else 0.0
    return ParameterGroup(names, parameters, lr_multiplier, decay)


def _weight_decay(recipe: RecipeConfig, in_head: bool, peak_learning_rate: float) -> float:
    field = "head_weight_decay" if in_head else "weight_decay"
    decay = getattr(recipe, field)
    if recipe.weight_decay_rule != "decoupled":
        return decay
    return decay / peak_learning_rate
