"""Drives engines through a sweep's trainings: what becomes of each, what is tried again, when it is no use to go on."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace

from .engines import Engine, Event, Resources
from .failures import RepeatedFailures
from .grid import Trunk
from .jobs import run_trunk, write_failure
from .paths import SweepPaths
from .progress import SweepProgress
from .status import FINISHED, run_status, sweep_status

__all__ = ["Driver", "resources_of"]


def resources_of(trunk: Trunk) -> Resources:
    """What a training takes; its runs all take the same."""
    return Resources(trunk.configs[0].threads, trunk.configs[0].devices_per_run)


@dataclass
class Driver:
    """Trains trunks.

    Attributes:
        name: of the sweep, for its records.
        keep_going: not to stop for errors that come back.
        stopped: why it stopped before all was tried.
    """

    paths: SweepPaths
    name: str
    progress: SweepProgress
    keep_going: bool = False
    stopped: str | None = None
    _failures: RepeatedFailures = field(default_factory=RepeatedFailures)

    def train(self, trunks: Sequence[Trunk], engines: Mapping[Resources, Engine]) -> None:
        """In the order of the trunks, one engine after the other; a training whose worker died is tried once more."""
        groups: dict[Resources, list[int]] = {}
        for index, trunk in enumerate(trunks):
            groups.setdefault(resources_of(trunk), []).append(index)
        for resources, indices in groups.items():
            died = self._run(engines[resources], trunks, indices)
            died = self._run(engines[resources], trunks, list(died))
            for index, why in died.items():
                self.progress.update(Event("done", index, {}))
                self._give_up(trunks[index], why)

    def _run(self, engine: Engine, trunks: Sequence[Trunk], indices: list[int]) -> dict[int, str]:
        """Which of the trunks' workers died, and how."""
        died: dict[int, str] = {}
        if not indices or self.stopped:
            return died
        self.progress.start(len(indices), engine.num_slots)
        jobs = [(trunks[index], self.paths, self.name) for index in indices]
        with closing(engine.run(run_trunk, jobs)) as events:
            for event in events:
                event = replace(event, job=indices[event.job])
                self.progress.update(event)
                if event.kind == "died":
                    died[event.job] = event.value
                elif event.kind == "done":
                    self._take_in(trunks[event.job])
                if self.stopped:
                    break
        return died

    def _give_up(self, trunk: Trunk, why: str) -> None:
        for config in trunk.configs:
            if run_status(config, self.paths) not in FINISHED:
                with suppress(OSError):  # a full disk: the run stays waiting, and the others go on
                    write_failure(self.paths.run(config.run_id), config, self.name, "failed", why, why)
        self._take_in(trunk)

    def _take_in(self, trunk: Trunk) -> None:
        """Tell of a training that failed, and stop where too many fail alike."""
        status, error = _outcome(trunk, self.paths)
        if status not in FINISHED:
            self.progress.tell(f"{status}: {_described(trunk)}: {error}")
        stop = self._failures.add(status, error)
        if stop and not self.keep_going and not self.stopped:
            self.stopped = stop
            self.progress.tell(f"stopping: {stop}", always=True)


def _outcome(trunk: Trunk, paths: SweepPaths) -> tuple[str, str]:
    """The status and error of the first run without a result, else of the last."""
    status, error = "waiting", ""
    for config in trunk.configs:
        found = sweep_status([config.run_id], paths)
        status, error = next(iter(found.statuses)), next(iter(found.failures), "")
        if status not in FINISHED:
            break
    return status, error


def _described(trunk: Trunk) -> str:
    config = trunk.configs[0]
    steps = ", ".join(str(steps) for steps in dict.fromkeys(config.steps for config in trunk.configs))
    return f"{config.model.family} {config.model.variant}, {config.train_examples} images, {steps} steps"
