"""The commands of `sweeps`, one a file; what they share is in `base`."""

__all__ = ["COMMANDS"]

COMMANDS = ("plan", "shapes", "run", "status", "collect")
"""In the order in which the help shows them: each is the module and the function in it of that name."""
