"""Names of columns, tasks and groups as a reader of a figure sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties, findfont, get_font

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MODEL_LABEL",
    "QUANTITY_LABELS",
    "SELECTION_LABELS",
    "amount",
    "column_label",
    "column_words",
    "probe_names",
    "row_names",
    "short_count",
    "shown_name",
    "task_title",
    "task_words",
]

_LONGEST_NAME, _LAST = 60, 20  # characters, of which so many are the last, which often tell names apart
SELECTION_LABELS = {
    "stochastic": "edge of all runs", "pareto": "law on the frontier", "convex_hull": "law on the hull",
    "all": "law on all runs",
}  # fmt: skip
QUANTITY_LABELS = {
    "weight_norm": "norm of the weights", "distance_to_init": "distance of the weights to their start",
    "active_share": "share of active neurons", "active_share_mean": "share of active neurons, mean over layers",
    "attention_distance": "mean attention distance (pixels)", "hessian_top_eigenvalue": "top eigenvalue of the Hessian",
    "weight_norm_body": "norms of the weights, sum over the layers below the head",
    "weight_norm_head": "norm of the head's weights",
    "distance_to_init_body": "distances of the weights to their start, sum over the layers below the head",
    "sharpness": "sharpness: rise of the loss (nats)", "corruption_error_mean": "error under corruptions, their mean",
}  # fmt: skip
_COLUMN_LABELS = {
    "compute_flops": "training compute (FLOPs)", "compute_core_days": "training compute (core-days)",
    "num_params": "model size (parameters)", "flops_per_image": "forward pass (FLOPs an image)",
    "train_examples": "training images", "wall_seconds": "wall time (seconds)", "lr": "learning rate",
    "upstream_loss": "upstream loss (nats)", "energy_joules": "energy (joules)",
}  # fmt: skip
_SHOTS = re.compile(r"\b(\d+)shot\b")
_NO_WIDTH = "\u200b"
_NO_UNIT = 1e15  # of larger numbers, which nobody calls by a letter
MODEL_LABEL = ("model_family", "model_variant")  # two families may have one variant, such as S/16


def shown_name(name: Any) -> str:
    """A name from data as a figure can show it; of what is shown already, the same.

    A dollar begins no formula, a legend does not leave it out (as it does an empty text, and one that begins with an
    underscore, which stands after a space of no width), a long one is cut, and what the font lacks is a question mark.

    >>> shown_name("$x"), shown_name(""), len(shown_name("a" * 10_000))
    ('\\\\$x', '(empty)', 60)
    """
    text = " ".join(str(name).replace(r"\$", "$").split())
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME - _LAST - 1]}\u2026{text[-_LAST:]}"
    known = _known_characters(tuple(rcParams["font.family"]))
    text = "".join(c if c.isascii() or ord(c) in known else "?" for c in text if c.isprintable() or c in _NO_WIDTH)
    text = text.replace("$", r"\$") or "(empty)"
    return f"{_NO_WIDTH}{text}" if text.startswith("_") else text


@cache
def _known_characters(families: tuple[str, ...]) -> frozenset[int]:
    """Code points that one of the fonts has."""
    known: set[int] = {ord(_NO_WIDTH)}
    for family in families:
        known |= get_font(findfont(FontProperties(family=[family]))).get_charmap().keys()
    return frozenset(known)


def column_label(name: str) -> str:
    """What a column of records is called on an axis, with its unit.

    >>> column_label("compute_flops"), column_label("pets_10shot_error"), column_label("top5_error")
    ('training compute (FLOPs)', 'pets 10-shot error', 'top5 error')
    """
    return shown_name(column_words(name))


def column_words(name: str) -> str:
    """As `column_label`, for a text that is no figure's: every character as it is."""
    words = _COLUMN_LABELS.get(name, QUANTITY_LABELS.get(name, name.replace("_", " ")))
    words = re.sub(r"\bzero shot error$", "zero-shot error", _SHOTS.sub(r"\1-shot", words))
    return re.sub(r"\bfinetune error$", "fine-tuned error", words)


def task_title(column: str) -> str:
    """What the task of a column of errors is called.

    >>> task_title("oxford_pets_10shot_error")
    'oxford pets 10-shot'
    """
    return shown_name(task_words(column))


def task_words(column: str) -> str:
    """As `task_title`, for a text that is no figure's: every character as it is.

    >>> task_words("$cars_zero_shot_error"), task_words("pets_finetune_error")
    ('$cars zero-shot', 'pets fine-tuned')
    """
    return column_words(column).removesuffix(" error")


def amount(value: float) -> str:
    """A number of any size, short: 5.7e18, 163."""
    return f"{value:.3g}" if 1e-3 <= value < 1e4 else f"{value:.2g}".replace("e+", "e")


def short_count(value: Any) -> str:
    """30000000.0 as 30M.

    >>> short_count(3e7), short_count(1.5e9), short_count(640), short_count(0.05), short_count(2e18)
    ('30M', '1.5B', '640', '0.05', '2e18')
    """
    if value >= _NO_UNIT:
        return amount(value)
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def row_names(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """What each row is called: its values in these columns with a comma between, nulls left out.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"model_family": ["vit", "resnet"], "num_heads": [2, None], "lr": [1.0, 0.01]})
    >>> row_names(table, ["model_family", "num_heads", "lr"]).tolist()
    ['vit, 2, 1', 'resnet, 0.01']
    """
    import pandas as pd

    texts = [(", " + values.map(_text)).where(values.notna(), "") for _, values in table[list(columns)].items()]
    return sum(texts, start=pd.Series("", index=table.index, dtype=object)).astype(str).str.removeprefix(", ")


def _text(value: Any) -> str:
    """1.0 as 1, every digit kept: two values never have one name."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def probe_names(table: pd.DataFrame) -> list[str]:
    """What the rows of a table of tasks are called in a figure: "pets 10-shot", or without shots "pets"."""
    if "num_shots" not in table:
        return [shown_name(task) for task in table["task"]]
    few = table["num_shots"].notna()
    return [
        f"{shown_name(task)} {int(shots)}-shot" if is_few else shown_name(task)
        for task, shots, is_few in zip(table["task"], table["num_shots"], few, strict=True)
    ]
