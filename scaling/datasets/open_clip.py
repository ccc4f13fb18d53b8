"""open_clip's results: contrastive models on 38 data sets without training on them, their parameters and FLOPs."""

from pathlib import Path

import pandas as pd

from .columns import records, task_name
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_COMMIT = "89fb801f1e6087880e951fc8354b8a2077b79c6d"
_ADDRESS = f"https://raw.githubusercontent.com/mlfoundations/open_clip/{_COMMIT}/docs"
# Its "FLOPs" are FLOPs: ViT-B/32's image tower has 8.82, where timm counts 4.41 GMACs.
_RULE = "FLOPs (B) as printed, image and text tower, 1 multiply-add = 2"
_COSTS = ["name", "pretrained", "params (M)", "FLOPs (B)"]
_MEAN = "Average perf. on 38 datasets"
_NAMES = {"ImageNet 1k": "imagenet", "Oxford Flowers-102": "flowers102", "Oxford-IIIT Pet": "pets", _MEAN: "mean"}
_NAMES |= {"Describable Textures": "dtd", "PatchCamelyon": "pcam", "Caltech-101": "caltech101"}
_NAMES |= {"Food-101": "food101", "STL-10": "stl10", "Stanford Cars": "cars"}


def _read(results: Path, profile: Path) -> pd.DataFrame:
    table = pd.read_csv(results, na_values=[""])
    sizes = pd.read_csv(profile).set_index("model")
    shapes = sizes.reindex(table["name"])
    errors = {
        f"{_NAMES.get(name) or task_name(name)}_zero_shot_error": (1 - table[name]).round(10)
        for name in map(str, table)
        if name not in _COSTS
    }
    frame = pd.DataFrame(
        {
            "model_variant": table["name"],
            "pretrained": table["pretrained"],
            "model_family": [_family(name) for name in table["name"]],
            "image_size": shapes["image_size"].astype("Int64").array,
            "num_params": (table["params (M)"] * 1e6).round().astype("int64"),
            "flops_per_image": table["FLOPs (B)"] * 1e9,
            "image_tower_flops": shapes["image_gflops"].to_numpy() * 1e9,
            **errors,
        }
    )
    ids = frame["model_variant"] + "@" + frame["pretrained"]
    return records(frame, run_id=ids, values={"source": "ilharco2021", "flops_rule": _RULE})


def _family(name: str) -> str:
    """Of the image tower."""
    low = name.lower()
    found = next((family for family in ("convnext", "vit", "eva", "rn", "nllb") if family in low), low)
    return {"rn": "resnet", "eva": "vit", "nllb": "vit"}.get(found, found)


DATA_SETS = (
    DataSet(
        "open_clip",
        "121 contrastive models (CLIP, SigLIP, EVA, CoCa, ...) without training on 38 data sets; parameters, FLOPs",
        f"ilharco2021: Ilharco et al., OpenCLIP, github mlfoundations/open_clip at {_COMMIT[:8]}, docs/",
        "MIT-style",
        "flops_per_image",
        "imagenet_zero_shot_error",
        "null: a contrastive model has no error on its upstream images. Retrieval (flickr, mscoco) and the mean are 1 -"
        " the number that the table prints",
        (
            DataFile(
                "open_clip/openclip_results.csv",
                f"{_ADDRESS}/openclip_results.csv",
                "6b3f9313e2e24691b31ab69b534b2553165be1a975dd149ee9b4a7facb384d21",
            ),
            DataFile(
                "open_clip/model_profile.csv",
                f"{_ADDRESS}/model_profile.csv",
                "6f0975464d02d31a4c7cfca79a100c47c0d01cf47222f4fa5b9bec5609677285",
            ),
        ),
        _read,
        121,
    ),
)
