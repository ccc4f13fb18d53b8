"""How long a sweep takes here: its shapes measured with all slots busy, then its jobs dealt out to the slots."""

import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from ..engines import Engine, EngineOptions, Resources, make_engine
from ..runner.cost import evaluation_images, finetune_cost, run_cost
from ..runner.training_order import in_order
from ..specs.config import RunConfig
from ..specs.grid import Plan, Trunk
from .step_shapes import num_evaluations, shapes_of, step_shape
from .timing import ShapeTimes, time_shape

__all__ = [
    "BEGIN_SECONDS", "END_SECONDS", "END_SECONDS_A_RUN", "MOST_MEASURED", "Estimate", "Shape", "chosen_shapes",
    "estimate_plan", "make_estimate", "plan_engine", "plan_shapes", "simulate", "trunk_seconds",
]  # fmt: skip

MOST_MEASURED = 24  # shapes; of more the times of the others follow from these
_STEP_SECONDS = 2.0  # that a shape's steps are measured for
ABOUT_SECONDS = 6.0  # that measuring a shape takes in all, told before it is done
# Of `sweeps run` beside its trainings, which no measured step says.
BEGIN_SECONDS = 3.0  # until it starts its workers: imports, FLOPs, the frozen plan and code
# After the last job, tables, fits with their draws and figures: 2.1 s of 72 runs with two tasks, the demo has seven; a
# table grows by a millisecond a run and the draws of a fit by some.
END_SECONDS, END_SECONDS_A_RUN = 4.0, 0.005


@dataclass(frozen=True)
class Shape:
    """Runs whose steps take as long.

    Attributes:
        config: one of them.
        step_flops, forward_flops: of one training step, and of one image that a model is asked about.
    """

    config: RunConfig
    trunks: tuple[Trunk, ...]
    step_flops: float
    forward_flops: float

    @property
    def flops(self) -> float:
        """Of all its training."""
        return self.step_flops * sum(trunk.num_steps for trunk in self.trunks)


@dataclass(frozen=True)
class Estimate:
    """How long a plan's training takes.

    Attributes:
        times: of each shape, with how they were had: "measured", or which rule.
        startup_seconds: of a worker, until it begins its first job.
        trunk_seconds: by trunk id.
        ending_seconds: of the tables, fits and figures after the last job.
        wall_seconds: of `sweeps run`, from its call to its end.
    """

    num_slots: int
    times: tuple[tuple[Shape, ShapeTimes, str], ...]
    startup_seconds: float
    trunk_seconds: dict[str, float]
    ending_seconds: float
    wall_seconds: float

    @property
    def overhead_seconds(self) -> float:
        """Of `sweeps run` beside its trainings."""
        return BEGIN_SECONDS + self.startup_seconds + self.ending_seconds

    @property
    def slot_seconds(self) -> float:
        return sum(self.trunk_seconds.values())


def plan_engine(plan: Plan, slots: int | None = None) -> Engine:
    """The local engine as `sweeps run` makes it."""
    resources = Resources(
        threads=max(config.threads for config in plan.configs),
        devices=max(config.devices_per_run for config in plan.configs),
    )
    return make_engine("local", EngineOptions(Path("."), resources=resources, slots=slots))


def plan_shapes(plan: Plan) -> list[Shape]:
    """Its distinct shapes, the cheapest step first."""
    found = [_shape(trunks) for trunks in shapes_of(plan).values()]
    return sorted(found, key=lambda shape: shape.step_flops)


def _shape(trunks: Sequence[Trunk]) -> Shape:
    config = trunks[0].configs[0]
    cost = run_cost(config)
    step = float(cost.training_flops) * config.recipe.batch_size
    return Shape(config, tuple(trunks), step, float(cost.model.flops_per_image))


