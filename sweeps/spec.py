"""A sweep's spec: one YAML file, in which a list anywhere is an axis of the grid. Every fault names its field."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BeforeValidator, Field, ValidationError

from .config import DatasetName, DownstreamConfig, RecipeConfig, ScheduleKind
from .durations import Duration, parse_duration
from .fields import Count, Section, Seed
from .models import FAMILIES, ModelConfig

__all__ = ["CellSpec", "SpecError", "SweepSpec", "parse_spec", "read_spec"]

_LENGTHS = ("steps", "epochs", "examples")
# Fields whose value is itself a list; there, a list of lists is an axis.
_LIST_FIELDS = {
    "model.resnet.depth", "model.bit.depth", "model.convnext.depth", "model.modernised_resnet.depth",
    "model.hybrid.stem_depth", "downstream.tasks", "downstream.shots",
}  # fmt: skip
_SWEEP_FIELDS = ("name", "order")  # of the sweep, not of a cell
_MAX_SHOWN_ERRORS = 8


class SpecError(ValueError):
    """A spec that cannot be run; a line a fault: the field, the value got, what is valid."""


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a field that stands twice is a fault; plain YAML takes the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"{key!r} stands twice in one section{node.start_mark}")
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class SweepSpec:
    """A checked spec: its name, the order of its runs, and its cells."""

    name: str
    order: str
    cells: tuple["CellSpec", ...]


def read_spec(path: str | Path) -> SweepSpec:
    """The spec in a YAML file.

    Raises:
        SpecError: no such file, not YAML, or a field is unknown, missing or out of range.
    """
    try:
        raw = yaml.load(Path(path).read_text(), Loader=_UniqueKeys)
    except OSError as error:
        raise SpecError(f"no spec can be read at {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    try:
        return parse_spec(raw)
    except RecursionError:
        raise SpecError(f"{path}: a field holds itself") from None
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error


def parse_spec(raw: Any) -> SweepSpec:
    """The spec in a mapping, such as YAML gives.

    Raises:
        SpecError: a line a fault.

    >>> spec = parse_spec({
    ...     "name": "tiny", "upstream": {"dataset": "digits"},
    ...     "model": {"vit": [{"width": [16, 32], "depth": 1, "patch": 2}]},
    ...     "train_examples": [100, 500], "steps": 10})
    >>> len(spec.cells)
    4
    """
    if not isinstance(raw, Mapping):
        raise SpecError(f"a spec is a mapping of fields, got {type(raw).__name__}")
    name = raw.get("name")
    if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\\0"):
        raise SpecError(f"name: must be a text that can name a folder, got {name!r}")
    order = raw.get("order", "cheapest_first")
    if order not in ("cheapest_first", "largest_first"):
        raise SpecError(f"order: must be 'cheapest_first' or 'largest_first', got {order!r}")
    errors: dict[str, None] = {}
    cells = []
    for values in _expand_cells({key: value for key, value in raw.items() if key not in _SWEEP_FIELDS}):
        try:
            cells.append(CellSpec.model_validate(values))
        except ValidationError as error:
            errors |= dict.fromkeys(_sentences(error, values))
    if errors:
        shown = list(errors)[:_MAX_SHOWN_ERRORS]
        more = [f"and {len(errors) - len(shown)} more"] if len(errors) > len(shown) else []
        raise SpecError("\n".join(shown + more))
    return SweepSpec(name, order, tuple(cells))


# Fields of one cell -------------------------------------------------------------------------------------------


def _amount(value: Any) -> Duration:
    duration = parse_duration(value, unit="examples")
    if duration.unit not in ("examples", "%") or not duration.value > 0:
        raise ValueError("must be a number of images or a percentage, such as 1000 or '10%'")
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
    val_fraction: float = Field(default=0.02, ge=0, le=0.5)
    image_size: Count | None = None
    folder: str | None = None
    stream: bool = False
    workers: Count = 1
    remove_duplicates: bool = False


class ScheduleSpec(Section):
    kind: ScheduleKind
    warmup: Length = Duration(0, "steps")
    cooldown: Length = Duration(0, "steps")


class EvaluateSpec(Section):
    every: Length | None = None
    max_upstream: Count | None = None
    max_train: int = Field(default=1000, ge=0)
    stop_after: Count | None = None


class CellSpec(Section):
    """One cell of the grid, as a spec writes it."""

    upstream: UpstreamSpec
    model: ModelConfig
    train_examples: Amount = Duration(100, "%")
    steps: Annotated[Any, BeforeValidator(_num_steps)] = None
    epochs: float | None = Field(default=None, gt=0, le=1e9)
    examples: float | None = Field(default=None, gt=0, le=1e15)
    recipe: RecipeConfig = Field(default_factory=lambda: RecipeConfig.model_validate({}))
    schedule: ScheduleSpec | None = None
    seed: Seed = 0
    evaluate: EvaluateSpec = EvaluateSpec()
    downstream: DownstreamConfig = DownstreamConfig()
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: Count = 1
    compile: Literal["auto", "off", "blocks"] = "auto"
    cuda_graph: bool = False
    keep_model: bool = False

    @property
    def length(self) -> Duration | None:
        """How long the run is; None leaves it to the recipe."""
        if self.epochs or self.examples:
            return Duration(self.epochs, "epochs") if self.epochs else Duration(self.examples or 0, "examples")
        return self.steps


# The grid -----------------------------------------------------------------------------------------------------


def _expand_cells(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every cell: each model entry crossed with the axes of the rest, whose fields an entry may replace for itself."""
    families = raw.pop("model", None)
    if not isinstance(families, Mapping) or not families:
        raise SpecError(f"model: must map a family of {list(FAMILIES)} to a list of shapes, got {families!r}")
    raw = _seeds_as_seed(raw)
    for family, entries in families.items():
        if family not in FAMILIES:
            raise SpecError(f"model: unknown family {family!r}; valid: {list(FAMILIES)}")
        if entries in ([], None):
            raise SpecError(f"model.{family}: needs at least one shape, got {entries!r}")
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, str):
                entry = {"variant": entry}
            if not isinstance(entry, Mapping):
                raise SpecError(
                    f"model.{family}: each entry must be a mapping such as {{width: 32}} or a name, got {entry!r}"
                )
            entry = _seeds_as_seed(entry)
            rest = _with_overrides(raw, {key: value for key, value in entry.items() if key in CellSpec.model_fields})
            if len(given := [length for length in _LENGTHS if length in rest]) > 1:
                raise SpecError(f"give one of {_LENGTHS}, got {given}")
            shape = {key: value for key, value in entry.items() if key not in CellSpec.model_fields}
            for model in _axes(shape, f"model.{family}"):
                for values in _axes(rest, ""):
                    yield {"model": {"family": family, **model}, **values}


