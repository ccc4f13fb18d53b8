"""From a spec to the runs it asks for: every cell resolved, duplicates dropped, runs that share a trunk together."""

from dataclasses import dataclass

from .config import EvaluateConfig, RunConfig, ScheduleConfig, UpstreamConfig
from .data.datasets import find_dataset
from .durations import Duration, parse_duration
from .recipes import find_recipe
from .saved_model import check_teacher
from .schedules import may_branch as schedule_may_branch
from .spec import CellSpec, ScheduleSpec, SpecError, SweepSpec, UpstreamSpec

__all__ = ["Plan", "Trunk", "make_plan", "resolve"]


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
    """A sweep's trunks, a pure function of its spec."""

    name: str
    order: str
    trunks: tuple[Trunk, ...]
    num_duplicates: int

    @property
    def configs(self) -> list[RunConfig]:
        return [config for trunk in self.trunks for config in trunk.configs]


def make_plan(spec: SweepSpec) -> Plan:
    """Resolve every cell and group the runs by trunk.

    Raises:
        SpecError: a cell that cannot be: a subset larger than the data, a cooldown longer than the run, ...
    """
    configs, errors = [], {}
    for cell in spec.cells:
        try:
            configs.append(resolve(cell))
        except ValueError as error:
            errors[str(error)] = None
    if errors:
        raise SpecError("\n".join(errors))
    unique = {config.run_id: config for config in configs}
    trunks: dict[str, list[RunConfig]] = {}
    for config in unique.values():
        trunks.setdefault(Trunk((config,)).trunk_id, []).append(config)
    grouped = tuple(Trunk(tuple(sorted(group, key=lambda c: c.steps))) for group in trunks.values())
    return Plan(spec.name, spec.order, grouped, len(configs) - len(unique))


def resolve(cell: CellSpec) -> RunConfig:
    """The run of a cell: every duration in steps, every percentage in images.

    Raises:
        ValueError: the field and the fact.
    """
    upstream = _upstream(cell.upstream)
    train_examples = _train_examples(cell.train_examples, upstream)
    recipe = find_recipe(cell.recipe.name)
    sizes = {"batch_size": cell.recipe.batch_size, "train_examples": train_examples}
    steps = (cell.length or parse_duration(recipe.length)).in_steps(**sizes)
    if steps < 1:
        raise ValueError(f"steps: a run needs at least one step, got {cell.length}")
    schedule = cell.schedule or ScheduleSpec.model_validate(recipe.schedule)
    every = cell.evaluate.every.in_steps(**sizes, total_steps=steps) if cell.evaluate.every else None
    return RunConfig(
        upstream=upstream,
        model=cell.model.fitted(upstream.image_size),
        train_examples=train_examples,
        steps=steps,
        recipe=cell.recipe,
        schedule=_schedule(schedule, steps, sizes),
        seed=cell.seed,
        evaluate=EvaluateConfig(every_steps=every, **cell.evaluate.model_dump(exclude={"every"})),
        downstream=cell.downstream,
        precision=cell.precision,
        threads=cell.threads,
        compile=cell.compile,
        cuda_graph=cell.cuda_graph,
        teacher_sha256=check_teacher(cell.recipe.teacher, upstream) if cell.recipe.teacher else None,
        keep_model=cell.keep_model,
    )


def _upstream(spec: UpstreamSpec) -> UpstreamConfig:
    dataset = find_dataset(spec.dataset)
    if spec.num_images and not dataset.generated:
        raise ValueError(
            f"upstream.num_images: {spec.dataset!r} has {dataset.num_train} images and cannot be made longer"
        )
    num_train = spec.num_images or dataset.num_train
    num_val = round(num_train * spec.val_fraction)
    return UpstreamConfig(
        **spec.model_dump(exclude={"num_images", "val_fraction", "image_size"}),
        version=dataset.version,
        num_train=num_train,
        num_val=num_val,
        num_classes=dataset.num_classes,
        image_size=spec.image_size or dataset.image_size,
    )


def _train_examples(amount: Duration, upstream: UpstreamConfig) -> int:
    """A number up to the whole training set; the held-out part is taken off a subset that would reach into it."""
    available = upstream.num_train - upstream.num_val
    wanted = round(amount.value / 100 * available) if amount.unit == "%" else round(amount.value)
    if not 1 <= wanted <= upstream.num_train:
        raise ValueError(
            f"train_examples: {upstream.dataset!r} has {upstream.num_train} training images, asked for {wanted}"
        )
    return min(wanted, available)


def _schedule(spec: ScheduleSpec, steps: int, sizes: dict[str, int]) -> ScheduleConfig:
    warmup = spec.warmup.in_steps(**sizes, total_steps=steps)
    cooldown = spec.cooldown.in_steps(**sizes, total_steps=steps)
    if warmup + cooldown > steps:
        raise ValueError(f"schedule: warm-up {warmup} and cooldown {cooldown} are longer than the run of {steps} steps")
    return ScheduleConfig(kind=spec.kind, warmup_steps=warmup, cooldown_steps=cooldown)
