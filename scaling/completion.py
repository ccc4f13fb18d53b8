"""What a shell completes: commands and options, from a table made beforehand, and the values that an option has.

A shell waits for its completions, and the commands' modules import pandas and scipy, or torch: so the options stand in
`commands/options.json` of each package. After a change of an option write it anew, as the test of it says:
`python -m scaling.completion scaling sweeps`. The values are those of the tables, as they are when one completes.
"""

import inspect
import json
import sys
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["completed_command", "names_of", "option_table", "read_table", "write_table"]

Table = dict[str, list[dict[str, Any]]]


def option_table(package: str) -> Table:
    """Of each command its parameters: `names` (none of an argument), `help`, `flag`, and the key of its `choices`.

    Args:
        package: "scaling" or "sweeps"; its `commands.choices.CHOICES` has a function of the values by name, as "--law",
            or of one command "fit --law"; an argument's name is in capitals.
    """
    app, choices = import_module(f"{package}.cli").app, _choices(package)
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    return {
        name: [_row(parameter, name, choices.keys()) for parameter in group.get_command(context, name).params]
        for name in group.list_commands(context)
    }


def names_of(module: str, table: str, *more: str) -> Callable[[], list[str]]:
    """The names in a table, which is imported when they are asked for: a shell waits for it.

    >>> names_of("scaling.laws", "LAWS")()[0]
    'power'
    """

    def names() -> list[str]:
        found: Iterable[str] = getattr(import_module(module), table)
        return [*more, *found]

    return names


def _choices(package: str) -> dict[str, Callable[[], list[str]]]:
    return import_module(f"{package}.commands.choices").CHOICES


def _row(parameter: Any, command: str, choices: Collection[str]) -> dict[str, Any]:
    is_option = parameter.param_type_name == "option"
    key = max(parameter.opts, key=len) if is_option else parameter.name.upper()
    return {
        "names": [*parameter.opts, *parameter.secondary_opts] if is_option else [],
        "help": parameter.help or "",
        "flag": bool(getattr(parameter, "is_flag", False)),
        "choices": next((each for each in (f"{command} {key}", key) if each in choices), None),
    }


def read_table(package: str) -> Table:
    return json.loads(_path(package).read_text(encoding="utf-8"))


def write_table(package: str) -> None:
    """A line a parameter, so that a change of one is a change of one line."""
    commands = []
    for name, rows in option_table(package).items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        commands.append(f"{json.dumps(name)}: [\n{lines}\n]")
    _path(package).write_text("{\n" + ",\n".join(commands) + "\n}\n", encoding="utf-8")


def _path(package: str) -> Path:
    """Beside the commands, found without importing them."""
    return Path(str(import_module(package).__file__)).parent / "commands" / "options.json"


def completed_command(package: str, name: str) -> Any:
    """A command with these options that does nothing: what a shell's completion looks at, imported at once."""
    rows = read_table(package).get(name, [])

    def nothing(**_: Any) -> None: ...

    parameters = [_parameter(package, place, row) for place, row in enumerate(rows)]
    nothing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    nothing.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    alone = typer.Typer(add_completion=False)
    alone.command(name)(nothing)
    return typer.main.get_command(alone)


def _parameter(package: str, place: int, row: dict[str, Any]) -> inspect.Parameter:
    kind: Any = bool if row["flag"] else str
    options: dict[str, Any] = {"help": row["help"], "autocompletion": _completer(package, row["choices"])}
    names = row["names"]
    if row["flag"] and len(names) > 1 and all(name.startswith("--") for name in names):
        names = ["/".join(names)]  # --measure/--no-measure
    told = typer.Option(*names, **options) if names else typer.Argument(**options)
    default: Any = False if row["flag"] else ""
    return inspect.Parameter(
        f"p{place}", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, told], default=default
    )


def _completer(package: str, key: str | None) -> Callable[[str], list[str]]:
    """Of the values that start so; their table is imported for the one option that is completed."""

    def complete(incomplete: str) -> list[str]:
        values = _choices(package)[key]() if key else []
        return [value for value in values if value.startswith(incomplete)]

    return complete


if __name__ == "__main__":
    for each in sys.argv[1:]:
        write_table(each)
