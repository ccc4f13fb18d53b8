"""Tables and figures of the main experiments, from what their sweeps left.

`python -m tests.benchmarks.experiments NAME --folder runs/NAME`, NAME one of `EXPERIMENTS`; the specs of the same names
are in `sweeps/configs/`. All errors are fractions; "+-" is the standard error over seeds, of a difference that over
pairs of one seed: it says what another seed would change, not what other test images would, which all models share.
"""

import argparse
import datetime
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image

import scaling as sc

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs"
SHOTS = 10
DRAWN, PROBED = "digits", ("fashion-mnist", "digits", "textures", "count")  # in the figures; the tables have all tasks
TIED = 0.005  # error; what three seeds cannot tell apart
NAMES = {"vit": "ViT", "resnet": "ResNet", "mixer": "Mixer", "convnext": "ConvNeXt"}
KEY = ["run_id", "step", "weights"]
SHAPE = ["model_variant", "num_params", "width", "depth", "num_heads", "mlp_dim", "patch_size", "pooling"]

Result = tuple[str, plt.Figure]


# Shared ---------------------------------------------------------------------------------------------------------


def task_columns(runs: pd.DataFrame) -> dict[str, str]:
    """Task -> the column of its error at so many shots."""
    end = f"_{SHOTS}shot_error"
    return {str(name).removesuffix(end): str(name) for name in runs if str(name).endswith(end)}


def text_of(table: pd.DataFrame, index: bool = False) -> str:
    return table.to_string(index=index, float_format=lambda value: f"{value:.4g}")


def mean_and_error(values: pd.Series) -> str:
    """Mean over seeds and its standard error."""
    return f"{values.mean():.3f}+-{values.sem():.3f}"


def differences(
    runs: pd.DataFrame, columns: Iterable[str], factor: str, a: Any, b: Any, along: Sequence[str] = (),
    by: Sequence[str] = ("model_family",),
) -> pd.DataFrame:  # fmt: skip
    """`paired_difference` of several quantities, one below the other, in column `quantity`."""
    found = [
        sc.tables.paired_difference(runs, column, factor, a, b, by=by, along=along).assign(quantity=column)
        for column in columns
    ]
    return pd.concat(found, ignore_index=True)


def wide_text(table: pd.DataFrame, rows: str | Sequence[str], columns: str | Sequence[str]) -> str:
    """Differences with their standard errors, in the order of the table."""
    cells = [f"{row.difference:+.4g}+-{row.standard_error:.2g}" for row in table.itertuples()]
    wide = table.assign(cell=cells).pivot_table("cell", rows, columns, aggfunc="first", sort=False)
    return wide.fillna("").to_string()


