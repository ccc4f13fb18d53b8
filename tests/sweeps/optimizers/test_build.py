"""Against numpy written from the papers, in float64."""

import math

import numpy as np
import pytest
import torch

from sweeps.optimizers import OPTIMIZERS, build_optimizer, set_learning_rate
from sweeps.specs.config import RecipeConfig, ScheduleConfig
from sweeps.training.schedules import learning_rate_factor

from .conftest import EVERY_PAIR, Tiny, give_gradients, recipe_of, tiny

NUM_STEPS = 20
SCHEDULE = ScheduleConfig(kind="cosine", warmup_steps=5, cooldown_steps=0)
FACTORS = [learning_rate_factor(SCHEDULE, step, NUM_STEPS) for step in range(NUM_STEPS)]
# float32's half unit in the last place of a weight below 2, for each of the steps' two additions; the updates, at most
# lr = .02 times about 3, are two orders smaller.
ATOL = NUM_STEPS * 2 * 2**-24
BFLOAT16_HALF_ULP = 2**-9


def bfloat16(x):
    """Rounded to the nearest, ties to even, from the bits."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def adam(keep=lambda m: m):
    """Kingma and Ba 2015, algorithm 1; `keep` is what of the moment is left for the next step."""

    def update(g, s, t):
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
        found = s["m"] / (1 - 0.9**t) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)
        s["m"] = keep(s["m"])
        return found

    return update


def adafactor(g, s, t):
    """Shazeer and Stern 2018, algorithm 4, without clipping and scaling; beta2 at most .999; then momentum.

    Factored over the two longest dimensions, where the shorter of them is 32 or more: V = R C / mean(R).
    """
    beta2 = min(0.999, 1 - t**-0.8)
    squared = g**2 + 1e-30
    if g.ndim > 1 and sorted(g.shape)[-2] >= 32:
        assert g.ndim == 2
        s["r"] = beta2 * s.get("r", 0) + (1 - beta2) * squared.mean(axis=1)
        s["c"] = beta2 * s.get("c", 0) + (1 - beta2) * squared.mean(axis=0)
        v = np.outer(s["r"], s["c"]) / s["r"].mean()
    else:
        v = s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * squared
    moment = 0.9 * s.get("m", 0) + 0.1 * g / np.sqrt(v)
    s["m"] = bfloat16(moment)
    return moment


def momentum(g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + g
    return s["m"]


UPDATES = {"adamw": adam(), "adamw_bf16": adam(bfloat16), "adafactor": adafactor, "sgd": momentum}


def reference(optimizer, rule, recipe):
    """Weights after the steps, by name."""
    model = Tiny()
    weights = {name: p.detach().numpy().astype(np.float64) for name, p in model.named_parameters()}
    state = {name: {} for name in weights}
    for step, factor in enumerate(FACTORS):
        give_gradients(model, step)
        for name, p in model.named_parameters():
            g = p.grad.numpy().astype(np.float64)
            in_head, kernel = name.startswith("head."), name.endswith(".weight")
            lr = factor * recipe.lr * (recipe.head_lr_multiplier if in_head else 1)
            decay = kernel * (recipe.head_weight_decay if in_head else recipe.weight_decay)
            shrink = {"lr_scaled": lr * decay, "decoupled": factor * decay, "l2": 0}[rule]
            g = g + decay * weights[name] if rule == "l2" else g
            update = UPDATES[optimizer](g, state[name], step + 1)
            weights[name] = weights[name] * (1 - shrink) - lr * update
    return weights


@EVERY_PAIR
def test_twenty_steps_are_those_of_numpy(optimizer, rule):
    recipe = recipe_of(optimizer=optimizer, weight_decay_rule=rule, head_weight_decay=0.3)
    model = Tiny()
    built = build_optimizer(model, recipe)
    for step, factor in enumerate(FACTORS):
        give_gradients(model, step)
        set_learning_rate(built, factor * recipe.lr)
        built.step()
    # A moment next to the middle of two bfloat16 numbers may be rounded to the other one.
    other = 0.02 * BFLOAT16_HALF_ULP * 2 if "bf16" in optimizer or optimizer == "adafactor" else 0
    for name, expected in reference(optimizer, rule, recipe).items():
        got = model.get_parameter(name).detach().numpy()
        assert np.abs(got - expected).max() < ATOL + other, name
        assert (np.abs(got - expected) > ATOL).mean() < 0.01, name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("rule", ["lr_scaled", "decoupled"])
def test_weights_without_gradient_shrink_in_closed_form(optimizer, rule):
    recipe = recipe_of(optimizer=optimizer, weight_decay_rule=rule, head_weight_decay=0.4)
    model = Tiny()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    built = build_optimizer(model, recipe)
    for factor in FACTORS:
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        set_learning_rate(built, factor * recipe.lr)
        built.step()
    lr, head_lr = (recipe.lr, 2 * recipe.lr) if rule == "lr_scaled" else (1, 1)
    for name, p in model.named_parameters():
        rate = 0 if not name.endswith(".weight") else 0.4 * head_lr if name.startswith("head") else 0.1 * lr
        left = math.prod(1 - rate * factor for factor in FACTORS)
        # One rounding of the product at each step, and the float32 learning rate of a fused kernel.
        torch.testing.assert_close(p.detach(), before[name] * left, rtol=NUM_STEPS * 2**-23, atol=0)


def test_decay_added_to_the_gradient_in_closed_form():
    recipe = recipe_of(optimizer="sgd", beta1=0.0, weight_decay_rule="l2", head_weight_decay=0.4)
    model = Tiny()
    before = model.head.weight.detach().clone()
    built = build_optimizer(model, recipe)
    for factor in FACTORS:
        model.head.weight.grad = torch.zeros_like(model.head.weight)
        set_learning_rate(built, factor * recipe.lr)
        built.step()
    left = math.prod(1 - 0.4 * factor * 2 * recipe.lr for factor in FACTORS)
    torch.testing.assert_close(model.head.weight.detach(), before * left, rtol=NUM_STEPS * 2**-23, atol=0)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_decoupled_decay_does_not_depend_on_the_peak_learning_rate(optimizer):
    ends = []
    for lr in (1e-4, 1e-1):
        recipe = recipe_of(optimizer=optimizer, weight_decay_rule="decoupled", head_weight_decay=0.4, lr=lr)
        model = Tiny()
        built = build_optimizer(model, recipe)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        set_learning_rate(built, 0.5 * lr)
        built.step()
        ends.append(model.wide.weight.detach())
    torch.testing.assert_close(*ends, rtol=2**-22, atol=0)  # the roundings of one product


@EVERY_PAIR
def test_learning_rate_of_the_head_is_multiplied(optimizer, rule):
    changes = {"optimizer": optimizer, "weight_decay_rule": rule, "head_weight_decay": 0.3, "weight_decay": 0.0}
    (twice, fast), (once, slow) = (tiny(**changes, head_lr_multiplier=k) for k in (2.0, 1.0))
    set_learning_rate(fast, 0.5)
    set_learning_rate(slow, 0.5)
    heads = {id(p) for p in twice.head.parameters()}
    for group in fast.param_groups:
        assert group["lr"] == (1.0 if id(group["params"][0]) in heads else 0.5)
    for model, built in ((twice, fast), (once, slow)):
        give_gradients(model, 0)
        built.step()
    before = Tiny()
    moved, moved_once = (m.head.bias - before.head.bias for m in (twice, once))
    torch.testing.assert_close(moved, 2 * moved_once, rtol=1e-4, atol=1e-6)  # differences of weights near 1
    assert torch.equal(twice.wide.weight, once.wide.weight)


def test_beta2_is_adams_and_adafactors_cap():
    for optimizer, key, expected in (("adamw", "betas", (0.8, 0.95)), ("adafactor", "beta2_cap", 0.95)):
        _, built = tiny(optimizer=optimizer, beta1=0.8, beta2=0.95)
        assert {group[key] for group in built.param_groups} == {expected}


def test_what_an_optimizer_does_not_know_is_refused_by_the_field():
    with pytest.raises(ValueError, match=r"weight_decay_rule: adafactor takes one of .*, got 'l2'"):
        tiny(optimizer="adafactor", weight_decay_rule="l2")
    with pytest.raises(ValueError, match="optimizer"):
        tiny(optimizer="lion")


def test_the_table_holds_what_a_recipe_may_name():
    field = RecipeConfig.model_fields["optimizer"].annotation
    assert set(OPTIMIZERS) == set(field.__args__)
