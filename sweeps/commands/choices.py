"""The values that options have, for a shell to complete: read from the tables that check them."""

__all__ = ["choices"]


def choices() -> dict[str, list[str]]:
    """By option, "--engine"; of one command, "run --engine"; of an argument, its name in capitals."""
    from scaling.datasets import DATASETS
    from scaling.laws import LAWS
    from scaling.schema import RECORDS
    from scaling.selection.rules import SELECTIONS

    from ..engines import ENGINES
    from ..models import FAMILIES
    from ..trackers import TRACKERS

    columns = list(RECORDS)
    return {
        "RECORDS": list(DATASETS), "FAMILY": list(FAMILIES), "--engine": list(ENGINES), "--tracker": list(TRACKERS),
        "--status": ["all", "failed", "oom"], "--law": list(LAWS), "--select": ["stochastic", *SELECTIONS],
        "--x": columns, "--y": columns, "--by": columns,
    }  # fmt: skip
