import pytest
import torch

from sweeps.config import RecipeConfig
from sweeps.models import VitConfig
from sweeps.optimizers import build_optimizer, set_learning_rate

RECIPE = {"lr": 0.01, "weight_decay": 0.1, "head_weight_decay": 3.0, "head_lr_multiplier": 2.0}


def make(**changes):
    model = VitConfig(width=16, depth=1, patch=4).build(8, 10)
    return model, build_optimizer(model, RecipeConfig.model_validate({**RECIPE, **changes}))


def test_every_parameter_is_in_one_group_with_its_decay():
    model, optimizer = make()
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert len(decay) == len(list(model.parameters())) == sum(len(g["params"]) for g in optimizer.param_groups)
    for name, parameter in model.named_parameters():
        expected = 0.0 if parameter.ndim == 1 else 3.0 if name.startswith("head.") else 0.1
        assert decay[id(parameter)] == expected, name


def test_learning_rate_of_the_head_is_multiplied():
    model, optimizer = make()
    set_learning_rate(optimizer, 0.5)
    head = {id(p) for p in model.get_classifier().parameters()}
    for group in optimizer.param_groups:
        assert group["lr"] == (1.0 if id(group["params"][0]) in head else 0.5)


def test_a_step_is_adamw_by_hand():
    """Decoupled decay times the learning rate, then lr * m_hat / (sqrt(v_hat) + eps): Loshchilov and Hutter 2019."""
    model, optimizer = make(head_lr_multiplier=1.0)
    parameter = model.get_classifier().weight
    before = parameter.detach().clone()
    parameter.grad = torch.full_like(parameter, 0.3)
    set_learning_rate(optimizer, 0.01)
    optimizer.step()
    expected = before * (1 - 0.01 * 3.0) - 0.01 * 0.3 / (0.3 + 1e-8)
    assert torch.allclose(parameter, expected, atol=1e-7)  # float32
    with pytest.raises(ValueError, match="optimizer"):
        make(optimizer="lion")
