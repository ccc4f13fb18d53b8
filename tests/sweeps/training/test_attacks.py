"""Attacks on models whose worst image is known in closed form, and the ball that they stay in."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.training.attacks import attack, step_size


def linear_loss(weights):
    return lambda images: (images * weights).sum()


def images_and_weights(seed):
    generator = torch.Generator().manual_seed(seed)
    images = torch.rand(3, 3, 4, 4, generator=generator) * 2 - 1
    return images, torch.randn(3, 3, 4, 4, generator=generator)


@given(seed=st.integers(0, 99), radius=st.sampled_from([1e-3, 0.03, 0.5]), num_steps=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_an_attack_stays_in_the_ball_and_in_the_range_of_pixels(seed, radius, num_steps):
    images, weights = images_and_weights(seed)
    moved = attack(
        images,
        linear_loss(weights),
        radius=radius,
        num_steps=num_steps,
        step=0.4 * radius,
        rng=np.random.default_rng(seed),
    )
    assert (moved - images).abs().max() <= 2 * radius + 1e-6  # of [-1, 1], in which a pixel's unit is 2
    assert moved.abs().max() <= 1


def test_of_a_linear_loss_one_step_is_the_worst_image_of_the_ball():
    images, weights = images_and_weights(0)
    images *= 0.9  # no pixel is at its bound
    gain = (
        linear_loss(weights)(attack(images, linear_loss(weights), radius=0.02)) - linear_loss(weights)(images)
    ).item()
    assert gain == pytest.approx(2 * 0.02 * weights.abs().sum().item(), rel=1e-4)  # the dual norm; float32 sums
    descended = attack(
        images, linear_loss(weights), radius=0.02, num_steps=10, step=step_size(0.02, 10), rng=np.random.default_rng(0)
    )
    gain = (linear_loss(weights)(descended) - linear_loss(weights)(images)).item()
    assert gain == pytest.approx(2 * 0.02 * weights.abs().sum().item(), rel=1e-4)  # 2.5 radii reach it from anywhere


def test_the_error_of_an_attacked_linear_classifier_is_that_of_its_margins():
    """An image is misled where its margin is below radius times the 1-norm of the two classes' difference."""
    generator = torch.Generator().manual_seed(1)
    images = (torch.rand(200, 3, 4, 4, generator=generator) - 0.5) * 1.8
    difference = torch.randn(48, generator=generator)
    margins = images.flatten(1) @ difference
    labels = (margins > 0).long()

    def logits(x):
        score = x.flatten(1) @ difference
        return torch.stack([-score / 2, score / 2], 1)

    radius = 0.02
    moved = attack(images, lambda x: F.cross_entropy(logits(x), labels, reduction="sum"), radius=radius)
    wanted = margins.abs() < 2 * radius * difference.abs().sum()
    assert 0.05 < wanted.float().mean() < 0.95
    assert torch.equal(logits(moved).argmax(1) != labels, wanted)


def test_a_radius_of_nothing_leaves_the_images_and_values_outside_go_no_further():
    images, weights = images_and_weights(2)
    images[0, 0, 0, 0] = 1.7  # noise of an erased box
    assert torch.equal(attack(images, linear_loss(weights), radius=1e-30, num_steps=3), images)
    moved = attack(images, linear_loss(weights.abs()), radius=0.1)
    assert moved[0, 0, 0, 0] == images[0, 0, 0, 0]
    assert (moved.flatten()[1:].abs() <= 1).all()


def test_parameters_keep_their_gradients_and_a_start_is_drawn_from_the_generator():
    model = torch.nn.Linear(48, 2)
    images, _ = images_and_weights(3)
    loss = lambda x: model(x.flatten(1)).square().sum()  # noqa: E731
    loss(images).backward()
    before = model.weight.grad.clone()
    one, same, other = (
        attack(images, loss, radius=0.1, step=0.01, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(model.weight.grad, before)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
