"""The values that options have, for a shell to complete: read from the tables that check them, when asked for."""

from collections.abc import Callable

from ..completion import names_of

__all__ = ["CHOICES"]


# By option; of one command, "fit --select"; of an argument, its name in capitals.
CHOICES: dict[str, Callable[[], list[str]]] = {
    **dict.fromkeys(("RECORDS", "NAME"), names_of("scaling.datasets", "DATASETS")),
    **dict.fromkeys(("--law", "--laws"), names_of("scaling.laws", "LAWS")),
    **dict.fromkeys(("--x", "--y", "--by", "--upstream"), names_of("scaling.schema", "RECORDS")),
    "--objective": names_of("scaling.fitting.objectives", "OBJECTIVES"),
    "--select": names_of("scaling.selection.rules", "SELECTIONS", "stochastic"),
    "fit --select": names_of("scaling.selection.rules", "SELECTIONS"),
    "--hull-axes": names_of("scaling.selection.rules", "HULL_AXES"),
    "--interval": names_of("scaling.commands.fitted", "INTERVALS"),
    "--anchors": names_of("scaling.transfer.selection", "ANCHORS"),
    "--hull-points": names_of("scaling.transfer.selection", "HULL_POINTS"),
    "--kind": names_of("scaling.figures", "KINDS"),
    "--holdout": names_of("scaling.commands.compare", "HOLDOUTS"),
    "--intervals": lambda: ["simulated_world", "case_bootstrap"],
    "--probe": lambda: ["whitened", "plain"],
    "--weights": lambda: ["last", "ema", "best"],
    "--method": lambda: ["fewshot", "finetune", "zero_shot"],
    "--decimal": lambda: [".", ","],
}
