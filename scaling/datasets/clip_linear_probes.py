"""Linear probes of CLIP models: 10 and 25 images a class, and all; Cherti et al. 2023 (arXiv 2212.07143)."""

from pathlib import Path

import pandas as pd

from .columns import records, task_name
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_COMMIT = "48de38c1689fa6d8b4dd53e3370c669c3bb18117"
_PATH = "probe_benchmark/scaling_experiment_data2.json"
_RULE = "3 x forward GMACs of both towers x samples seen, 1 multiply-add = 2"
_MODEL = ["model", "pretrained", "upstream_dataset", "samples_seen", "gmacs_total"]
_GIGA = 1e9
_TASKS = {"imagenet1k-unverified": "imagenet", "vtab/flowers": "vtab_flowers102", "vtab_svhn": "vtab_svhn"}
_ALL_IMAGES = -1


def _read(path: Path) -> pd.DataFrame:
    """Of the original (a row a setting of the probe) or of its best rows: the best probe of each task."""
    table = pd.read_json(path) if path.suffix == ".json" else pd.read_csv(path)
    columns = [_column(*row) for row in zip(table["dataset"], table["fewshot_k"], strict=True)]
    table = table.assign(error=(1 - table["lp_acc1"]).round(10), column=columns)
    wide = table.pivot_table(index=_MODEL, columns="column", values="error", aggfunc="min", sort=False)
    wide = wide.reset_index().rename_axis(columns=None)
    frame = wide.rename(columns={"model": "model_variant"}).drop(columns=["samples_seen", "gmacs_total"])
    images = wide["samples_seen"].round().astype("int64")
    total = wide["gmacs_total"] * _GIGA
    frame = frame.assign(images_seen=images, flops_per_image=2 * total / images, compute_flops=3 * 2 * total)
    frame = frame.assign(upstream_dataset=wide["upstream_dataset"].str.lower())
    ids = frame["model_variant"] + "@" + frame["pretrained"]
    return records(frame, run_id=ids, values={"source": "cherti2023", "model_family": "vit", "flops_rule": _RULE})


def _column(dataset: str, num_shots: int) -> str:
    """ "vtab/cifar100" is another split and size of its images than "cifar100"."""
    task = _TASKS.get(dataset) or task_name(dataset)
    return f"{task}_finetune_error" if num_shots == _ALL_IMAGES else f"{task}_{num_shots}shot_error"


DATA_SETS = (
    DataSet(
        "clip_linear_probes",
        "12 CLIP models: linear probes of ImageNet and CIFAR-100 (10, 25 shots, all images), 19 of VTAB (10, all)",
        f"cherti2023: Cherti et al., arXiv 2212.07143; github LAION-AI/CLIP_benchmark at {_COMMIT[:8]}",
        "MIT",
        "compute_flops",
        "imagenet_10shot_error",
        "null: a contrastive model has no error on its upstream images. `_finetune_error` is of a probe of frozen"
        " features on all images. Each error is the least over learning rates and epochs, chosen on the test images: a"
        " little low",
        (
            DataFile(
                "clip_benchmark/scaling_experiment_data2.json",
                f"https://raw.githubusercontent.com/LAION-AI/CLIP_benchmark/{_COMMIT}/{_PATH}",
                reduced=DataFile(
                    "clip_benchmark/linear_probe_best.csv",
                    sha256="45c41021b0c124e8ef5db9bf1ad17d01147cb8d9480942f303ed0d22de18f521",
                ),
            ),
        ),
        _read,
        12,
    ),
)
