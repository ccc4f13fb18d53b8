"""Optimizers that keep their first moment in bfloat16: Zhai et al. 2021 (arXiv 2106.04560), section 3.4."""

from typing import Any

import torch
from timm.optim.adafactor_bv import AdafactorBigVision

__all__ = ["AdafactorBfloat16", "AdamBfloat16", "AdamWBfloat16"]

_MOMENT = "exp_avg"


class _Bfloat16Moment(torch.optim.Optimizer):
    """Rounds the first moment between steps; a step is taken in float32, by the unrounded moment, as optax does.

    While a step lasts the moment is there in float32, when the activations are not.
    """

    def step(self, closure: Any = None) -> Any:
        self._cast(torch.float32)
        loss = super().step(closure)  # type: ignore[safe-super]
        self._cast(torch.bfloat16)
        return loss

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._cast(torch.bfloat16)  # torch loads a moment as what the parameter is

    def _cast(self, dtype: torch.dtype) -> None:
        for state in self.state.values():
            if _MOMENT in state:
                state[_MOMENT] = state[_MOMENT].to(dtype)


class AdamWBfloat16(_Bfloat16Moment, torch.optim.AdamW):
    """AdamW."""


class AdamBfloat16(_Bfloat16Moment, torch.optim.Adam):
    """Adam, whose decay is added to the gradient."""


class AdafactorBfloat16(_Bfloat16Moment, AdafactorBigVision):
    """Adafactor without scaling by the weights' size, and with momentum."""
