"""What trained models were asked beside their errors: measurements beside the records that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .frames import check_columns
from .layers import layer_order
from .schema import KEY

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_measurements", "measurement_table"]

_WHERE = ("dataset", "split", "layer", "head", "other")
_NUMBER = r"-?\d+(?:\.\d*)?(?:e-?\d+)?"
# What the column `other` of a measurement is like, and its form: the parts become columns.
_OTHER = {
    "corruption_error": ("gaussian_noise:3", r"(?P<corruption>[^:]+):(?P<severity>\d+)"),
    "fgsm_error": ("eps=0.0039", rf"eps=(?P<radius>{_NUMBER})"),
    "pgd_error": ("eps=0.0039", rf"eps=(?P<radius>{_NUMBER})"),
    "sharpness": ("rho=0.05", rf"rho=(?P<rho>{_NUMBER})"),
    "loss": ("0.5,-0.25", rf"(?P<along_1>{_NUMBER}),(?P<along_2>{_NUMBER})"),
    "cka": ("block_2", r"(?:(?P<other_run>[^:]+):)?(?P<other_layer>[^:]+)"),
}
_TEXT = ("corruption", "other_run", "other_layer")  # of the parts; the others are numbers
_NO_COLUMN = ("cka", "loss")  # a matrix and a surface: no number says what they do
_SUMMED = ("weight_norm", "distance_to_init")  # over layers, as Abnar et al. do


def measurement_table(measurements: pd.DataFrame, records: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The rows of measurements by name, each with the columns of the record of its model.

    Args:
        measurements: as `read_measurements` returns.
        records: as `read_records` returns, or a part of them: measurements of other models are left out.
        names: of measurements, such as "weight_norm"; several come below one another.

    Returns:
        A row a measured value, models in the order of the records, layers from the input to the output, heads by
        number: the columns of the measurements and of the records; `position`, 0 at the first of a model's layers and 1
        at the last, null where there is no layer; and what `other` says, as columns: `corruption` and `severity` of
        `corruption_error`, `radius` of `fgsm_error` and `pgd_error`, `rho` of `sharpness`, `along_1` and `along_2` of
        `loss`, `other_run` and `other_layer` of `cka`.

    Raises:
        ValueError: an unknown name (those there are), a value that is there twice, no value of these records, or
            an `other` without the form of its measurement.

    >>> import pandas as pd
    >>> records = pd.DataFrame({"run_id": ["a"], "step": 9, "weights": "last", "model_family": "vit"})
    >>> rows = pd.DataFrame({"layer": ["head", "block_1", "embedding"], "value": [3.0, 2.0, 1.0]})
    >>> rows = rows.assign(run_id="a", step=9, weights="last", name="weight_norm")
    >>> measurement_table(rows, records, "weight_norm")[["model_family", "layer", "position", "value"]]
      model_family      layer  position  value
    0          vit  embedding       0.0    1.0
    1          vit    block_1       0.5    2.0
    2          vit       head       1.0    3.0
    """
    table = _of_records(measurements, records, names)
    table = _by_other(_in_order(table))
    return table.sort_values(["_record", "_name", "_layer", "_head"], kind="stable", ignore_index=True).drop(
        columns=["_record", "_name", "_layer", "_head"]
    )


