"""One cell of a spec as a config: every value that is left open is settled."""

from functools import lru_cache

from ..data.datasets import find_dataset, folder_versions, task_name
from ..data.suites import expand_tasks
from ..measure import resolve_measurements
from ..models import ModelConfig
from ..models.shape import ModelShape
from ..training.saved_model import check_teacher
from .cell import CellSpec, EvaluateSpec, ScheduleSpec, UpstreamSpec
from .class_map import resolve_class_map
from .config import DownstreamConfig, EvaluateConfig, FinetuneConfig, RunConfig, ScheduleConfig, UpstreamConfig
from .durations import Duration, parse_duration
from .recipes import find_recipe

__all__ = ["present", "resolve", "schedule_spec"]

_MOST_STEPS = 2**31 - 1  # of a run: what the libraries take for a whole number
_AS_IT_IS = (
    "precision", "threads", "compile", "cuda_graph", "devices_per_run", "micro_batches", "checkpoint_activations",
    "keep_model",
)  # fmt: skip
_NO_SCHEDULE = ScheduleSpec(kind="constant")


def resolve(cell: CellSpec) -> RunConfig:
    """The run of a cell: every duration in steps, every percentage in images.

    Raises:
        ValueError: the field and the fact.
    """
    if not cell.model.trainable:
        cell = _only_evaluated(cell)
    downstream = cell.downstream.model_copy(update=present(cell.downstream.tasks, "downstream.tasks"))
    finetune = cell.finetune.model_copy(update=present(cell.finetune.tasks, "finetune.tasks"))
    tasks = tuple(dict.fromkeys((*downstream.tasks, *finetune.tasks)))
    _check_names(tasks)
    upstream = _upstream(cell.upstream, tasks)
    train_examples = _train_examples(cell.train_examples, upstream)
    sizes = {"batch_size": cell.recipe.batch_size, "train_examples": train_examples}
    steps = _num_steps(cell, sizes)
    model = cell.model.fitted(upstream.image_size)
    _check_trainable(cell, model, upstream.image_size)
    config = RunConfig(
        upstream=upstream,
        model=model,
        train_examples=train_examples,
        steps=steps,
        recipe=cell.recipe,
        schedule=_schedule(schedule_spec(cell) if steps else _NO_SCHEDULE, steps, sizes),
        seed=cell.seed,
        evaluate=_evaluate(cell.evaluate, upstream, steps, sizes, model),
        downstream=_with_layers(downstream, model, upstream.image_size),
        finetune=_finetune(finetune, model, upstream),
        teacher_sha256=check_teacher(cell.recipe.teacher, upstream) if cell.recipe.teacher else None,
        **{name: getattr(cell, name) for name in _AS_IT_IS},
    )
    _check_split(config)
    return config.model_copy(update={"measure": resolve_measurements(cell.measure, config)})


def _check_trainable(cell: CellSpec, model: ModelConfig, image_size: int) -> None:
    """Nothing, where the recipe can train that model in that way."""
    if cell.recipe.batch_size < (least := model.smallest_batch(image_size)):
        raise ValueError(
            f"recipe.batch_size: BatchNorm on a map of one pixel needs at least {least} images a step, got "
            f"{cell.recipe.batch_size}"
        )
    if getattr(model, "distilled", False) and not cell.recipe.teacher:
        raise ValueError(f"recipe.teacher: model.{model.family}.distilled learns from one, and none is given")
    if cell.cuda_graph and cell.recipe.contrastive_temperature:
        raise ValueError("cuda_graph: replays the model whole, and recipe.contrastive_temperature looks inside it")


def _check_split(config: RunConfig) -> None:
    """Nothing, where the batch may be shared by devices, or split, or blocks be computed anew, as the run asks for."""
    in_parts = [name for name in ("devices_per_run", "micro_batches") if getattr(config, name) > 1]
    if not in_parts and not config.checkpoint_activations:
        return
    from ..training.micro_batches import why_anew_differs, why_whole  # torch takes seconds

    if config.devices_per_run > 1 and not config.steps:
        raise ValueError("devices_per_run: a model that is only evaluated takes one device")
    if config.recipe.batch_size < config.devices_per_run:
        least, got = config.devices_per_run, config.recipe.batch_size
        raise ValueError(f"devices_per_run: {least} devices take at least {least} images a step, got {got}")
    if in_parts and (reason := why_whole(config)):
        raise ValueError(f"{in_parts[0]}: {reason}")
    if config.checkpoint_activations and (reason := why_anew_differs(config)):
        raise ValueError(f"checkpoint_activations: {reason}")


