"""The `sweeps` command, also as `python -m sweeps`."""

import signal
import sys

from scaling.interrupts import leave_at_once, pipe_closed_quietly

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line what must be installed for it.

    Told to stop it ends at once, but for the parts of commands that have begun what must be put in order.
    """
    leave_at_once(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    try:
        from .cli import main as run

        run()  # imports what the command takes
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error.name} is not installed: pip install '.[sweeps]' in the folder you cloned")
    finally:
        pipe_closed_quietly()


if __name__ == "__main__":
    main()
