"""A sweep's spec: one YAML file, in which a list anywhere is an axis of the grid. Every fault names its field."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import yaml
from pydantic import ValidationError

from ..models import FAMILIES
from .cell import CellSpec
from .faults import SWEEP_FIELDS, SpecError, fault_lines, near, sentences

__all__ = ["SweepSpec", "parse_spec", "read_spec"]

_LENGTHS = ("steps", "epochs", "examples")
# Fields whose value is itself a list; there, a list of lists is an axis.
_LIST_FIELDS = {
    "model.resnet.depth", "model.bit.depth", "model.convnext.depth", "model.modernised_resnet.depth",
    "model.hybrid.stem_depth", "downstream.tasks", "downstream.shots", "downstream.layers", "downstream.probes",
    "evaluate.class_map", "measure.names", "measure.attack_radii", "finetune.tasks", "finetune.lr",
}  # fmt: skip
_LONGEST_NAME = 255  # bytes, of most file systems


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
    for values in _expand_cells({key: value for key, value in raw.items() if key not in SWEEP_FIELDS}):
        num_cells += 1
        try:
            cells.append(CellSpec.model_validate(values))
        except ValidationError as error:
            faults.update(list(dict.fromkeys(sentences(error))))
    if faults:
        raise SpecError(fault_lines(faults, num_cells))
    return SweepSpec(name, order, tuple(cells))


def _can_name_a_folder(name: Any) -> TypeGuard[str]:
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or set(name) & set("/\\"):
        return False
    return name.isprintable() and len(name.encode()) <= _LONGEST_NAME


# Fields of one cell -------------------------------------------------------------------------------------------


# The grid -----------------------------------------------------------------------------------------------------


def _expand_cells(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every cell: each model entry crossed with the axes of the rest, whose fields an entry may replace for itself."""
    families = raw.pop("model", None)
    if not isinstance(families, Mapping) or not families:
        raise SpecError(f"model: must map a family of {list(FAMILIES)} to a list of shapes, got {families!r}")
    raw = _seeds_as_seed(raw)
    for family, entries in families.items():
        if family not in FAMILIES:
            raise SpecError(f"model: unknown family {family!r}{near(family, list(FAMILIES))} valid: {list(FAMILIES)}")
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
