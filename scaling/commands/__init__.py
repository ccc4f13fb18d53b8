"""The commands of `scaling`: each is a module with a function of its name, imported when it is asked for."""

__all__ = ["COMMANDS"]

COMMANDS = ("fit", "frontier", "transfer", "compare", "predict", "plot")
