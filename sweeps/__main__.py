"""The `sweeps` command, also as `python -m sweeps`."""

import sys

from .stopping import Interrupted, interrupted_by_signals

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line what must be installed for it."""
    try:
        with interrupted_by_signals():
            _run()
    except Interrupted as told:
        sys.exit(told.exit_code)


def _run() -> None:
    try:
        from .cli import main as run

        run()  # imports what the command takes
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error.name} is not installed: pip install 'vision-scaling-laws[sweeps]'")


if __name__ == "__main__":
    main()
