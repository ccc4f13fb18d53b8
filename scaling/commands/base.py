"""What the commands share: the options that choose runs and columns, and how an answer is shown."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import typer

from ..command_line import one_line_errors
from ..datasets import DataSet, named, path_or_data_set
from ..errors import FitError, FitWarning
from ..records import read_records
from ..selection.usable import UsableRuns, usable_runs
from .answer import Answer, check_figures, print_answer, save_figures

__all__ = [
    "SAYS_NO", "WRONG_USE", "Asked", "RunsAsked", "UpstreamAsked", "answered", "columns_of", "groups_of", "kind_lines",
    "takes", "warnings_of",
]  # fmt: skip

SAYS_NO, WRONG_USE = 1, 2
_MOST_FAULTS = 3
_COMMON_PANEL = "Options of every command"


_XOption = typer.Option(help="Column of the cost; default compute_flops, or the data set's own.", show_default=False)
_YOption = typer.Option(
    help="Column of the error; default upstream_error, the data set's own, or the task's.", show_default=False
)
_UpstreamOption = typer.Option(
    help="Column of the upstream error; default upstream_error, or the data set's own.", show_default=False
)
_FigureOption = typer.Option(help="Also draw: a .png, .svg or .pdf file.")


@dataclass(frozen=True, kw_only=True)
class RunsAsked:
    """The options of every command: which rows and columns, and in what form the answer is.

    Attributes:
        goes_with: of an option that says something only beside others these, of which one must be given.
        silenced_by: of an option that says nothing beside another that other.
    """

    goes_with: ClassVar[dict[str, tuple[str, ...]]] = {}
    silenced_by: ClassVar[dict[str, str]] = {}

    records: Annotated[str, typer.Argument(help="A sweep's folder, a parquet or csv file, or a data set's name.")]
    columns: Annotated[
        list[str], typer.Option("--column", help="NAME=EXPRESSION: a column made of your own table's.")
    ] = field(default_factory=list)
    decimal: Annotated[str | None, typer.Option(help="Decimal separator of a csv, where unclear: . or ,")] = None
    x: Annotated[str, _XOption] = ""
    y: Annotated[str | None, _YOption] = None
    probe: Annotated[str, typer.Option(help="Few-shot probe: whitened or plain.")] = "whitened"
    layer: Annotated[str, typer.Option(help="Layer of the few-shot probe.")] = "pre_logits"
    weights: Annotated[str, typer.Option(help="Which weights' rows: last, ema or best.")] = "last"
    where: Annotated[str | None, typer.Option(help="Rows to keep, an expression: 'cooled_down and depth > 2'.")] = None
    by: Annotated[str | None, typer.Option(help="Column whose values are analysed apart: model_family.")] = None
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the intervals.")] = 0.95
    seed: Annotated[int, typer.Option(min=0, help="Of draws and samples.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Plain values at full precision.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="The table at full precision.")] = False

    def __post_init__(self) -> None:
        if not self.x:
            own = named(self.records)
            object.__setattr__(self, "x", own.x if own else "compute_flops")


@dataclass(frozen=True, kw_only=True)
class Asked(RunsAsked):
    """The options of every command that sets one error against a cost."""

    goes_with: ClassVar = {
        "shots": ("task",), "method": ("task",), "probe": ("task", "y", "x", "where"),
        "layer": ("task", "y", "x", "where"),
    }  # fmt: skip

    task: Annotated[str | None, typer.Option(help="Downstream task, whose error is then y.")] = None
    shots: Annotated[int, typer.Option(min=1, help="With --task: images a class of the few-shot probe.")] = 10
    method: Annotated[str, typer.Option(help="With --task: fewshot, finetune or zero_shot.")] = "fewshot"
    figure: Annotated[list[Path], _FigureOption] = field(default_factory=list)

    @property
    def error_column(self) -> str:
        """Of y: the one named, else the task's, else the data set's own, else the upstream error."""
        if self.task is None:
            own = named(self.records)
            return self.y or (own.y if own else "upstream_error")
        if self.y is not None:
            raise ValueError(f"--y and --task both name the error, got {self.y!r} and {self.task!r}")
        kinds = {"fewshot": f"{self.shots}shot", "finetune": "finetune", "zero_shot": "zero_shot"}
        if self.method not in kinds:
            raise ValueError(f"--method must be one of {list(kinds)}, got {self.method!r}")
        return f"{self.task}_{kinds[self.method]}_error"

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def source(self) -> str | Path | pd.DataFrame:
        """What is read: the path, or the data set of that name."""
        return path_or_data_set(self.records)

    def read(self) -> pd.DataFrame:
        """All rows asked for.

        Raises:
            ValueError: there are rows, and `where` keeps none of them.
        """
        source, options = self.source, {"columns": columns_of(self.columns), "decimal": self.decimal}
        options |= {"probe": self.probe, "layer": self.layer, "weights": self.weights}
        records = read_records(source, where=self.where, **options)
        if self.where is not None and records.empty and (num_rows := len(read_records(source, **options))):
            raise ValueError(f"--where {self.where!r} keeps none of {num_rows} rows")
        return records

    def usable(self, y: str | None = None) -> UsableRuns:
        """The rows that a law of y against x can be fitted to."""
        return usable_runs(self.read(), self.x, y or self.error_column)


@dataclass(frozen=True, kw_only=True)
class UpstreamAsked(Asked):
    """The options of a command that sets tasks against an upstream error."""

    # Without a task it is of all of them.
    goes_with: ClassVar = {"shots": ("task",), "method": ("task",)}

    upstream: Annotated[str, _UpstreamOption] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.upstream:
            object.__setattr__(self, "upstream", _upstream_of(named(self.records)))


def _upstream_of(own: DataSet | None) -> str:
    """Of a data set without upstream errors the error that it begins with, or that others are set against there."""
    if own is None or not own.upstream_error.startswith("null"):
        return "upstream_error"
    return own.x if own.x.endswith("_error") else own.y


def columns_of(options: list[str]) -> dict[str, str] | None:
    """The mapping that `--column NAME=EXPRESSION` gives, None where there is none.

    Raises:
        ValueError: an option has no name or no expression, or a name is given twice.

    >>> columns_of(["run_id=model", "upstream_error=1 - top1 / 100"])
    {'run_id': 'model', 'upstream_error': '1 - top1 / 100'}
    """
    columns: dict[str, str] = {}
    for option in options:
        name, _, value = (part.strip() for part in option.partition("="))
        if not name or not value:
            raise ValueError(f"--column must be NAME=EXPRESSION, as in 'upstream_error=1 - top1 / 100', got {option!r}")
        if name in columns:
            raise ValueError(f"--column {name} is given twice, as {columns[name]!r} and as {value!r}")
        columns[name] = value
    return columns or None


def groups_of(runs: pd.DataFrame, by: str | None) -> dict[str, pd.DataFrame]:
    """The runs of each value of a column, sorted, or all of them under "all runs".

    Raises:
        ValueError: there is no such column, or it is null in some rows.
    """
    from ..frames import check_columns

    if by is None:
        return {"all runs": runs}
    check_columns(runs, by)
    if missing := int(runs[by].isna().sum()):
        raise ValueError(f"--by {by}: {missing} of {len(runs)} runs have none: leave them out with --where")
    return {str(name): group for name, group in runs.groupby(by, sort=True)}


@contextmanager
def warnings_of(group: str | None) -> Iterator[None]:
    """The fits' warnings inside, with the group's name before them where there is one."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    for each in found:
        told = each.message
        if group is not None and isinstance(told, FitWarning):
            told = FitWarning(told.kind, f"{group}: {told}")
        warnings.warn_explicit(told, each.category, each.filename, each.lineno)