def _seeds_as_seed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A spec lists `seeds`; each cell has one `seed`."""
    if "seed" in fields:
        raise SpecError("seed: the field is called seeds, one or a list")
    return {"seed" if key == "seeds" else key: value for key, value in fields.items()}


def _with_overrides(raw: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """A section is merged field by field, anything else replaced; one kind of length replaces another."""
    if any(length in overrides for length in _LENGTHS):
        raw = {key: value for key, value in raw.items() if key not in _LENGTHS}
    merged = {
        key: {**raw[key], **value} if isinstance(value, Mapping) and isinstance(raw.get(key), Mapping) else value
        for key, value in overrides.items()
    }
    return {**raw, **merged}


def _axes(value: Any, field: str) -> list[Any]:
    """All choices of a value: a list is an axis, a mapping the product of its fields' axes."""
    if isinstance(value, Mapping):
        choices = [_axes(item, f"{field}.{key}".lstrip(".")) for key, item in value.items()]
        return [dict(zip(value, chosen, strict=True)) for chosen in itertools.product(*choices)]
    if not isinstance(value, list):
        return [value]
    if field in _LIST_FIELDS and not any(isinstance(item, list) for item in value):
        return [value]
    if field in _LIST_FIELDS:
        return value
    if not value:
        raise SpecError(f"{field}: an axis needs at least one value, got []")
    return [choice for item in value for choice in _axes(item, field)]


# Messages -----------------------------------------------------------------------------------------------------


def _sentences(error: ValidationError, values: Mapping[str, Any]) -> Iterator[str]:
    for fault in error.errors():
        field = ".".join(str(part) for part in fault["loc"])
        field = "seeds" if field == "seed" else field
        got = fault["input"]
        if fault["type"] == "extra_forbidden":
            yield f"{field}: unknown field; valid: {_valid_fields(fault['loc'][:-1])}"
        elif fault["type"] == "missing":
            yield f"{field}: missing"
        else:
            message = fault["msg"].removeprefix("Value error, ")
            shown = "" if isinstance(got, Mapping) or repr(got) in message else f", got {got!r}"
            yield f"{field}: {message[0].lower() + message[1:]}{shown}"


def _valid_fields(path: tuple[Any, ...]) -> list[str]:
    """The fields of the section at a path of fields."""
    if not path:
        return sorted({*CellSpec.model_fields, *_SWEEP_FIELDS, "seeds"} - {"seed"})
    if path[0] == "model":
        return sorted({*FAMILIES[path[1]].model_fields, "variant"} - {"family"})
    section: Any = CellSpec
    for part in path:
        annotation = section.model_fields[part].annotation
        section = next(t for t in (annotation, *get_args(annotation)) if isinstance(t, type) and issubclass(t, Section))
    return sorted(section.model_fields)
