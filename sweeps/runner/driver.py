"""Drives engines through a sweep's trainings: what becomes of each, what is tried again, when it is no use to go on."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace

from ..engines import Engine, Event, Resources
from ..paths import SweepPaths
from ..specs.grid import Trunk
from .collect import collect
from .failures import RepeatedFailures
from .jobs import run_trunk, write_failure
from .progress import SweepProgress
from .run_tables import read_run_tables
from .status import FINISHED, run_status

__all__ = ["Driver", "resources_of"]

_COLLECT_RUNS = 500  # after so many more the tables are written: what is read again of each run takes a millisecond


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
    _num_uncollected: int = 0

    def train(self, trunks: Sequence[Trunk], engines: Mapping[Resources, Engine]) -> None:
        """In the order of the trunks, one engine after the other; a training whose worker died is tried once more."""
        groups: dict[Resources, list[int]] = {}
        for index, trunk in enumerate(trunks):
            groups.setdefault(resources_of(trunk), []).append(index)
        try:
            for resources, indices in groups.items():
                self._train(engines[resources], trunks, indices)
        except BaseException:  # told to stop, too: `status` is to be quick in the morning
            self._collect()
            raise

    def _train(self, engine: Engine, trunks: Sequence[Trunk], indices: list[int]) -> None:
        died = self._run(engine, trunks, indices)
        if not self.stopped:
            self._run(engine, trunks, list(died), again=True)
            return
        for index, why in died.items():
            self._give_up(trunks[index], why)

    def _run(self, engine: Engine, trunks: Sequence[Trunk], indices: list[int], again: bool = False) -> dict[int, str]:
        """Which of the trunks' workers died, and how; where they are given again, that is their end."""
        died: dict[int, str] = {}
        if not indices or self.stopped:
            return died
        self.progress.start(len(indices), engine.num_slots)
        jobs = [(trunks[index], self.paths, self.name) for index in indices]
        with closing(engine.run(run_trunk, jobs)) as events:
            for event in events:
                event = replace(event, job=indices[event.job])
                self.progress.update(event)
                if event.kind == "died" and again:
                    self.progress.update(Event("done", event.job, {}))
                    self._give_up(trunks[event.job], event.value)
                elif event.kind == "died":
                    died[event.job] = event.value
                    self._stop_for(self._failures.add_death(event.value, engine.num_slots))
                elif event.kind == "done":
                    self._take_in(trunks[event.job])
                if self.stopped:
                    break
        return died

    def _collect(self) -> None:
        self._num_uncollected = 0
        with suppress(OSError, ValueError):  # no records yet, or no room: nothing is lost but time
            collect(self.paths.folder)

    def _give_up(self, trunk: Trunk, why: str) -> None:
        for config in trunk.configs:
            if run_status(config, self.paths) not in FINISHED:
                write_failure(self.paths.run(config.run_id), config, self.name, "failed", why, why)
        self._take_in(trunk)

    def _take_in(self, trunk: Trunk) -> None:
        """Tell of a training that failed, and stop where too many fail alike."""
        status, error = _outcome(trunk, self.paths)
        if status not in FINISHED:
            self.progress.tell(f"{status}: {_described(trunk)}: {error}")
        self._stop_for(self._failures.add(status, error))
        self._num_uncollected += len(trunk.configs)
        if self._num_uncollected >= _COLLECT_RUNS:
            self._collect()

    def _stop_for(self, reason: str | None) -> None:
        if reason and not self.keep_going and not self.stopped:
            self.stopped = reason
            self.progress.tell(f"stopping: {reason}", always=True)


def _outcome(trunk: Trunk, paths: SweepPaths) -> tuple[str, str]:
    """The status and error of the first run without a result, else of the last."""
    status, error = "waiting", ""
    run_ids = [config.run_id for config in trunk.configs]
    for _, found in read_run_tables(paths, "records", run_ids, ["status", "failure"]):
        rows = [] if isinstance(found, str) else found.to_pylist()
        last = rows[-1] if rows else {}
        status, error = last.get("status", "waiting"), last.get("failure") or ""
        if status not in FINISHED:
            break
    return status, error


def _described(trunk: Trunk) -> str:
    config = trunk.configs[0]
    steps = ", ".join(str(steps) for steps in dict.fromkeys(config.steps for config in trunk.configs))
    return f"{config.model.family} {config.model.variant}, {config.train_examples} images, {steps} steps"
