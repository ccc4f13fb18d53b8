"""The values that options have, for a shell to complete: read from the tables that check them, when asked for."""

from collections.abc import Callable

from scaling.completion import names_of

__all__ = ["CHOICES"]

# By option; of one command, "run --engine"; of an argument, its name in capitals.
CHOICES: dict[str, Callable[[], list[str]]] = {
    "RECORDS": names_of("scaling.datasets", "DATASETS"),
    "FAMILY": names_of("sweeps.models", "FAMILIES"),
    "--engine": names_of("sweeps.engines", "ENGINES"),
    "--tracker": names_of("sweeps.trackers", "TRACKERS"),
    "--status": names_of("sweeps.commands.retry", "STATUSES"),
    "--law": names_of("scaling.laws", "LAWS"),
    "--select": names_of("scaling.selection.rules", "SELECTIONS", "stochastic"),
    **dict.fromkeys(("--x", "--y", "--by"), names_of("scaling.schema", "RECORDS")),
}
