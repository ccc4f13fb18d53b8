"""Measured bytes of optimizer state; `pytest -s` prints the table."""

import pytest
import torch

from sweeps.models import VitConfig
from sweeps.optimizers import OPTIMIZERS, build_optimizer
from sweeps.specs.config import RecipeConfig

# Zhai et al. 2021, section 3.4: overhead relative to the float32 weights.
OVERHEAD = {"adamw": 2.0, "adamw_bf16": 1.5, "adafactor": 0.5, "sgd": 1.0}


def measured(optimizer, depth):
    """Bytes a parameter of ViT-B/16 of so many blocks, and the share of parameters that Adafactor does not factor."""
    torch.manual_seed(0)
    model = VitConfig(width=768, depth=depth, patch=16).build(224, 10)
    built = build_optimizer(model, RecipeConfig.model_validate({"optimizer": optimizer}))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    built.step()
    num_params = sum(p.numel() for p in model.parameters())
    whole = sum(p.numel() for p in model.parameters() if p.ndim < 2 or sorted(p.shape)[-2] < 32)
    state = [t for of_weight in built.state.values() for t in of_weight.values() if isinstance(t, torch.Tensor)]
    found = sum(t.numel() * t.element_size() for t in state) / num_params
    print(f"ViT-B/16 of {depth} blocks, {num_params:,} parameters, {optimizer}: {found:.4f} bytes = {found / 4:.3f}x")
    return found, whole / num_params


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_bytes_a_parameter_of_one_block_of_vit_b(optimizer):
    """With one block, 8 % of the parameters are patches, vectors and a narrow classifier, unlike in ViT-B."""
    found, whole = measured(optimizer, 1)
    expected = 4 * OVERHEAD[optimizer] + (4 * whole if optimizer == "adafactor" else 0)
    assert found == pytest.approx(expected, abs=0.01)  # counters of steps; rows and columns


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_bytes_a_parameter_of_vit_b(optimizer):
    found, _ = measured(optimizer, 12)
    assert found / 4 == pytest.approx(OVERHEAD[optimizer], abs=0.02)  # as the paper prints them
