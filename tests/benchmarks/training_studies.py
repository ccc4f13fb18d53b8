"""Tables and figures of the two studies of training on photographs, from the records that their sweeps left.

`python -m tests.benchmarks.training_studies trends --folder runs/fashion_mnist_trends`, the same with `schedules` and
`runs/cooldown_against_cosine`. Standard errors are over seeds: they say what another seed would change, not what other
test images would, of which all models see the same 10,000.
"""

import argparse
import datetime
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from scaling import read_records
from scaling.plots.style import decimal_ticks

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs"
MATCHED = 0.1  # relative difference of FLOPs up to which two shapes count as equally costly
NAMES = {"vit": "ViT", "resnet": "ResNet"}
COLOURS = {"vit": "C0", "resnet": "C1"}


def mean_and_error(values: pd.Series) -> pd.Series:
    """Mean over seeds and its standard error."""
    return pd.Series({"mean": values.mean(), "se": values.std() / np.sqrt(len(values)), "seeds": len(values)})


def difference(first: pd.Series, second: pd.Series) -> tuple[float, float]:
    """Of two means over seeds that share nothing: first less second, and its standard error."""
    return first["mean"] - second["mean"], float(np.hypot(first["se"], second["se"]))


# Trends ---------------------------------------------------------------------------------------------------------

CELL = ["model_family", "flops_per_image", "model_variant", "train_examples"]


def trend_means(runs: pd.DataFrame) -> pd.DataFrame:
    """A row a cell of shape and subset: mean test error over seeds, its standard error, number of seeds."""
    return runs.groupby(CELL)["upstream_error"].apply(mean_and_error).unstack().reset_index()


def trend_contrasts(means: pd.DataFrame) -> Iterator[tuple[str, float, float]]:
    """What should be above 0: the claim, the difference of the errors and its standard error."""
    for family, cells in means.groupby("model_family"):
        counts = cells["model_variant"].value_counts()
        shape = cells[cells["model_variant"] == counts.idxmax()].sort_values("train_examples")
        for (_, few), (_, many) in itertools.pairwise(shape.iterrows()):
            claim = f"{family} {few.model_variant}: {few.train_examples:,} above {many.train_examples:,} images"
            yield claim, *difference(few, many)
        largest = cells[cells["train_examples"] == cells["train_examples"].max()].sort_values("flops_per_image")
        for (_, small), (_, large) in itertools.pairwise(largest.iterrows()):
            claim = f"{family}, {large.train_examples:,} images: {small.model_variant} above {large.model_variant}"
            yield claim, *difference(small, large)
    few = means[means["train_examples"] == means["train_examples"].min()].set_index("model_family")
    vit, resnet = few.loc["vit"], few.loc["resnet"]
    apart = vit.flops_per_image / resnet.flops_per_image - 1
    if abs(apart) > MATCHED:
        raise ValueError(f"shapes compared at few images must match in FLOPs within {MATCHED:.0%}, got {apart:+.1%}")
    yield f"{vit.train_examples:,} images: ViT above ResNet of FLOPs {apart:+.1%}", *difference(vit, resnet)


def trends_text(runs: pd.DataFrame) -> str:
    means = trend_means(runs)
    lines = [f"{'family':8} {'shape':12} {'MFLOP':>6} {'images':>7} {'error':>6} {'s.e.':>6} {'seeds':>5}"]
    for row in means.itertuples():
        flops = row.flops_per_image / 1e6
        lines.append(
            f"{row.model_family:8} {row.model_variant:12} {flops:>6.2f} {row.train_examples:>7,} {row.mean:>6.4f} "
            f"{row.se:>6.4f} {row.seeds:>5.0f}"
        )
    lines.append("\ndifferences of test error that should be above 0, and in standard errors")
    for claim, value, error in trend_contrasts(means):
        lines.append(f"{claim:60} {value:+.4f} +- {error:.4f} {value / error:>6.1f}")
    return "\n".join(lines)


def trends_figure(runs: pd.DataFrame):
    import matplotlib.pyplot as plt

    means = trend_means(runs)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for family, cells in means.groupby("model_family"):
        style = {"color": COLOURS[family], "marker": "o", "capsize": 3}
        shape = cells[cells["model_variant"] == cells["model_variant"].value_counts().idxmax()]
        name = f"{NAMES[family]} {shape.model_variant.iloc[0]}, {shape.flops_per_image.iloc[0] / 1e6:.1f} MFLOP"
        left.errorbar(shape["train_examples"], shape["mean"], 2 * shape["se"], label=name, **style)
        largest = cells[cells["train_examples"] == cells["train_examples"].max()]
        right.errorbar(
            largest["flops_per_image"] / 1e6, largest["mean"], 2 * largest["se"], label=NAMES[family], **style
        )
    left.set(xscale="log", xlabel="training images", ylabel="test error (fraction)")
    most = means["train_examples"].max()
    right.set(xscale="log", xlabel=f"forward MFLOP an image, {most:,} training images")
    decimal_ticks(right.xaxis)
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    return figure


