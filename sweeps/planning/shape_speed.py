"""How fast shapes train on a device: a few are measured, the others follow from a law that is fitted to these.

Seconds an image = a FLOPs + b bytes of activations + c parameters / images of a step, with a, b, c >= 0: arithmetic,
traffic of what the backward pass keeps, and the optimizer's step. Fitted to relative errors; its own error is the
median of those that leaving out each measured shape makes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import nnls

from ..models.cost import ModelCost
from ..models.shape import ModelShape
from ..optimizers import build_optimizer
from ..specs.config import RecipeConfig
from .shapes import Column, Found, cost_at, memory_at

__all__ = ["Measured", "SpeedLaw", "fit_speed", "measure_speed", "seconds_a_step"]

_NUM_MEASURED = 8
_UNITS = 2  # of depth: what a shape takes is linear in it
_LEAST_STEPS, _SECONDS = 3, 1.0
_MOST_FLOPS = {"cpu": 2e10, "cuda": 1e15}  # of a measured step
_TRAINING = 3  # forward and backward pass over the forward pass


@dataclass(frozen=True)
class Measured:
    """A shape's step: forward FLOPs and bytes of activations of an image, parameters, images and seconds."""

    flops: float
    image_bytes: float
    num_params: int
    images: int
    seconds: float

    @property
    def terms(self) -> np.ndarray:
        """What the seconds of an image are a sum of."""
        return np.array([_TRAINING * self.flops, self.image_bytes, self.num_params / self.images])


@dataclass(frozen=True)
class SpeedLaw:
    """Seconds for each FLOP, byte and parameter; the relative error of a shape that was not measured (nan: not known);
    and what it was fitted to."""

    coefficients: np.ndarray
    error: float
    measured: tuple[Measured, ...]

    def images_per_second(self, shape: Found, batch_size: int) -> float:
        terms = Measured(shape.flops_per_image, shape.image_bytes, shape.num_params, batch_size, 0.0).terms
        return float(1 / (self.coefficients @ terms))


def measure_speed(
    columns: Sequence[Column],
    *,
    image_size: int,
    batch_size: int,
    optimizer: str,
    device: torch.device,
    tell: Callable[[str], None] = lambda line: None,
) -> SpeedLaw:
    """Train some of the shapes, two units deep, and fit the law. On a CPU the batch is as small as a second allows."""
    costs = sorted(((cost_at(c, _UNITS, image_size), c) for c in columns), key=lambda pair: pair[0].flops_per_image)
    places = sorted({round(place) for place in np.linspace(0, len(costs) - 1, _NUM_MEASURED)})
    measured = []
    for cost, column in (costs[place] for place in places):
        model = column.make(_UNITS)
        tell(f"measuring {model.family} {model.variant}")
        measured.append(_measure(model, cost, column, image_size, batch_size, optimizer, device))
    return fit_speed(measured)


def _measure(
    model: ModelShape, cost: ModelCost, column: Column, image_size: int, most: int, optimizer: str, device: torch.device
) -> Measured:
    flops = _TRAINING * cost.flops_per_image
    least = model.smallest_batch(image_size)
    images = max(least, min(most, int(_MOST_FLOPS.get(device.type, _MOST_FLOPS["cuda"]) / flops)))
    seconds = seconds_a_step(model, image_size, images, optimizer, device)
    counted = memory_at(column, _UNITS, image_size)
    return Measured(cost.flops_per_image, counted.image_bytes, counted.num_params, images, seconds)


def fit_speed(measured: Sequence[Measured]) -> SpeedLaw:
    """The law through measured shapes.

    Raises:
        ValueError: there are none.
    """
    if not measured:
        raise ValueError("a speed law is fitted to measured shapes, got none")
    errors = []
    for left_out in range(len(measured)) if len(measured) > 1 else ():
        rest = [m for place, m in enumerate(measured) if place != left_out]
        one = measured[left_out]
        errors.append(abs(_fit(rest) @ one.terms * one.images / one.seconds - 1))
    return SpeedLaw(_fit(measured), float(np.median(errors)) if errors else float("nan"), tuple(measured))


def _fit(measured: Sequence[Measured]) -> np.ndarray:
    terms = np.stack([m.terms * m.images / m.seconds for m in measured])  # each is to add up to 1
    scale = terms.max(axis=0)
    return nnls(terms / scale, np.ones(len(terms)))[0] / scale


def seconds_a_step(model: ModelShape, image_size: int, images: int, optimizer: str, device: torch.device) -> float:
    """The median of some training steps on random images, the first of them apart."""
    built = model.build(image_size, 1000).to(device).train()
    recipe = RecipeConfig.model_validate({"optimizer": optimizer, "batch_size": images})
    steps = build_optimizer(built, recipe)
    batch = torch.randn(images, 3, image_size, image_size, device=device)
    labels = torch.zeros(images, dtype=torch.long, device=device)
    times: list[float] = []
    while len(times) <= _LEAST_STEPS or (sum(times) < _SECONDS and len(times) < 200):
        started = time.perf_counter()
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            loss = F.cross_entropy(built(batch), labels)
        loss.backward()
        steps.step()
        steps.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))
