"""Figures of laws of a cost: frontiers, fits, shapes, allocation."""

from typing import Any

from .. import frontier as analyses
from .. import plots
from ..chained import chain
from ..ensemble.comparison import compare_laws
from ..fitting.fit_law import fit_law
from ..frames import check_columns
from ..frontier import fit_frontier
from ..plots.words import shown_name
from ..tables import paired_difference
from ..transfer import fit_transfer
from ..tuning import tuning_table
from .source import Source

__all__ = [
    "draw_against", "draw_bottlenecks", "draw_chain", "draw_cost_ratio", "draw_fit", "draw_frontier", "draw_isoflop",
    "draw_law_comparison", "draw_optimal", "draw_paired_differences", "draw_shapes", "draw_tuning",
]  # fmt: skip


def front_of(source: Source) -> Any:
    runs = source.runs
    groups = None if source.selection == "stochastic" else source.groups(runs)
    options: dict[str, Any] = {"law": source.law, "selection": source.selection, "groups": groups}
    return fit_frontier(runs[source.x], runs[source.y], **options, **source.drawn)


def draw_frontier(source: Source) -> Any:
    colours = source.colours(source.runs)
    return plots.plot_frontier(front_of(source), groups=colours, level=source.level, **source.axes)


def draw_fit(source: Source) -> Any:
    runs = source.runs
    fit = fit_law(source.law, runs[source.x], runs[source.y])
    return plots.plot_fit(fit, groups=source.colours(runs), level=source.level, **source.axes)


def draw_law_comparison(source: Source) -> Any:
    return plots.plot_law_comparison(compare_laws(source.runs[source.x], source.runs[source.y]))


def draw_cost_ratio(source: Source) -> Any:
    """Of the two groups with the most runs."""
    runs, column = source.runs, source.group
    names = runs[column].astype(str).value_counts().index.tolist()
    if len(names) < 2:
        raise ValueError(f"two groups are compared, column {column!r} has {names}")
    ratios = analyses.cost_ratio(
        runs[source.x], runs[source.y], runs[column].astype(str), reference=names[0], rival=names[1], law=source.law,
        groups=source.groups(runs), level=source.level, **source.drawn,
    )  # fmt: skip
    return plots.plot_cost_ratio(ratios, **source.axes)


def draw_chain(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    models = models[models[source.x] > 0]
    upstream, downstream = upstream[models.index], downstream[models.index]
    front = fit_frontier(
        models[source.x], models[source.upstream], law=source.law, selection=source.selection, **source.drawn
    )
    trans = fit_transfer(upstream, downstream, selection=source.transfer_selection, **source.drawn)
    options: dict[str, Any] = {"x_label": source.axes["x_label"], "task": source.task_name, "level": source.level}
    return plots.plot_chain(chain(front, trans, rng=source.rng), **options)


def draw_bottlenecks(source: Source) -> Any:
    return plots.plot_bottlenecks(analyses.bottlenecks(source.runs, y=source.y), y_label=source.axes["y_label"])


def draw_optimal(source: Source) -> Any:
    return plots.plot_optimal(_allocation(source), level=source.level, x_label=source.axes["x_label"])


def draw_isoflop(source: Source) -> Any:
    return plots.plot_isoflop(_allocation(source, approaches=["isoflop"]), y_label=source.axes["y_label"])


def _allocation(source: Source, **options: Any) -> Any:
    return analyses.optimal_allocation(source.runs, y=source.y, compute=source.x, **options, **source.drawn)


def draw_shapes(source: Source) -> Any:
    """Of the dimension named as setting, else of the first whose optimum the runs show."""
    known = [name for name in ("width", "depth", "mlp_dim") if name in source.runs]
    known = [name for name in known if source.runs[name].nunique() > 1]
    dimensions = known if source.setting is None else [source.setting]
    if not dimensions:
        raise ValueError("several values of width, depth or mlp_dim are needed")
    runs = source.runs.dropna(subset=dimensions)
    shapes = analyses.fit_shapes(runs, dimensions=dimensions, compute=source.x, y=source.y, **source.drawn)
    dimension = next(iter(shapes.draws))
    return plots.plot_shapes(shapes, dimension, level=source.level, y_label=source.axes["y_label"])


def draw_tuning(source: Source) -> Any:
    """Of the learning rate, or of the setting named."""
    setting = source.setting or "lr"
    label = source.by or "model_variant"
    check_columns(source.records, setting, label)
    return plots.plot_tuning(
        tuning_table(source.records, [setting], y=source.y), setting=setting, y=source.y, label=label
    )


def draw_against(source: Source) -> Any:
    """Against x, or the setting named."""
    options: dict[str, Any] = {"label": source.label, "log": source.log, "y_label": source.axes["y_label"]}
    return plots.plot_against(source.runs, source.setting or source.x, source.y, **options)


def draw_paired_differences(source: Source) -> Any:
    """Between the two most frequent values of the recipe, or of the setting named."""
    factor = source.setting or "recipe"
    check_columns(source.records, factor)
    values = source.records[factor].value_counts().index.tolist()
    if len(values) < 2:
        raise ValueError(f"two values of {factor!r} are compared, there is {values}")
    a, b = values[:2]
    along = [name for name in ("sam_rho",) if name in source.records and name != factor]
    table = paired_difference(source.records, source.y, factor, a, b, along=along, level=source.level)
    label = f"{source.axes['y_label']}: {shown_name(b)} less {shown_name(a)}"
    return plots.plot_paired_differences(table, x_label=label)
