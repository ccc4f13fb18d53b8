"""`scaling plot`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from ..records import read_evals, read_measurements
from .answer import Answer
from .base import UpstreamAsked, takes

if TYPE_CHECKING:
    from ..figures import Source

__all__ = ["plot"]

_SettingOption = typer.Option(help="Column of what was varied: a setting, a shape's dimension, a measurement by layer.")


@dataclass(frozen=True, kw_only=True)
class PlotAsked(UpstreamAsked):
    """The options of `scaling plot`."""

    kind: Annotated[str | None, typer.Option(help="Of the figure, see --list; default frontier or transfer.")] = None
    list_kinds: Annotated[bool, typer.Option("--list", help="The kinds, and which can be drawn of RECORDS.")] = False
    setting: Annotated[str | None, _SettingOption] = None
    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power"
    select: Annotated[str, typer.Option(help="Runs of a law: stochastic, pareto, convex_hull, all.")] = "stochastic"
    log: Annotated[bool, typer.Option("--log", help="Of the kind against: a logarithmic axis.")] = False
    draws: Annotated[int, typer.Option(min=1, help="Draws that the intervals are read off.")] = 1000
    title: Annotated[str | None, typer.Option(help="Above the figure.")] = None
    width: Annotated[float | None, typer.Option(min=1, max=100, help="In inches.")] = None
    height: Annotated[float | None, typer.Option(min=1, max=100, help="In inches.")] = None
    dpi: Annotated[int, typer.Option(min=20, max=1200, help="Dots an inch of a png.")] = 150

    def figure_source(self) -> "Source":
        """What the figure is made of."""
        from ..figures import Source

        named = self.task is not None or (self.y is not None and self.y != self.upstream)
        return Source(
            records=self.read(), evals=_beside(self.source, "evals"),
            measurements=_beside(self.source, "measurements"), x=self.x, y=self.error_column, upstream=self.upstream,
            tasks=[self.error_column] if named else None, by=self.by, setting=self.setting, law=self.law,
            selection=self.select, log=self.log, level=self.level, num_draws=self.draws, seed=self.seed,
        )  # fmt: skip


@takes(PlotAsked)
def plot(asked: PlotAsked) -> Answer:
    """A figure of records: scaling plot runs/night1 --kind frontier --figure out.svg."""
    from ..figures import KINDS, missing_of

    if not asked.list_kinds and not asked.figure:
        raise ValueError("say where to: scaling plot RECORDS --kind frontier --figure out.svg; --list says which kinds")
    if asked.kind is not None and asked.kind not in KINDS:
        raise ValueError(f"--kind must be one of {', '.join(KINDS)}, got {asked.kind!r}")
    source = asked.figure_source()
    if asked.list_kinds:
        rows = [
            {"kind": kind, "needs": ", ".join(KINDS[kind].needs), "missing": missing_of(kind, source)} for kind in KINDS
        ]
        return Answer(pd.DataFrame(rows), title="kinds of figures", draw=None)
    kind = asked.kind or ("transfer" if missing_of("frontier", source) else "frontier")
    drawn = _drawn(kind, source, asked)
    written = pd.DataFrame({"kind": kind, "figure": [str(path) for path in asked.figure]})
    return Answer(written, draw=lambda: drawn, dots_per_inch=asked.dpi)


def _drawn(kind: str, source: "Source", asked: PlotAsked) -> Any:
    """Before the answer, so that what cannot be drawn has no answer."""
    import matplotlib as mpl

    from ..figures import draw

    mpl.use("agg")
    figure = draw(kind, source).get_figure(root=True)
    width, height = figure.get_size_inches()
    figure.set_size_inches(asked.width or width, asked.height or height)
    if asked.title is not None:
        figure.suptitle(asked.title, parse_math=False)
    return figure


def _beside(source: str | Path | pd.DataFrame, table: str) -> pd.DataFrame:
    """The long table of a folder, or that beside a records file; empty where there is none."""
    if isinstance(source, pd.DataFrame):
        return pd.DataFrame()
    read = {"evals": read_evals, "measurements": read_measurements}[table]
    path = Path(source)
    if path.is_dir():
        return read(path)
    beside = path.with_name(f"{table}.parquet")
    return read(beside) if path.name == "records.parquet" and beside.is_file() else pd.DataFrame()
