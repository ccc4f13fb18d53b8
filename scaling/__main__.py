"""The `scaling` command, also as `python -m scaling`."""

from .cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
