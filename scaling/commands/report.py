"""`scaling report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from .answer import Answer
from .base import RunsAsked, columns_of, takes

__all__ = ["report"]


@dataclass(frozen=True, kw_only=True)
class ReportAsked(RunsAsked):
    """The options of a report."""

    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html")
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None
    law: Annotated[str, typer.Option(help="Law of the frontier.")] = "saturating_power"


@takes(ReportAsked)
def report(asked: ReportAsked) -> Answer:
    """Write one self-contained page of what the records say."""
    from ..report import write_report

    names = ("title", "decimal", "x", "y", "by", "where", "weights", "probe", "layer", "law", "level", "seed")
    options = {name: getattr(asked, name) for name in names}
    done = write_report(asked.records, asked.output, columns=columns_of(asked.columns), **options)
    row = {"page": str(done.path), "rows": done.num_rows, "runs": done.num_runs, **done.num_by_status}
    row |= {"fitted": done.num_fitted, "tasks": done.num_tasks, "bytes": done.num_bytes}
    warned = [{"kind": kind, "text": text} for kind, text in done.warnings]
    kinds = ", ".join(dict.fromkeys(kind for kind, _ in done.warnings))
    notes = [f"warnings, in the page: {kinds}"] if kinds else []
    return Answer(pd.DataFrame([row]), notes=notes, values={"page_warnings": warned})
