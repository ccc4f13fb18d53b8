"""`scaling report`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import pandas as pd
import typer

from .answer import Answer
from .base import columns_of, takes

__all__ = ["report"]
_OWN = ", or the data set's own."


@dataclass(frozen=True, kw_only=True)
class _Asked:
    records: Annotated[str, typer.Argument(help="A sweep's folder, a parquet or csv file, or a data set's name.")]
    columns: Annotated[
        list[str], typer.Option("--column", help="NAME=EXPRESSION: a column made of your own table's.")
    ] = field(default_factory=list)
    decimal: Annotated[str | None, typer.Option(help="Of a csv file: the decimal sign, . or ,")] = None
    x: Annotated[str | None, typer.Option(help=f"Column of the cost; default compute_flops{_OWN}")] = None
    y: Annotated[str | None, typer.Option(help=f"Column of the error; default upstream_error{_OWN}")] = None
    by: Annotated[str | None, typer.Option(help="Column whose values are analysed apart.")] = None
    where: Annotated[str | None, typer.Option(help="Rows to keep, an expression: 'cooled_down and depth > 2'.")] = None
    weights: Annotated[str, typer.Option(help="Which weights' rows: last, ema or best.")] = "last"
    probe: Annotated[str, typer.Option(help="Few-shot probe: whitened or plain.")] = "whitened"
    layer: Annotated[str, typer.Option(help="Layer of the few-shot probe.")] = "pre_logits"
    law: Annotated[str, typer.Option(help="Law of the frontier.")] = "saturating_power"
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the intervals.")] = 0.95
    seed: Annotated[int, typer.Option(min=0, help="Of draws and samples.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Plain values at full precision.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="The table at full precision.")] = False
    figure: ClassVar[Sequence[Path]] = ()


@takes(_Asked)
def report(
    asked: _Asked,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
) -> Answer:
    """Write one self-contained page of what the records say."""
    from ..report import write_report

    names = ("decimal", "x", "y", "by", "where", "weights", "probe", "layer", "law", "level", "seed")
    options = {name: getattr(asked, name) for name in names}
    done = write_report(asked.records, output, title=title, columns=columns_of(asked.columns), **options)
    row = {"page": str(done.path), "rows": done.num_rows, "runs": done.num_runs, **done.num_by_status}
    row |= {"fitted": done.num_fitted, "tasks": done.num_tasks, "bytes": done.num_bytes}
    warned = [{"kind": kind, "text": text} for kind, text in done.warnings]
    kinds = ", ".join(dict.fromkeys(kind for kind, _ in done.warnings))
    notes = [f"warnings, in the page: {kinds}"] if kinds else []
    return Answer(pd.DataFrame([row]), notes=notes, values={"page_warnings": warned})
