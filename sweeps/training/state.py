"""What a training changes."""

import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from .contrastive import with_projection

__all__ = ["TrainingState"]


@dataclass
class TrainingState:
    """All that a step changes.

    Attributes:
        average: a copy of the model that holds a moving average of its weights (timm's ModelEmaV3), or None.
        seconds, energy_joules: of the training steps alone; the energy is None where the device does not tell it.
        projection: what training has beside the model and nothing else sees (`sweeps.training.contrastive`), or None.
        stopped: whether the error on the held-out part has stopped falling.
        num_micro_batches: parts that a batch is trained on in; None is the config's. More where memory ran out.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    average: nn.Module | None = None
    projection: nn.Module | None = None
    step: int = 0
    seconds: float = 0.0
    energy_joules: float | None = 0.0
    diverged_step: int | None = None
    stopped: bool = False
    num_micro_batches: int | None = None
    losses: list[torch.Tensor] = field(default_factory=list)  # since the last line of the log
    log: list[dict[str, float]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def trained(self) -> nn.Module:
        """All that the optimizer moves: the model, and the projection where there is one."""
        return with_projection(self.model, self.projection)

    @property
    def val_errors(self) -> list[float]:
        """Errors of the last weights on the held-out part, one an evaluation; none where nothing is held out."""
        found = [e["columns"].get("upstream_val_error") for e in self.evaluations if e["weights"] == "last"]
        return [error for error in found if error is not None]

    def parts(self) -> dict[str, Any]:
        """Plain values and the state's own tensors, to be saved at once: nothing is copied."""
        plain = {name: value for name, value in vars(self).items() if name not in _STATEFUL}
        parts = {name: getattr(self, name).state_dict() for name in _STATEFUL if getattr(self, name) is not None}
        return plain | parts

    def snapshot(self) -> dict[str, Any]:
        """Plain values and tensors, which later steps leave alone."""
        return copy.deepcopy(self.parts())

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over a snapshot of a state with the same parts, which is the state's own from then on.

        The snapshot may lie on another device.

        Raises:
            ValueError, RuntimeError, KeyError: another model or optimizer, or other parts; the state is then half done.
        """
        held = {name for name, value in vars(self).items() if name not in _STATEFUL or value is not None}
        if snapshot.keys() != held:
            raise ValueError(f"a snapshot of this state holds {sorted(held)}, got {sorted(snapshot)}")
        for name, value in snapshot.items():
            if name in _STATEFUL:
                getattr(self, name).load_state_dict(value)
            else:
                setattr(self, name, value)
        device = next(self.model.parameters()).device
        self.losses = [loss.to(device) for loss in self.losses]


_STATEFUL = ("model", "optimizer", "average", "projection")
