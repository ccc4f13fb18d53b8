"""A sweep's spec: one YAML file, in which a list anywhere is an axis of the grid. Every fault names its field."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard, get_args

import yaml
from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator

from ..models import FAMILIES, ModelConfig
from .class_map import check_class_map
from .config import DatasetName, DownstreamConfig, FinetuneConfig, MeasureConfig, RecipeConfig, ScheduleKind
from .durations import Duration, parse_duration
from .fields import Amount as Number
from .fields import Count, Section, Whole, near_name
from .rates import RATE_FIELDS, RateRule, with_rates

__all__ = ["CellSpec", "SpecError", "SweepSpec", "fault_lines", "parse_spec", "read_spec"]

_LENGTHS = ("steps", "epochs", "examples")
# Fields whose value is itself a list; there, a list of lists is an axis.
_LIST_FIELDS = {
    "model.resnet.depth", "model.bit.depth", "model.convnext.depth", "model.modernised_resnet.depth",
    "model.hybrid.stem_depth", "downstream.tasks", "downstream.shots", "downstream.layers", "downstream.probes",
    "evaluate.class_map", "measure.names", "measure.attack_radii", "finetune.tasks", "finetune.lr",
}  # fmt: skip
_SWEEP_FIELDS = ("name", "order")  # of the sweep, not of a cell
_MAX_SHOWN_ERRORS = 8
_LONGEST_NAME = 255  # bytes, of most file systems


_LONGEST_LINE, _END = 1200, 200  # characters of a fault, room for each list of valid names; of them after a cut


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - _END]} ... {line[-_END:]}"


class SpecError(ValueError):
    """A spec that cannot be run; a line a fault: the field, the value got, what is valid.

    A line that a value makes longer than a terminal shows is cut in its middle.
    """

    def __init__(self, message: str):
        super().__init__("\n".join(_cut(line) for line in message.split("\n")))


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a field that stands twice is a fault, and so is a number that plain YAML reads as another one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"{key!r} stands twice in one section{node.start_mark}")
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        text = node.value
        if ":" in text or re.fullmatch(r"[-+]?0[0-9_]+", text):  # of base 60, and of base 8
            raise yaml.YAMLError(f"{text!r} is no decimal number; quote what is a text{node.start_mark}")
        is_float = node.tag == "tag:yaml.org,2002:float"
        return self.construct_yaml_float(node) if is_float else self.construct_yaml_int(node)


for _kind in ("int", "float"):
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _StrictLoader.construct_number)


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
        raw = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_StrictLoader)
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
    if not _can_name_a_folder(name):
        raise SpecError(f"name: must be a text that can name a folder, got {name!r}")
    order = raw.get("order", "cheapest_first")
    if order not in ("cheapest_first", "largest_first"):
        raise SpecError(f"order: must be 'cheapest_first' or 'largest_first', got {order!r}")
    faults: Counter[str] = Counter()
    cells, num_cells = [], 0
    for values in _expand_cells({key: value for key, value in raw.items() if key not in _SWEEP_FIELDS}):
        num_cells += 1
        try:
            cells.append(CellSpec.model_validate(values))
        except ValidationError as error:
            faults.update(list(dict.fromkeys(_sentences(error))))
    if faults:
        raise SpecError(fault_lines(faults, num_cells))
    return SweepSpec(name, order, tuple(cells))


def _can_name_a_folder(name: Any) -> TypeGuard[str]:
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or set(name) & set("/\\"):
        return False
    return name.isprintable() and len(name.encode()) <= _LONGEST_NAME


def fault_lines(faults: Mapping[str, int], num_cells: int) -> str:
    """A line a fault, with how many of the cells have it where it is not all of them; of many the first few.

    >>> print(fault_lines({"steps: ...": 2, "threads: ...": 8}, num_cells=8))
    steps: ... (in 2 of 8 cells)
    threads: ...
    """
    lines = [
        line if count == num_cells else f"{line} (in {count} of {num_cells} cells)" for line, count in faults.items()
    ]
    more = [f"and {len(lines) - _MAX_SHOWN_ERRORS} more"] if len(lines) > _MAX_SHOWN_ERRORS else []
    return "\n".join(lines[:_MAX_SHOWN_ERRORS] + more)


# Fields of one cell -------------------------------------------------------------------------------------------


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


# The grid -----------------------------------------------------------------------------------------------------


def _expand_cells(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every cell: each model entry crossed with the axes of the rest, whose fields an entry may replace for itself."""
    families = raw.pop("model", None)
    if not isinstance(families, Mapping) or not families:
        raise SpecError(f"model: must map a family of {list(FAMILIES)} to a list of shapes, got {families!r}")
    raw = _seeds_as_seed(raw)
    for family, entries in families.items():
        if family not in FAMILIES:
            raise SpecError(f"model: unknown family {family!r}{_near(family, list(FAMILIES))} valid: {list(FAMILIES)}")
        if entries in ([], None):
            raise SpecError(f"model.{family}: needs at least one shape, got {entries!r}")
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, str | int) and not isinstance(entry, bool):  # YAML takes ResNet's 50 for a number
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
    """A section is merged field by field, a list of sections each of them; anything else is replaced.

    One kind of length replaces another.
    """
    if any(length in overrides for length in _LENGTHS):
        raw = {key: value for key, value in raw.items() if key not in _LENGTHS}
    return {**raw, **{key: _merged(raw.get(key), value) for key, value in overrides.items()}}


