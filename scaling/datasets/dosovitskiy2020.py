"""An Image is Worth 16x16 Words, Dosovitskiy et al. 2020 (arXiv 2010.11929): Tables 2, 5, 6, 7, 9, Figure 4."""

from pathlib import Path

import pandas as pd

from .columns import EXA, error_of_percent, records, task_name, transposed_tasks
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_CITATION = "dosovitskiy2020: Dosovitskiy et al., An Image is Worth 16x16 Words, arXiv 2010.11929"
_FACTS = "facts: cite"  # numbers printed in a paper
_SOURCE = {"source": "dosovitskiy2020"}
_JFT_IMAGES = 303_000_000
_NO_UPSTREAM = "null: the paper prints no error on the upstream set"
_KILO = 1000

# Columns of Table 2: model, family, upstream set.
_TABLE_2 = {
    "vit_h14_jft": ("ViT-H/14 (JFT)", "vit", "jft-300m"),
    "vit_l16_jft": ("ViT-L/16 (JFT)", "vit", "jft-300m"),
    "vit_l16_i21k": ("ViT-L/16 (I21k)", "vit", "imagenet-21k"),
    "bit_l": ("BiT-L (ResNet152x4)", "resnet", "jft-300m"),
    "noisy_student": ("Noisy Student (EfficientNet-L2)", "efficientnet", "jft-300m unlabelled"),
}


def _family(name: str) -> str:
    """Hybrids are a ResNet's feature maps under a ViT: "R50x1+ViT-B/16"."""
    if "ViT" in name:
        return "hybrid" if name.startswith("R") else "vit"
    return "resnet"


def _read_table2(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path).set_index("dataset")
    # "88.4/88.5*": the first is the paper's own, the second a later evaluation.
    values = table[list(_TABLE_2)].apply(lambda column: pd.to_numeric(column.astype(str).str.partition("/")[0]))
    frame = transposed_tasks(values.iloc[:-1])
    rows = [_TABLE_2[name] for name in frame["model_variant"]]
    core_days = values.iloc[-1].to_numpy() * _KILO
    frame = frame.assign(compute_core_days=core_days, model_variant=[row[0] for row in rows])
    frame = frame.assign(model_family=[row[1] for row in rows], upstream_dataset=[row[2] for row in rows])
    return records(frame.join(_stds_of_table2(table.iloc[:-1])), run_id="model_variant", values=_SOURCE)


def _stds_of_table2(table: pd.DataFrame) -> pd.DataFrame:
    """In the order of the models; each but Noisy Student has its SD in the next column."""
    stds = [table.iloc[:, list(table.columns).index(name) + 1].astype(float) for name in list(_TABLE_2)[:-1]]
    columns = [f"{task_name(str(name))}_finetune_std" for name in table.index]
    return pd.DataFrame([(std / 100).round(10).to_numpy() for std in stds], columns=columns)


def _read_table5(path: Path) -> pd.DataFrame:
    parts = []
    for name, table in pd.read_csv(path).groupby("pretrain", sort=False):
        part = transposed_tasks(table.set_index("dataset").drop(columns="pretrain"))
        parts.append(part.assign(upstream_dataset=str(name).lower()))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.dropna(subset=["imagenet_finetune_error"]).reset_index(drop=True)
    ids = frame["model_variant"] + " " + frame["upstream_dataset"]
    return records(frame, run_id=ids, values=_SOURCE | {"model_family": "vit"})


