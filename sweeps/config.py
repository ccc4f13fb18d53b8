"""The resolved config of one run: every choice, and nothing that depends on where it runs. Its hash is the run id."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .data.datasets import find_dataset
from .recipes import find_recipe

__all__ = [
    "NUMERICS_VERSION", "DatasetName", "DownstreamConfig", "EvaluateConfig", "ModelConfig", "RecipeConfig",
    "ResNetConfig",
    "RunConfig", "ScheduleConfig", "Section", "UpstreamConfig",
    "VitConfig",
]  # fmt: skip

NUMERICS_VERSION = 1  # raised when a change of the code changes the golden losses


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _no_repeats(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("must not repeat a value")
    return values


_LARGEST = 2**31 - 1  # what every library below takes for a whole number
Count = Annotated[int, BeforeValidator(_no_flag), Field(ge=1, le=_LARGEST)]
Seed = Annotated[int, BeforeValidator(_no_flag), Field(ge=0, le=_LARGEST)]
Amount = Annotated[float, BeforeValidator(_no_flag)]
DatasetName = Annotated[str, AfterValidator(lambda name: find_dataset(name).name)]


class Section(BaseModel):
    """A part of a config: frozen, and no field that is not named here."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class UpstreamConfig(Section):
    """The data set trained on; `version` is its identity."""

    dataset: DatasetName
    version: str
    num_train: int
    num_val: int
    folder: str | None = None


class VitConfig(Section):
    """A vision transformer: `patch` in pixels, `width` and `mlp_dim` in units, `depth` in blocks.

    Heads default to one for each 64 units of width, the MLP to 4 times the width, as in Dosovitskiy et al. 2020.
    """

    family: Literal["vit"] = "vit"
    width: Count
    depth: Count
    patch: Count
    heads: Count
    mlp_dim: Count
    pooling: Literal["avg", "token", "map"] = "avg"

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        width = values.get("width")
        known = width if isinstance(width, int) and width > 0 else 1  # a bad width is reported as such, alone
        return {"heads": max(1, known // 64), "mlp_dim": 4 * known, **values}

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "VitConfig":
        if self.width % self.heads:
            raise ValueError(f"heads must divide width, got {self.heads} heads and width {self.width}")
        return self

    @property
    def variant(self) -> str:
        return f"w{self.width}d{self.depth}/{self.patch}"


class ResNetConfig(Section):
    """A residual network of basic blocks: `width` channels in the first stage, doubled in each further one."""

    family: Literal["resnet"] = "resnet"
    width: Count = Field(multiple_of=2)
    depth: tuple[Count, ...] = Field(min_length=1, max_length=4)

    @model_validator(mode="after")
    def _two_blocks(self) -> "ResNetConfig":
        if sum(self.depth) < 2:  # timm divides by the number of blocks less one
            raise ValueError(f"depth must hold at least two blocks, got {list(self.depth)}")
        return self

    @property
    def variant(self) -> str:
        return f"w{self.width}d{'-'.join(map(str, self.depth))}"


ModelConfig = Annotated[VitConfig | ResNetConfig, Field(discriminator="family")]


class RecipeConfig(Section):
    """How a model is trained, the schedule apart: a row of `sweeps.recipes.RECIPES`, and what a spec changes of it."""

    name: str = "small_scale"
    optimizer: Literal["adamw"]
    lr: Amount = Field(gt=0)
    weight_decay: float = Field(ge=0)
    head_lr_multiplier: float = Field(gt=0)
    head_weight_decay: float = Field(ge=0)
    batch_size: Count
    augment: Literal["crop_flip", "none"]
    label_smoothing: float = Field(ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {**find_recipe(values.get("name", "small_scale")).fields, **values}


class ScheduleConfig(Section):
    """The learning rate's course; see `sweeps.schedules`."""

    kind: str
    warmup_steps: int = Field(ge=0)
    cooldown_steps: int = Field(ge=0)


class EvaluateConfig(Section):
    """Upstream evaluation: every so many steps (None: only at the end), on at most so many test images."""

    every_steps: Count | None = None
    max_upstream: Count | None = None


class DownstreamConfig(Section):
    """Few-shot linear evaluation of frozen features."""

    tasks: Annotated[tuple[DatasetName, ...], AfterValidator(_no_repeats)] = ()
    shots: Annotated[tuple[Count, ...], AfterValidator(_no_repeats)] = Field(default=(1, 5, 10), min_length=1)
    draws: Count = 3
    max_eval: Count | None = 1000


class RunConfig(Section):
    """One run: a model, a subset, a number of steps, a recipe, a seed.

    `precision` "auto" is bfloat16 on a GPU and float32 elsewhere; a record says which it was.
    """

    upstream: UpstreamConfig
    model: ModelConfig
    train_examples: Count
    steps: Count
    recipe: RecipeConfig
    schedule: ScheduleConfig
    seed: Seed
    evaluate: EvaluateConfig
    downstream: DownstreamConfig
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: Count = 1
    numerics_version: int = NUMERICS_VERSION

    @property
    def run_id(self) -> str:
        """The same for the same config, wherever and whenever it runs, and wherever its data lie."""
        return _hash(self._identity())

    @property
    def trunk_id(self) -> str:
        """The same for runs that share their steps before the cooldown, apart from which of them are asked for."""
        values = self._identity()
        del values["steps"], values["schedule"]["cooldown_steps"]
        return _hash(values)

    def _identity(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"upstream": {"folder"}})

    @property
    def image_size(self) -> int:
        """Side of the upstream images, to which downstream ones are resized."""
        return find_dataset(self.upstream.dataset).image_size

    @property
    def num_classes(self) -> int:
        """Classes of the upstream set."""
        return find_dataset(self.upstream.dataset).num_classes

    @property
    def branch_step(self) -> int:
        """The first step of the cooldown."""
        return self.steps - self.schedule.cooldown_steps


def _hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]
