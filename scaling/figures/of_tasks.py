"""Figures of downstream tasks."""

from typing import Any

import numpy as np

from .. import plots, transfer
from ..plots.words import shown_name, task_title
from ..transfer import fit_tasks, fit_transfer
from ..transfer.task_columns import choose_tasks
from .source import Source

__all__ = [
    "draw_best_layers", "draw_best_models", "draw_choice_loss", "draw_head_sweep", "draw_hull_gap",
    "draw_hull_overlay", "draw_layers", "draw_lines", "draw_rank_matrix", "draw_robustness", "draw_same_curve",
    "draw_sample_sizes", "draw_scalings", "draw_sufficiency", "draw_transfer", "draw_trends", "draw_wd_against_rank",
    "draw_windows",
]  # fmt: skip

_FITTED_SHARE = 2 / 3  # of the models, by upstream accuracy, are fitted; what lies above is held out
_MIN_IN_BIN = 6  # models, of a figure that compares models of equal upstream accuracy
_FACTORS = ("num_params", "train_examples", "images_seen")


def draw_transfer(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    groups = None if source.selection == "stochastic" else source.groups(models)
    trans = fit_transfer(upstream, downstream, selection=source.transfer_selection, groups=groups, **source.drawn)
    return plots.plot_transfer(trans, groups=source.colours(models), level=source.level, task=source.task_name)


def draw_trends(source: Source) -> Any:
    group = "upstream_dataset"
    has_group = group in source.records and source.records[group].notna().all()
    options: dict[str, Any] = {
        "upstream": source.upstream,
        "tasks": source.task_columns,
        "group": group if has_group else None,
    }
    return plots.plot_trends(fit_tasks(source.models(), level=source.level, **options, **source.drawn))


def draw_rank_matrix(source: Source) -> Any:
    columns = [source.upstream, *(name for name in source.task_columns if name != source.upstream)]
    rows = source.records[columns].dropna()
    rows = rows[[name for name in columns if rows[name].nunique() > 1]]
    names = {name: str(name).removesuffix("_error").replace("_", " ") for name in rows}
    return plots.plot_rank_matrix(transfer.rank_correlations(rows.rename(columns=names)))


def draw_choice_loss(source: Source) -> Any:
    _, (upstream, first, second) = source.accuracies(source.task, source.other_tasks[0])
    width = max(0.02, float(np.ptp(upstream)) * _MIN_IN_BIN / len(upstream))
    return plots.plot_choice_loss(transfer.choice_loss(upstream, first, second, width=width, level=source.level))


def _accuracy_options(source: Source, models: Any, names: Any) -> dict[str, Any]:
    """Groups of the models of these names, and the labels of both accuracies."""
    colours = source.colours(models)
    groups = None if colours is None else _of_names(colours, source.names(models), names)
    return {"groups": groups, "x_label": "upstream accuracy", "y_label": f"{source.task_name} accuracy"}


def draw_lines(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    line = transfer.fit_line(upstream, downstream, names=source.names(models))
    options = _accuracy_options(source, models, line.names)
    return plots.plot_lines(line, level=source.level, **options)


def draw_scalings(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    table = transfer.compare_scalings(upstream, downstream, names=source.names(models), level=source.level)
    return plots.plot_scalings(table)


def draw_robustness(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    robust = transfer.effective_robustness(upstream, downstream, names=source.names(models))
    options = _accuracy_options(source, models, robust.names)
    return plots.plot_robustness(robust, **options)


def draw_sufficiency(source: Source) -> Any:
    """Against the setting named, else model size, images or images seen, whichever the runs differ in."""
    models = source.models()
    names = _FACTORS if source.setting is None else (source.setting,)
    usable = [name for name in names if name in models and models[name].nunique() > 1 and (models[name] > 0).all()]
    if not usable:
        raise ValueError(f"a positive column that the runs differ in is needed: {', '.join(names)}")
    factors = {name: models[name] for name in usable}
    found = transfer.sufficient_predictor(
        1 - models[source.upstream], 1 - models[source.task], factors, level=source.level
    )
    return plots.plot_sufficiency(found, usable[0])


def draw_same_curve(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    arms = source.colours(models)
    options: dict[str, Any] = {"level": source.level, "rng": source.rng, "num_draws": source.num_draws}
    result = transfer.same_curve(upstream, downstream, arms, **options)
    return plots.plot_same_curve(result, task=source.task_name)


def _overlay(source: Source) -> Any:
    others = source.other_tasks
    models = source.models(source.task, *others)
    return transfer.overlay_hull(models, others, of=source.task, upstream=source.upstream)


def draw_hull_overlay(source: Source) -> Any:
    return plots.plot_hull_overlay(_overlay(source), source.other_tasks[0])


def draw_hull_gap(source: Source) -> Any:
    return plots.plot_hull_gap(_overlay(source))


def draw_windows(source: Source) -> Any:
    _, (upstream, downstream) = source.accuracies()
    middle = float(np.quantile(upstream, _FITTED_SHARE))
    options: dict[str, Any] = {
        "fit_window": (0.0, middle),
        "held_out": [(middle, 1.0)],
        "level": source.level,
        **source.drawn,
    }
    return plots.plot_windows(transfer.compare_windows(upstream, downstream, **options), task=source.task_name)


def draw_sample_sizes(source: Source) -> Any:
    _, (upstream, downstream) = source.accuracies()
    middle = float(np.quantile(upstream, _FITTED_SHARE))
    num = int((upstream <= middle).sum())
    sizes = [int(size) for size in np.unique(np.geomspace(max(num / 8, 4), num, 4).astype(int))]
    options: dict[str, Any] = {
        "fit_window": (0.0, middle),
        "held_out": (middle, 1.0),
        "sizes": sizes,
        "rng": source.rng,
    }
    return plots.plot_sample_sizes(transfer.compare_sample_sizes(upstream, downstream, **options))


def draw_best_models(source: Source) -> Any:
    models, (upstream, downstream) = source.accuracies()
    names = [shown_name(name) for name in source.names(models)]
    best = transfer.predict_best_models(upstream, downstream, names=names, level=source.level, **source.drawn)
    return plots.plot_best_models(best, task=source.task_name)


def draw_head_sweep(source: Source) -> Any:
    setting = source.setting or "head_weight_decay"
    options: dict[str, Any] = {"setting": setting, "upstream": source.upstream, "tasks": source.task_columns}
    return plots.plot_head_sweep(source.records, transfer.head_optima(source.records, **options), setting=setting)


def draw_wd_against_rank(source: Source) -> Any:
    setting = source.setting or "head_weight_decay"
    options: dict[str, Any] = {"setting": setting, "upstream": source.upstream, "tasks": source.task_columns}
    return plots.plot_wd_against_rank(
        transfer.optimum_against_rank(source.records, source.models(*source.task_columns), **options), setting=setting
    )


def draw_best_layers(source: Source) -> Any:
    """Averaged over models where they have the same layers."""
    return plots.plot_best_layers(transfer.best_layers(_layer_evals(source), by=["task", "num_shots"]))


def draw_layers(source: Source) -> Any:
    """The layers of the model with the least upstream error among those whose layers were probed."""
    task, shots, column = choose_tasks(source.records, [source.task])[0]
    models = source.models()
    evals = _layer_evals(source)
    probed = evals[(evals["task"] == task) & (evals["num_shots"] == shots)]
    probed = probed[probed["run_id"].isin(models["run_id"])]
    if probed.empty:
        raise ValueError(f"no model was probed at several layers on {column}")
    errors = models.set_index("run_id")[source.upstream]
    best = errors[errors.index.isin(probed["run_id"])].idxmin()
    layers = transfer.layer_accuracies(probed[probed["run_id"] == best], by=["task"])
    overlay = transfer.overlay_layers(layers["accuracy"], 1 - models[source.upstream], 1 - models[column])
    return plots.plot_layers(overlay, task=task_title(column))


def _layer_evals(source: Source) -> Any:
    """Few-shot rows of one probe, of runs with several layers."""
    evals = source.evals[source.evals["method"] == "fewshot"]
    evals = evals[evals["run_id"].isin(source.records["run_id"])]
    if "probe" in evals and evals["probe"].nunique() > 1:
        evals = evals[evals["probe"] == "whitened"]
    if evals["layer"].nunique() < 2:
        raise ValueError("the probes are of one layer: `downstream: {layers: all}` in a spec probes every one")
    return evals


def _of_names(colours: Any, names: list[str], kept: Any) -> list[str]:
    by_name = dict(zip(names, colours, strict=True))
    return [by_name[name] for name in kept]
