"""From a spec to the runs it asks for: every cell resolved, duplicates dropped, runs that share a trunk together."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ..data.suites import expand_tasks
from ..training.schedules import may_branch as schedule_may_branch
from .cell import CellSpec
from .config import RunConfig
from .faults import SpecError, fault_lines
from .resolve import present, resolve, schedule_spec
from .spec import SweepSpec

__all__ = ["Plan", "Trunk", "make_plan"]


@dataclass(frozen=True)
class Trunk:
    """Runs that share their steps before the cooldown, shortest first; a run that cannot share is one of its own."""

    configs: tuple[RunConfig, ...]

    @property
    def trunk_id(self) -> str:
        """Of a run that cannot share its steps the run id."""
        return self.configs[0].trunk_id if self.may_branch else self.configs[0].run_id

    @property
    def may_branch(self) -> bool:
        """Whether its schedule lets runs of several lengths share their steps."""
        return schedule_may_branch(self.configs[0].schedule.kind)

    @property
    def num_steps(self) -> int:
        """Steps that are trained: the trunk up to its last branch, and each branch's cooldown."""
        return max(c.branch_step for c in self.configs) + sum(c.steps - c.branch_step for c in self.configs)

    @property
    def num_images(self) -> int:
        return self.num_steps * self.configs[0].recipe.batch_size


@dataclass(frozen=True)
class Plan:
    """A sweep's trunks, a pure function of its spec.

    Attributes:
        alone: why runs of several lengths that a trunk could train are trained alone, and how many they are.
        missing: a sentence for each task of a suite that is not there and is left out.
    """

    name: str
    order: str
    trunks: tuple[Trunk, ...]
    num_duplicates: int
    alone: tuple[tuple[str, int], ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def configs(self) -> list[RunConfig]:
        return [config for trunk in self.trunks for config in trunk.configs]


def make_plan(spec: SweepSpec) -> Plan:
    """Resolve every cell and group the runs by trunk.

    Raises:
        SpecError: a cell that cannot be: a subset larger than the data, a cooldown longer than the run, ...
    """
    configs: list[RunConfig] = []
    faults: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    present.cache_clear()  # a plan looks anew at what is there, once for all its cells
    for cell in spec.cells:
        try:
            config = resolve(cell)
        except (ValueError, FileNotFoundError) as error:
            faults[str(error)] += 1
            continue
        configs.append(config)
        if reason := _why_alone(cell):
            reasons[config.run_id] = reason
    if faults:
        raise SpecError(fault_lines(faults, len(spec.cells)))
    unique = {config.run_id: config for config in configs}
    alone = _count_alone(unique[run_id] for run_id in reasons)
    counts = Counter(reasons[run_id] for run_id in alone)
    trunks = _trunks(unique.values())
    asked = (tasks for cell in spec.cells for tasks in (cell.downstream.tasks, cell.finetune.tasks))
    left_out = [expand_tasks(tasks).missing for tasks in dict.fromkeys(asked) if tasks]
    missing = tuple(dict.fromkeys(line for lines in left_out for line in lines))
    return Plan(spec.name, spec.order, trunks, len(configs) - len(unique), tuple(counts.items()), missing)


def _trunks(configs: Iterable[RunConfig]) -> tuple[Trunk, ...]:
    groups: defaultdict[str, list[RunConfig]] = defaultdict(list)
    for config in configs:
        groups[Trunk((config,)).trunk_id].append(config)
    return tuple(Trunk(tuple(sorted(group, key=lambda c: c.steps))) for group in groups.values())


def _why_alone(cell: CellSpec) -> str | None:
    """Why a run shares no steps with runs of other lengths; None where it does."""
    schedule, every = schedule_spec(cell), cell.evaluate.every
    if not schedule_may_branch(schedule.kind):
        return f"schedule.kind {schedule.kind!r} depends on the length of the run"
    if schedule.warmup.unit == "%" and schedule.warmup.value:
        return "schedule.warmup in percent: give it in steps, epochs or examples"
    if every and every.unit == "%":
        return "evaluate.every in percent: give it in steps, epochs or examples"
    return None


def _count_alone(configs: Iterable[RunConfig]) -> list[str]:
    """Run ids of those of which there are several that differ in their length only."""
    cells: defaultdict[str, list[str]] = defaultdict(list)
    for config in configs:
        of_no_length = {"schedule": config.schedule.model_copy(update={"warmup_steps": 0, "cooldown_steps": 0})}
        of_no_length |= {"steps": 0, "evaluate": config.evaluate.model_copy(update={"every_steps": None})}
        cells[config.model_copy(update=of_no_length).run_id].append(config.run_id)
    return [run_id for group in cells.values() if len(group) > 1 for run_id in group]
