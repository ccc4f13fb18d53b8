"""How k, alpha and e_IR of Eq. 1 change with the number of shots and with the upstream data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frames import check_columns, check_names, check_single, column_of, nullable_column
from .all_runs import two_sided
from .correlations import pearson
from .task_fits import PARAMS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_labels", "param_trends", "sign_exceptions", "sign_shares"]

_CONSTANT = 1e-9  # a spread that is what a solver leaves of a constant; the parameters are of order one
_SIGNIFICANT = 0.05  # p-value from which on a correlation has no sign that could contradict anything
_UNKNOWN = ("few_points", "not_identified")  # warnings of fits whose parameters the models do not determine
# The sentence of Abnar et al. 2021, section 2.1: with more shots k and e_IR fall and alpha rises.
STATED_SIGNS: Mapping[str, int] = {"k": -1, "alpha": 1, "e_ir": -1}


def param_trends(table: pd.DataFrame, *, params: Sequence[str] = PARAMS, log_shots: bool = False) -> pd.DataFrame:
    """Pearson's correlation of each parameter with the number of shots, for each task and upstream data set.

    Args:
        table: from `fit_tasks`, or with its columns `task`, `upstream`, `num_shots` and the parameters. Left out are
            fits that have failed, fine-tuning, and, where the table has `warnings`, fits with `few_points` or
            `not_identified`, whose parameters the models do not determine.
        params: columns of the parameters.
        log_shots: correlate with the logarithm of the number of shots instead.

    Returns:
        A row a task, upstream set and parameter: `correlation`; `p_value`, two-sided, exact for independent normal
        parameters: it takes the fits for equally certain, and with four numbers of shots a correlation below .95 is
        not told from 0 at .05, with three one below .997; `num_settings`; `num_left_out`, fits that the models do not
        determine; `reason`, why there is no correlation (it is then null), or "": fewer than 3 numbers of shots, or the
        parameter is the same at all of them, such as an e_ir at its bound 0.

    Raises:
        ValueError: a missing column, a null task or upstream set, no row with shots, or a number of shots twice for one
            task and upstream set.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Table 1.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": "pets", "upstream": "jft", "num_shots": [1, 5, 10], "k": [0.9, 0.7, 0.6]})
    >>> param_trends(table, params=["k"])["correlation"].round(3).tolist()
    [-0.968]
    """
    import pandas as pd

    check_columns(table, "task", "upstream", "num_shots", *check_names("params", params))
    check_labels(table)
    if table["num_shots"].isna().all():
        raise ValueError("num_shots is null: a trend needs columns <task>_<k>shot_error of several k")
    rows = []
    for (task, upstream), part in table.groupby(["task", "upstream"], sort=False):
        part = part[part["num_shots"].notna()]
        settled = part[_is_determined(part)]
        for param in params:
            used = settled[settled[param].notna()]
            shots = _check_shots(column_of(used, "num_shots"), task, upstream)
            found = _correlation(np.log(shots) if log_shots else shots, column_of(used, param))
            num_left_out = len(part) - len(settled)
            if shots.size < 3 and num_left_out:
                found["reason"] += f", {num_left_out} left out, which the models do not determine"
            counts = {"num_settings": shots.size, "num_left_out": num_left_out}
            rows.append({"task": task, "upstream": upstream, "param": param, **found, **counts})
    columns = ["task", "upstream", "param", "correlation", "p_value", "num_settings", "num_left_out", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"reason": object})


def check_labels(table: pd.DataFrame) -> None:
    """A ValueError where a task or upstream set is no label, or null: grouping would drop the row."""
    check_single(table, "task", "upstream", *(["param"] if "param" in table else []))
    for name in ("task", "upstream"):
        missing = np.flatnonzero(table[name].isna())
        if missing.size:
            raise ValueError(f"column {name!r} must not be null; row {missing[0]} is ({missing.size} such)")


def _is_determined(table: pd.DataFrame) -> np.ndarray:
    if "warnings" not in table:
        return np.ones(len(table), dtype=bool)
    return ~table["warnings"].fillna("").astype(str).str.contains("|".join(_UNKNOWN)).to_numpy(dtype=bool)


def _check_shots(shots: np.ndarray, task: Any, upstream: Any) -> np.ndarray:
    if np.unique(shots).size < shots.size:
        raise ValueError(f"{task!r} with upstream {upstream!r} has a number of shots twice: {sorted(shots)}")
    if np.any(shots <= 0):
        raise ValueError(f"num_shots must be positive, got {shots.min():g} for {task!r}")
    return shots


def _correlation(shots: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    if shots.size < 3:
        return {"correlation": np.nan, "p_value": np.nan, "reason": f"{shots.size} numbers of shots"}
    if np.ptp(values) <= _CONSTANT * max(1.0, np.max(np.abs(values))):
        return {"correlation": np.nan, "p_value": np.nan, "reason": f"constant at {values[0]:.6g}"}
    r, freedom = pearson(shots, values), shots.size - 2
    error = np.sqrt(max(1 - r**2, 1e-300) / freedom)
    return {"correlation": r, "p_value": two_sided(r, error, freedom), "reason": ""}


def sign_shares(trends: pd.DataFrame, *, expected: Mapping[str, int] = STATED_SIGNS) -> pd.DataFrame:
    """How alike the tasks are in the sign of each parameter's correlation with the number of shots.

    Args:
        trends: from `param_trends`, or with its columns `task`, `upstream`, `param`, `correlation`. Rows without a
            correlation are counted apart. With `p_value`, a correlation speaks for or against a sign only where it is
            below .05; without, as for a printed table, its sign counts as it stands.
        expected: the sign (-1 or 1) stated for each parameter.

    Returns:
        A row an upstream set and parameter: `num_tasks`, `num_undefined`; `mean` and `median` of the correlations;
        `share_positive`, `share_negative`; `expected`, and how many are `num_agreeing` with it, `num_contradicting` it,
        and `num_unclear`, which are not told from 0.

    Raises:
        ValueError: a missing column, a parameter without an expected sign, or a correlation outside [-1, 1].

    Source: Abnar et al. 2021 (arXiv 2110.02095), section 2.1 and Table 1.

    >>> import pandas as pd
    >>> trends = pd.DataFrame({"task": ["pets", "cars"], "upstream": "jft", "param": "k", "correlation": [-0.9, 0.7]})
    >>> sign_shares(trends)[["param", "share_negative", "num_contradicting"]].values.tolist()
    [['k', 0.5, 1]]
    """
    import pandas as pd

    _check_trends(trends, expected)
    rows = []
    for (upstream, param), part in trends.groupby(["upstream", "param"], sort=False):
        r = nullable_column(part, "correlation")
        r = r[~np.isnan(r)]
        shares = (np.mean(r), np.median(r), np.mean(r > 0), np.mean(r < 0)) if r.size else (np.nan,) * 4
        summary = dict(zip(("mean", "median", "share_positive", "share_negative"), map(float, shares), strict=True))
        sign = expected[str(param)]
        row = {"upstream": upstream, "param": param, "num_tasks": r.size, "num_undefined": len(part) - r.size}
        agreeing, contradicting = (int(np.sum(_clear_signs(part) == s)) for s in (sign, -sign))
        counts = {"num_agreeing": agreeing, "num_contradicting": contradicting}
        rows.append(row | summary | {"expected": sign} | counts | {"num_unclear": r.size - agreeing - contradicting})
    return pd.DataFrame(rows)


def _clear_signs(trends: pd.DataFrame) -> np.ndarray:
    """-1 or 1, and 0 where there is no correlation or it is not told from 0."""
    signs = np.sign(np.nan_to_num(nullable_column(trends, "correlation")))
    if "p_value" not in trends:
        return signs
    return signs * (nullable_column(trends, "p_value") < _SIGNIFICANT)


def sign_exceptions(trends: pd.DataFrame, *, expected: Mapping[str, int] = STATED_SIGNS) -> pd.DataFrame:
    """The rows of `trends` that contradict the stated sign; arguments as in `sign_shares`.

    For trends of our own fits: `scaling.tables.audit_signs` is for printed tables, whose entries are rounded.

    >>> import pandas as pd
    >>> trends = pd.DataFrame({"task": ["pets", "cars"], "upstream": "jft", "param": "k", "correlation": [-0.9, 0.7]})
    >>> sign_exceptions(trends)["task"].tolist()
    ['cars']
    """
    _check_trends(trends, expected)
    signs = trends["param"].map(dict(expected)).to_numpy(dtype=float)
    return trends[_clear_signs(trends) * signs < 0].reset_index(drop=True)


def _check_trends(trends: pd.DataFrame, expected: Mapping[str, int]) -> None:
    check_columns(trends, "task", "upstream", "param", "correlation")
    check_labels(trends)
    if not isinstance(expected, Mapping):
        raise ValueError(f"expected must be signs by parameter, got {expected!r}")
    unknown = [name for name in trends["param"].unique() if name not in expected]
    if unknown:
        raise ValueError(f"expected must have the sign of each parameter; {unknown[0]!r} is not in {dict(expected)}")
    bad = [(name, sign) for name, sign in expected.items() if sign not in (-1, 1)]
    if bad:
        raise ValueError(f"an expected sign is -1 or 1, got {bad[0][1]!r} for {bad[0][0]!r}")
    r = nullable_column(trends, "correlation")
    if np.any(np.abs(r) > 1):
        raise ValueError(f"a correlation lies in [-1, 1]; row {np.flatnonzero(np.abs(r) > 1)[0]} does not")
