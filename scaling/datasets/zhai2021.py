"""Scaling Vision Transformers, Zhai et al. 2021 (arXiv 2106.04560): Tables 1, 2, 4 to 13."""

from pathlib import Path

import pandas as pd

from .columns import error_of_percent, records
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_CITATION = "zhai2021: Zhai, Kolesnikov, Houlsby, Beyer, Scaling Vision Transformers, arXiv 2106.04560"
_FACTS = "facts: cite"  # numbers printed in a paper
_RULE = "forward FLOPs as Table 2 prints them (1 multiply-add = 2), training 3x"
_OTHERS = {"BiT-L": "resnet"} | dict.fromkeys(("Noisy Student", "Meta Pseudo Labels", "ALIGN"), "efficientnet")


def _shapes(path: Path) -> pd.DataFrame:
    """Table 2 with the names of the records, by model."""
    table = pd.read_csv(path)
    return pd.DataFrame(
        {
            "model_variant": table["name"],
            "width": table["width"],
            "depth": table["depth"],
            "num_heads": table["heads"],
            "mlp_dim": table["mlp"],
            "patch_size": table["name"].str.rpartition("/")[2].astype(int),
            "num_params": (table["mio_params"] * 1e6).round().astype(int),
            "flops_per_image": table["gflops_224"] * 1e9,
        }
    )


def _read_runs(runs: Path, shapes: Path) -> pd.DataFrame:
    table = pd.read_csv(runs)
    frame = pd.DataFrame(
        {
            "model_variant": table["model"],
            "train_examples": table["data_size"],
            "step": table["steps_bs4096"],
            "images_seen": table["images_seen"],
            "compute_core_days": table["compute_tpuv3_core_days_from_fig2"],
            "imagenet_5shot_error": (table["inet5_err_pct"] / 100).round(10),
            "imagenet_10shot_error": (table["inet10_err_pct"] / 100).round(10),
        }
    ).merge(_shapes(shapes), on="model_variant", how="left", validate="many_to_one")
    frame = frame.assign(compute_flops=3 * frame["flops_per_image"] * frame["images_seen"])
    ids = frame["model_variant"] + " " + frame["train_examples"].astype(str) + " " + frame["step"].astype(str)
    values = {"source": "zhai2021", "upstream_dataset": "jft-3b", "model_family": "vit", "image_size": 224}
    return records(frame, run_id=ids, values=values | {"flops_rule": _RULE, "cooled_down": True})


def _read_table1(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    tasks = {"imagenet": "imagenet", "imagenet_v2": "imagenet_v2", "imagenet_real": "imagenet_real"}
    tasks |= {"objectnet": "objectnet", "vtab_light": "vtab"}
    errors = {f"{task}_finetune_error": error_of_percent(table[name]) for name, task in tasks.items()}
    stds = {f"{task}_finetune_std": (table[f"{name}_sd"] / 100).round(10) for name, task in tasks.items()}
    families = [_OTHERS.get(name, "vit") for name in table["model"]]
    frame = pd.DataFrame({"model_variant": table["model"], "model_family": families} | errors | stds)
    return records(frame, run_id="model_variant", values={"source": "zhai2021"})


_RUNS = DataFile("published/zhai2021_runs_imagenet_fewshot.csv")
_TABLE_2 = DataFile("published/zhai2021_table2_models.csv")

DATA_SETS = (
    DataSet(
        "zhai2021",
        "262 ViTs of Tables 4 to 13, 11 sizes, on 30M to 3B images of JFT-3B: ImageNet 5- and 10-shot errors",
        _CITATION,
        _FACTS,
        "compute_core_days",
        "imagenet_10shot_error",
        "null: the paper prints no error on JFT-3B. Steps are of 4,096 images, also where batches were larger",
        (_RUNS, _TABLE_2),
        _read_runs,
        262,
    ),
    DataSet(
        "zhai2021_table1",
        "ViT-G/14 and six models of others: ImageNet, V2, ReaL, ObjectNet after fine-tuning on ImageNet, and VTAB",
        _CITATION,
        _FACTS,
        "imagenet_finetune_error",
        "objectnet_finetune_error",
        "null: each model has another upstream set. The other models' errors are quoted by the paper",
        (DataFile("published/zhai2021_table1.csv"),),
        _read_table1,
        7,
    ),
)
