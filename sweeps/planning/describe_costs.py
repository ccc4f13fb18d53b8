"""What a plan costs, in words: time, memory, disk, what a cap would cut, and what must be warned of."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from ..runner.progress import format_seconds

__all__ = ["describe_costs", "format_bytes"]

_MOST_ROWS = 24
_WIDTH = 80


def describe_costs(facts: Mapping[str, Any]) -> str:
    """Lines of at most 80 columns from what `plan_facts` gives."""
    sections = (_totals(facts), _time(facts["time"]), _memory(facts["memory"]), _caps(facts["caps"]), _warnings(facts))
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section)))


def format_bytes(num_bytes: float) -> str:
    """
    >>> format_bytes(2**20), format_bytes(3.5 * 2**30)
    ('1 MiB', '3.5 GiB')
    """
    power = max(p for p in range(5) if p == 0 or num_bytes >= 1024**p)
    return f"{num_bytes / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _totals(facts: Mapping[str, Any]) -> Iterator[str]:
    flops, disk, time = facts["flops"], facts["disk"], facts["time"]
    finetuning = f" ({flops['finetuning']:.2e} of it fine-tuning)" if flops["finetuning"] else ""
    yield f"{'FLOPs':<20}{flops['total']:.2e}{finetuning}"
    if time:
        by_one = f" ({format_seconds(time['slot_seconds'])} of one)" if time["num_slots"] > 1 else ""
        slots = f"{time['num_slots']} slot{'s' * (time['num_slots'] > 1)}"
        yield f"{'time':<20}about {format_seconds(time['wall_seconds'])} on {slots}{by_one},"
        around = f"{time['beginning_seconds']:.0f} s to begin, {time['ending_seconds']:.0f} s for tables and fits"
        yield f"{'':<20}of it {around}"
    yield (
        f"{'disk':<20}{format_bytes(disk['folder'])}: records {format_bytes(disk['records'])}, checkpoints"
        f" {format_bytes(disk['checkpoints'])}" + (f", models {format_bytes(disk['models'])}" if disk["models"] else "")
    )
    if disk["cache"]:
        yield f"{'images to decode':<20}{disk['num_undecoded']:,}, {format_bytes(disk['cache'])} in the cache"


def _time(time: Mapping[str, Any] | None) -> Iterator[str]:
    if not time:
        return
    yield f"{'time by shape':<30}{'px':>5}{'batch':>7}{'ms/step':>10}{'s/run':>8}{'runs':>7}{'share':>7}"
    shapes = sorted(time["shapes"], key=lambda shape: -shape["seconds"])
    for shape in shapes[:_MOST_ROWS]:
        name, share = f"{shape['family']} {shape['variant']}", shape["seconds"] / max(time["slot_seconds"], 1e-9)
        yield (
            f"{name:<30}{shape['image_size']:>5}{shape['batch_size']:>7}{1e3 * shape['step_seconds']:>10.3g}"
            f"{shape['seconds'] / shape['num_runs']:>8.3g}{shape['num_runs']:>7,}{share:>7.0%}"
        )
        if shape["source"] != "measured":
            yield from textwrap.wrap(shape["source"], _WIDTH, initial_indent="  ", subsequent_indent="  ")
    if len(shapes) > _MOST_ROWS:
        yield f"and {len(shapes) - _MOST_ROWS} more"


def _memory(memory: Mapping[str, Any]) -> Iterator[str]:
    largest = max(memory["models"], key=lambda model: model["bytes"]["total"], default=None)
    if largest:
        parts = ", ".join(
            f"{name} {format_bytes(largest['bytes'][name])}" for name in ("weights", "gradients", "optimizer")
        )
        yield f"memory of the largest: {largest['family']} {largest['variant']}, batches of {largest['batch_size']}:"
        yield f"  {format_bytes(largest['bytes']['total'])} of {format_bytes(memory['device_bytes_a_run'])} a run"
        yield f"  ({parts},"
        yield f"  activations {format_bytes(largest['bytes']['activations'])})"


def _caps(caps: Mapping[str, Any] | None) -> Iterator[str]:
    if not caps:
        return
    limits = [f"{caps['max_hours']:g} hours"] if caps["max_hours"] is not None else []
    limits += [f"{caps['max_flops']:.2e} FLOPs"] if caps["max_flops"] is not None else []
    in_all = caps["num_kept"] + caps["num_cut"]
    yield f"within {' and '.join(limits)}, the cheapest first: {caps['num_kept']:,} of {in_all:,} runs"
    for what, gone in (("models", caps["models"]), ("lengths", [f"{steps:,} steps" for steps in caps["lengths"]])):
        if gone:
            shown = ", ".join(gone[:8]) + (f" and {len(gone) - 8} more" if len(gone) > 8 else "")
            yield from textwrap.wrap(
                f"{what} that lose all runs: {shown}", _WIDTH, initial_indent="  ", subsequent_indent="    "
            )


def _warnings(facts: Mapping[str, Any]) -> Iterator[str]:
    for line in facts["warnings"]:
        yield from textwrap.wrap(f"warning: {line}", _WIDTH, subsequent_indent="  ", break_long_words=False)
