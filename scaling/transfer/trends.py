"""How k, alpha and e_IR of Eq. 1 change with the number of shots and with the upstream data set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FitError, FitWarning
from ..inputs import check_columns, check_fractions, column_of, finished_rows
from ..prediction import check_level
from .fit import fit_transfer
from .task_columns import find_tasks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fit_tasks", "param_trends", "sign_exceptions", "sign_shares"]

PARAMS = ("k", "alpha", "e_ir")
_CONSTANT = 1e-9  # a spread that is what a solver leaves of a constant; the parameters are of order one
# The sentence of Abnar et al. 2021, section 2.1: with more shots k and e_IR fall and alpha rises.
STATED_SIGNS: Mapping[str, int] = {"k": -1, "alpha": 1, "e_ir": -1}


def fit_tasks(
    records: pd.DataFrame,
    *,
    upstream: str = "upstream_error",
    group: str | None = "upstream_dataset",
    tasks: Sequence[str] | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Eq. 1 for every downstream task, number of shots and upstream data set: a table of parameters.

    Args:
        records: a row a model, as `read_records` returns; a model that lacks a task is left out of that task.
        upstream: column of the upstream error.
        group: column that tells the upstream data sets apart; None: there is one.
        tasks: downstream columns; None: every `<task>_<k>shot_error` and `<task>_finetune_error`.
        level: of the intervals, which contain what those of `fit_transfer` do.
        rng, options: as in `fit_transfer`.

    Returns:
        A row a fit: `task`, `upstream`, `num_shots` (null for fine-tuning), `num_models`, `num_selected`; k, alpha,
        e_ir, each with `_low` and `_high`; `warnings`, their kinds; `failure`, why there is no fit (its numbers are
        then null), or None.

    Raises:
        ValueError: a missing column, or a value that is no fraction.

    Warns:
        FitWarning: `unfinished_runs` where rows from inside a run are among those of finished ones.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 4, 16, 17.

    >>> import pandas as pd
    >>> e = np.linspace(0.4, 0.9, 11)
    >>> frame = pd.DataFrame({"upstream_error": e, "pets_5shot_error": 0.7 * e**2 + 0.1})
    >>> fit_tasks(frame, group=None, num_draws=20)[["task", "num_shots", "k", "e_ir"]].round(3).values.tolist()
    [['pets', 5, 0.7, 0.1]]
    """
    import pandas as pd  # here, because it is most of the time of the import

    check_level(level)
    records = records[finished_rows(records)]
    check_columns(records, upstream, *([] if group is None else [group]))
    if group is not None and records[group].isna().any():
        raise ValueError(
            f"column {group!r} must not be null; group=None takes all models for those of one upstream set"
        )
    rng = np.random.default_rng(0 if rng is None else rng)
    found = find_tasks(records, tasks)
    parts = [("all", records)] if group is None else list(records.groupby(group, sort=True))
    rows = []
    for label, part in parts:
        for task, num_shots, column in found:
            models = part[part[column].notna() & part[upstream].notna()]
            row = {"task": task, "upstream": label, "num_shots": num_shots, "num_models": len(models)}
            accuracies = [1 - check_fractions(f"column {c!r}", column_of(models, c)) for c in (upstream, column)]
            rows.append(row | _fit_row(*accuracies, level=level, rng=rng, **options))
    ends = [f"{name}{end}" for name in PARAMS for end in ("", "_low", "_high")]
    columns = ["task", "upstream", "num_shots", "num_models", "num_selected", *ends, "warnings", "failure"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(ends, "float64"))
    return table.astype({"num_shots": "Int64", "num_selected": "Int64", "failure": object})