def _only_evaluated(cell: CellSpec) -> CellSpec:
    """Without what only training knows, whose axes would evaluate the same model again and again."""
    of_training = {"recipe", "schedule", "train_examples", "seed", "micro_batches", "checkpoint_activations"}
    defaults = {name: field.get_default(call_default_factory=True) for name, field in CellSpec.model_fields.items()}
    at_its_end = cell.evaluate.model_copy(update={"every": None, "stop_after": None})
    return cell.model_copy(update={name: defaults[name] for name in of_training} | {"evaluate": at_its_end})


def _num_steps(cell: CellSpec, sizes: dict[str, int]) -> int:
    length = cell.length or parse_duration(find_recipe(cell.recipe.name).length)
    steps = length.in_steps(**sizes)
    if not cell.model.trainable:
        if steps:
            raise ValueError(f"steps: model.{cell.model.family} is only evaluated, which takes steps: 0, got {steps}")
        return 0
    if not 1 <= steps <= _MOST_STEPS:
        raise ValueError(
            f"{length.unit}: a run has 1 to {_MOST_STEPS} steps, got {_written(length)}, which is"
            f" {_written(Duration(steps, 'steps'))} of {sizes['batch_size']} images"
        )
    return steps


def schedule_spec(cell: CellSpec) -> ScheduleSpec:
    return cell.schedule or ScheduleSpec.model_validate(find_recipe(cell.recipe.name).schedule)


def _evaluate(
    spec: EvaluateSpec, upstream: UpstreamConfig, steps: int, sizes: dict[str, int], model: ModelShape
) -> EvaluateConfig:
    """An `every` beyond the run's end evaluates at the end only."""
    every = spec.every.in_steps(**sizes, total_steps=steps) if spec.every and steps else None
    if spec.every and every == 0:
        raise ValueError(f"evaluate.every: must be a step or more, got {_written(spec.every)}")
    if spec.stop_after and every is None:
        raise ValueError("evaluate.stop_after: counts evaluations on the way, and evaluate.every is not given")
    if spec.stop_after and not upstream.num_val:
        raise ValueError(
            "evaluate.stop_after: goes by the error on held-out training images, and upstream.val_fraction holds out"
            f" none of {upstream.num_train}"
        )
    class_map = resolve_class_map(spec.class_map, model, upstream.image_size, upstream.num_classes)
    return EvaluateConfig(**spec.model_dump(exclude={"every", "class_map"}), every_steps=every, class_map=class_map)


def _written(duration: Duration) -> str:
    return f"{duration.value:g}{'%' if duration.unit == '%' else f' {duration.unit}'}"


@lru_cache(maxsize=8)
def present(asked: tuple[str, ...], field: str) -> dict[str, tuple[str, ...]]:
    """Suites as the tasks of theirs that are there, and the versions of those that lie in folders."""
    tasks = expand_tasks(asked).tasks if asked else ()
    _check_names(tasks, field)
    return {"tasks": tasks, "folder_versions": folder_versions(tasks, field)}


def _check_names(tasks: tuple[str, ...], field: str = "finetune.tasks") -> None:
    names = [task_name(task) for task in tasks]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{field}: {repeated[0]!r} names two tasks; the last part of a path is a task's name")


def _finetune(spec: FinetuneConfig, model: ModelConfig, upstream: UpstreamConfig) -> FinetuneConfig:
    """The same for every way to say that nothing is fine-tuned, or that images keep their size."""
    if not spec.tasks:
        return FinetuneConfig()
    size = spec.image_size or upstream.image_size
    if size != upstream.image_size:
        from ..models.resize import check_resizable  # builds the model, which takes torch

        check_resizable(model, upstream.image_size, size, "finetune.image_size")  # pyright: ignore[reportArgumentType]
    for task in spec.tasks:
        _check_finetune(spec, find_dataset(task, field="finetune.tasks").num_train, task_name(task), model, size)
    return spec.model_copy(update={"image_size": None if size == upstream.image_size else size})


