"""The resolved config of one run: every choice, and nothing that depends on where it runs. Its hash is the run id."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from .data.datasets import check_dataset_name, task_name
from .data.suites import SUITES
from .fields import Amount, Count, Fraction, Section, Whole, no_repeats
from .measure import MEASUREMENTS
from .models import ModelConfig
from .recipes import find_recipe
from .schedules import SCHEDULES

__all__ = [
    "NUMERICS_VERSION", "DatasetName", "DownstreamConfig", "EvaluateConfig", "FinetuneConfig", "MeasureConfig",
    "RecipeConfig", "RunConfig", "ScheduleConfig", "ScheduleKind", "UpstreamConfig",
]  # fmt: skip

NUMERICS_VERSION = 2  # raised when a change of the code changes the golden losses

DatasetName = Annotated[str, AfterValidator(check_dataset_name)]
TaskName = Annotated[str, AfterValidator(lambda name: name if name in SUITES else check_dataset_name(name))]


def _measurement(name: Any) -> Any:
    if name not in (*MEASUREMENTS, "all"):
        of = [f"; rows called {name!r} are of {key!r}" for key, found in MEASUREMENTS.items() if name in found.rows]
        raise ValueError(f"must be 'all' or of {list(MEASUREMENTS)}{''.join(of)}")
    return name


_ONE_OR_MORE = BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)
ProbeName = Literal["plain", "whitened"]
_IN_ORDER = AfterValidator(lambda names: tuple(sorted(names)))  # the same probes have the same run id
MeasurementName = Annotated[str, BeforeValidator(_measurement)]
Radius = Annotated[Amount, Field(gt=0, le=1)]


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("must be odd")
    return number


def _kind(value: Any) -> Any:
    if not isinstance(value, str) or value not in SCHEDULES:
        raise ValueError(f"must be one of {sorted(SCHEDULES)}")
    return value


ScheduleKind = Annotated[str, BeforeValidator(_kind)]


def _examples(value: Any) -> Any:
    if value != "all" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError("must be a number of images or 'all'")
    return value


_MOST_VAL = 5000  # images that a learning rate is chosen on: an error of .5 has a standard error of .007

LearningRates = Annotated[
    tuple[Annotated[Amount, Field(gt=0)], ...],
    BeforeValidator(lambda rates: (rates,) if isinstance(rates, int | float | str) else rates),
    Field(min_length=1),
    AfterValidator(no_repeats),
    AfterValidator(lambda rates: tuple(sorted(rates))),  # the order means nothing, and so does not enter the run id
]


def _needs(field: str) -> Any:
    """A validator: options of a section say nothing without this field of it."""

    def check(cls: type, values: Any) -> Any:
        if isinstance(values, Mapping) and values and field not in values:
            raise ValueError(f"{field}: must be given with {sorted(values)}")
        return values

    return model_validator(mode="before")(classmethod(check))  # pyright: ignore[reportArgumentType] as pydantic asks


class UpstreamConfig(Section):
    """The data set trained on. `version` is its identity; `folder` and `workers` are of the machine.

    Attributes:
        image_size: side in pixels that every image has when the model sees it.
        stream: read from disk step by step instead of holding the decoded set.
        workers: processes that read a streamed set.
        remove_duplicates: drop training images that nearly repeat a test image, upstream's or a downstream task's.
        num_duplicates: how many of the `num_train` are dropped.
    """

    dataset: DatasetName
    version: str
    num_train: int
    num_val: int
    num_classes: int
    image_size: Count
    folder: str | None = None
    stream: bool = False
    workers: Count = 1
    remove_duplicates: bool = False
    num_duplicates: int = 0


class RecipeConfig(Section):
    """How a model is trained, the schedule apart: a row of `sweeps.recipes.RECIPES`, and what a spec changes of it.

    A spec that changes `batch_size` keeps the row's `lr`: no rule scales it.

    Attributes:
        optimizer: "adamw_bf16" keeps its first moment in bfloat16; "adafactor" is that of Zhai et al. 2021.
        beta1: of "sgd" the momentum.
        weight_decay_rule: a step shrinks a weight by `lr * weight_decay` ("lr_scaled", torch's AdamW), by
            `lr / peak lr * weight_decay` ("decoupled", big_vision), or the decay is added to its gradient ("l2").
        head_weight_decay: of the classifier's kernel; like the body's where it is not given.
        grad_clip: greatest norm of the whole gradient.
        augment: "crop_flip" pads and crops, "inception_flip" crops a random part and resizes it; both mirror.
        rand_augment_ops, rand_augment_magnitude: operations an image, and their strength of 10.
        rand_augment_policy: whose list of operations and ranges, see `sweeps.augment.rand_augment`.
        mixup, cutmix: alpha of the beta distribution of the share; 0 is off. With both on, each batch has one of them.
        erase: probability that a rectangle of the image is noise.
        repeats: how many views of each image are trained on in a row (repeated augmentation).
        label_loss: cross-entropy over the classes, or a sigmoid for each.
        head_bias: initial bias of the classifier.
        drop_path: stochastic depth's rate in the last block.
        ema_decay: of a moving average of the weights, evaluated as weights "ema".
        sam_rho: radius of sharpness-aware minimisation.
        attack_radius: train on adversarial images in place of the given ones: greatest change of a pixel in [0, 1].
        attack_steps: how many steps they are made in.
        contrastive_temperature: learn the features by the supervised contrastive loss, at this temperature, and the
            classifier alone by the labels; `repeats` is the number of views of an image, all counted in `batch_size`.
        teacher: a model whose predicted classes are learned beside the labels (hard-label distillation): the
            `model.safetensors` of a run.
    """

    name: str = "small_scale"
    optimizer: Literal["adamw", "adamw_bf16", "adafactor", "sgd"]
    lr: Amount = Field(gt=0)
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    weight_decay: Amount = Field(ge=0)
    weight_decay_rule: Literal["lr_scaled", "decoupled", "l2"] = "lr_scaled"
    head_lr_multiplier: Amount = Field(gt=0)
    head_weight_decay: Amount = Field(ge=0)
    grad_clip: Amount | None = Field(default=None, gt=0)
    batch_size: Count
    augment: Literal["none", "crop_flip", "inception_flip"]
    rand_augment_ops: Whole = Field(default=0, le=10)
    rand_augment_magnitude: Amount = Field(default=9.0, ge=0, le=10)
    rand_augment_policy: Literal["timm", "big_vision"] = "timm"
    mixup: Amount = Field(default=0.0, ge=0)
    cutmix: Amount = Field(default=0.0, ge=0)
    erase: Amount = Field(default=0.0, ge=0, le=1)
    repeats: Count = 1
    label_loss: Literal["softmax", "sigmoid"] = "softmax"
    head_bias: Amount = 0.0
    label_smoothing: Fraction
    drop_path: Fraction = 0.0
    ema_decay: Fraction | None = None
    sam_rho: Amount | None = Field(default=None, gt=0, validate_default=True)
    attack_radius: Radius | None = Field(default=None, validate_default=True)
    attack_steps: Count = 1
    contrastive_temperature: Amount | None = Field(default=None, gt=0)
    teacher: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        filled = {**find_recipe(values.get("name", "small_scale")).fields, **values}
        if filled.get("attack_radius") is None:  # without an attack its steps tell no two runs apart
            filled.pop("attack_steps", None)
        return {"head_weight_decay": filled["weight_decay"], **filled}

    @field_validator("sam_rho", "attack_radius")
    @classmethod
    def _required_by_row(cls, value: Any, info: ValidationInfo) -> Any:
        missing = find_recipe(info.data["name"]).required.get(str(info.field_name))
        if value is None and missing:
            raise ValueError(f"must be given with recipe {info.data['name']!r}, {missing}")
        return value

    @model_validator(mode="after")
    def _contrasts_whole_images(self) -> "RecipeConfig":
        for name in ("mixup", "cutmix", "teacher") if self.contrastive_temperature else ():
            if value := getattr(self, name):
                raise ValueError(f"{name}: contrastive_temperature takes each image with one label, got {value!r}")
        return self

    @model_validator(mode="after")
    def _optimizer_knows_the_rule(self) -> "RecipeConfig":
        rule = self.weight_decay_rule
        if self.optimizer == "adafactor" and rule == "l2":
            raise ValueError("weight_decay_rule: adafactor takes one of ['decoupled', 'lr_scaled'], got 'l2'")
        for name in ("weight_decay", "head_weight_decay"):
            if rule == "decoupled" and (value := getattr(self, name)) >= 1:
                raise ValueError(f"{name}: a decoupled decay must be below 1, the whole weight, got {value:g}")
        return self


class ScheduleConfig(Section):
    """The learning rate's course; see `sweeps.schedules`.

    Attributes:
        timescale_steps: of "rsqrt", the steps after which the rate is 1 / sqrt(2) of its peak.
    """

    kind: ScheduleKind
    warmup_steps: Whole
    cooldown_steps: Whole
    timescale_steps: Count = 10_000


class EvaluateConfig(Section):
    """Evaluation on the way and at the end.

    Attributes:
        every_steps: how often; None is only at the end.
        max_upstream: at most so many test images.
        max_train: at most so many training images, for the training error; 0 leaves it out.
        stop_after: end a run when its error on the held-out part has not fallen for so many evaluations.
        class_map: of a checkpoint that tells other classes apart, its output for each of the upstream set's classes;
            its errors are then over all its outputs.
    """

    every_steps: Count | None = None
    max_upstream: Count | None = None
    max_train: Whole = 1000
    stop_after: Count | None = None
    class_map: tuple[Whole, ...] | None = None


class DownstreamConfig(Section):
    """Few-shot linear evaluation of frozen features.

    Attributes:
        tasks: data sets; of a spec also suites, which a run's config no longer holds.
        folder_versions: identities of those tasks that lie in folders, whose paths are of the machine.
        shots: images a class; a class with fewer gives what it has.
        layers: whose features, by the names of `sweeps.models.layers`; of a spec also "all".
        probes: keys of `sweeps.fewshot.PROBES`.
        l2_rule: of the whitened probe: "fixed" is big_vision's 2^10, "held-out" is chosen on other training images, as
            the plain probe's always is.
    """

    tasks: Annotated[tuple[TaskName, ...], AfterValidator(no_repeats)] = ()
    folder_versions: tuple[str, ...] = ()
    shots: Annotated[tuple[Count, ...], AfterValidator(no_repeats)] = Field(default=(1, 5, 10), min_length=1)
    draws: Count = 3
    max_eval: Count | None = 1000
    layers: Annotated[tuple[str, ...], _ONE_OR_MORE, AfterValidator(no_repeats)] = Field(
        default=("pre_logits",), min_length=1
    )
    probes: Annotated[tuple[ProbeName, ...], _ONE_OR_MORE, AfterValidator(no_repeats), _IN_ORDER] = Field(
        default=("plain", "whitened"), min_length=1
    )
    l2_rule: Literal["fixed", "held-out"] = "fixed"

    @property
    def chooses_l2(self) -> bool:
        """Whether a probe's l2 is chosen on held-out images."""
        return "plain" in self.probes or self.l2_rule == "held-out"

    @model_validator(mode="after")
    def _rule_is_of_a_probe(self) -> "DownstreamConfig":
        if self.l2_rule != "fixed" and "whitened" not in self.probes:
            raise ValueError(f"l2_rule: is of the whitened probe, and probes has {list(self.probes)}")
        return self


class FinetuneConfig(Section):
    """Transfer by fine-tuning all weights, at a run's end; see `sweeps.finetune`.

    Attributes:
        tasks: as in `DownstreamConfig`; none is no fine-tuning. The upstream set may be one of them: its held-out
            images are then learned too, when all that they choose is chosen, and the lr is chosen on images that the
            model has seen. A task's images are all taken, those that nearly repeat a test image too.
        folder_versions: as there.
        examples: training images of a task, drawn at random; "all", or more than it has, takes all of them.
        image_size: None is the upstream images'; another interpolates learned position embeddings.
        lr: peak learning rates, of which the best is chosen on a part of the training images. The default suits models
            of millions of parameters; those of 10,000, in 60 to 300 steps, want 0.1 to 1.
        steps, batch_size: a batch larger than the images is all of them.
        loss: cross-entropy over the classes, or a sigmoid for each.
        head_weight_decay: of the new classifier's kernel, added to its gradient.
        average: decay of a moving average of the weights (Polyak), which is then evaluated in place of the last ones.
        draws: of the images; the same for every run, so that errors compare.

    Source: Zhai et al. 2021 (arXiv 2106.04560), VTAB: 2,500 steps of 512 images, momentum 0.9, no weight decay; Abnar
    et al. 2021 (arXiv 2110.02095), appendix D.1: sigmoid cross-entropy.
    """

    tasks: Annotated[tuple[TaskName, ...], AfterValidator(no_repeats)] = ()
    folder_versions: tuple[str, ...] = ()
    examples: Annotated[int | Literal["all"], BeforeValidator(_examples)] = 1000
    image_size: Count | None = None
    lr: LearningRates = (0.001, 0.003, 0.01, 0.03)
    steps: Count = 2500
    batch_size: Count = 512
    momentum: Fraction = 0.9
    loss: Literal["sigmoid", "softmax"] = "sigmoid"
    head_weight_decay: Amount = Field(default=0.0, ge=0)
    average: Fraction | None = None
    draws: Count = 1

    _names_its_tasks = _needs("tasks")

    def num_images(self, num_train: int) -> int:
        """How many of a task's training images are fine-tuned on."""
        return num_train if self.examples == "all" else min(self.examples, num_train)

    def num_val(self, num_train: int) -> int:
        """How many of these the learning rate is chosen on, a fifth as in VTAB-1k; none where there is no choice."""
        return min(self.num_images(num_train) // 5, _MOST_VAL) if len(self.lr) > 1 else 0


class MeasureConfig(Section):
    """What the finished models are measured of beside their errors; see `sweeps.measure`.

    Attributes:
        names: keys of `sweeps.measure.MEASUREMENTS`; of a spec also "all", those that the model can give.
        max_examples: at most so many training images, and so many test images; what is dear takes a part of them.
        against: whose layers `cka` compares the model's with beside its own: the `model.safetensors` of another run, or
            "init", the untrained model.
        against_version: of that file its sha256, filled in; in place of its path it tells one run from another.
        label_sets: for `multi_label`, a JSON file of a list of valid labels for each test image of the upstream set.
        label_sets_version: as `against_version`.
        curvature_examples: of these, training images for `curvature`, which takes long; 16 cost as much as 5 to 15
            steps of 32 images.
        attack_radii: of "adversarial", greatest changes of a pixel, in units of pixels in [0, 1].
        attack_steps: of its projected gradient descent.
        robustness_examples: test images that "corruptions" and "adversarial" take, evenly of `max_examples`; the
            default costs a tiny model little and says little of it: an error of .5 is known to .10.
        landscape_points: of "loss_landscape", grid points a side; an odd number has the model itself in the middle.
        landscape_examples: training images that each point takes, of `max_examples` the first.
    """

    names: Annotated[
        tuple[MeasurementName, ...],
        _ONE_OR_MORE,
        AfterValidator(no_repeats),
    ] = ()
    max_examples: Count = 256
    against: str | None = None
    against_version: str | None = None
    label_sets: str | None = None
    label_sets_version: str | None = None
    curvature_examples: Count = 16
    attack_radii: Annotated[tuple[Radius, ...], AfterValidator(no_repeats)] = Field(default=(1 / 255,), min_length=1)
    attack_steps: Count = 10
    robustness_examples: Count = 24
    landscape_points: Annotated[Count, Field(ge=3), AfterValidator(_odd)] = 5
    landscape_examples: Count = 16

    _names_what_is_measured = _needs("names")


class RunConfig(Section):
    """One run: a model, a subset, a number of steps, a recipe, a seed.

    Attributes:
        precision: "auto" is bfloat16 on a GPU and float32 elsewhere; a record says which it was.
        threads: of the CPU; they change the last bits.
        compile: "auto" compiles each block with `torch.compile` on a GPU and nothing elsewhere.
        cuda_graph: replay the forward and backward pass as one CUDA graph.
        teacher_sha256: of the teacher's file, whose path is of the machine.
        keep_model: leave the last weights in the run's folder, as `model.safetensors`.
    """

    upstream: UpstreamConfig
    model: ModelConfig
    train_examples: Count
    steps: Whole
    recipe: RecipeConfig
    schedule: ScheduleConfig
    seed: Whole
    evaluate: EvaluateConfig
    downstream: DownstreamConfig
    measure: MeasureConfig = MeasureConfig()
    finetune: FinetuneConfig = FinetuneConfig()
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: Count = 1
    compile: Literal["auto", "off", "blocks"] = "auto"
    cuda_graph: bool = False
    teacher_sha256: str | None = None
    keep_model: bool = False
    numerics_version: int = NUMERICS_VERSION

    @property
    def run_id(self) -> str:
        """The same for the same config, wherever and whenever it runs, and wherever its data lie.

        A field at its default does not enter it, so that a later version with more fields finds its runs again; a
        default is never changed.
        """
        return _hash(self._identity())

    @property
    def trunk_id(self) -> str:
        """The same for runs that share their steps before the cooldown, apart from which of them are asked for."""
        values = self._identity()
        del values["steps"], values["schedule"]["cooldown_steps"]
        return _hash(values)

    def _identity(self) -> dict[str, Any]:
        of_the_machine: Any = {
            "upstream": {"folder", "workers"}, "model": {"checkpoint"}, "recipe": {"teacher"},
            "measure": {"against", "label_sets"}, "keep_model": True,
        }  # fmt: skip
        values = self.model_dump(mode="json", exclude=of_the_machine, exclude_defaults=True)
        for section in ("downstream", "finetune"):
            if tasks := values.get(section, {}).get("tasks"):
                values[section]["tasks"] = [task_name(task) for task in tasks]
        values["model"]["family"] = self.model.family  # a default, which tells the families apart
        return values | {"numerics_version": self.numerics_version}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that models are evaluated on, by few-shot and by fine-tuning; each stands once."""
        return tuple(dict.fromkeys((*self.downstream.tasks, *self.finetune.tasks)))

    @property
    def image_size(self) -> int:
        """Side of the upstream images, to which downstream ones are resized."""
        return self.upstream.image_size

    @property
    def num_classes(self) -> int:
        """Classes of the upstream set."""
        return self.upstream.num_classes

    @property
    def branch_step(self) -> int:
        """The first step of the cooldown."""
        return self.steps - self.schedule.cooldown_steps


def _hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]
