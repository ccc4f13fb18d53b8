"""Tables of a few models each: released checkpoints, CIFAR-10 from scratch, ObjectNet, recipes; and curves of NMT."""

from pathlib import Path

import pandas as pd

from .columns import error_of_percent, records, task_name
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_FACTS = "facts: cite"  # numbers printed in papers
_OURS = "ours"


def _read_released(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    parts = []
    for name, rows in table.groupby("dataset", sort=False):
        task = task_name(str(name))
        rows = rows.set_index("model")
        columns: dict[str, pd.Series] = {"feature_dim": rows["dim"], f"{task}_l2": rows["l2"]}
        for shots in (1, 2, 5, 10):
            columns[f"{task}_{shots}shot_error"] = error_of_percent(rows[f"acc_{shots}shot"])
            columns[f"{task}_{shots}shot_std"] = (rows[f"sd_{shots}shot"] / 100).round(10)
        parts.append(pd.DataFrame(columns))
    frame = pd.concat([parts[0], *(part.drop(columns="feature_dim") for part in parts[1:])], axis=1)
    frame = frame.rename_axis("model_variant").reset_index()
    families = ["vit" if name.startswith("ViT") else "resnet" for name in frame["model_variant"]]
    frame = frame.assign(model_family=families)
    return records(frame, run_id="model_variant", values={"source": "released_models_fewshot"})


def _read_cifar10(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    parts = [
        pd.DataFrame(
            {
                "model_family": family,
                "train_examples": table["num_images"],
                "images_seen": table["num_images"] * table["epochs"],
                "upstream_error": error_of_percent(table[f"{family}_best_acc"]),
                "epochs": table["epochs"],
            }
        )
        for family in ("vit", "resnet")
    ]
    frame = pd.concat(parts, ignore_index=True)
    ids = frame["model_family"] + " " + frame["train_examples"].astype(str)
    values = {"source": "cifar10_from_scratch", "upstream_dataset": "cifar10", "num_classes": 10}
    return records(frame, run_id=ids, values=values)


def _read_objectnet(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    frame = pd.DataFrame(
        {
            "model_variant": table["model"],
            "source": table["source"].str.partition(" ")[0],
            "objectnet_finetune_error": error_of_percent(table["top1_pct"]),
            "objectnet_finetune_top5_error": error_of_percent(table["top5_pct"]),
        }
    )
    values = {"upstream_dataset": "jft-300m"}
    return records(frame, run_id="model_variant", values=values)


def _read_factors(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    error = error_of_percent(table["imagenet_top1_pct"])
    frame = pd.DataFrame(
        {
            "run_id": table["model"],
            "source": table["source"].str.extract(r"^(\w+)")[0],
            "upstream_dataset": table["data"].str.lower(),
            "model_family": table["architecture"].str.lower(),
            "model_variant": table["size"],
            "image_size": table["resolution"],
            "train_examples": table["data_images"],
            "images_seen": (table["epochs"] * table["data_images"]).astype("Int64"),
            "upstream_error": error.where(table["data"] == "ImageNet-1k"),
            "recipe": table["recipe"],
            "teacher": table["teacher"],
            "recipe_source": table["recipe_source"],
            "epochs": table["epochs"],
            "imagenet_error": error,
            "printed_in": table["source"],
        }
    )
    return records(frame, run_id="run_id", values={})


def _read_nmt(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    frame = pd.DataFrame(
        {
            "model_variant": table["Model"],
            "trunk_id": table["Model"],
            "upstream_loss": table["Loss"],
            "examples_seen": table["Seen Examples"],
            "is_to_fit": table["Training"] == 1,
        }
    )
    ids = frame["model_variant"] + " " + frame["examples_seen"].astype(str)
    return records(frame, run_id=ids, values={"source": "alabdulmohsin2022"})


DATA_SETS = (
    DataSet(
        "released_models_fewshot",
        "7 released checkpoints, frozen: CIFAR-100 and Pets by a linear probe of 1, 2, 5 and 10 images a class",
        "released_models_fewshot: our experiment",
        _OURS,
        "cifar100_10shot_error",
        "pets_10shot_error",
        "null: the checkpoints were only evaluated",
        (DataFile("published/released_models_fewshot.csv"),),
        _read_released,
        7,
    ),
    DataSet(
        "cifar10_from_scratch",
        "A ViT and a ResNet from scratch on 1,000, 5,000 and 50,000 images of CIFAR-10",
        "cifar10_from_scratch: our experiment",
        _OURS,
        "train_examples",
        "upstream_error",
        "of CIFAR-10's test images, the least over the epochs (a little below that of the last)",
        (DataFile("published/cifar10_from_scratch.csv"),),
        _read_cifar10,
        6,
    ),
    DataSet(
        "objectnet",
        "ViT-H/14 and BiT-L on ObjectNet",
        "dosovitskiy2020: arXiv 2010.11929, appendix; kolesnikov2019: arXiv 1912.11370",
        _FACTS,
        "objectnet_finetune_top5_error",
        "objectnet_finetune_error",
        "null: no error on JFT-300M is printed",
        (DataFile("published/objectnet.csv"),),
        _read_objectnet,
        2,
    ),
    DataSet(
        "recipe_architecture_factors",
        "25 models on ImageNet by architecture, size, recipe, data, teacher and resolution",
        "dosovitskiy2020: arXiv 2010.11929; touvron2020: arXiv 2012.12877; liu2022: arXiv 2201.03545",
        _FACTS,
        "train_examples",
        "imagenet_error",
        "of ImageNet where a model saw ImageNet-1k alone (some at a second, higher resolution), else null",
        (DataFile("published/recipe_architecture_factors.csv"),),
        _read_factors,
        25,
    ),
    DataSet(
        "alabdulmohsin2022_nmt",
        "5 learning curves of machine translation: log perplexity against sentence pairs (is_to_fit: those to fit)",
        "alabdulmohsin2022: Alabdulmohsin, Neyshabur, Zhai, arXiv 2209.06640",
        _FACTS,
        "examples_seen",
        "upstream_loss",
        "null: the curves are of upstream_loss, in nats",
        (DataFile("published/alabdulmohsin2022_nmt.csv"),),
        _read_nmt,
        53,
    ),
)