def _check_finetune(spec: FinetuneConfig, num_train: int, task: str, model: ModelConfig, image_size: int) -> None:
    num_images, num_val = spec.num_images(num_train), spec.num_val(num_train)
    if len(spec.lr) > 1 and not num_val:
        raise ValueError(
            f"finetune.examples: a fifth of the images chooses the lr, and {num_images} of {task!r} make no image; give"
            f" 5 or more, or one lr, got {list(spec.lr)}"
        )
    least, batch = model.smallest_batch(image_size), min(spec.batch_size, num_images - num_val)
    if batch < least:
        field = "batch_size" if spec.batch_size < least else "examples"
        raise ValueError(
            f"finetune.{field}: BatchNorm on a map of one pixel needs at least {least} images a step, got {batch}"
            f" of {task!r}"
        )


def _with_layers(downstream: DownstreamConfig, model: ModelConfig, image_size: int) -> DownstreamConfig:
    """The layers of the model that are asked for, in its order, "all" replaced by their names."""
    if downstream.layers == DownstreamConfig().layers:
        return downstream
    from ..models.layers import check_layers, layer_names  # takes torch, to build the model on the meta device

    valid = layer_names(model, image_size)  # pyright: ignore[reportArgumentType] frozen, so it has a hash
    if "all" in downstream.layers:
        return downstream.model_copy(update={"layers": valid})
    check_layers(downstream.layers, model, image_size, "downstream.layers")
    return downstream.model_copy(update={"layers": tuple(name for name in valid if name in downstream.layers)})


def _upstream(spec: UpstreamSpec, tasks: tuple[str, ...]) -> UpstreamConfig:
    dataset = find_dataset(spec.dataset, spec.folder)
    if spec.num_images and not dataset.generated:
        raise ValueError(
            f"upstream.num_images: {spec.dataset!r} has {dataset.num_train} images and cannot be made longer"
        )
    stream = spec.stream or spec.dataset == "shards"
    if stream and spec.dataset not in ("image-folder", "shards"):
        raise ValueError(f"upstream.stream: takes an image-folder or shards, got {spec.dataset!r}")
    if spec.dataset == "shards" and spec.remove_duplicates:
        raise ValueError("upstream.remove_duplicates: takes images that can be decoded at once, got dataset 'shards'")
    num_train = spec.num_images or dataset.num_train
    num_val = round(num_train * spec.val_fraction)
    return UpstreamConfig(
        **spec.model_dump(exclude={"num_images", "val_fraction", "image_size", "stream"}),
        stream=stream,
        version=dataset.version,
        num_train=num_train,
        num_val=num_val,
        num_duplicates=_num_duplicates(spec, num_train, tasks) if spec.remove_duplicates else 0,
        num_classes=dataset.num_classes,
        image_size=spec.image_size or dataset.image_size,
    )


def _num_duplicates(spec: UpstreamSpec, num_train: int, tasks: tuple[str, ...]) -> int:
    """Known before training, so that a run trains on as many images as its config says."""
    from ..data.duplicates import upstream_duplicates  # takes scipy, and torch where images are resized

    return len(upstream_duplicates(spec.dataset, spec.folder, num_train, tasks).rows)


def _train_examples(amount: Duration, upstream: UpstreamConfig) -> int:
    """A number up to the whole training set; the held-out part is taken off a subset that would reach into it."""
    available = upstream.num_train - upstream.num_duplicates - upstream.num_val
    if available < 1:
        raise ValueError(
            f"upstream: of {upstream.num_train} training images {upstream.num_duplicates} repeat test images"
            f" and {upstream.num_val} are held out (val_fraction), which leaves none"
        )
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
        raise ValueError(
            f"schedule: warmup {_written(spec.warmup)} and cooldown {_written(spec.cooldown)} are {warmup} and"
            f" {cooldown} steps, longer than the run of {steps} steps"
        )
    return ScheduleConfig(
        kind=spec.kind, warmup_steps=warmup, cooldown_steps=cooldown,
        timescale_steps=max(1, spec.timescale.in_steps(**sizes, total_steps=steps)),
    )  # fmt: skip
