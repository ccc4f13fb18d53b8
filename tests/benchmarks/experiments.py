"""Tables and figures of the five main experiments, from what their sweeps left.

`python -m tests.benchmarks.experiments NAME --folder runs/NAME`, NAME one of `EXPERIMENTS`; the specs of the same names
are in `sweeps/configs/`. All errors are fractions; "+-" is the standard error over seeds, of a difference that over
pairs of one seed: it says what another seed would change, not what other test images would, which all models share.
"""

import argparse
import datetime
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import scaling as sc

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs"
SHOTS = 10
DRAWN = ("digits", "shapes", "textures", "position")  # tasks in the figures; the tables have all
TIED = 0.005  # error; what three seeds cannot tell apart
NAMES = {"vit": "ViT", "resnet": "ResNet", "mixer": "Mixer", "convnext": "ConvNeXt"}

Result = tuple[str, plt.Figure]


# Shared ---------------------------------------------------------------------------------------------------------


def mean_and_error(values: pd.Series) -> pd.Series:
    """Mean over seeds and its standard error."""
    return pd.Series({"mean": values.mean(), "se": values.std() / np.sqrt(len(values)), "seeds": len(values)})


def paired(a: pd.DataFrame, b: pd.DataFrame, column: str = "upstream_error") -> pd.Series:
    """Of two groups of runs, a row a seed each: a less b over pairs of one seed, mean and standard error."""
    return mean_and_error((a.set_index("seed")[column] - b.set_index("seed")[column]).dropna())


