"""Figures of measurements of trained models."""

from typing import Any

from .. import plots
from ..measurements import measurement_table
from ..plots.style import name_lines
from .source import Source

__all__ = [
    "draw_adversarial", "draw_attention_distance", "draw_by_layer", "draw_cka", "draw_corruptions", "draw_landscape"
]  # fmt: skip

_BY_LAYER = ("weight_norm", "distance_to_init", "active_share")


def _table(source: Source, *names: str) -> Any:
    known = set(source.measurements["name"])
    wanted = [name for name in names if name in known]
    if not wanted:
        raise ValueError(f"none of {', '.join(names)} was measured, there is {', '.join(sorted(known))}")
    return measurement_table(source.measurements, source.records, *wanted)


def draw_by_layer(source: Source) -> Any:
    """The measurement named as setting, else the first by layer that there is."""
    known = set(source.measurements["name"])
    name = source.setting or next((name for name in _BY_LAYER if name in known), _BY_LAYER[0])
    return plots.plot_by_layer(_table(source, name), label=source.label)


def draw_attention_distance(source: Source) -> Any:
    return plots.plot_attention_distance(_table(source, "attention_distance"), label=source.label)


def draw_cka(source: Source) -> Any:
    """Of the first model that has it."""
    return plots.plot_cka(_first_model(_table(source, "cka")), label=source.label)


def draw_landscape(source: Source) -> Any:
    """Of the first model that has it."""
    table = _first_model(_table(source, "loss"))
    return plots.plot_landscape(table, name_lines(table, source.label)[0].iloc[0], label=source.label)


def draw_corruptions(source: Source) -> Any:
    return plots.plot_corruptions(_table(source, "corruption_error"), label=source.label)


def draw_adversarial(source: Source) -> Any:
    return plots.plot_adversarial(_table(source, "fgsm_error", "pgd_error"), label=source.label)


def _first_model(table: Any) -> Any:
    return table[table["run_id"] == table["run_id"].iloc[0]]