def kind_lines(kinds: Iterable[str]) -> list[str]:
    """A line a kind of warning that a column of kinds names: what it means.

    >>> kind_lines(["", "few_points", "few_points"])
    ['few_points: the fit has no degree of freedom left to estimate an error from']
    """
    found = dict.fromkeys(kind for each in kinds for kind in each.split(", ") if kind)
    return [f"{kind}: {FitWarning.KINDS[kind]}" for kind in found]


def takes(options: type) -> Callable[[Callable[..., Answer]], Callable[..., Any]]:
    """For a command whose first parameter is a dataclass: on the command line each of its fields is an option."""

    def decorate(command: Callable[..., Answer]) -> Callable[..., Any]:
        own = list(inspect.signature(command).parameters.values())[1:]
        shared = [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, annotation=f.type, default=_default(f))
            for f in fields(options)
        ]
        common_names = [f.name for f in fields(Asked)]
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]

        @wraps(command)
        def wrapped(**given: Any) -> tuple[Any, Answer]:
            _check_together(options, {f.name for f in fields(options) if given[f.name] != _default(f)})
            asked = options(**{f.name: given.pop(f.name) for f in fields(options)})
            return asked, command(asked, **given)

        for parameter in shared[1:]:
            if parameter.name in common_names:
                parameter.annotation.__metadata__[0].rich_help_panel = _COMMON_PANEL
        # The argument first, then what is the command's own (fields of a subclass, parameters), then what it shares.
        common = [parameter for parameter in shared[1:] if parameter.name in common_names]
        special = [parameter for parameter in shared[1:] if parameter.name not in common_names]
        ordered = [shared[0], *special, *own, *common]
        wrapped.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
        return wrapped

    return decorate


def _check_together(options: Any, given: set[str]) -> None:
    """An option that would say nothing is refused: its value was meant."""

    def option(name: str) -> str:
        return "--" + name.replace("_", "-")

    for name, others in getattr(options, "goes_with", {}).items():
        if name in given and not given & set(others):
            need = " or ".join(map(option, others))
            raise ValueError(f"{option(name)} " + (f"goes with {need}" if need else "says nothing in this command"))
    for name, other in getattr(options, "silenced_by", {}).items():
        if {name, other} <= given:
            raise ValueError(f"{option(name)} says nothing beside {option(other)}: ask for one of them")


def answered(command: Callable[..., tuple[Asked, Answer]]) -> Callable[..., None]:
    """A command that shows its answer, and ends with exit code 1 where that is no, 2 for wrong use."""

    @wraps(command)
    def shown(**given: Any) -> None:
        if given.get("as_json") and given.get("as_csv"):
            raise ValueError("--json and --csv are two forms of one answer: give one of them")
        check_figures(given.get("figure") or ())
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            asked, answer = command(**given)
        print_answer(answer, found, as_json=asked.as_json, as_csv=asked.as_csv)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # they have been told
            save_figures(answer, getattr(asked, "figure", ()))
        if answer.no:
            raise typer.Exit(SAYS_NO)

    return one_line_errors(shown, lambda: {FitError: SAYS_NO, ValueError: WRONG_USE, OSError: WRONG_USE}, one_line)


def one_line(error: Exception) -> str:
    """An error's text; of one with a line a fault the first faults.

    >>> one_line(ValueError("bad records: a\\nb\\nc\\nd\\ne"))
    'bad records: a; b; c (and 2 more faults)'
    """
    lines = str(error).splitlines() or [""]
    more = len(lines) - _MOST_FAULTS
    return "; ".join(lines[:_MOST_FAULTS]) + (f" (and {more} more faults)" if more > 0 else "")


def _default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