def with_runs(table: pd.DataFrame, runs: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Evals or measurements with columns of their runs' records."""
    return table.merge(runs[["run_id", "step", "weights", *columns]], on=["run_id", "step", "weights"])


def task_columns(runs: pd.DataFrame, shots: int = SHOTS) -> dict[str, str]:
    """Task -> the column of its error at so many shots."""
    end = f"_{shots}shot_error"
    return {str(name).removesuffix(end): str(name) for name in runs if str(name).endswith(end)}


def text_of(table: pd.DataFrame, index: bool = False) -> str:
    return table.to_string(index=index, float_format=lambda value: f"{value:.4f}")


def quietly(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """A result, or the FitError that stands for it, and the kinds of warnings it came with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sc.FitWarning)
        try:
            result = call()
        except sc.FitError as error:
            result = error
    return result, sorted({getattr(w.message, "kind", "") for w in caught})


def measured_means(folder: Path, runs: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame | None:
    """Means over heads and seeds, a row a group, name, split and layer; None where nothing was measured."""
    table = sc.read_measurements(folder)
    if table.empty:
        return None
    keys = [*by, "name", "split", "layer", "other"]
    per_run = with_runs(table, runs, [*by, "seed"]).groupby([*keys, "seed"], dropna=False)["value"].mean()
    return per_run.groupby(keys, dropna=False).agg(["mean", "sem"]).reset_index()


# One curve for size, images and steps -----------------------------------------------------------------------------

ARMS = {"size": "model_variant", "images": "train_examples", "steps": "planned_steps"}


def same_curve_tests(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """A test a task of the families as arms, and in each family of size, images and steps; the result in `result`."""
    rows = []
    for task, column in task_columns(runs).items():
        groups = [("both", "family", "model_family", runs)]
        groups += [(name, arm, key, part) for name, part in runs.groupby("model_family") for arm, key in ARMS.items()]
        for family, arm, key, part in groups:
            if part[key].nunique() > 1:
                accuracies = (1 - part["upstream_error"], 1 - part[column])
                result, kinds = quietly(partial(sc.transfer.same_curve, *accuracies, part[key].astype(str)))
                rows.append({"task": task, "family": family, "arms": arm, "result": result, "warnings": kinds})
    return rows


def same_curve_row(test: dict[str, Any]) -> dict[str, Any]:
    result = test["result"]
    head = {name: test[name] for name in ("task", "family", "arms")}
    if isinstance(result, sc.FitError):
        return head | {"warnings": f"no fit: {result}"}
    widest = result.table.loc[result.table["offset"].abs().idxmax()]
    return head | {
        "runs": len(result.arms), "p": result.p_value, "explained": result.share_explained,
        "relative_std": result.relative_std, "arm": widest["arm"], "offset": widest["offset"], "low": widest["low"],
        "high": widest["high"], "warnings": " ".join(test["warnings"]),
    }  # fmt: skip


def same_curve(folder: Path, _: Path | None = None) -> Result:
    runs = sc.read_records(folder)
    tests = same_curve_tests(runs)
    table = pd.DataFrame([same_curve_row(test) for test in tests])
    found = table["p"].dropna()
    text = (
        f"one curve against an arm's own offset, {SHOTS} shots; `offset` is the widest arm's, in accuracy, at equal"
        f" upstream accuracy\n{text_of(table)}\n"
        f"{(found < 0.05).sum()} of {len(found)} tests have p < .05; by chance {0.05 * len(found):.0f} would"
    )
    shown = [test for test in tests if test["task"] in DRAWN and test["family"] in ("both", "vit")]
    return text, _same_curve_figure([test for test in shown if not isinstance(test["result"], sc.FitError)])


def _same_curve_figure(tests: list[dict[str, Any]]) -> plt.Figure:
    arms = ["family", "steps"]
    columns = max(sum(test["arms"] == arm for test in tests) for arm in arms)
    figure, axes = plt.subplots(2, columns, figsize=(4.6 * columns, 8), layout="constrained", squeeze=False)
    for row, arm in enumerate(arms):
        for ax, test in zip(axes[row], [test for test in tests if test["arms"] == arm], strict=False):
            name = "both families" if arm == "family" else f"{NAMES[test['family']]}, steps"
            sc.plots.plot_same_curve(test["result"], task=f"{test['task']} {SHOTS}-shot, {name}", ax=ax)
    return figure


# The head's weight decay and learning rate ------------------------------------------------------------------------


def head_errors(runs: pd.DataFrame, setting: str, shots: int = SHOTS) -> pd.DataFrame:
    """Mean error and its standard error over seeds as text, a row a task, a column a value."""
    columns = {"upstream": "upstream_error", **task_columns(runs, shots)}
    cells = {
        task: runs.groupby(setting)[column].apply(mean_and_error).unstack() for task, column in columns.items()
    }  # fmt: skip
    rows = {task: [f"{m:.3f}+-{s:.3f}" for m, s in zip(c["mean"], c["se"], strict=True)] for task, c in cells.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[f"{v:g}" for v in sorted(runs[setting].unique())])


def head_sweep(folder: Path, checkpoints: Path | None, setting: str) -> Result:
    runs = sc.read_records(folder)
    parts = list(runs.groupby(["model_family", "planned_steps"]))
    lines, drawn = [], []
    for (family, steps), part in parts:
        lines.append(f"\n{NAMES[family]}, {steps} steps: error by {setting}, {SHOTS} shots")
        lines.append(head_errors(part, setting).to_string())
        optima = sc.transfer.head_optima(part, setting=setting, tolerance=TIED)
        lines.append(f"best values; tied within {TIED}")
        lines.append(text_of(optima.drop(columns=["column", "num_values", "over_upstream"])))
        if checkpoints is not None:
            others = sc.read_records(checkpoints)
            against = sc.transfer.optimum_against_rank(
                part, others[others["model_family"] == family], setting=setting, tolerance=TIED,
                tasks=list(task_columns(runs).values()),
            )  # fmt: skip
            lines.append("best value beside the rank correlation of upstream and downstream error over the checkpoints")
            lines.append(text_of(against[["task", "best_value", "status", "rank_correlation"]]))
        drawn.append((f"{NAMES[family]}, {steps} steps", part, optima))
    means = measured_means(folder, runs, ["model_family", "planned_steps", setting])
    if means is not None:
        wide = means.pivot_table(
            index=["model_family", "planned_steps", "name", "split", "layer"],
            columns=setting,
            values="mean",
            dropna=False,
        ).dropna(how="all")
        lines += ["\nmeasurements, mean over seeds", text_of(wide, index=True)]
    num_families = runs["model_family"].nunique()
    size = (num_families, len(drawn) // num_families)
    figure, axes = plt.subplots(*size, figsize=(7.5 * size[1], 5.5 * size[0]), layout="constrained", squeeze=False)
    for ax, (name, part, optima) in zip(axes.flat, drawn, strict=True):
        shown = optima[(optima["task"] == "upstream") | (optima["num_shots"] == SHOTS)]
        sc.plots.plot_head_sweep(part, shown, setting=setting, ax=ax)
        ax.set_title(f"{name}; {ax.get_title('left')}", fontsize="small", loc="left")
    return "\n".join(lines), figure


def head_weight_decay(folder: Path, checkpoints: Path | None = None) -> Result:
    return head_sweep(folder, checkpoints, "head_weight_decay")


def head_learning_rate(folder: Path, checkpoints: Path | None = None) -> Result:
    return head_sweep(folder, checkpoints, "head_lr_multiplier")


# Layers -----------------------------------------------------------------------------------------------------------

MODEL = ["model_family", "model_variant", "train_examples"]


def in_order(layers: pd.Series) -> list[str]:
    """Layers from the input to the output."""
    ends = {"embedding": 0.0, "pre_logits": np.inf}
    return sorted(layers.unique(), key=lambda name: ends[name] if name in ends else float(name.removeprefix("block_")))


def layer_curve(evals: pd.DataFrame, task: str) -> pd.Series:
    """Mean accuracy by layer, from the input to the output."""
    part = evals[evals["task"] == task]
    return 1 - part.groupby("layer")["error"].mean()[in_order(part["layer"])]


def best_layer_table(evals: pd.DataFrame) -> pd.DataFrame:
    """A row a model (its seeds together) and task: the earliest layer within a standard error of the best."""
    call = partial(sc.transfer.best_layers, by=[*MODEL, "task"], within_standard_error=True)
    return pd.concat([call(part, layers=in_order(part["layer"])) for _, part in evals.groupby(MODEL)])


def layer_probes(folder: Path, _: Path | None = None) -> Result:
    runs = sc.read_records(folder)
    longest = runs[runs["planned_steps"] == runs["planned_steps"].max()]
    evals = with_runs(sc.read_evals(folder).query(f"num_shots == {SHOTS}"), longest, MODEL)
    best = best_layer_table(evals)
    text = (
        f"earliest layer within a standard error of the best, {SHOTS} shots, {longest['planned_steps'].iloc[0]} steps,"
        f" mean over seeds\n{text_of(best)}"
    )
    tasks = [task for task in task_columns(runs) if task in DRAWN]
    deepest = longest.loc[longest.groupby("model_family")["depth"].transform("max") == longest["depth"]]
    shown = [
        (family, part) for family, part in evals.groupby("model_family")
        if part["model_variant"].isin(deepest["model_variant"]).any()
    ]  # fmt: skip
    figure, axes = plt.subplots(
        len(shown), len(tasks), figsize=(4.4 * len(tasks), 4 * len(shown)), layout="constrained", squeeze=False
    )
    lines = [text, "\naccuracy by depth over the hull of accuracy by upstream accuracy (both axes from 0 to 1)"]
    for row, (family, part) in enumerate(shown):
        part = part[part["model_variant"].isin(deepest["model_variant"])]
        part = part[part["train_examples"] == part["train_examples"].max()]
        models = runs[runs["model_family"] == family]
        for ax, task in zip(axes[row], tasks, strict=True):
            overlay = sc.transfer.overlay_layers(
                layer_curve(part, task), 1 - models["upstream_error"], 1 - models[task_columns(runs)[task]]
            )
            lines.append(f"{family} {part['model_variant'].iloc[0]}, {task}: {overlay.summary()}")
            sc.plots.plot_layers(overlay, task=f"{family} {task} {SHOTS}-shot", ax=ax)
            ax.set_xlabel("depth, or upstream accuracy, least to most")
    return "\n".join(lines), figure


# Sharpness-aware minimisation ---------------------------------------------------------------------------------------


def trainings(runs: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """(family, training) -> a row a seed: AdamW at the steps of SAM and at twice as many, SAM at its chosen radius."""
    is_sam = runs["sam_rho"].notna()
    chosen, _ = quietly(lambda: sc.tuning.best_tuned(runs[is_sam], ["sam_rho"], over_seeds=True))
    parts = {(family, "SAM"): part for family, part in chosen.groupby("model_family")}
    for (family, steps), part in runs[~is_sam].groupby(["model_family", "planned_steps"]):
        name = "AdamW" if steps == parts[family, "SAM"]["planned_steps"].iloc[0] else "AdamW, steps x2"
        parts[family, name] = part
    return parts


def sharpness_aware(folder: Path, _: Path | None = None) -> Result:
    runs = sc.read_records(folder)
    parts = trainings(runs)
    rows, means = [], []
    for family in sorted({family for family, _ in parts}):
        sam, once, twice = (parts[family, name] for name in ("SAM", "AdamW", "AdamW, steps x2"))
        rows.append(
            {"family": family, "rho": sam["sam_rho"].iloc[0], "edge": sam["edge"].iloc[0] or "inside"}
            | {f"{name} {what}": value for name, part in (("AdamW", once), ("AdamW x2", twice), ("SAM", sam))
               for what, value in mean_and_error(part["upstream_error"]).items() if what != "seeds"}
        )  # fmt: skip
        for name, other in (("equal steps", once), ("equal compute", twice)):
            gain = paired(other, sam)
            rows[-1] |= {f"gain at {name}": gain["mean"], f"+- {name}": gain["se"]}
    for (family, name), part in parts.items():
        means.append({"family": family, "training": name, "error": part["upstream_error"].mean()})
    table = pd.DataFrame(rows)
    text = f"test error; gain of SAM, over pairs of one seed\n{text_of(table.set_index('family').T, index=True)}"
    held = runs.groupby(["model_family", "sam_rho"])["upstream_val_error"].mean().unstack("sam_rho")
    text += f"\n\nheld-out error by radius\n{text_of(held, index=True)}"
    measured = [
        found.assign(family=family, training=name)
        for (family, name), part in parts.items()
        if (found := measured_means(folder, part, ["model_family"])) is not None and len(found)
    ]
    if measured:
        wide = pd.concat(measured).pivot_table(
            index=["name", "split", "layer", "family"], columns="training", values="mean", dropna=False
        )  # fmt: skip
        text += "\n\nmeasurements, mean over seeds, corruptions and severities\n"
        text += text_of(wide.dropna(how="all"), index=True)
    figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    pairs = sc.tables.factor_differences(pd.DataFrame(means), ["family", "training"], "error")
    sc.plots.plot_factors(pairs[pairs["factor"] == "training"], ax=ax, x_label="change of test error")
    return text, figure


# Recipe against architecture ----------------------------------------------------------------------------------------


def recipe_means(runs: pd.DataFrame) -> pd.DataFrame:
    """A row an architecture, recipe and number of steps, at its best learning rate: mean test error over seeds."""
    best, _ = quietly(lambda: sc.tuning.best_tuned(runs, over_seeds=True))
    best = best.assign(recipe=np.where(best["cutmix"] > 0, "DeiT", np.where(best["mixup"] > 0, "mixup", "plain")))
    cells = best.groupby(["model_family", "recipe", "planned_steps"])
    means = cells["upstream_error"].apply(mean_and_error).unstack().reset_index()
    means = means.merge(cells[["lr", "edge", "train_error"]].first().reset_index())
    return means.rename(columns={"model_family": "architecture", "planned_steps": "steps", "mean": "error"})


def recipe_against_architecture(folder: Path, _: Path | None = None) -> Result:
    means = recipe_means(sc.read_records(folder)).sort_values(["steps", "recipe", "architecture"], ascending=[1, 0, 1])
    pairs = sc.tables.factor_differences(means, ["architecture", "recipe", "steps"], "error")
    text = (
        f"test error at the best learning rate, mean over seeds\n{text_of(means)}\n\nwhat each change alone did\n"
        f"{text_of(sc.tables.factor_steps(pairs), index=True)}\n\nsize of the differences by factor\n"
        f"{text_of(sc.tables.factor_ranges(pairs), index=True)}"
    )
    figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    sc.plots.plot_factors(pairs[~pairs["refused"]], ax=ax, x_label="change of test error")
    return text, figure


EXPERIMENTS: dict[str, Callable[[Path, Path | None], Result]] = {
    function.__name__: function
    for function in (
        same_curve, head_weight_decay, head_learning_rate, layer_probes, sharpness_aware, recipe_against_architecture,
    )
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=list(EXPERIMENTS))
    parser.add_argument("--folder", type=Path, required=True, help="of the finished sweep")
    parser.add_argument(
        "--checkpoints", type=Path, help="the folder of same_curve, for head_weight_decay: rank correlations"
    )
    arguments = parser.parse_args()
    pd.set_option("display.width", 250)
    runs = sc.read_records(arguments.folder)
    text, figure = EXPERIMENTS[arguments.experiment](arguments.folder, arguments.checkpoints)
    head = f"{runs['upstream_dataset'].iloc[0]} at {runs['image_size'].iloc[0]} pixels, {len(runs)} models"
    seconds = runs.groupby("trunk_id", dropna=False)["wall_seconds"].max().sum()
    result = f"{head}, {seconds / 60:.0f} minutes of training on one core; {datetime.date.today()}.\n{text}\n"
    print(result)
    (RESULTS / f"{datetime.date.today()}-experiment-{arguments.experiment}.txt").write_text(result)
    figure.savefig(DOCS / f"experiment_{arguments.experiment}.png", dpi=90)


if __name__ == "__main__":
    main()
