"""What a training changes, and its checkpoint."""

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from .contrastive import with_projection
from .paths import TrunkPaths, written_whole

__all__ = ["TrainingState", "load_checkpoint", "save_checkpoint"]


@dataclass
class TrainingState:
    """All that a step changes.

    Attributes:
        average: a copy of the model that holds a moving average of its weights (timm's ModelEmaV3), or None.
        seconds, energy_joules: of the training steps alone; the energy is None where the device does not tell it.
        projection: what training has beside the model and nothing else sees (`sweeps.contrastive`), or None.
        stopped: whether the error on the held-out part has stopped falling.
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

    def snapshot(self) -> dict[str, Any]:
        """Plain values and tensors, which later steps leave alone."""
        plain = {name: value for name, value in vars(self).items() if name not in _STATEFUL}
        parts = {name: getattr(self, name).state_dict() for name in _STATEFUL if getattr(self, name) is not None}
        return copy.deepcopy(plain | parts)

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over a snapshot of a state with the same parts.

        Raises:
            ValueError, RuntimeError, KeyError: another model or optimizer, or other parts; the state is then half done.
        """
        held = {name for name, value in vars(self).items() if name not in _STATEFUL or value is not None}
        if snapshot.keys() != held:
            raise ValueError(f"a snapshot of this state holds {sorted(held)}, got {sorted(snapshot)}")
        for name, value in copy.deepcopy(snapshot).items():
            if name in _STATEFUL:
                getattr(self, name).load_state_dict(value)
            else:
                setattr(self, name, value)


_STATEFUL = ("model", "optimizer", "average", "projection")


def save_checkpoint(state: TrainingState, paths: TrunkPaths) -> None:
    """Write the checkpoint, whole or not at all."""
    with written_whole(paths.checkpoint) as temporary:
        torch.save(state.snapshot(), temporary)


def load_checkpoint(paths: TrunkPaths, device: torch.device) -> dict[str, Any] | None:
    """The snapshot that the checkpoint holds; None where there is none or it is damaged, which costs only time."""
    try:
        return torch.load(paths.checkpoint, map_location=device, weights_only=True)
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError):
        return None
