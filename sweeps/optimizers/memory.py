"""What an optimizer's state weighs."""

import torch

__all__ = ["state_bytes_per_parameter"]


def state_bytes_per_parameter(optimizer: torch.optim.Optimizer) -> float:
    """Measured bytes of the state per parameter, after a step; a float32 parameter itself has 4.

    Source of what to compare with: Zhai et al. 2021 (arXiv 2106.04560), section 3.4: 2x, 1.5x and .5x of the
    parameters for Adam, Adam with half-precision momentum, and the modified Adafactor.
    """
    tensors = [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
    num_params = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    return sum(t.numel() * t.element_size() for t in tensors) / num_params