def quietly(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """A result, or the FitError that stands for it, and the kinds of warnings it came with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sc.FitWarning)
        try:
            result = call()
        except sc.FitError as error:
            result = error
    return result, sorted({getattr(w.message, "kind", "") for w in caught})


def new_figure(num_rows: int, num_columns: int, width: float, height: float) -> tuple[plt.Figure, np.ndarray]:
    """Of panels of so many inches."""
    size = (width * num_columns, height * num_rows)
    return plt.subplots(num_rows, num_columns, figsize=size, layout="constrained", squeeze=False)


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
        "relative_std": result.relative_std, "range": float(np.ptp(result.fit.y)), "arm": widest["arm"],
        "offset": widest["offset"], "low": widest["low"], "high": widest["high"],
        "warnings": " ".join(test["warnings"]),
    }  # fmt: skip


def same_curve(folder: Path, _: Path | None = None) -> Result:
    runs = sc.read_records(folder)
    tests = same_curve_tests(runs)
    table = pd.DataFrame([same_curve_row(test) for test in tests])
    found = table["p"].dropna()
    text = (
        f"one curve against an arm's own offset, {SHOTS} shots; `offset` is the widest arm's, in accuracy, at equal"
        f" upstream accuracy; `range` of downstream accuracy\n{text_of(table)}\n"
        f"{(found < 0.05).sum()} of {len(found)} tests have p < .05, {(found < 0.05 / len(found)).sum()} have p <"
        f" .05/{len(found)}; by chance {0.05 * len(found):.0f} and 0 would"
    )
    return text, _same_curve_figure(tests)


def _same_curve_figure(tests: list[dict[str, Any]]) -> plt.Figure:
    """The task `DRAWN`: a row a family, a column what was scaled."""
    shown = [test for test in tests if test["task"] == DRAWN and test["family"] != "both"]
    figure, axes = new_figure(2, len(ARMS), 4.4, 4.0)
    for ax, test in zip(axes.flat, shown, strict=True):
        sc.plots.plot_same_curve(test["result"], task=f"{DRAWN} {SHOTS}-shot", ax=ax)
        row, words = same_curve_row(test), f"{NAMES[test['family']]} by {test['arms']}"
        text = f"{words}: {row['arm']} {row['offset']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}], p = {row['p']:.2g}"
        ax.set_title(text, fontsize="small", loc="left")
    return figure


# The head's weight decay and learning rate ------------------------------------------------------------------------

NORMS, MARGINS = ["weight_norm_body", "weight_norm_head"], ["head_margin_test", "pre_logits_margin_test"]


def head_errors(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Mean error and its standard error as text, a row a task, a column a value."""
    columns = {"upstream": "upstream_error", **task_columns(runs)}
    return pd.DataFrame({task: runs.groupby(setting)[column].agg(mean_and_error) for task, column in columns.items()}).T


def head_changes(runs: pd.DataFrame, setting: str, usual: float) -> pd.DataFrame:
    """Change of each error and measurement from the usual value of the setting to each other one, over pairs."""
    measured = [name for name in (*NORMS, *MARGINS, "distance_to_init_body") if name in runs]
    columns = ["upstream_error", *task_columns(runs).values(), *measured]
    values = [value for value in sorted(runs[setting].unique()) if value != usual]
    return pd.concat(
        [differences(runs, columns, setting, usual, value, by=()).assign(value=value) for value in values]
    )  # fmt: skip


def head_sweep(folder: Path, checkpoints: Path | None, setting: str, usual: float) -> Result:
    records = sc.read_records(folder)
    runs = sc.measurements.add_measurements(records, sc.read_measurements(folder), ["weight_norm", "distance_to_init"])
    margins = sc.read_measurements(folder).query("dataset == @runs.upstream_dataset.iloc[0]")
    runs = sc.measurements.add_measurements(runs, margins, ["head_margin", "pre_logits_margin"])
    lines, longest = [], runs[runs["planned_steps"] == runs["planned_steps"].max()]
    for (family, steps), part in runs.groupby(["model_family", "planned_steps"]):
        lines.append(f"\n{NAMES[family]}, {steps} steps: error by {setting}, {SHOTS} shots")
        lines.append(head_errors(part, setting).to_string())
        lines.append(f"change from {setting} {usual}, over pairs of one seed")
        lines.append(wide_text(head_changes(part, setting, usual), "quantity", "value"))
        lines.append(f"best values; tied within {TIED}")
        optima = _optima(part, setting)
        lines.append(text_of(optima.drop(columns=["column", "num_values", "over_upstream"])))
        if checkpoints is not None:
            lines.append("best value beside the rank correlation of upstream and downstream error over the checkpoints")
            against = _against_rank(part, checkpoints, setting)
            lines.append(text_of(against[["task", "best_value", "status", "rank_correlation"]]))
    return "\n".join(lines), _head_figure(longest, setting)


def _optima(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    tasks = list(task_columns(runs).values())
    return sc.transfer.head_optima(runs, setting=setting, tolerance=TIED, tasks=tasks)


def _against_rank(runs: pd.DataFrame, checkpoints: Path, setting: str) -> pd.DataFrame:
    others, tasks = sc.read_records(checkpoints), list(task_columns(runs).values())
    others = others[others["model_family"] == runs["model_family"].iloc[0]]
    return sc.transfer.optimum_against_rank(runs, others, setting=setting, tolerance=TIED, tasks=tasks)


def _head_figure(runs: pd.DataFrame, setting: str) -> plt.Figure:
    """A row a family: accuracies, norms, margins."""
    families = list(runs.groupby("model_family"))
    figure, axes = new_figure(len(families), 3, 6.0, 4.3)
    for (family, part), (errors, norms, margins) in zip(families, axes, strict=True):
        optima = _optima(part, setting)
        shown = optima[optima["task"] != "shuffled_labels"]  # at chance whatever the value
        sc.plots.plot_head_sweep(part, shown, setting=setting, ax=errors)
        errors.set_title(f"{NAMES[family]}; {errors.get_title('left')}", fontsize="small", loc="left")
        sc.plots.plot_against(part, setting, NORMS, log=True, ax=norms, y_label="norm of the weights")
        sc.plots.plot_against(part, setting, MARGINS, ax=margins, y_label="margin, test images")
    return figure


def head_weight_decay(folder: Path, checkpoints: Path | None = None) -> Result:
    return head_sweep(folder, checkpoints, "head_weight_decay", 0.01)


def head_learning_rate(folder: Path, checkpoints: Path | None = None) -> Result:
    return head_sweep(folder, checkpoints, "head_lr_multiplier", 1.0)


# Layers -----------------------------------------------------------------------------------------------------------

MODEL = ["model_family", "model_variant", "train_examples"]


def probed(folder: Path) -> pd.DataFrame:
    """Probes of the longest trainings at so many shots, with what tells their models apart; seeds together."""
    runs = sc.read_records(folder)
    longest = runs[runs["planned_steps"] == runs["planned_steps"].max()]
    evals = sc.read_evals(folder).query(f"num_shots == {SHOTS}")
    return evals.merge(longest[[*KEY, *MODEL, "depth", "seed"]], on=KEY)


def honest_gain(evals: pd.DataFrame) -> float:
    """Gain over the last layer of the layer that is best in one seed, in the other seeds; the best of all is luck too.

    Null where there is one seed.
    """
    curves = sc.transfer.layer_accuracies(evals, by=["seed"]).pivot(index="position", columns="seed", values="accuracy")
    gains = curves - curves.iloc[-1]
    return float(np.mean([gains.loc[curves[seed].idxmax()].drop(seed).mean() for seed in curves]))


def layer_probes(folder: Path, _: Path | None = None) -> Result:
    evals, runs = probed(folder), sc.read_records(folder)
    best = pd.concat(
        sc.transfer.best_layers(part, by=[*MODEL, "task"], within_standard_error=True)
        for _, part in evals.groupby("model_variant")
    )
    gain = evals.groupby([*MODEL, "task"]).apply(honest_gain).rename("honest_gain").reset_index()
    lines = [
        f"earliest layer within a standard error of the best, {SHOTS} shots, mean over seeds; honest_gain: over the"
        " last layer, of the layer that is best in one seed, in the other seeds",
        text_of(best.merge(gain)),
    ]
    deepest = evals[evals["depth"] == evals.groupby("model_family")["depth"].transform("max")]
    lines.append("\naccuracy by depth over the hull of accuracy by upstream accuracy (both axes from 0 to 1)")
    for (family, task), part in deepest.groupby(["model_family", "task"]):
        models, most = runs[runs["model_family"] == family], part["train_examples"].max()
        by_layer = sc.transfer.layer_accuracies(part[part["train_examples"] == most], by=["task"])["accuracy"]
        downstream = 1 - models[task_columns(runs)[task]]
        overlay = sc.transfer.overlay_layers(by_layer, 1 - models["upstream_error"], downstream)
        lines.append(f"{family} {part['model_variant'].iloc[0]}, {task}: {overlay.summary()}")
    return "\n".join(lines), _layers_figure(deepest)


def _layers_figure(deepest: pd.DataFrame) -> plt.Figure:
    """A row a family, a column a task: accuracy by layer of the deepest model, a line a number of training images."""
    families = sorted(deepest["model_family"].unique())
    figure, axes = new_figure(len(families), len(PROBED), 4.0, 3.8)
    for family, of_row in zip(families, axes, strict=True):
        for task, ax in zip(PROBED, of_row, strict=True):
            part = deepest[(deepest["model_family"] == family) & (deepest["task"] == task)]
            curves = sc.transfer.layer_accuracies(part, by=["train_examples", "seed"])
            curves = curves.rename(columns={"seed": "run_id"})  # a thin line a seed
            curves["images"] = curves["train_examples"].map("{:,} images".format)
            sc.plots.plot_by_layer(curves, y="accuracy", label="images", ax=ax, y_label=f"{task}, accuracy")
            ax.set_title(f"{NAMES[family]} {part['model_variant'].iloc[0]}", fontsize="small", loc="left")
            ax.tick_params(axis="x", labelsize="small")
    return figure


# Sharpness-aware minimisation ---------------------------------------------------------------------------------------

TRAININGS = {"AdamW": "equal steps", "AdamW, twice the steps": "equal compute"}  # against which SAM is held


def trainings(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with a column `training`: AdamW at the steps of SAM and at twice as many, SAM at its chosen radius."""
    is_sam = runs["sam_rho"].notna()
    chosen, _ = quietly(lambda: sc.tuning.best_tuned(runs[is_sam], ["sam_rho"], over_seeds=True))
    others = runs[~is_sam]
    is_once = others["planned_steps"] == chosen["planned_steps"].iloc[0]
    return pd.concat([chosen.assign(training="SAM"), others.assign(training=np.where(is_once, *TRAININGS))])


def sam_gains(runs: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Change of each quantity from AdamW to SAM, at equal steps and at equal compute, a row a family."""
    columns, along = list(columns), ["sam_rho", "planned_steps", "cooldown_steps"]
    found = [
        differences(runs, columns, "training", a, "SAM", along=along).assign(against=name)
        for a, name in TRAININGS.items()
    ]
    return pd.concat(found, ignore_index=True).replace({"model_family": NAMES})


def with_first_share(records: pd.DataFrame, measurements: pd.DataFrame) -> pd.DataFrame:
    """Records with the share of active neurons of the first block, of which Chen et al. speak."""
    shares = sc.measurements.measurement_table(measurements, records, "active_share")
    first = shares[shares["position"] == 0].groupby(KEY)["value"].mean().rename("active_share_first")
    return records.merge(first.reset_index(), on=KEY, how="left")


def sharpness_aware(folder: Path, _: Path | None = None) -> Result:
    records = sc.read_records(folder)
    measurements = sc.read_measurements(folder)
    all_runs = sc.measurements.add_measurements(with_first_share(records, measurements), measurements)
    all_runs["log10_eigenvalue"] = np.log10(all_runs["hessian_top_eigenvalue"])  # a difference is a ratio
    runs = trainings(all_runs)
    measured = [name for name in all_runs if name not in records]
    gains = sam_gains(runs, ["upstream_error", *measured])
    means = runs.replace({"model_family": NAMES}).groupby(["model_family", "training"])
    held = all_runs.groupby(["model_family", "sam_rho"])["upstream_val_error"].agg(mean_and_error).unstack("sam_rho")
    chosen = runs[runs["training"] == "SAM"].drop_duplicates("model_family")[["model_family", "sam_rho", "edge"]]
    lines = [
        "held-out error by radius", held.fillna("").to_string(), "chosen", text_of(chosen),
        "\nmeans", means[["upstream_error", "train_error", *measured]].agg(mean_and_error).T.to_string(),
        "\nSAM less AdamW, over pairs of one seed",
        *(f"{a}\n{wide_text(rows, 'quantity', 'model_family')}" for a, rows in gains.groupby("against")),
    ]  # fmt: skip
    return "\n".join(lines), _sam_figure(gains)


def _sam_figure(gains: pd.DataFrame) -> plt.Figure:
    """A panel a quantity: SAM less AdamW in each family, at equal steps and at equal compute."""
    panels = {
        "upstream_error": "test error", "corruption_error_mean": "error under corruptions",
        "pgd_error": "error under PGD", "log10_eigenvalue": "log10 of the Hessian's top eigenvalue",
        "sharpness_rho=0.05": "rise of the loss at .05", "active_share_first": "active neurons, first block",
    }  # fmt: skip
    figure, axes = new_figure(2, 3, 4.6, 3.9)
    for ax, (quantity, words) in zip(axes.flat, panels.items(), strict=True):
        shown = gains[gains["quantity"] == quantity].drop(columns="quantity")
        sc.plots.plot_paired_differences(shown, ax=ax, x_label="SAM less AdamW")
        ax.set_title(words, fontsize="medium", loc="left")
    return figure


# Recipe against architecture ----------------------------------------------------------------------------------------

RECIPES = ("plain", "mixup", "DeiT")


def with_recipe(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of each architecture, recipe and number of steps at their best learning rate, with the recipe by name."""
    best, _ = quietly(lambda: sc.tuning.best_tuned(runs, over_seeds=True))
    named = np.where(best["cutmix"] > 0, "DeiT", np.where(best["mixup"] > 0, "mixup", "plain"))
    return best.assign(recipe=pd.Categorical(named, RECIPES)).sort_values(["planned_steps", "recipe", "model_family"])


def recipe_changes(best: pd.DataFrame) -> pd.DataFrame:
    """What each change of the recipe and of the architecture did, the other held; over pairs of one seed."""
    best = best.astype({"recipe": str})
    own = ["lr", "mixup", "cutmix", "erase", "label_smoothing", "augment", "rand_augment_ops", "rand_augment_magnitude"]
    found = []
    for a, b in (("plain", "mixup"), ("plain", "DeiT")):
        by = ["planned_steps", "model_family"]
        found.append(sc.tables.paired_difference(best, "upstream_error", "recipe", a, b, by=by, along=own))
        found[-1] = found[-1].assign(change=f"{a} to {b}").rename(columns={"model_family": "held"})
    for a, b in (("vit", "convnext"), ("vit", "resnet"), ("resnet", "convnext")):
        by, along = ["planned_steps", "recipe"], [*SHAPE, "lr"]
        found.append(sc.tables.paired_difference(best, "upstream_error", "model_family", a, b, by=by, along=along))
        found[-1] = found[-1].assign(change=f"{NAMES[a]} to {NAMES[b]}").rename(columns={"recipe": "held"})
    return pd.concat(found, ignore_index=True)


def recipe_against_architecture(folder: Path, _: Path | None = None) -> Result:
    best = with_recipe(sc.read_records(folder))
    cells = best.groupby(["planned_steps", "model_family", "recipe"], observed=True)
    means = cells.agg({"lr": "first", "edge": "first", "upstream_error": mean_and_error, "train_error": mean_and_error})
    changes = recipe_changes(best)
    sized = changes.assign(size=changes["difference"].abs()).groupby(["planned_steps", "change"], sort=False)
    size = sized.agg(mean=("difference", "mean"), mean_size=("size", "mean"), largest_size=("size", "max"))
    text = (
        f"test error at the best learning rate, mean over seeds\n{means.to_string()}\n\n"
        f"what each change alone did\n{wide_text(changes, ['change', 'held'], 'planned_steps')}\n\n"
        f"over what was held\n{text_of(size, index=True)}"
    )
    return text, _recipe_figure(best)


def _recipe_figure(best: pd.DataFrame) -> plt.Figure:
    """Error by recipe, a colour an architecture; a panel a number of steps."""
    lengths = list(best.groupby("planned_steps"))
    figure, axes = new_figure(1, len(lengths), 5.6, 4.3)
    for ax, (steps, part) in zip(axes.flat, lengths, strict=True):
        sc.plots.plot_against(part.replace({"model_family": NAMES}), "recipe", "upstream_error", ax=ax)
        ax.set(ylabel="test error", title=f"{steps} steps; a point a seed")
    return figure


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
    parser.add_argument("--checkpoints", type=Path, help="the folder of same_curve, for rank correlations of the heads")
    arguments = parser.parse_args()
    pd.set_option("display.width", 250)
    runs = sc.read_records(arguments.folder)
    text, figure = EXPERIMENTS[arguments.experiment](arguments.folder, arguments.checkpoints)
    head = f"{runs['upstream_dataset'].iloc[0]} at {runs['image_size'].iloc[0]} pixels, {len(runs)} models"
    seconds = runs.groupby(runs["trunk_id"].fillna(runs["run_id"]))["wall_seconds"].max().sum()
    result = f"{head}, {seconds / 60:.0f} minutes of training on one core; {datetime.date.today()}.\n{text}\n"
    print(result)
    (RESULTS / f"{datetime.date.today()}-experiment-{arguments.experiment}.txt").write_text(result)
    path = DOCS / f"experiment_{arguments.experiment}.png"
    figure.savefig(path, dpi=80)
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)  # a third of the size


if __name__ == "__main__":
    main()
