"""The table of kinds of figures, and what each needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..frames import check_columns
from . import of_laws, of_measurements, of_tasks
from .source import Source

__all__ = ["KINDS", "Kind", "draw", "missing_of"]


@dataclass(frozen=True)
class Kind:
    """A figure that can be made of records.

    Attributes:
        function: draws it, and returns the Axes.
        needs: columns; "x", "y", "upstream", "group" and "setting" are those asked for, "task" a downstream column,
            "evals" and "measurements" the tables beside the records.
        setting: the column that `setting` is without.
    """

    function: Callable[[Source], Any]
    needs: tuple[str, ...]
    setting: str | None = None


_COST, _TASK = ("x", "y"), ("upstream", "task")

KINDS: dict[str, Kind] = {
    "frontier": Kind(of_laws.draw_frontier, _COST),
    "transfer": Kind(of_tasks.draw_transfer, _TASK),
    "fit": Kind(of_laws.draw_fit, _COST),
    "law_comparison": Kind(of_laws.draw_law_comparison, _COST),
    "cost_ratio": Kind(of_laws.draw_cost_ratio, (*_COST, "group")),
    "chain": Kind(of_laws.draw_chain, ("x", *_TASK)),
    "bottlenecks": Kind(
        of_laws.draw_bottlenecks, (*_COST, "model_variant", "num_params", "train_examples", "images_seen")
    ),
    "optimal": Kind(of_laws.draw_optimal, (*_COST, "num_params", "images_seen")),
    "isoflop": Kind(of_laws.draw_isoflop, (*_COST, "num_params", "images_seen")),
    "shapes": Kind(of_laws.draw_shapes, _COST),
    "tuning": Kind(of_laws.draw_tuning, ("y", "setting", "upstream_val_error"), "lr"),
    "against": Kind(of_laws.draw_against, _COST),
    "paired_differences": Kind(of_laws.draw_paired_differences, ("y", "setting"), "recipe"),
    "trends": Kind(of_tasks.draw_trends, _TASK),
    "rank_matrix": Kind(of_tasks.draw_rank_matrix, _TASK),
    "choice_loss": Kind(of_tasks.draw_choice_loss, _TASK),
    "lines": Kind(of_tasks.draw_lines, _TASK),
    "scalings": Kind(of_tasks.draw_scalings, _TASK),
    "robustness": Kind(of_tasks.draw_robustness, _TASK),
    "sufficiency": Kind(of_tasks.draw_sufficiency, _TASK),
    "same_curve": Kind(of_tasks.draw_same_curve, (*_TASK, "group")),
    "hull_overlay": Kind(of_tasks.draw_hull_overlay, _TASK),
    "hull_gap": Kind(of_tasks.draw_hull_gap, _TASK),
    "windows": Kind(of_tasks.draw_windows, _TASK),
    "sample_sizes": Kind(of_tasks.draw_sample_sizes, _TASK),
    "best_models": Kind(of_tasks.draw_best_models, _TASK),
    "head_sweep": Kind(of_tasks.draw_head_sweep, (*_TASK, "setting"), "head_weight_decay"),
    "wd_against_rank": Kind(of_tasks.draw_wd_against_rank, (*_TASK, "setting"), "head_weight_decay"),
    "layers": Kind(of_tasks.draw_layers, (*_TASK, "evals")),
    "best_layers": Kind(of_tasks.draw_best_layers, ("evals",)),
    "by_layer": Kind(of_measurements.draw_by_layer, ("measurements",)),
    "attention_distance": Kind(of_measurements.draw_attention_distance, ("measurements",)),
    "cka": Kind(of_measurements.draw_cka, ("measurements",)),
    "landscape": Kind(of_measurements.draw_landscape, ("measurements",)),
    "corruptions": Kind(of_measurements.draw_corruptions, ("measurements",)),
    "adversarial": Kind(of_measurements.draw_adversarial, ("measurements",)),
}


def draw(kind: str, source: Source) -> Any:
    """The figure of a kind, on axes of its own.

    Raises:
        ValueError: an unknown kind, or what it needs is not there.
        FitError: the analysis says no.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if missing := missing_of(kind, source):
        raise ValueError(f"the figure {kind!r} cannot be made of these records: {missing}")
    return KINDS[kind].function(source)


def missing_of(kind: str, source: Source) -> str:
    """What the records lack for a kind, "" where they have it."""
    try:
        for need in KINDS[kind].needs:
            _check(need, KINDS[kind], source)
    except ValueError as error:
        return str(error)
    return ""


def _check(need: str, kind: Kind, source: Source) -> None:
    if need == "task":
        _ = source.task_columns
    elif need in ("evals", "measurements"):
        if getattr(source, need).empty:
            raise ValueError(f"there are no {need} beside them, as a sweep's folder has them")
    else:
        names = {"setting": source.setting or kind.setting, "group": source.group}
        names |= {name: getattr(source, name) for name in ("x", "y", "upstream")}
        check_columns(source.records, names.get(need) or need)
