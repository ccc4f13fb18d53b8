"""How sharply the training loss curves at a model's weights: its Hessian's largest eigenvalue, and a step uphill."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ..optimizers import perturbed_weights
from ..training.losses import training_loss
from .subject import Subject

__all__ = ["RHOS", "TopEigenvalue", "largest_eigenvalue", "measure", "sharpness", "weight_hessian"]

RHOS = (0.05, 0.2)  # Foret et al. 2021's default, and Chen, Hsieh and Gong 2022's for ViT-B/16
_MOST_PRODUCTS = 20  # with the Hessian, and vectors as large as the weights that are held
# A residual of r means an eigenvalue within the share r, and mostly within r^2 or so. Of three samples of images the
# eigenvalue of one small model differed by factors of 1.5 to 4.
_TOLERANCE = 0.05


def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """Curvature of the mean training loss over the weights, in evaluation mode, on plain images with hard labels.

    Rows: `hessian_top_eigenvalue`, the largest with its sign; `hessian_residual`, ||H v - lambda v|| / |lambda| of its
    vector v, above .05 where it has not converged; `sharpness`, the rise of the loss after a step of length rho along
    the gradient, `other` = "rho=0.05" and "rho=0.2". On the first `measure.curvature_examples` training images, since
    a product with the Hessian costs as much as three steps of training.

    Source: Chen, Hsieh and Gong 2022 (arXiv 2106.01548), Table 1; Foret et al. 2021 (arXiv 2010.01412), equation 1.
    """
    model, recipe = subject.model, subject.config.recipe
    inputs, labels = next(subject.batches(subject.train, subject.config.measure.curvature_examples))

    def loss() -> torch.Tensor:
        return training_loss(model(inputs), labels, recipe)

    where: dict[str, Any] = {"split": "train", "num_examples": len(labels)}
    product, size = weight_hessian(model, loss)
    start = subject.rng("curvature").standard_normal(size, dtype=np.float32)
    top = largest_eigenvalue(product, torch.from_numpy(start).to(subject.device))
    yield subject.row("hessian_top_eigenvalue", top.value, **where)
    yield subject.row("hessian_residual", top.residual, **where)
    for rho, rise in zip(RHOS, sharpness(model, loss, RHOS), strict=True):
        yield subject.row("sharpness", rise, other=f"rho={rho}", **where)


class TopEigenvalue(NamedTuple):
    """An eigenvalue and ||H v - value v|| / |value| of its unit vector v."""

    value: float
    residual: float


def weight_hessian(
    model: nn.Module, loss: Callable[[], torch.Tensor]
) -> tuple[Callable[[torch.Tensor], torch.Tensor], int]:
    """The product of the loss's Hessian over a model's weights with a vector (n,), and n, the number of weights.

    The product is a gradient of the gradient, exact, and keeps one pass's graph in memory.
    """
    weights = list(model.parameters())
    gradient = _flat(torch.autograd.grad(loss(), weights, create_graph=True, materialize_grads=True))

    def product(vector: torch.Tensor) -> torch.Tensor:
        return _flat(torch.autograd.grad(gradient, weights, vector, retain_graph=True, materialize_grads=True))

    return product, len(gradient)


def largest_eigenvalue(product: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor) -> TopEigenvalue:
    """The algebraically largest eigenvalue of a symmetric matrix H, by Lanczos' method.

    Power iteration finds the one largest in magnitude, which in a trained vision transformer can be below 0 (-86 beside
    a largest one of 23, measured); from the same products Lanczos' method finds the largest, mostly in 5 to 10.

    Args:
        product: of H with a vector.
        start: a random vector (n,), not 0.

    >>> matrix = torch.diag(torch.tensor([1.0, 3.0, -9.0]))
    >>> round(largest_eigenvalue(lambda vector: matrix @ vector, torch.ones(3)).value, 4)
    3.0
    """
    basis = [start / start.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        vector = product(basis[-1])
        diagonal.append(float(vector @ basis[-1]))
        for known in basis * 2:  # twice: once leaves rounding errors that find the same eigenvalue again
            vector = vector - (known @ vector) * known
        beside.append(float(vector.norm()))
        values, weights = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
        residual = beside[-1] * abs(weights[-1, -1]) / max(abs(values[-1]), np.finfo(np.float32).tiny)
        if residual <= _TOLERANCE or len(basis) == _MOST_PRODUCTS:
            return TopEigenvalue(float(values[-1]), float(residual))
        basis.append(vector / beside[-1])


def sharpness(model: nn.Module, loss: Callable[[], torch.Tensor], rhos: Sequence[float]) -> list[float]:
    """L(w + rho g / ||g||) - L(w) of each rho, g the gradient at the weights w.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(model.weight, 3.0)
    >>> sharpness(model, lambda: (model.weight**2).sum(), rhos=[0.5])
    [3.25]
    """
    model.zero_grad()
    here = loss()
    here.backward()
    rises = []
    for rho in rhos:
        with perturbed_weights(model, rho), torch.no_grad():
            rises.append(loss().item() - here.item())
    return rises


def _flat(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.cat([part.flatten() for part in parts])
