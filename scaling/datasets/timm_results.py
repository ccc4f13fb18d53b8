"""timm's results: its pre-trained models on ImageNet and on five shifted test sets, and what an image costs them."""

import re
from pathlib import Path

import pandas as pd

from .columns import error_of_percent, records
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_COMMIT = "aa4b5850c1543fa488abf260f18390eda46cf85d"
_ADDRESS = f"https://raw.githubusercontent.com/huggingface/pytorch-image-models/{_COMMIT}/results"
_KEY = ["model", "img_size"]
_FLOPS_PER_GMAC = 2e9
_RULE = "2 x GMACs of benchmark-infer, by architecture and image size"

# Task and file of a shifted set; "clean" is ImageNet on the 200 classes of A or R.
_SHIFTED = {
    "imagenet_v2": "results-imagenetv2-matched-frequency.csv",
    "imagenet_real": "results-imagenet-real.csv",
    "imagenet_sketch": "results-sketch.csv",
    "imagenet_a": "results-imagenet-a.csv",
    "imagenet_r": "results-imagenet-r.csv",
    "imagenet_a_clean": "results-imagenet-a-clean.csv",
    "imagenet_r_clean": "results-imagenet-r-clean.csv",
}
_TIMINGS = "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv"
_SHA256 = {
    "results-imagenet.csv": "30972bf7c7ab451bbd4480ec6116b13d0a84441c57bbc946896fd312264acfcd",
    "results-imagenetv2-matched-frequency.csv": "1d066d8897c40224b14f3cf1d02029c49ebdc56b761ba9a3841bd3bdd3bd0a8e",
    "results-imagenet-real.csv": "e94696aed665475e4d0235195733775c5e1b3f36d6f5f7de99f4386e7ed11630",
    "results-sketch.csv": "f3176de38d4a26aa808b3d0cc1fee4261268d70b2be7c9d43e65cb03b3864f46",
    "results-imagenet-a.csv": "89471dcea0cd98b56211e2b808cb6bbf7b3c8bb4fe691ba58fec1f198e3fcf91",
    "results-imagenet-r.csv": "2dcc1f3dea098ffc1080ad04309b11477646f6f25837b041ce6075610f863209",
    "results-imagenet-a-clean.csv": "9146fe8f640dffec93fc7b0052aff2bc38f9de6627cab06117bdf9f43496c162",
    "results-imagenet-r-clean.csv": "ce531f6b5d2471f98a1029dae76f683b9ccf69d1d5b54ee09d78c4d530e2bb9c",
    _TIMINGS: "3ead09bcdd508312cd52f69eeefca1e7edae714b2fd55e2daec5d32e2325f396",
}

# The first that the start of a name matches; hybrids (a ResNet under a transformer: "_r50_s16") are their own.
_FAMILIES = {
    "hybrid": r"vit_.*_r\d+_s\d+",
    "vit": r"(vit|flexivit|deit3?|beit|beitv2|eva|eva02)_",
    "resnet": r"(wide_|(legacy_)?se|eca|sk|gc)?res(net|next)",
}


def _family(model: str) -> str:
    """One of the three, else the first word of the name: "convnext", "swin"."""
    known = next((family for family, start in _FAMILIES.items() if re.match(start, model)), None)
    return known or re.split(r"[_.\d]", model)[0]


def _read_csv(path: Path) -> pd.DataFrame:
    """Parameters are in millions with commas: "1,013.01"."""
    return pd.read_csv(path, thousands=",")


def _read(imagenet: Path, timings: Path, *shifted: Path) -> pd.DataFrame:
    table = _read_csv(imagenet)
    frame = pd.DataFrame(
        {
            "model": table["model"],
            "img_size": table["img_size"],
            "architecture": table["model"].str.partition(".")[0],
            "pretraining": table["model"].str.partition(".")[2],
            "model_family": [_family(name) for name in table["model"]],
            "num_params": (table["param_count"] * 1e6).round().astype("int64"),
            "upstream_error": error_of_percent(table["top1"]),
            "upstream_top5_error": error_of_percent(table["top5"]),
        }
    )
    for task, path in zip(_SHIFTED, shifted, strict=True):
        errors = error_of_percent(_read_csv(path).set_index(_KEY)["top1"]).rename(f"{task}_zero_shot_error")
        frame = frame.merge(errors.reset_index(), on=_KEY, how="left", validate="one_to_one")
    frame = frame.merge(_costs(timings), on=["architecture", "img_size"], how="left", validate="many_to_one")
    ids = frame["model"] + "@" + frame["img_size"].astype(str)
    frame = frame.rename(columns={"model": "model_variant", "img_size": "image_size"})
    rules = frame["flops_per_image"].notna().map({True: _RULE, False: None})
    values = {"source": "wightman2019", "upstream_dataset": "imagenet", "eval_split": "validation", "num_classes": 1000}
    return records(frame.assign(flops_rule=rules), run_id=ids, values=values)


def _costs(path: Path) -> pd.DataFrame:
    """By architecture and image size: the timings name no weights."""
    table = _read_csv(path)
    return pd.DataFrame(
        {
            "architecture": table["model"],
            "img_size": table["infer_img_size"],
            "flops_per_image": table["infer_gmacs"] * _FLOPS_PER_GMAC,
            "inference_images_per_second": table["infer_samples_per_sec"],
            "activations": table["infer_macts"] * 1e6,
        }
    )


def _file(name: str) -> DataFile:
    return DataFile(f"timm_results/{name}", f"{_ADDRESS}/{name}", _SHA256[name])


_NAMES = ("results-imagenet.csv", _TIMINGS, *_SHIFTED.values())

DATA_SETS = (
    DataSet(
        "timm_results",
        "timm's models at their image sizes on ImageNet, V2, ReaL, Sketch, A, R; FLOPs and speed of inference",
        f"wightman2019: Wightman, PyTorch Image Models, github huggingface/pytorch-image-models at {_COMMIT[:8]}",
        "Apache-2.0",
        "flops_per_image",
        "upstream_error",
        "of ImageNet's validation images, after whatever pre-training. num_params include the classifier; the weights"
        " are released ones: no compute of training is known",
        tuple(_file(name) for name in _NAMES),
        _read,
        1556,
    ),
)