def _read_table6(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    names = {"flowers": "flowers102"}
    tasks = ["imagenet", "imagenet_real", "cifar10", "cifar100", "pets", "flowers"]
    errors = {f"{names.get(name, name)}_finetune_error": error_of_percent(table[name]) for name in tasks}
    frame = pd.DataFrame(
        {
            "model_variant": table["name"],
            "model_family": table["family"].str.lower(),
            "images_seen": table["epochs"] * _JFT_IMAGES,
            "compute_flops": table["exaflops"] * EXA,
            "epochs": table["epochs"],
            **errors,
        }
    )
    ids = frame["model_variant"] + " " + frame["epochs"].astype(str) + " epochs"
    rule = "pre-training exaFLOPs as printed: 3 x forward, 1 multiply-add = 2"
    values = _SOURCE | {"upstream_dataset": "jft-300m", "train_examples": _JFT_IMAGES, "flops_rule": rule}
    return records(frame, run_id=ids, values=values)


def _read_table7(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path).set_index("dataset").drop(index="Average")
    frame = transposed_tasks(table)
    parts = frame["model_variant"].str.partition("_")
    models = parts[0].map({"r50": "ResNet50x1", "r152x2": "ResNet152x2"})
    frame = frame.assign(model_variant=models, optimizer=parts[2])
    ids = frame["model_variant"] + " " + frame["optimizer"]
    return records(frame, run_id=ids, values=_SOURCE | {"model_family": "resnet", "upstream_dataset": "jft-300m"})


def _read_table9(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path).set_index("model").rename(columns={"Mean": "vtab"})
    frame = transposed_tasks(table.T)
    upstream = ["imagenet-21k" if "I21k" in name else "jft-300m" for name in frame["model_variant"]]
    frame = frame.assign(upstream_dataset=upstream)
    return records(frame, run_id="model_variant", values=_SOURCE | {"model_family": "vit"})


def _read_figure4(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    frame = pd.DataFrame(
        {
            "model_variant": table["model"],
            "model_family": [_family(name) for name in table["model"]],
            "train_examples": (table["jft_samples_m"] * 1e6).round().astype(int),
            "imagenet_5shot_error": error_of_percent(table["imagenet_linear_5shot_top1"]),
        }
    )
    ids = frame["model_variant"] + " " + table["jft_samples_m"].astype(str) + "M"
    return records(frame, run_id=ids, values=_SOURCE | {"upstream_dataset": "jft-300m"})


def _data_set(
    part: str, file: str, summary: str, axes: tuple[str, str], read, num_rows: int, about: str = _NO_UPSTREAM
) -> DataSet:
    files = (DataFile(f"published/dosovitskiy2020_{file}.csv"),)
    return DataSet(f"dosovitskiy2020_{part}", summary, _CITATION, _FACTS, *axes, about, files, read, num_rows)


_IMAGENET = "imagenet_finetune_error"

DATA_SETS = (
    _data_set(
        "table2", "table2", "ViT-H/14, ViT-L/16, BiT-L, Noisy Student, fine-tuned on 6 tasks and VTAB; TPUv3 core-days",
        ("compute_core_days", _IMAGENET), _read_table2, 5,
    ),
    _data_set(
        "table5", "table5", "5 ViTs by pre-training set (ImageNet, -21k, JFT-300M), fine-tuned on 6 tasks",
        ("imagenet_finetune_error", "cifar100_finetune_error"), _read_table5, 14,
    ),
    _data_set(
        "table6", "table6", "18 ViTs, ResNets and hybrids, 7 or 14 epochs of JFT-300M, fine-tuned on 6 tasks",
        ("compute_flops", _IMAGENET), _read_table6, 18,
    ),
    _data_set(
        "table7", "table7", "Two ResNets pre-trained with Adam and with SGD, fine-tuned on 5 tasks",
        ("imagenet_finetune_error", "cifar100_finetune_error"), _read_table7, 4,
    ),
    _data_set(
        "table9", "table9_vtab", "3 ViTs on the 19 tasks of VTAB, 1,000 images a task",
        ("vtab_finetune_error", "caltech101_finetune_error"), _read_table9, 3,
    ),
    _data_set(
        "figure4", "fig4_fewshot_points", "6 models on 9M to 300M images of JFT-300M: ImageNet 5-shot linear error",
        ("train_examples", "imagenet_5shot_error"), _read_figure4, 24,
        _NO_UPSTREAM + "; few-shot accuracies were read off the figure",
    ),
)  # fmt: skip