def add_measurements(
    records: pd.DataFrame, measurements: pd.DataFrame, names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Records with a column for each measurement that is one number a model, to be analysed as errors are.

    A column is called by the name of its measurement, then by what tells its values apart: the data set where it is not
    the record's `upstream_dataset`, the split and `other` where there are several: `hessian_top_eigenvalue`,
    `head_margin_train`, `head_margin_digits_fewshot`, `pgd_error_eps=0.0039`. Of `corruption_error` there is the mean
    over all corruptions, `corruption_error_mean`, and over the severities of each, `corruption_error_blur`. Values of
    layers become their mean over layers and heads, `attention_distance_mean`; of `weight_norm` and `distance_to_init`
    there is the sum over the layers below the head, `weight_norm_body`, beside `weight_norm_head`. `cka` and the
    surface of the `loss` have no column.

    Args:
        records: as `read_records` returns.
        measurements: as `read_measurements` returns.
        names: which measurements; None: all.

    Returns:
        The records with these columns; null where a model was not measured, and a mean over corruptions also where the
        model lacks one that another has.

    Raises:
        ValueError: an unknown name, a value that is there twice, no value of these records, or a column that the
            records have already.

    Source: the sum below the head, Abnar et al. 2021 (arXiv 2110.02095), Figure 11.

    >>> import pandas as pd
    >>> records = pd.DataFrame({"run_id": ["a", "b"], "step": 9, "weights": "last", "upstream_error": [0.3, 0.2]})
    >>> rows = pd.DataFrame({"run_id": ["a", "a", "b"], "split": ["train", "test", "train"], "value": [3.0, 2.0, 1.0]})
    >>> add_measurements(records, rows.assign(step=9, weights="last", name="head_margin"))
      run_id  step weights  upstream_error  head_margin_test  head_margin_train
    0      a     9    last             0.3               2.0                3.0
    1      b     9    last             0.2               NaN                1.0
    """
    import pandas as pd

    table = _of_records(measurements, records, names)
    if "upstream_dataset" in records:  # an upstream data set need not be named
        table["dataset"] = table["dataset"].mask(table["dataset"] == table["upstream_dataset"])
    names = [name for name in sorted(set(table["name"])) if name not in _NO_COLUMN]
    found = [(name, wide) for name in names for wide in _columns_of(name, table)]
    measured = set(table["name"])  # a sum or mean that was measured itself is not computed again
    found = [wide.drop(columns=[name for name in wide if name in measured - {of}]) for of, wide in found]
    rows = [wide.reindex(np.arange(len(records))).set_axis(records.index) for wide in found]
    known = [name for wide in rows for name in wide if name in records]
    if known:
        raise ValueError(f"records must not have the columns of measurements already, got {known[0]!r}")
    added = pd.concat([records, *rows], axis=1)
    added.attrs.update(records.attrs)
    return added


def _of_records(measurements: pd.DataFrame, records: pd.DataFrame, names: Sequence[str] | None) -> pd.DataFrame:
    """Rows of these names, None all, with the columns of their records, checked; `_record` is the record's place."""
    check_columns(measurements, *KEY, "name", "value")
    check_columns(records, *KEY)
    _check_once(records, KEY, "records must have a model once")
    known = list(dict.fromkeys(measurements["name"].dropna()))
    asked = known if names is None else list(names) if isinstance(names, Iterable) else [names]
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        got = f"{unknown[0]!r}" if unknown else "none"
        raise ValueError(f"names must be of measurements; there is {', '.join(known) or 'none'}, got {got}")
    rows = measurements[measurements["name"].isin(asked)]
    rows = rows.assign(**{name: None for name in _WHERE if name not in rows})
    _check_once(rows, [*KEY, "name", *_WHERE], "a measurement must be there once")
    own = [name for name in records if name in KEY or name not in rows]
    table = rows.merge(records[own].assign(_record=np.arange(len(records))), on=list(KEY), how="inner")
    lost = set(asked) - set(table["name"]) if names is not None or table.empty else set()
    if lost:
        raise ValueError(f"no row of {sorted(lost)} is of a model of the records: they differ in run, step or weights")
    return table.assign(_name=table["name"].map({name: place for place, name in enumerate(asked)}))


def _check_once(table: pd.DataFrame, key: Sequence[str], rule: str) -> None:
    twice = table[table.duplicated(list(key))]
    if len(twice):
        row = " ".join(str(value) for value in twice[list(key)].iloc[0].dropna())
        raise ValueError(f"{rule}; repeated is {row} ({len(twice)} such)")


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """With the layer's `position` between a model's first and last layer, and places to sort by."""
    import pandas as pd

    order = layer_order(table["layer"].dropna().unique())
    place = table["layer"].map(order).astype(float)
    groups = place.groupby([table["_record"], table["_name"]])
    rank = groups.rank(method="dense") - 1
    last = rank.groupby([table["_record"], table["_name"]]).transform("max")
    return table.assign(
        position=rank / last.clip(lower=1), _layer=place, _head=pd.to_numeric(table["head"], errors="coerce")
    )


def _by_other(table: pd.DataFrame) -> pd.DataFrame:
    """With the columns that `other` becomes."""
    import pandas as pd

    for name, (example, form) in _OTHER.items():
        of_name = table["name"] == name
        if not of_name.any():
            continue
        said = table.loc[of_name, "other"].fillna("").astype(str)
        bad = said[~said.str.fullmatch(form)]
        if len(bad):
            raise ValueError(f"column 'other' of {name!r} must be like {example!r}, got {bad.iloc[0]!r}")
        for column, values in said.str.extract(f"^{form}$").items():
            table.loc[of_name, column] = values if column in _TEXT else pd.to_numeric(values)
    return table


def _columns_of(name: str, table: pd.DataFrame) -> list[pd.DataFrame]:
    """Columns of one measurement, by the place of the record."""
    import pandas as pd

    rows = table[table["name"] == name]
    told_by = ["dataset", *(part for part in ("split", "other") if rows[part].nunique(dropna=False) > 1)]
    if name == "corruption_error":
        return _columns_of_corruptions(name, _by_other(rows.copy()))
    if name in _SUMMED:
        return _columns_of_weights(name, rows)
    if rows["other"].isna().any():  # of whole layers, beside their parts
        rows = rows[rows["other"].isna()]
    is_by_layer = rows["layer"].nunique() > 1 or rows["head"].notna().any()
    told_by = [part for part in told_by if not (is_by_layer and part == "other")]
    label = pd.Series(name, index=rows.index, dtype=object)
    for part in told_by:
        label += ("_" + rows[part].astype(str)).where(rows[part].notna(), "")
    label = label + "_mean" if is_by_layer else label
    wide = rows.groupby(["_record", label])["value"].mean().unstack()
    return [wide.rename_axis(columns=None)]


def _columns_of_corruptions(name: str, rows: pd.DataFrame) -> list[pd.DataFrame]:
    wide = rows.pivot(index="_record", columns=["corruption", "severity"], values="value")
    kinds = sorted(set(wide.columns.get_level_values("corruption")))
    each = {f"{name}_{kind}": wide[kind].mean(axis=1, skipna=False) for kind in kinds}
    spoiled = wide.drop(columns="clean", level="corruption", errors="ignore")
    return [spoiled.mean(axis=1, skipna=False).to_frame(f"{name}_mean").assign(**each)]


def _columns_of_weights(name: str, rows: pd.DataFrame) -> list[pd.DataFrame]:
    is_head = rows["layer"] == "head"
    below = rows[~is_head].groupby("_record")["value"].sum().to_frame(f"{name}_body")
    return [below, rows[is_head].groupby("_record")["value"].sum().to_frame(f"{name}_head")]
