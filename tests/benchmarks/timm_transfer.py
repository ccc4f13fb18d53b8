"""ImageNet accuracy against five shifted sets: are the best 5 % of timm's models foreseen from the others?

`python -m tests.benchmarks.timm_transfer` writes the table to `results/`: minutes on one core. The data set
`timm_results` of `scaling.datasets`: accuracies in percent, a row a model and image size. A model at several sizes, and
models of one recipe, are no independent draws: intervals that take them for such are too narrow.

Then the frontiers of ImageNet error against inference compute, vision transformers against ResNets.
"""

import datetime
import re
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scaling import FitError, FitWarning, fit_transfer
from scaling.datasets import paths
from scaling.frontier import CostRatio, cost_ratio
from scaling.transfer import compare_best_models, compare_scalings

RESULTS = Path(__file__).parent / "results"
KEY = ["model", "img_size"]
SHIFTS = {"V2": "imagenetv2-matched-frequency", "ReaL": "imagenet-real", "Sketch": "sketch"}
# Of ImageNet-A and -R, 200 classes: against all of ImageNet, and against ImageNet on their classes.
SUBSETS = {"A": "imagenet-a", "R": "imagenet-r"}
TASKS = {f"ImageNet to {name}": ("imagenet", file) for name, file in (SHIFTS | SUBSETS).items()} | {
    f"ImageNet ({name}'s classes) to {name}": (f"{file}-clean", file) for name, file in SUBSETS.items()
}
# A family is told by the start of the model's name; hybrids (a ResNet under a transformer: "_r50_s16") are neither.
FAMILIES = {
    "vit": r"^(vit|flexivit|deit3?|beit|beitv2|eva|eva02)_(?!.*_r\d+_s\d+)",
    "resnet": r"^(wide_|(legacy_)?se|eca|sk|gc)?res(net|next)",
}
# By the tag of the weights: trained on ImageNet-1k alone (a teacher may have seen more).
ONLY_IN1K = r"\.(?!.*(?:_ft_|jft|in12k|in2\dk|swag))(?:.*_)?in1k(?:_\d+)?$"
WHOLE: dict[str, dict[str, Any]] = {
    "vertices": {}, "near": {"hull_points": "near"}, "stochastic": {"selection": "stochastic"},
}  # fmt: skip
ERRORS = (0.25, 0.2, 0.18)
FLOPS_PER_GMAC = 2e9
HEAD = """\
The 5 % of models with the highest upstream accuracy are held out; laws are fitted to the others. Errors are predicted
less actual downstream accuracy, against all held-out models and against those on the frontier of all models. "best"
rules predict the best model of an upstream accuracy, "mean" rules the mean model. "covered": by 95 % intervals, of a
new model (lines), of the law itself (transfer), in which 95 % of the models need not lie. Saturation: downstream
accuracy at upstream accuracy 1, with its 95 % interval.
"""


def accuracies(name: str) -> pd.Series:
    """Top-1 accuracy as a fraction, by model and image size."""
    return pd.read_csv(paths("timm_results")[f"results-{name}.csv"], thousands=",").set_index(KEY)["top1"] / 100


def models_of(task: str) -> pd.DataFrame:
    """Upstream and downstream accuracy of the models that have both."""
    upstream, downstream = (accuracies(name) for name in TASKS[task])
    return pd.concat({"upstream": upstream, "downstream": downstream}, axis=1, join="inner")


def best_models(num_draws: int = 1000, tasks: tuple[str, ...] = tuple(TASKS)) -> pd.DataFrame:
    frames = {task: models_of(task) for task in tasks}
    pairs = {task: (frame["upstream"], frame["downstream"]) for task, frame in frames.items()}
    return compare_best_models(pairs, num_draws=num_draws)


def saturations(num_draws: int = 1000) -> pd.DataFrame:
    """The law of transfer fitted to all models: saturation with its 95 % interval."""
    rows = []
    for task, (name, options) in product(TASKS, WHOLE.items()):
        row: dict[str, Any] = {"task": task, "points": name}
        try:
            trans = fit_transfer(*models_of(task).to_numpy().T, num_draws=num_draws, **options)
        except FitError as error:
            rows.append(row | {"note": str(error).partition(";")[0]})
            continue
        low, high = trans.saturation_interval()
        row |= {"num_points": trans.selected.size, **trans.params, "saturation": trans.saturation}
        kinds = dict.fromkeys(warning.kind for warning in trans.warnings)
        rows.append(row | {"low": low, "high": high, "note": ", ".join(kinds)})
    return pd.DataFrame(rows)


