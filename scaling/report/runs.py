"""The runs of a report: the best of them, and what became of the others."""

import numpy as np
import pandas as pd

from ..page import Section, TableView
from .asked import Asked, numbers_of
from .edge import Edge
from .tasks import task_columns
from .words import counted, short

__all__ = ["count_statuses", "runs_section"]

_MOST_RUNS = 300
_MOST_LINES = 50  # of failures and of diverged runs
_COLUMNS = (
    "run_id", "model_family", "model_variant", "num_params", "upstream_dataset", "train_examples", "step", "lr", "seed",
    "compute_flops",
)  # fmt: skip
_MOST_TASKS = 6


def count_statuses(frame: pd.DataFrame) -> dict[str, int]:
    """Rows that are ok, diverged, failed, from inside a run."""
    status = _status(frame)
    inside = frame["cooled_down"].eq(False).fillna(False).to_numpy(dtype=bool) if "cooled_down" in frame else False
    ok = (status == "ok").to_numpy()
    counts = {
        "finished": ok & ~np.asarray(inside),
        "inside a run": ok & inside,
        "diverged": (status == "diverged").to_numpy(),
    }
    counts["failed"] = ~ok & ~counts["diverged"]
    return {name: int(np.sum(is_so)) for name, is_so in counts.items()}


def _status(frame: pd.DataFrame) -> pd.Series:
    if "status" not in frame:
        return pd.Series("ok", index=frame.index)
    return frame["status"].astype(object).where(frame["status"].notna(), "ok")


def runs_section(frame: pd.DataFrame, edge: Edge, asked: Asked) -> Section:
    """The frontier's runs and the best, why rows are left out, failures by their line, diverged runs."""
    views = [_best_runs(frame, edge, asked)]
    if edge.usable is not None and edge.usable.num_left_out:
        left = pd.DataFrame({"reason": list(edge.usable.num_left_out), "rows": list(edge.usable.num_left_out.values())})
        views.append(TableView("Rows that no law is fitted to", left))
    views += [view for view in (_failures(frame), _diverged(frame, asked)) if view is not None]
    said = () if edge.usable is not None else (f"No row can be fitted: {edge.reason}.",)
    return Section("The runs", said, tables=tuple(views))


def _best_runs(frame: pd.DataFrame, edge: Edge, asked: Asked) -> TableView:
    if edge.usable is not None:
        rest = np.setdiff1d(np.argsort(edge.y, kind="stable")[: _MOST_RUNS + edge.best.size], edge.best)
        rest = rest[np.argsort(edge.y[rest], kind="stable")]
        frame, order = edge.usable.frame, np.concatenate([edge.best[::-1], rest])[:_MOST_RUNS]
        flags = np.isin(order, edge.best)
    else:
        name = asked.y if asked.y in frame else "upstream_error"
        order = np.argsort(numbers_of(frame, name), kind="stable")[:_MOST_RUNS]
        flags = None
    tasks = task_columns(frame)
    names = [*_COLUMNS, asked.x, asked.y, "upstream_error", *tasks[:_MOST_TASKS], "status"]
    shown = frame.iloc[order][[name for name in dict.fromkeys(names) if name in frame]]
    if flags is not None:
        shown.insert(1, "on the frontier", flags)
    note = f"{counted(len(shown), 'run')} of {len(frame):,}: those on the frontier first, then by {short(asked.y)}."
    if len(tasks) > _MOST_TASKS:
        note += f" {_MOST_TASKS} of {len(tasks)} tasks are shown."
    return TableView("The best runs", shown, note)


def _failures(frame: pd.DataFrame) -> TableView | None:
    status = _status(frame)
    failed = frame[~status.isin(["ok", "diverged"]).to_numpy()]
    if failed.empty:
        return None
    said = failed["failure"] if "failure" in failed else pd.Series(None, index=failed.index, dtype=object)
    lines = said.astype(object).map(_last_line)
    groups = failed.assign(_line=lines).groupby("_line", sort=False)["run_id"].agg(["size", "first"]).reset_index()
    groups = groups.sort_values("size", ascending=False, kind="stable").head(_MOST_LINES)
    shown = groups.rename(columns={"_line": "what was said last", "size": "runs", "first": "for example"})
    return TableView("Runs that failed, by what they said last", shown, f"{counted(len(failed), 'row')} in all.")


def _last_line(text: object) -> str:
    lines = [line for line in str(text)[-4_000:].strip().splitlines() if line.strip()] if isinstance(text, str) else []
    return short(lines[-1], 200) if lines else "not recorded"


def _diverged(frame: pd.DataFrame, asked: Asked) -> TableView | None:
    rows = frame[(_status(frame) == "diverged").to_numpy()]
    if rows.empty:
        return None
    names = [*_COLUMNS[:-1], "diverged_step", asked.by or "run_id"]
    shown = rows.head(_MOST_LINES)[[name for name in dict.fromkeys(names) if name in rows]]
    return TableView("Runs that diverged", shown, f"{len(shown):,} of {counted(len(rows), 'row')}.")