def chosen_shapes(shapes: Sequence[Shape], most: int = MOST_MEASURED) -> list[Shape]:
    """Those to measure: all, or of each family some that are spread evenly from its cheapest to its dearest."""
    if len(shapes) <= most:
        return list(shapes)
    families: dict[str, list[Shape]] = {}
    for shape in shapes:
        families.setdefault(shape.config.model.family, []).append(shape)
    chosen = []
    for members in families.values():
        count = max(2, most * len(members) // len(shapes))
        chosen += [members[place] for place in sorted({round(p) for p in np.linspace(0, len(members) - 1, count)})]
    return sorted(chosen, key=lambda shape: shape.step_flops)[:most]


def estimate_plan(
    plan: Plan, engine: Engine, shapes: Sequence[Shape], tell: Callable[[str], None] = lambda line: None
) -> Estimate:
    """Measure the shapes on the engine and put together how long the plan takes.

    Raises:
        ValueError: no shape could be measured.
    """
    chosen = chosen_shapes(shapes)
    measured, startup = _measure(chosen, engine, tell)
    return make_estimate(plan, shapes, measured, engine.num_slots, startup)


def make_estimate(
    plan: Plan, shapes: Sequence[Shape], measured: dict[RunConfig, ShapeTimes | str], num_slots: int, startup: float
) -> Estimate:
    """The estimate from what was measured of some of the shapes, by `Shape.config`.

    Raises:
        ValueError: no shape could be measured.
    """
    known = [(s, t) for s in shapes if isinstance(t := measured.get(s.config), ShapeTimes)]
    if not known:
        reasons = dict.fromkeys(str(reason) for reason in measured.values())
        raise ValueError(f"no step could be measured: {'; '.join(reasons)}")
    times = tuple((shape, *_times_of(shape, measured.get(shape.config), known)) for shape in shapes)
    by_shape = {step_shape(shape.config): found for shape, found, _ in times}
    seconds = {t.trunk_id: trunk_seconds(t, by_shape[step_shape(t.configs[0])]) for t in plan.trunks}
    flops = {t.trunk_id: float(run_cost(t.configs[0]).training_flops) for t in plan.trunks}
    training = simulate((seconds[t.trunk_id] for t in in_order(plan.trunks, flops, plan.order)), num_slots)
    ending = END_SECONDS + END_SECONDS_A_RUN * len(plan.configs)
    return Estimate(num_slots, times, startup, seconds, ending, BEGIN_SECONDS + startup + training + ending)


def simulate(durations: Iterable[float], num_slots: int) -> float:
    """When the last of the jobs ends, each given in turn to the slot that is free first.

    >>> simulate([3, 2, 2], num_slots=2)
    4.0
    """
    free = [0.0] * num_slots
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def trunk_seconds(trunk: Trunk, times: ShapeTimes) -> float:
    """Of a whole job: its steps, each evaluation, and the end of each of its runs."""
    ends = sum(_finetune_seconds(config, times) + times.run + times.measuring for config in trunk.configs)
    evaluations = num_evaluations(trunk.configs) * evaluation_images(trunk.configs[0]) * times.evaluation_image
    return times.job + trunk.num_steps * times.step + evaluations + ends


def _finetune_seconds(config: RunConfig, times: ShapeTimes) -> float:
    asked = config.finetune
    if not asked.tasks:
        return 0.0
    cost = finetune_cost(config)
    return cost.num_images * times.finetune_image + cost.num_trainings * times.finetune_task


# Measuring ----------------------------------------------------------------------------------------------------


def _measure(
    shapes: Sequence[Shape], engine: Engine, tell: Callable[[str], None]
) -> tuple[dict[RunConfig, ShapeTimes | str], float]:
    """Times by config and seconds until a worker's first job. Slots that would be idle at the end measure again."""
    by_work = sorted(shapes, key=lambda shape: -shape.flops)
    more = -len(shapes) % engine.num_slots
    chosen = [*shapes, *(by_work * (1 + more // len(by_work)))[:more]]
    jobs = [(shape.config, _STEP_SECONDS) for shape in chosen]
    found: dict[RunConfig, list[ShapeTimes | str]] = {}
    began, starts = time.time(), []
    with closing(engine.run(time_shape, jobs)) as events:
        for event in events:
            config = chosen[event.job].config
            if event.kind == "progress":
                tell(f"measuring {config.model.family} {config.model.variant} at {config.image_size} px")
                continue
            start, times = event.value if event.kind == "done" else (None, str(event.value))
            starts += [start - began] if start else []
            found.setdefault(config, []).append(times)
    startup = median(sorted(starts)[: engine.num_slots]) if starts else 0.0
    return {config: _mean(values) for config, values in found.items()}, startup


def _mean(values: Sequence[ShapeTimes | str]) -> ShapeTimes | str:
    times = [value for value in values if isinstance(value, ShapeTimes)]
    if not times:
        return values[0]
    means = {name: float(np.mean([getattr(t, name) for t in times])) for name in vars(times[0]) if name != "scaled"}
    return replace(times[0], **means)


def _times_of(
    shape: Shape, measured: ShapeTimes | str | None, known: Sequence[tuple[Shape, ShapeTimes]]
) -> tuple[ShapeTimes, str]:
    """Measured, or by the FLOPs of those of its family that are: between two on the line through both logarithms,
    above the largest in proportion, below the smallest as long as it."""
    if isinstance(measured, ShapeTimes):
        return measured, _how(measured, shape.config.devices_per_run)
    family = [pair for pair in known if pair[0].config.model.family == shape.config.model.family] or list(known)
    near = min(family, key=lambda pair: abs(np.log(max(pair[0].step_flops, 1) / max(shape.step_flops, 1))))[1]
    step = _between(shape.step_flops, [(s.step_flops, t.step) for s, t in family])
    evaluation = _between(shape.forward_flops, [(s.forward_flops, t.evaluation_image) for s, t in family])
    ratio = step / near.step if near.step else 1.0
    times = ShapeTimes(
        near.job, step, evaluation, near.run, near.measuring * ratio, near.finetune_image * ratio, near.finetune_task
    )
    return times, f"not measured ({measured})" if measured else "from its FLOPs"


def _how(measured: ShapeTimes, num_devices: int) -> str:
    if num_devices > 1:
        return f"measured on one of its {num_devices} devices, without what they exchange"
    return "scaled from fewer images" if measured.scaled else "measured"


def _between(flops: float, known: Sequence[tuple[float, float]]) -> float:
    points = sorted((f, s) for f, s in known if f > 0 and s > 0)
    if not points or flops <= 0:
        return 0.0
    x, y = np.log(np.asarray(points)).T
    return float(np.exp(np.interp(np.log(flops), x, y))) * max(1.0, flops / points[-1][0])
