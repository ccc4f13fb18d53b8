"""When and where a training is saved: while it trains a trunk, and while a branch goes on from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..stopping import Interrupted, check_stop
from .checkpoints import CheckpointClock, Checkpoints
from .state import TrainingState

__all__ = ["Saver"]


@dataclass
class Saver:
    """Saves a state when it is time to, or when the process is told to stop.

    Attributes:
        clock: one for a trunk and all its branches, so that a kill costs at most its interval.
        leaving: of a branch, the trunk as later branches leave it, where it is not saved yet: before the branch is.
    """

    clock: CheckpointClock
    checkpoints: Checkpoints
    leaving: tuple[Checkpoints, dict[str, Any]] | None = None

    def is_due(self) -> bool:
        return _is_told_to_stop() or self.clock.is_due()

    def save(self, state: TrainingState) -> None:
        """Save between two steps.

        Raises:
            Interrupted: told to stop; the state is saved.
        """
        if self.leaving is not None:
            trunk, snapshot = self.leaving
            trunk.save(snapshot, snapshot["step"])
            self.leaving = None
        self.clock.saved(self.checkpoints.save(state.parts(), state.step))
        check_stop()

    def save_if_due(self, state: TrainingState) -> None:
        if self.is_due():
            self.save(state)

    @contextmanager
    def interruptible(self, state: TrainingState) -> Iterator[None]:
        """What is long and leaves the state alone until it is done, such as an evaluation: cut, it begins anew.

        Raises:
            Interrupted: told to stop; the state is saved.
        """
        self.save_if_due(state)
        try:
            yield
        except Interrupted:
            self.save(state)
            raise


def _is_told_to_stop() -> bool:
    try:
        check_stop()
    except Interrupted:
        return True
    return False