def scalings() -> pd.DataFrame:
    """R2 of the line on each scale, of all models."""
    frames = {task: compare_scalings(*models_of(task).to_numpy().T) for task in TASKS}
    return pd.concat(frames, names=["task"])


def inference() -> pd.DataFrame:
    """ImageNet error, inference FLOPs and family of each model and image size that was timed."""
    path = next(path for name, path in paths("timm_results").items() if name.startswith("benchmark-infer-"))
    timed = pd.read_csv(path, thousands=",").rename(columns={"infer_img_size": "img_size"})
    full = accuracies("imagenet").reset_index()
    # The timings name an architecture, the accuracies its weights: architecture.tag.
    full["architecture"] = full["model"].str.partition(".")[0]
    joined = full.merge(
        timed.rename(columns={"model": "architecture"}), on=["architecture", "img_size"], validate="many_to_one"
    )
    joined = joined.assign(error=1 - joined["top1"], flops=FLOPS_PER_GMAC * joined["infer_gmacs"])
    families = [family_of(name) for name in joined["model"]]
    return joined.assign(family=families, only_in1k=joined["model"].str.contains(ONLY_IN1K))


def family_of(model: str) -> str:
    return next((family for family, pattern in FAMILIES.items() if re.search(pattern, model)), "other")


def ratios(frame: pd.DataFrame, errors: tuple[float, ...] = ERRORS) -> CostRatio:
    """FLOPs of a vision transformer over those of a ResNet of equal error, of stochastic frontiers."""
    columns = (frame["flops"], frame["error"], frame["family"])
    return cost_ratio(*columns, reference="resnet", rival="vit", targets=errors, selection="stochastic")


def format_table(table: pd.DataFrame) -> str:
    names = ("saturation", "saturation_low", "saturation_high")
    triples = zip(*(table[name] for name in names), strict=True)
    saturation = ["" if np.isnan(s) else f"{s:.3f} [{low:.3f}, {high:.3f}]" for s, low, high in triples]
    shown = table.drop(columns=list(names)).assign(saturation=saturation)
    columns = ["task", "law", "points", "predicts", "saturation"]
    for against in ("all", "frontier"):
        columns += [f"{name}_{against}" for name in ("num", "mae", "rmse", "bias", "covered")]
    shown["note"] = shown["warnings"].where(shown["reason"] == "", "no fit: " + shown["reason"].str.partition(":")[0])
    return shown[[*columns, "note"]].to_string(index=False, float_format="%.4f", na_rep="-")


def frontier_lines() -> list[str]:
    lines = []
    frame = inference()
    for what, rows in (("all weights", frame), ("trained on ImageNet-1k alone", frame[frame["only_in1k"]])):
        found = ratios(rows)
        for family, fit in (("vit", found.rival_law), ("resnet", found.reference_law)):
            if fit is None:
                continue
            params = ", ".join(f"{k} {v:.3g}" for k, v in fit.params.items())
            kinds = ", ".join(warning.kind for warning in fit.warnings)
            lines.append(f"{what:30} {family:7} {fit.x.size:4} models: {params} {kinds}")
        for row in found.table[found.table["method"] == "law"].itertuples():
            text = f"{row.ratio:.2f} [{row.low:.2f}, {row.high:.2f}]"
            lines.append(f"{what:30} error {row.target_error:.2f}: vit over resnet FLOPs {text}")
    return lines


def main() -> None:
    warnings.simplefilter("ignore", FitWarning)  # the tables name them
    r2 = scalings()[
        [
            "r2",
            "r2_accuracy",
            "slope",
            "curvature_p",
            "share_below_15pct",
            "leverage_below_15pct",
            "variance_below_15pct",
            "num_dropped",
        ]
    ]
    about_lines = "Lines through all models; low_: what models with an accuracy below .15 weigh in it"
    about_families = """\
Frontiers of ImageNet error against inference FLOPs (2 a multiply-add), stochastic. Weights of unequal pre-training data
are compared, so that a ratio is one of checkpoints, not of designs."""
    text = "\n".join([HEAD, format_table(best_models()), "", about_lines, r2.round(4).to_string(), "", about_families])
    whole = saturations().to_string(index=False, float_format="%.4f", na_rep="-")
    text = "\n".join([text, *frontier_lines(), "", "The law of transfer fitted to all models", whole])
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{datetime.date.today()}-timm-transfer.txt").write_text(text + "\n")


if __name__ == "__main__":
    main()
