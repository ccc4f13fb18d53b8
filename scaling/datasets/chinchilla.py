"""The points of Hoffmann et al. 2022 (arXiv 2203.15556), read off Figure 4 by Besiroglu et al. 2024."""

from pathlib import Path

import pandas as pd

from .columns import records
from .data_set import DataFile, DataSet

__all__ = ["DATA_SETS"]

_COMMIT = "75e5858f6e7c5b60d1fab69f66258132347b060c"


def _read(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path)
    frame = pd.DataFrame(
        {
            "num_params": table["N"],
            "compute_flops": table["C"],
            "upstream_loss": table["loss"],
            "tokens_seen": table["D"],
        }
    )
    ids = pd.Series([f"point {row}" for row in frame.index], index=frame.index)
    values = {"source": "hoffmann2022", "model_family": "transformer", "flops_rule": "6 N D, read off the figure"}
    return records(frame, run_id=ids, values=values)


DATA_SETS = (
    DataSet(
        "chinchilla",
        "234 language models: compute, parameters, tokens and loss",
        "hoffmann2022: arXiv 2203.15556, Figure 4, as read off by Besiroglu et al. 2024, arXiv 2404.10102; github"
        f" kyo-takano/chinchilla at {_COMMIT[:8]}",
        "Apache-2.0",
        "compute_flops",
        "upstream_loss",
        "null: the points are of upstream_loss, in nats",
        (
            DataFile(
                "chinchilla_points/df.csv",
                f"https://raw.githubusercontent.com/kyo-takano/chinchilla/{_COMMIT}/examples/llm/df.csv",
                "2ed2c412c6b408cb26896b92c0721fe9afa6515726b0db78c33db37cbf2816f9",
            ),
        ),
        _read,
        234,
    ),
)
