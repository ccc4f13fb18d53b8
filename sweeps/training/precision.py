"""The number format a run computes in."""

import torch

from ..specs.config import RunConfig

__all__ = ["autocast", "precision_of"]


def precision_of(config: RunConfig, device: torch.device) -> str:
    """ "bfloat16" or "float32": what "auto" is on a device."""
    if config.precision != "auto":
        return config.precision
    return "bfloat16" if device.type == "cuda" else "float32"


def autocast(config: RunConfig, device: torch.device) -> torch.autocast:
    """Runs matrix products in the config's precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision_of(config, device) == "bfloat16")
