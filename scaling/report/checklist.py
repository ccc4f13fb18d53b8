"""What a fit must report, as far as the records and the fits know it; what they do not is said to be not recorded.

Source: the headings of Li et al. 2025 and Choshen et al. 2024.
"""

from typing import Any

import numpy as np
import pandas as pd

from ..page import Section, TableView
from .asked import Asked
from .edge import Edge
from .words import counted, number, values_of

__all__ = ["NOT_RECORDED", "checklist_section"]

NOT_RECORDED = "not recorded"
_TUNED_CELL = ("model_family", "model_variant", "train_examples", "planned_steps")


def checklist_section(frame: pd.DataFrame, edge: Edge, asked: Asked) -> Section:
    """A row an item: what is known."""
    items = {**_hypothesis(edge, asked), **_setup(frame, edge), **_data(frame, edge), **_fit(edge, asked)}
    items |= _result(edge, asked)
    rows = [(item, value or NOT_RECORDED) for item, value in items.items()]
    unknown = [item for item, value in rows if value == NOT_RECORDED]
    said = f"Not recorded: {', '.join(unknown)}." if unknown else "All items are known."
    table = pd.DataFrame(rows, columns=["item", "what is known"])
    return Section("Reporting checklist", (said,), tables=(TableView("What a law must come with", table),))


def _hypothesis(edge: Edge, asked: Asked) -> dict[str, str]:
    fit = edge.front.fit if edge.front is not None else edge.convention
    items = {"variables": f"{asked.y} against {asked.x}"}
    if fit is None:
        return {"form of the law": f"none: {edge.reason}", **items}
    free = f"{fit.num_free} free of {len(fit.law.params)}"
    return {"form of the law": f"{fit.law.name}: {fit.law.formula}", "parameters": free, **items}


def _setup(frame: pd.DataFrame, edge: Edge) -> dict[str, str]:
    models = "" if edge.usable is None else counted(edge.x.size, "model")
    of_params = "without the classifier, as the records' schema says" if "num_params" in frame else ""
    return {
        "number of models": models,
        "model families": values_of(frame, "model_family"),
        "model sizes (parameters)": _range(frame, "num_params"),
        "training images": _range(frame, "train_examples"),
        "upstream data": values_of(frame, "upstream_dataset"),
        "batch size": values_of(frame, "batch_size"),
        "optimizer": values_of(frame, "optimizer"),
        "learning rate": _tuning(frame),
        "how FLOPs are counted": values_of(frame, "flops_rule", longest=200),
        "how parameters are counted": of_params,
        "recipe": values_of(frame, "recipe"),
        "training code": values_of(frame, "git_commit", 3),
    }


def _data(frame: pd.DataFrame, edge: Edge) -> dict[str, str]:
    left = "" if edge.usable is None else edge.usable.left_out or "none"
    seeds = frame["seed"].dropna().nunique() if "seed" in frame else 0
    return {
        "schedule": _schedule(frame),
        "checkpoints": values_of(frame, "weights"),
        "seeds": counted(seeds, "value") if seeds else "",
        "evaluated on": values_of(frame, "eval_split"),
        "images evaluated on": values_of(frame, "upstream_num_eval"),
        "rows left out": left,
        "smoothing of curves": "none by this report; before the records",
    } | ({} if edge.usable is not None else {"rows left out": f"all: {edge.reason}"})


def _fit(edge: Edge, asked: Asked) -> dict[str, str]:
    if edge.front is None:
        return {}
    front, kinds = edge.front, {"posterior": "draws of a posterior", "simulated_world": "worlds simulated from the law"}
    sampled = f"a random sample of {edge.fitted.size:,} of {edge.x.size:,} runs (seed {asked.seed})"
    rows = f"all {edge.x.size:,} runs" if edge.fitted.size == edge.x.size else sampled
    bounds = ", ".join(f"{n} in [{number(low)}, {number(high)}]" for n, (low, high) in front.fit.bounds.items())
    is_edge = front.stochastic is not None
    return {
        "selection of points": f"{'lower edge of all runs' if is_edge else front.selection}, fitted to {rows}",
        "objective": "likelihood of noise and one-sided excess in log error" if is_edge else front.fit.objective.name,
        "bounds": bounds,
        "starting values": "none: a scan of the law's own range",
        "kind of intervals": f"{asked.level:.0%}, {kinds.get(front.intervals, front.intervals)}",
        "seed of the draws": str(asked.seed),
    }


def _result(edge: Edge, asked: Asked) -> dict[str, str]:
    items: dict[str, str] = {}
    if edge.front is not None:
        for name, value in edge.front.params.items():
            low, high = edge.front.interval(name, asked.level)
            items[f"parameter {name}"] = f"{value!r} [{low!r}, {high!r}]"
    if edge.laws is None:
        items["held-out error of laws"] = f"none: {edge.laws_reason}"
    else:
        fitted = edge.laws[~edge.laws["is_baseline"]]
        items["held-out error of laws (log, root mean square, Pareto points)"] = _scores(fitted)
        items["held-out error without a fit"] = _scores(edge.laws[edge.laws["is_baseline"]])
    if edge.usable is not None:
        ends = f"{asked.x} from {number(edge.x.min())} to {number(edge.x.max())}"
        items["range of validity"] = f"{ends}; beyond that the law is extrapolated"
    return items


def _scores(table: pd.DataFrame) -> str:
    rows: Any = table.itertuples()
    return ", ".join(f"{row.law} {number(row.heldout_log_rmse)}" for row in rows)


def _range(frame: pd.DataFrame, name: str) -> str:
    values = pd.to_numeric(frame[name], errors="coerce").dropna() if name in frame else pd.Series(dtype=float)
    return f"{number(float(values.min()))} to {number(float(values.max()))}" if len(values) else ""


def _schedule(frame: pd.DataFrame) -> str:
    kinds = values_of(frame, "schedule")
    flags = frame["cooled_down"].dropna() if "cooled_down" in frame else pd.Series(dtype=bool)
    if flags.empty:
        return f"{kinds}; whether it had ended is not recorded" if kinds else ""
    ended = f"{int(flags.eq(True).sum()):,} rows after its end, {int(flags.eq(False).sum()):,} from inside"
    return f"{kinds}; {ended}" if kinds else ended


def _tuning(frame: pd.DataFrame) -> str:
    """Fixed, or how many values were tried where everything else of a cell is alike."""
    if "lr" not in frame or frame["lr"].isna().all():
        return ""
    cell = [name for name in _TUNED_CELL if name in frame]
    tried = frame.groupby(cell, dropna=False)["lr"].nunique() if cell else pd.Series([frame["lr"].nunique()])
    tried = tried[tried > 0]
    what = f"in each of {len(tried):,} cells of {', '.join(cell) or 'all runs'}"
    if tried.max() == 1:
        return f"one {what}: fixed"
    return f"{int(np.min(tried))} to {int(np.max(tried))} (median {np.median(tried):g}) {what}"
