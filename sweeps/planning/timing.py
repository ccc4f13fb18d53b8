"""What a step, an evaluation and a run's beginning and end take on a device: the run's own code, trained for seconds.

Each shape's worker trains it once unmeasured, so that what a process does once is done; then a short run for the time
of a step and of an evaluation, and one of three steps for all that is neither.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from ..data.datasets import find_dataset
from ..data.training import TrainingData, load_training_data
from ..paths import SweepPaths, TrunkPaths
from ..runner.cost import evaluation_images, num_test_images, run_cost
from ..runner.jobs import run_trunk
from ..specs.config import RunConfig, ScheduleConfig
from ..specs.grid import Trunk
from ..training.train import train_trunk
from ..words import one_line

__all__ = ["ShapeTimes", "time_shape"]

_FEW = 3  # steps: of a warm process, the first pays for a model's first pass
_MOST_STEPS = 3000
_FEW_IMAGES = 250
_FINETUNE_STEPS = 6
# A step or an evaluation that would take longer than this is measured on fewer images and scaled, at a speed that any
# device reaches.
_MOST_SECONDS = 8.0
_LEAST_FLOPS_A_SECOND = {"cpu": 2e10, "cuda": 1e13}
_TINY_RATE = 1e-6  # a learning rate that lets no model diverge before it is evaluated


@dataclass(frozen=True)
class ShapeTimes:
    """Seconds on one slot.

    Attributes:
        job: of a training's beginning: data, model and what its first step takes longer.
        step: of one.
        evaluation_image: of an evaluation of all weights of a state, with its few-shot tasks, for each of its images.
        run: of a run's end, beside evaluation, measuring and fine-tuning: its records and checkpoints.
        measuring: of a run's end.
        finetune_image, finetune_task: of a training image of fine-tuning, and of a task beside its steps.
        scaled: whether a step or an evaluation was measured on fewer images than it has.
    """

    job: float
    step: float
    evaluation_image: float
    run: float
    measuring: float = 0.0
    finetune_image: float = 0.0
    finetune_task: float = 0.0
    scaled: bool = False


@dataclass
class _Course:
    """When a training began, ended each marked step and was evaluated."""

    marks: tuple[int, ...]
    device: torch.device
    began: float = field(default_factory=time.perf_counter)
    steps: list[float] = field(default_factory=list)
    ended: float = 0.0

    def tick(self, num_images: int) -> None:
        self.steps.append(self._now() if len(self.steps) + 1 in self.marks else 0.0)

    def end(self) -> None:
        self.ended = self._now()

    def at(self, step: int) -> float:
        return self.steps[step - 1] if step else self.began

    def _now(self) -> float:
        if self.device.type == "cuda":  # what is queued has not run yet
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def time_shape(
    config: RunConfig, seconds: float, devices: tuple[str, ...], report: Callable[..., None]
) -> tuple[float, ShapeTimes | str]:
    """A worker's job: when it began (`time.time()`), and the times of a shape, or one line why there are none.

    Args:
        config: any run of the shape.
        seconds: that steps are measured for.
    """
    began = time.time()
    report(config.run_id)
    try:
        with tempfile.TemporaryDirectory(prefix="sweeps-plan-") as folder:
            return began, _times(config, seconds, Path(folder), torch.device(devices[0]))
    except Exception as error:  # whatever a model can raise: the plan is told without this shape's time
        return began, one_line(error)


def _times(config: RunConfig, seconds: float, folder: Path, device: torch.device) -> ShapeTimes:
    torch.set_num_threads(config.threads)
    if not config.steps:
        return _times_untrained(config, folder, device)
    config, step_share = _affordable_step(config, device)
    few = _shortened(config, _FEW, device, num_images=_FEW_IMAGES)
    _whole_job(few, folder / "first", device)
    pilot = _course(few, folder, device, (1, 2, _FEW))
    steps = _num_steps(seconds, (pilot.at(_FEW) - pilot.at(1)) / (_FEW - 1))
    longer = _shortened(config, steps, device)
    asked = evaluation_images(longer)
    course = _course(longer, folder, device, (1, steps))
    step = (course.at(steps) - course.at(1)) / (steps - 1)
    job = pilot.at(1) - pilot.began - step
    rest = _whole_job(few, folder / "second", device) - (pilot.ended - pilot.began)
    return replace(
        ShapeTimes(max(0.0, job), step / step_share, (course.ended - course.at(steps)) / asked, max(0.0, rest)),
        measuring=_measuring(config, folder, device), scaled=step_share < 1 or asked < evaluation_images(config),
        **_finetuning(config, folder, device),
    )  # fmt: skip


def _times_untrained(config: RunConfig, folder: Path, device: torch.device) -> ShapeTimes:
    """Of a model that is only evaluated: all in one piece, but for measuring and fine-tuning."""
    short = _shortened(config, 0, device)
    asked = evaluation_images(short)
    _whole_job(short, folder / "first", device)
    seconds = _whole_job(short, folder / "second", device)
    return replace(
        ShapeTimes(0.0, 0.0, seconds / asked, 0.0, scaled=asked < evaluation_images(config)),
        measuring=_measuring(config, folder, device), **_finetuning(config, folder, device),
    )  # fmt: skip


def _num_steps(seconds: float, step: float) -> int:
    return int(min(_MOST_STEPS, max(_FEW, seconds / max(step, 1e-6))))


def _course(config: RunConfig, folder: Path, device: torch.device, marks: tuple[int, ...]) -> _Course:
    """Train and evaluate once, with the data loaded anew."""
    course = _Course(marks, device)
    data: TrainingData = load_training_data(config, device)
    for _ in train_trunk([config], data, _trunk(folder, config), device, course.tick):
        course.end()
    return course


def _trunk(folder: Path, config: RunConfig) -> TrunkPaths:
    return TrunkPaths(Path(tempfile.mkdtemp(dir=folder)) / config.trunk_id)


def _whole_job(config: RunConfig, folder: Path, device: torch.device) -> float:
    """Seconds of a job as a sweep runs it, records and all."""
    started = time.perf_counter()
    statuses = run_trunk(Trunk((config,)), SweepPaths(folder), "plan", (str(device),), lambda *_: None)
    if set(statuses) != {"ok"}:
        trace = SweepPaths(folder).run(config.run_id).traceback
        raise RuntimeError(
            trace.read_text(encoding="utf-8").strip().splitlines()[-1] if trace.exists() else f"ended {statuses}"
        )
    return time.perf_counter() - started


# Short runs ---------------------------------------------------------------------------------------------------


def _shortened(config: RunConfig, steps: int, device: torch.device, num_images: int | None = None) -> RunConfig:
    """So many steps and an evaluation at the end, of as many images as there is time for, or of few."""
    plain = {"measure": type(config.measure)(), "finetune": type(config.finetune)()}
    short = config.model_copy(update={
        "steps": steps, "schedule": ScheduleConfig(kind="constant", warmup_steps=0, cooldown_steps=0),
        "recipe": config.recipe.model_copy(update={"lr": _TINY_RATE}), **plain,
        "evaluate": config.evaluate.model_copy(update={"every_steps": None, "stop_after": None}), "keep_model": False,
        "devices_per_run": 1,
    })  # fmt: skip
    most = num_images or _most_images(config, device)
    return short if evaluation_images(short) <= most else _fewer_images(short, most)


def _most_images(config: RunConfig, device: torch.device) -> int:
    return int(_budget(device) / run_cost(config).model.flops_per_image) + _FEW_IMAGES


def _budget(device: torch.device) -> float:
    return _MOST_SECONDS * _LEAST_FLOPS_A_SECOND.get(device.type, _LEAST_FLOPS_A_SECOND["cuda"])


def _fewer_images(config: RunConfig, most: int) -> RunConfig:
    """Its evaluation with fewer images of each kind, and with fewer tasks, but one of each at least."""
    share = most / evaluation_images(config)
    upstream, asked, tasks = config.upstream, config.evaluate, config.downstream.tasks
    evaluate = asked.model_copy(update={
        "max_upstream": max(1, int(share * num_test_images(config))), "max_train": int(share * asked.max_train),
    })  # fmt: skip
    tasks = tasks[: max(1, int(share * len(tasks)))]
    versions = config.downstream.folder_versions[: sum(":" in task for task in tasks)]
    downstream = config.downstream.model_copy(update={"tasks": tasks, "folder_versions": versions})
    upstream = upstream.model_copy(update={"num_val": int(share * upstream.num_val)})
    return config.model_copy(update={"evaluate": evaluate, "downstream": downstream, "upstream": upstream})


def _affordable_step(config: RunConfig, device: torch.device) -> tuple[RunConfig, float]:
    """A run whose step takes seconds at most, and its share of the images that one device takes in a step."""
    whole = max(1, config.recipe.batch_size // config.devices_per_run)
    flops, least = run_cost(config).training_flops, config.model.smallest_batch(config.image_size)
    batch = max(least, min(whole, int(_budget(device) / max(flops, 1))), 1)
    recipe = config.recipe.model_copy(update={"batch_size": batch})
    fewer = {"recipe": recipe, "micro_batches": min(config.micro_batches, batch)}
    return config.model_copy(update=fewer), batch / whole


def _measuring(config: RunConfig, folder: Path, device: torch.device) -> float:
    if not config.measure.names:
        return 0.0
    bare = _bare(config, device)
    asked = bare.model_copy(update={"measure": config.measure})
    return max(0.0, _ending(asked, folder, device) - _ending(bare, folder, device))


def _finetuning(config: RunConfig, folder: Path, device: torch.device) -> dict[str, float]:
    """Of the first task; an image of another is as large. The first of its steps warms up and is left out."""
    asked = config.finetune
    if not asked.tasks:
        return {}
    bare = _bare(config, device)
    tasks = asked.tasks[:1]
    versions = asked.folder_versions[: sum(":" in task for task in tasks)]
    one = {"tasks": tasks, "folder_versions": versions, "lr": asked.lr[:1], "steps": _FINETUNE_STEPS, "draws": 1}
    first, num_weights = bare.steps, 1 if config.recipe.ema_decay is None else 2
    marks = tuple(range(1, first + num_weights * _FINETUNE_STEPS + 1))
    course = _course(bare.model_copy(update={"finetune": asked.model_copy(update=one)}), folder, device, marks)
    step = (course.at(first + _FINETUNE_STEPS) - course.at(first + 1)) / (_FINETUNE_STEPS - 1)
    in_all = course.ended - course.at(first) - _ending(bare, folder, device)
    batch = min(asked.batch_size, asked.num_images(find_dataset(tasks[0]).num_train))
    rest = max(0.0, in_all / num_weights - _FINETUNE_STEPS * step)
    return {"finetune_image": step / batch, "finetune_task": rest}


def _bare(config: RunConfig, device: torch.device) -> RunConfig:
    """A step and little else."""
    return _shortened(config, min(1, config.steps), device, num_images=_FEW_IMAGES)


def _ending(config: RunConfig, folder: Path, device: torch.device) -> float:
    """Seconds from the last step on."""
    course = _course(config, folder, device, (config.steps,))
    return course.ended - course.at(config.steps)
