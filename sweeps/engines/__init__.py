"""Engines run jobs somewhere: on this machine, on a Ray cluster, on a Slurm partition."""

from importlib import import_module

from .base import Engine, EngineOptions, Event, Resources

__all__ = ["ENGINES", "Engine", "EngineOptions", "Event", "Resources", "make_engine"]

ENGINES = {"local": "LocalEngine", "ray": "RayEngine", "slurm": "SlurmEngine"}
"""Each engine's name, which is its module's too, and its class, made from `EngineOptions`."""


def make_engine(name: str, options: EngineOptions) -> Engine:
    """The engine of that name.

    Raises:
        ValueError: no such engine, a package that it takes is not installed, or options that it cannot take.
    """
    if name not in ENGINES:
        raise ValueError(f"engine: must be one of {list(ENGINES)}, got {name!r}")
    if options.address and name != "ray":
        raise ValueError(f"address: is that of a Ray cluster, and the engine is {name!r}, got {options.address!r}")
    if options.job_options and name != "slurm":
        raise ValueError(
            f"job_options: are of Slurm's jobs, and the engine is {name!r}, got {dict(options.job_options)}"
        )
    return getattr(import_module(f".{name}", __package__), ENGINES[name])(options)
