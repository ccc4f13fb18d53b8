"""Few-shot learning curves of models on JFT-300M; Alabdulmohsin, Neyshabur, Zhai 2022 (arXiv 2209.06640)."""

from pathlib import Path

import pandas as pd

from .columns import records
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_COMMIT = "9853680c781781bd8d3de20aa61c7373ce059913"
_PATH = "revisiting_neural_scaling_laws/data/benchmark.vision.csv"
_TASKS = {"inet": "imagenet", "bird": "birds"}
_FAMILIES = {"BiT": "resnet", "ViT": "vit", "MiX": "mixer"}
# The paper's, in millions.
_PARAMS = {"BiT/50/1": 61, "BiT/101/3": 494, "ViT/S/16": 32, "ViT/B/16": 110, "MiX/B/16": 73, "MiX/L/16": 226}
_KEY = ["Model", "Seen Examples"]


def _read(path: Path) -> pd.DataFrame:
    """A row a model and number of images seen; the curves of its tasks lie at different ones, null elsewhere."""
    table = pd.read_csv(path)
    table = table.assign(task=[_task(name) for name in table["Task"]], is_to_fit=table["Training"] == 1)
    wide = table.pivot(index=_KEY, columns="task", values="Loss").add_suffix("_error")
    fits = table.pivot(index=_KEY, columns="task", values="is_to_fit").add_suffix("_is_to_fit").astype("boolean")
    frame = wide.join(fits).reset_index().rename_axis(columns=None)
    frame = frame.rename(columns={"Model": "model_variant", "Seen Examples": "images_seen"})
    frame = frame.assign(images_seen=frame["images_seen"].astype("int64"), trunk_id=frame["model_variant"])
    frame = frame.assign(
        model_family=frame["model_variant"].str.partition("/")[0].map(_FAMILIES),
        num_params=(frame["model_variant"].map(_PARAMS) * 1e6).astype("Int64"),
    )
    ids = frame["model_variant"] + " " + frame["images_seen"].astype(str)
    values = {"source": "alabdulmohsin2022", "upstream_dataset": "jft-300m"}
    return records(frame, run_id=ids, values=values)


def _task(printed: str) -> str:
    """ "inet_10" is ImageNet, 10 images a class."""
    name, _, shots = printed.rpartition("_")
    return f"{_TASKS.get(name, name)}_{shots}shot"


DATA_SETS = (
    DataSet(
        "fewshot_curves",
        "Learning curves of 6 models (ViT, BiT, Mixer): ImageNet and Birds, 5, 10, 25 shots, against images seen",
        "alabdulmohsin2022: Alabdulmohsin, Neyshabur, Zhai, arXiv 2209.06640; github google-research/google-research at"
        f" {_COMMIT[:8]}",
        "CC BY 4.0",
        "images_seen",
        "imagenet_10shot_error",
        "null: no error on JFT-300M is told. `<task>_<k>shot_is_to_fit`: the half of a curve that the paper fits. Rows"
        " of one model are points of one training (trunk_id); the whole file has two more tasks than the reduced one",
        (
            DataFile(
                "revisiting_nsl/benchmark.vision.csv",
                f"https://raw.githubusercontent.com/google-research/google-research/{_COMMIT}/{_PATH}",
                "23b00692d71e58aa5a2a941e831d57688e0977fdcf5f5125ff7b64283b5d9e83",
                DataFile(
                    "revisiting_nsl/benchmark_vision_imagenet_birds.csv",
                    sha256="1ac668a83b3f1c1e7f0710ef13622c69d362664895d09c5a09c77430f2df7310",
                ),
            ),
        ),
        _read,
        None,
    ),
)
