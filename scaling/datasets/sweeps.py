"""Sweeps that this project has run."""

from pathlib import Path

import pandas as pd

from ..records import read_records
from ..schema import TABLES
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]


def _read(records: Path, *_: Path) -> pd.DataFrame:
    return read_records(records.parent)


def _sweep(
    name: str, summary: str, about: str, num_rows: int, tables: tuple[str, ...] = ("records", "evals")
) -> DataSet:
    files = tuple(DataFile(f"sweeps/{name}/{table}.parquet") for table in tables)
    citation = f"sweep:{name}: this project, sweeps run sweeps/configs/{name}.yaml"
    return DataSet(name, summary, citation, "ours", "compute_flops", "upstream_error", about, files, _read, num_rows)


DATA_SETS = (
    _sweep(
        "demo",
        "72 small ViTs and ResNets on drawn images of 120 classes, and their probes on 7 drawn tasks",
        "of the upstream set's test images",
        72,
    ),
    _sweep(
        "vit_against_resnet",
        "336 small ViTs and ResNets on Fashion-MNIST: numbers of images, lengths, recipes; 7 tasks at 1 to 25 shots",
        "of the upstream set's test images",
        336,
    ),
    _sweep(
        "head_weight_decay",
        "84 small ViTs and ResNets on Fashion-MNIST: 7 weight decays of the head; 7 tasks, norms and margins",
        "of the upstream set's test images",
        84,
        tuple(TABLES),
    ),
    _sweep(
        "layer_probes",
        "48 small ViTs and ResNets on Fashion-MNIST, 3 depths and 2 numbers of images: probes at every layer, 8 tasks",
        "of the upstream set's test images",
        48,
    ),
)
