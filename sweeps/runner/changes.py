"""What changed since a sweep's folder was last run: its runs, the code, the libraries."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ..paths import SweepPaths
from ..specs.faults import SpecError
from ..specs.grid import Plan
from .frozen_code import changed_files, code_files
from .frozen_plan import FrozenPlan, config_fields

__all__ = ["ChangedSweepError", "code_changes", "spec_changes"]

_MOST_FIELDS, _MOST_VALUES, _MOST_FILES = 12, 6, 8


class ChangedSweepError(SpecError):
    """A folder that was run with another spec, code or library, which somebody has to accept."""

    def __init__(self, lines: Iterable[str]):
        super().__init__("\n".join([*lines, "nothing was written; --accept-changes goes on, --out starts another"]))


def spec_changes(old: FrozenPlan, plan: Plan, finished: Collection[str]) -> list[str]:
    """Lines that say which runs are new and which are no longer asked for; none where they are the same.

    Args:
        old: what the folder was last asked for.
        finished: run ids.
    """
    before = {run.run_id: run.config for run in old.runs}
    now = {config.run_id: config for config in plan.configs}
    new, dropped, same = (now.keys() - before.keys(), before.keys() - now.keys(), now.keys() & before.keys())
    if not new and not dropped:
        return []
    done = {name: len(ids.intersection(finished)) for name, ids in (("dropped", dropped), ("same", same))}
    lines = [
        f"the runs that the spec asks for changed: {len(new)} new, {len(dropped)} no longer asked for"
        f" ({done['dropped']} of them finished), {len(same)} the same ({done['same']} of them finished)"
    ]
    if new and dropped:
        values = [before[run_id] for run_id in dropped], [now[run_id].model_dump(mode="json") for run_id in new]
    else:
        values = list(before.values()), [config.model_dump(mode="json") for config in now.values()]
    return [*lines, *_few(_changed_fields(*values), _MOST_FIELDS, "fields more")]


def code_changes(
    old: FrozenPlan, files: Mapping[str, bytes], code: str, versions: Mapping[str, str], paths: SweepPaths
) -> list[str]:
    """Lines that say which files and libraries changed; none where they are the same.

    Args:
        files, code: this code and its hash.
        versions: of the libraries now.
    """
    lines = []
    if old.code and old.code != code:
        frozen = code_files(paths.folder / "code" / old.code)
        names = changed_files(frozen, files) if frozen else []
        more = f" and {len(names) - _MOST_FILES} more" * (len(names) > _MOST_FILES)
        which = f": {', '.join(names[:_MOST_FILES])}{more}" if names else f" from {old.code} to {code}"
        lines.append(f"the code changed{which}")
    for name, version in old.versions.items():
        if version != (found := versions.get(name)):
            lines.append(f"{name} changed: {version} -> {found}")
    return lines


def _changed_fields(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each field that takes other values in the one than in the other."""
    before, now = _values(old), _values(new)
    for name in dict.fromkeys((*before, *now)):
        if before[name].keys() != now[name].keys():
            yield f"  {name}: {_written(before[name])} -> {_written(now[name])}"


def _values(configs: Iterable[Mapping[str, Any]]) -> defaultdict[str, dict[str, Any]]:
    """Each field's distinct values, by how they are written."""
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for config in configs:
        for name, value in config_fields(config):
            found[name][str(value)] = value
    return found


def _written(values: Mapping[str, Any]) -> str:
    """
    >>> _written({"10": 10, "2": 2, "None": None})
    'None, 2, 10'
    """

    def key(text: str) -> tuple[float, str]:
        return (values[text], "") if isinstance(values[text], int | float) else (-math.inf, text)

    return ", ".join(_few(sorted(values, key=key), _MOST_VALUES, "more")) or "not there"


def _few(lines: Iterable[str], most: int, rest: str) -> list[str]:
    lines = list(lines)
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} {rest}"]
