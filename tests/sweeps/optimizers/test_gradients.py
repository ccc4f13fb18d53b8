import math

import numpy as np
import pytest
import torch
from torch import nn

from sweeps.models import ResNetConfig
from sweeps.optimizers import build_optimizer, clip_gradients, perturbed_weights

from .conftest import Tiny, give_gradients, recipe_of


def norm_of(model):
    return math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters() if p.grad is not None))


@pytest.mark.parametrize("grad_clip", [0.1, 1.0, None])
def test_the_whole_gradient_is_scaled_to_the_norm(grad_clip):
    model = Tiny()
    give_gradients(model, 0)
    before, norm = [p.grad.clone() for p in model.parameters()], norm_of(model)
    clip_gradients(model, recipe_of(grad_clip=grad_clip))
    ratio = 1 if grad_clip is None else grad_clip / norm
    assert ratio <= 1
    for p, gradient in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(p.grad, gradient * ratio, rtol=2e-6, atol=0)  # torch adds 1e-6 to the norm


def test_a_gradient_within_the_norm_or_none_is_left():
    model = Tiny()
    clip_gradients(model, recipe_of(grad_clip=1.0))
    give_gradients(model, 0)
    before = [p.grad.clone() for p in model.parameters()]
    clip_gradients(model, recipe_of(grad_clip=1.01 * norm_of(model)))
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), before, strict=True))


class Quadratic(nn.Module):
    """Half w'Aw + b'w of weights in two tensors, in float64."""

    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(5, 5))
        self.a, self.b = root @ root.T, rng.normal(size=5)
        self.first = nn.Parameter(torch.from_numpy(rng.normal(size=2)))
        self.head = nn.Module()
        self.head.weight = nn.Parameter(torch.from_numpy(rng.normal(size=3)))

    def get_classifier(self):
        return self.head

    def forward(self):
        w = torch.cat([self.first, self.head.weight])
        return 0.5 * w @ torch.from_numpy(self.a) @ w + torch.from_numpy(self.b) @ w

    @property
    def weights(self):
        return torch.cat([self.first, self.head.weight]).detach().numpy().copy()


SGD = {"optimizer": "sgd", "beta1": 0.0, "head_lr_multiplier": 1.0, "weight_decay_rule": "l2"}


@pytest.mark.parametrize("rho", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_on_a_quadratic_by_hand(rho, seed):
    model = Quadratic(seed)
    optimizer = build_optimizer(model, recipe_of(**SGD))
    w = model.weights
    model().backward()
    with perturbed_weights(model, rho):
        optimizer.zero_grad()
        model().backward()
    optimizer.step()
    g = model.a @ w + model.b
    there = model.a @ (w + rho * g / np.linalg.norm(g)) + model.b
    np.testing.assert_allclose(model.weights, w - 0.01 * there, rtol=1e-14)  # float64


@pytest.mark.parametrize("rho", [0.0, 1e-30])
def test_without_a_radius_the_step_is_the_plain_one_bitwise(rho):
    ends = []
    for sharpness_aware in (False, True):
        model = Quadratic()
        optimizer = build_optimizer(model, recipe_of(**SGD))
        model().backward()
        if sharpness_aware:
            with perturbed_weights(model, rho):
                optimizer.zero_grad()
                model().backward()
        optimizer.step()
        ends.append(model.weights)
    assert np.array_equal(*ends)


@pytest.mark.parametrize("value", [0.0, 1e-40, 1e-25])  # the squares of the last two are zero in float32
def test_a_zero_gradient_moves_nothing(value):
    model = Tiny()
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
            p.grad = torch.full_like(p, value)
        with perturbed_weights(model, 1.0):
            assert all(p.abs().max() <= value / 1e-12 * 1.001 for p in model.parameters())  # and not NaN
    with perturbed_weights(nn.Identity(), 1.0):
        pass


def test_the_weights_are_put_back_bitwise_even_from_an_error():
    model = Tiny()
    give_gradients(model, 0)
    model.patch.weight.grad = None
    weight = model.patch.weight.detach().clone()
    before = [p.detach().clone() for p in model.parameters()]
    with perturbed_weights(model, 0.3):
        assert torch.equal(model.patch.weight, weight)
        moves = [(p - b).detach() for p, b in zip(model.parameters(), before, strict=True)]
        far = math.sqrt(sum(float((move**2).sum()) for move in moves))
        assert far == pytest.approx(0.3, rel=1e-5)  # float32
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))
    with pytest.raises(RuntimeError, match="shape"), perturbed_weights(model, 0.3):
        model.head(torch.zeros(1, 7))
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))


def test_running_statistics_are_those_of_the_first_pass():
    model = ResNetConfig(width=4, depth=(1, 1)).build(8, 10).train()
    images = torch.randn(16, 3, 8, 8)
    model(images).square().mean().backward()
    first = {name: b.clone() for name, b in model.named_buffers()}
    assert first["bn1.num_batches_tracked"] == 1
    with perturbed_weights(model, 1.0):
        model(images).square().mean().backward()
        assert model.bn1.num_batches_tracked == 2
    assert all(torch.equal(b, first[name]) for name, b in model.named_buffers())


def test_the_second_pass_in_bfloat16_sees_the_moved_weights():
    """Autocast keeps its copies of the weights while its context lasts: one context a pass."""
    model = nn.Linear(4, 1, bias=False)
    losses = []

    def gradients():
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.ones(1, 4)).float().square().sum()
        loss.backward()
        losses.append(loss.item())

    gradients()
    with perturbed_weights(model, 1.0):
        gradients()
    assert losses[1] ** 0.5 == pytest.approx(losses[0] ** 0.5 + 2, rel=2**-6)  # |sum of w| + rho * sqrt(4)
