"""One cell of a spec: the fields of a run, checked one by one."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ..models import ModelConfig
from .class_map import check_class_map
from .config import DatasetName, DownstreamConfig, FinetuneConfig, MeasureConfig, RecipeConfig, ScheduleKind
from .durations import Duration, parse_duration
from .fields import Amount as Number
from .fields import Count, Section, Whole
from .rates import with_rates

__all__ = ["CellSpec", "EvaluateSpec", "ScheduleSpec", "UpstreamSpec"]


def _amount(value: Any) -> Duration:
    duration = parse_duration(value, unit="examples")
    if duration.unit not in ("examples", "%") or not duration.value > 0:
        raise ValueError("must be a number of images or a percentage, such as 1000 or '10%'")
    if duration.unit == "%" and duration.value > 100:
        raise ValueError("must be at most 100%")
    return duration


def _num_steps(value: Any) -> Duration | None:
    duration = None if value is None else parse_duration(value)
    if duration and duration.unit != "steps":
        raise ValueError("must be a number of steps; epochs and examples have fields of their own")
    return duration


Amount = Annotated[Any, BeforeValidator(_amount)]
Length = Annotated[Any, BeforeValidator(parse_duration)]


class UpstreamSpec(Section):
    """`num_images`: of a generated set, how many training images there are. `image_size`: None is the set's own."""

    dataset: DatasetName
    num_images: Count | None = None
    val_fraction: Number = Field(default=0.02, ge=0, le=0.5)
    image_size: Count | None = None
    folder: str | None = None
    stream: bool = False
    workers: Count = 1
    remove_duplicates: bool = False


class ScheduleSpec(Section):
    kind: ScheduleKind
    warmup: Length = Duration(0, "steps")
    cooldown: Length = Duration(0, "steps")
    timescale: Length = Duration(10_000, "steps")


class EvaluateSpec(Section):
    every: Length | None = None
    max_upstream: Count | None = None
    max_train: Whole = 1000
    stop_after: Count | None = None
    class_map: Annotated[Any, BeforeValidator(check_class_map)] = None


class CellSpec(Section):
    """One cell of the grid, as a spec writes it."""

    upstream: UpstreamSpec
    model: ModelConfig
    train_examples: Amount = Duration(100, "%")
    steps: Annotated[Any, BeforeValidator(_num_steps)] = None
    epochs: Number | None = Field(default=None, gt=0, le=1e9)
    examples: Number | None = Field(default=None, gt=0, le=1e15)
    recipe: RecipeConfig = Field(default_factory=lambda: RecipeConfig.model_validate({}))
    schedule: ScheduleSpec | None = None
    seed: Whole = 0
    evaluate: EvaluateSpec = EvaluateSpec()
    downstream: DownstreamConfig = DownstreamConfig()
    measure: MeasureConfig = MeasureConfig()
    finetune: FinetuneConfig = FinetuneConfig()
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: Count = 1
    compile: Literal["auto", "off", "blocks"] = "auto"
    cuda_graph: bool = False
    devices_per_run: Count = 1
    micro_batches: Count = 1
    checkpoint_activations: bool = False
    keep_model: bool = False

    @field_validator("recipe", mode="before")
    @classmethod
    def _rates_by_rule(cls, recipe: Any, info: ValidationInfo) -> Any:
        is_known = "model" in info.data  # else the cell has a fault of its own, told alone
        return with_rates(recipe, getattr(info.data["model"], "width", None) if is_known else 1)

    @property
    def length(self) -> Duration | None:
        """How long the run is; None leaves it to the recipe."""
        if self.epochs or self.examples:
            return Duration(self.epochs, "epochs") if self.epochs else Duration(self.examples or 0, "examples")
        return self.steps
