"""The values that options have, for a shell to complete: read from the tables that check them."""

__all__ = ["choices"]


def choices() -> dict[str, list[str]]:
    """By option, "--law"; of one command, "fit --select"; of an argument, its name in capitals."""
    from ..datasets import DATASETS
    from ..figures import KINDS
    from ..fitting.objectives import OBJECTIVES
    from ..laws import LAWS
    from ..schema import RECORDS
    from ..selection.rules import HULL_AXES, SELECTIONS
    from ..transfer.selection import ANCHORS, HULL_POINTS
    from .compare import HOLDOUTS
    from .fitted import INTERVALS

    columns, selections = list(RECORDS), ["stochastic", *SELECTIONS]
    return {
        "RECORDS": list(DATASETS), "NAME": list(DATASETS), "--law": list(LAWS), "--laws": list(LAWS),
        "--objective": list(OBJECTIVES), "--select": selections, "fit --select": list(SELECTIONS),
        "--hull-axes": list(HULL_AXES), "--intervals": ["simulated_world", "case_bootstrap"],
        "--interval": list(INTERVALS), "--anchors": list(ANCHORS), "--hull-points": list(HULL_POINTS),
        "--kind": list(KINDS), "--holdout": list(HOLDOUTS), "--probe": ["whitened", "plain"],
        "--weights": ["last", "ema", "best"], "--method": ["fewshot", "finetune", "zero_shot"], "--decimal": [".", ","],
        "--x": columns, "--y": columns, "--by": columns, "--upstream": columns,
    }  # fmt: skip
