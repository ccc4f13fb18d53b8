"""The `scaling` command, also as `python -m scaling`."""

import signal

from .interrupts import leave_at_once, pipe_closed_quietly

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it at once, also while it imports."""
    leave_at_once(signal.SIGINT)
    try:
        from .cli import main as run

        run()
    finally:
        pipe_closed_quietly()


if __name__ == "__main__":
    main()