def _merged(general: Any, own: Any) -> Any:
    if not isinstance(own, Mapping):
        return own
    if isinstance(general, list):
        return [_merged(section, own) for section in general]
    return {**general, **own} if isinstance(general, Mapping) else own


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
        field = "seeds" if field == "seed" else field
        raise SpecError(f"{field}: an axis needs at least one value, got []")
    return [choice for item in value for choice in _axes(item, field)]


# Messages -----------------------------------------------------------------------------------------------------


def _sentences(error: ValidationError) -> Iterator[str]:
    faults = error.errors(include_url=False)
    inner = {fault["loc"][:-1] for fault in faults}
    for fault in faults:
        if fault["type"] == "too_short" and fault["loc"] in inner:
            continue  # pydantic counts the valid values only, and the others are told
        field = ".".join(str(part) for part in fault["loc"])
        field = "seeds" if field == "seed" else field
        got = fault["input"]
        if fault["type"] == "extra_forbidden":
            valid = _valid_fields(fault["loc"][:-1])
            yield f"{field}: unknown field{_near(fault['loc'][-1], valid)} valid: {valid}"
        elif fault["type"] == "missing":
            yield f"{field}: missing"
        elif fault["type"] == "model_type":
            yield f"{field}: must be a mapping of {_valid_fields(fault['loc'])}, got {got!r}"
        else:
            message = fault["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
            if fault["type"] == "too_short":
                message = "needs at least one value"
            shown = "" if isinstance(got, Mapping) or f"got {got!r}" in message else f", got {got!r}"
            yield f"{field}: {message[0].lower() + message[1:]}{shown}{_near_choice(message + shown)}"


def _near_choice(sentence: str) -> str:
    """What was meant by a name that is none of those in quotes before it."""
    *valid, got = re.findall(r"'([^']+)'", sentence) or [""]
    return near_name(got, valid) if sentence.endswith(f"got {got!r}") else ""


def _near(name: Any, valid: list[str]) -> str:
    """What was meant by an unknown name: a near one of its section, or the same one of another."""
    of_sections = {f"{section}.{name}" for section in CellSpec.model_fields if name in _fields_in(section)}
    return near_name(str(name), valid, *sorted(of_sections)) or ";"


def _fields_in(section: str) -> list[str]:
    """Of a section other than the model, whose fields depend on the family; [] of what is no section."""
    annotation = CellSpec.model_fields[section].annotation
    sections = [t for t in (annotation, *get_args(annotation)) if isinstance(t, type) and issubclass(t, Section)]
    return [] if section == "model" else [name for found in sections for name in found.model_fields]


def _valid_fields(path: tuple[Any, ...]) -> list[str]:
    """The fields of the section at a path of fields."""
    if not path:
        return sorted({*CellSpec.model_fields, *_SWEEP_FIELDS, "seeds"} - {"seed"})
    if path[0] == "model":
        return sorted({*FAMILIES[path[1]].model_fields, "variant"} - {"family"})
    if path[0] == "recipe" and path[1:2] and path[1] in RATE_FIELDS:
        return sorted(RateRule.model_fields)
    return sorted(_fields_in(path[0]))