def _fit_row(us: np.ndarray, ds: np.ndarray, level: float, **options: Any) -> dict[str, Any]:
    """One fit as columns. Its warnings are kept, not said: hundreds of fits would say hundreds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            fit = fit_transfer(us, ds, **options)
        except FitError as error:
            return {"warnings": "", "failure": str(error)}
    row = {"num_selected": fit.selected.size, "failure": None}
    row["warnings"] = ", ".join(sorted({warning.kind for warning in fit.warnings}))
    for name, value in fit.params.items():
        low, high = fit.interval(name, level)
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return row


def param_trends(table: pd.DataFrame, *, params: Sequence[str] = PARAMS, log_shots: bool = False) -> pd.DataFrame:
    """Pearson's correlation of each parameter with the number of shots, for each task and upstream data set.

    Args:
        table: from `fit_tasks`, or with its columns `task`, `upstream`, `num_shots` and the parameters. Fits that have
            failed and fine-tuning are left out.
        params: columns of the parameters.
        log_shots: correlate with the logarithm of the number of shots instead.

    Returns:
        A row a task, upstream set and parameter: `correlation`; `p_value`, two-sided, exact for independent normal
        parameters: it takes the fits for equally certain, and with four numbers of shots a correlation below .95 is
        not told from 0 at .05; `num_settings`; `reason` why there is no correlation (it is then null): fewer than 3
        numbers of shots, or the parameter is the same at all of them, such as an e_ir at its bound 0.

    Raises:
        ValueError: a missing column, or a number of shots twice for one task and upstream set.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Table 1.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": "pets", "upstream": "jft", "num_shots": [1, 5, 10], "k": [0.9, 0.7, 0.6]})
    >>> param_trends(table, params=["k"])["correlation"].round(3).tolist()
    [-0.968]
    """
    import pandas as pd  # here, because it is most of the time of the import

    check_columns(table, "task", "upstream", "num_shots", *params)
    rows = []
    for (task, upstream), part in table.groupby(["task", "upstream"], sort=False):
        for param in params:
            used = part[part["num_shots"].notna() & part[param].notna()]
            shots = column_of(used, "num_shots")
            if np.unique(shots).size < shots.size:
                raise ValueError(f"{task!r} with upstream {upstream!r} has a number of shots twice: {sorted(shots)}")
            if np.any(shots <= 0):
                raise ValueError(f"num_shots must be positive, got {shots.min():g} for {task!r}")
            shots = np.log(shots) if log_shots else shots
            found = _correlation(shots, column_of(used, param))
            rows.append({"task": task, "upstream": upstream, "param": param, **found, "num_settings": shots.size})
    columns = ["task", "upstream", "param", "correlation", "p_value", "reason", "num_settings"]
    return pd.DataFrame(rows, columns=columns).astype({"reason": object})


def _correlation(shots: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    from scipy.special import stdtr  # here, because it would double the time of the import

    if shots.size < 3:
        return {"correlation": np.nan, "p_value": np.nan, "reason": f"{shots.size} numbers of shots"}
    if np.ptp(values) <= _CONSTANT * max(1.0, np.max(np.abs(values))):
        return {"correlation": np.nan, "p_value": np.nan, "reason": f"constant at {values[0]:.6g}"}
    r = float(np.clip(np.corrcoef(shots, values)[0, 1], -1, 1))
    left = shots.size - 2
    t = abs(r) * np.sqrt(left / max(1 - r**2, 1e-300))
    return {"correlation": r, "p_value": float(2 * stdtr(left, -t)), "reason": None}


def sign_shares(trends: pd.DataFrame, *, expected: Mapping[str, int] = STATED_SIGNS) -> pd.DataFrame:
    """How alike the tasks are in the sign of each parameter's correlation with the number of shots.

    Args:
        trends: from `param_trends`, or with its columns `task`, `upstream`, `param`, `correlation`. Rows without a
            correlation are counted apart.
        expected: the sign (-1 or 1) stated for each parameter.

    Returns:
        A row an upstream set and parameter: `num_tasks`, `num_undefined`; `mean` and `median` of the correlations;
        `share_positive`, `share_negative`; `expected`, `num_contradicting`.

    Raises:
        ValueError: a missing column, a parameter without an expected sign, or a correlation outside [-1, 1].

    Source: Abnar et al. 2021 (arXiv 2110.02095), section 2.1 and Table 1.

    >>> import pandas as pd
    >>> trends = pd.DataFrame({"task": ["pets", "cars"], "upstream": "jft", "param": "k", "correlation": [-0.9, 0.7]})
    >>> sign_shares(trends)[["param", "share_negative", "num_contradicting"]].values.tolist()
    [['k', 0.5, 1]]
    """
    import pandas as pd  # here, because it is most of the time of the import

    _check_trends(trends, expected)
    rows = []
    for (upstream, param), part in trends.groupby(["upstream", "param"], sort=False):
        r = part["correlation"].dropna().to_numpy(dtype=float)
        shares = (np.mean(r), np.median(r), np.mean(r > 0), np.mean(r < 0)) if r.size else (np.nan,) * 4
        summary = dict(zip(("mean", "median", "share_positive", "share_negative"), map(float, shares), strict=True))
        sign = expected[str(param)]
        row = {"upstream": upstream, "param": param, "num_tasks": r.size, "num_undefined": len(part) - r.size}
        rows.append(row | summary | {"expected": sign, "num_contradicting": int(np.sum(r * sign < 0))})
    return pd.DataFrame(rows)


def sign_exceptions(trends: pd.DataFrame, *, expected: Mapping[str, int] = STATED_SIGNS) -> pd.DataFrame:
    """The rows of `trends` whose correlation has the other sign than the one stated; arguments as in `sign_shares`.

    >>> import pandas as pd
    >>> trends = pd.DataFrame({"task": ["pets", "cars"], "upstream": "jft", "param": "k", "correlation": [-0.9, 0.7]})
    >>> sign_exceptions(trends)["task"].tolist()
    ['cars']
    """
    _check_trends(trends, expected)
    signs = trends["param"].map(dict(expected)).to_numpy(dtype=float)
    contradicts = trends["correlation"].to_numpy(dtype=float, na_value=np.nan) * signs < 0
    return trends[contradicts].reset_index(drop=True)


def _check_trends(trends: pd.DataFrame, expected: Mapping[str, int]) -> None:
    check_columns(trends, "task", "upstream", "param", "correlation")
    unknown = [name for name in trends["param"].unique() if name not in expected]
    if unknown:
        raise ValueError(f"expected must have the sign of each parameter; {unknown[0]!r} is not in {dict(expected)}")
    bad = [(name, sign) for name, sign in expected.items() if sign not in (-1, 1)]
    if bad:
        raise ValueError(f"an expected sign is -1 or 1, got {bad[0][1]!r} for {bad[0][0]!r}")
    r = trends["correlation"].to_numpy(dtype=float, na_value=np.nan)
    if np.any(np.abs(r) > 1):
        raise ValueError(f"a correlation lies in [-1, 1]; row {np.flatnonzero(np.abs(r) > 1)[0]} does not")
