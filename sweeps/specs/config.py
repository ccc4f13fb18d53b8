"""The resolved config of one run: every choice, and nothing that depends on where it runs. Its hash is the run id."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from ..data.datasets import check_dataset_name, task_name
from ..models import ModelConfig
from ..training.schedules import SCHEDULES
from .asked import DownstreamConfig, FinetuneConfig, MeasureConfig
from .fields import Amount, Count, Fraction, Radius, Section, Whole
from .recipes import find_recipe

__all__ = [
    "NUMERICS_VERSION", "DatasetName", "DownstreamConfig", "EvaluateConfig", "FinetuneConfig", "MeasureConfig",
    "RecipeConfig", "RunConfig", "ScheduleConfig", "ScheduleKind", "UpstreamConfig",
]  # fmt: skip

NUMERICS_VERSION = 2  # raised when a change of the code changes the golden losses

DatasetName = Annotated[str, AfterValidator(check_dataset_name)]


def _kind(value: Any) -> Any:
    if not isinstance(value, str) or value not in SCHEDULES:
        raise ValueError(f"must be one of {sorted(SCHEDULES)}")
    return value


ScheduleKind = Annotated[str, BeforeValidator(_kind)]


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
    """How a model is trained, the schedule apart: a row of `RECIPES`, and what a spec changes of it.

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
        rand_augment_policy: whose list of operations and ranges, see `sweeps.augment.operations`.
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
    """The learning rate's course; see `sweeps.training.schedules`.

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


class RunConfig(Section):
    """One run: a model, a subset, a number of steps, a recipe, a seed.

    Attributes:
        precision: "auto" is bfloat16 on a GPU and float32 elsewhere; a record says which it was.
        threads: of the CPU; they change the last bits.
        compile: "auto" compiles each block with `torch.compile` on a GPU and nothing elsewhere.
        cuda_graph: replay the forward and backward pass as one CUDA graph.
        devices_per_run: of one machine, which share each batch; they change the last bits.
        micro_batches: parts that a batch's gradient is added up from, one after the other, to take less memory; they
            change the last bits.
        checkpoint_activations: keep each block's input only and compute the rest again for the gradient.
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
    devices_per_run: Count = 1
    micro_batches: Count = 1
    checkpoint_activations: bool = False
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