# Schedules ------------------------------------------------------------------------------------------------------

SETTING = ["model_family", "planned_steps", "schedule", "lr"]


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs at the learning rate whose mean error on the held-out part is least, for each schedule and length."""
    held_out = runs.groupby(SETTING)["upstream_val_error"].mean().reset_index()
    best = held_out.loc[held_out.groupby(SETTING[:-1])["upstream_val_error"].idxmin(), SETTING]
    return runs.merge(best, on=SETTING)


def schedule_differences(runs: pd.DataFrame) -> pd.DataFrame:
    """A row a family and length: test error of cooldown less cosine, over pairs of the same seed, with its s.e."""
    rows = []
    for (family, steps), cell in tuned(runs).groupby(["model_family", "planned_steps"]):
        error = cell.pivot_table(index="seed", columns="schedule", values="upstream_error").dropna()
        lr = cell.groupby("schedule")["lr"].first()
        pair = mean_and_error(error["constant"] - error["cosine"])
        rows.append(
            {"model_family": family, "steps": steps, "seeds": len(error), "difference": pair["mean"], "se": pair["se"]}
            | {kind: error[kind].mean() for kind in ("constant", "cosine")}
            | {f"lr_{kind}": lr[kind] for kind in ("constant", "cosine")}
        )
    return pd.DataFrame(rows)


def schedules_text(runs: pd.DataFrame) -> str:
    table = schedule_differences(runs)
    lines = ["test error at the learning rate that is best on the held-out part; difference over pairs of one seed"]
    lines.append(
        f"{'family':8} {'steps':>5} {'seeds':>5} {'cooldown':>8} {'lr':>6} {'cosine':>8} {'lr':>6} "
        f"{'difference':>10} {'s.e.':>6}"
    )
    for row in table.itertuples():
        lines.append(
            f"{row.model_family:8} {row.steps:>5} {row.seeds:>5} {row.constant:>8.4f} {row.lr_constant:>6g} "
            f"{row.cosine:>8.4f} {row.lr_cosine:>6g} {row.difference:>+10.4f} {row.se:>6.4f}"
        )
    pooled = mean_and_error(table["difference"])
    lines.append(f"mean of the {len(table)} differences {pooled['mean']:+.4f}, s.e. between them {pooled['se']:.4f}")
    lines.append("\nmean test error at every learning rate")
    means = runs.groupby(SETTING)["upstream_error"].mean().unstack("lr")
    lines.append(means.to_string(float_format=lambda value: f"{value:.4f}"))
    return "\n".join(lines)


def schedules_figure(runs: pd.DataFrame):
    import matplotlib.pyplot as plt

    families = sorted(runs["model_family"].unique(), reverse=True)
    figure, all_axes = plt.subplots(
        1, len(families), figsize=(9, 3.6), sharey=True, layout="constrained", squeeze=False
    )
    for axes, family in zip(all_axes[0], families, strict=True):
        cells = runs[runs["model_family"] == family].groupby(["planned_steps", "schedule", "lr"])["upstream_error"]
        for (steps, kind), cell in cells.apply(mean_and_error).unstack().groupby(level=[0, 1]):
            name = f"{'constant + 20 % cooldown' if kind == 'constant' else kind}, {steps:,} steps"
            line = "-" if kind == "constant" else "--"
            colour = f"C{sorted(runs['planned_steps'].unique()).index(steps)}"
            lr = cell.index.get_level_values("lr")
            axes.errorbar(lr, cell["mean"], 2 * cell["se"], fmt=f"o{line}", color=colour, capsize=3, label=name)
        axes.set(xscale="log", xlabel="peak learning rate", title=NAMES[family])
        axes.set_xticks(sorted(runs["lr"].unique()), [f"{lr:g}" for lr in sorted(runs["lr"].unique())], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("test error (fraction)")
    all_axes[0][-1].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


STUDIES = {"trends": (trends_text, trends_figure), "schedules": (schedules_text, schedules_figure)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--folder", type=Path, required=True, help="of the finished sweep")
    arguments = parser.parse_args()
    runs = read_records(arguments.folder)
    text, figure = STUDIES[arguments.study]
    head = f"Fashion-MNIST at {runs['image_size'].iloc[0]} pixels, {len(runs)} models; {datetime.date.today()}."
    result = f"{head}\n{text(runs)}\n"
    print(result)
    (RESULTS / f"{datetime.date.today()}-training-{arguments.study}.txt").write_text(result)
    figure(runs).savefig(DOCS / f"training_{arguments.study}.png", dpi=110)


if __name__ == "__main__":
    main()
