"""What the engines of many machines share: their package and the workers' environment."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from .base import EngineOptions

__all__ = ["GRACE_SECONDS", "device_names", "package", "worker_environment"]

GRACE_SECONDS = 30.0  # that a worker which was told to stop has to save its state: Slurm's own KillWait


def package(name: str, extra: str) -> Any:
    """The package of that name, which an extra of this project installs.

    Raises:
        ValueError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        way = f"pip install '.[{extra}]' in the folder you cloned"
        raise ValueError(f"engine: {name} is not installed: {way}") from None


def worker_environment(options: EngineOptions) -> dict[str, str]:
    """Environment variables of a worker that starts from nothing: the runner's folders of packages, frozen code first.

    Packages that the interpreter finds by itself are left to the worker's own interpreter.
    """
    own = (sys.prefix, sys.base_prefix)
    folders = [os.path.abspath(folder) for folder in sys.path]
    folders = [folder for folder in folders if not any(Path(folder).is_relative_to(prefix) for prefix in own)]
    first = [os.path.abspath(options.code)] if options.code else []
    return {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(first + folders)),
        "OMP_NUM_THREADS": str(options.resources.threads),
    }


def device_names(num_devices: int, on_gpu: bool) -> tuple[str, ...]:
    """Torch devices of a job that sees no other GPUs than its own.

    >>> device_names(2, on_gpu=True), device_names(1, on_gpu=False)
    (('cuda:0', 'cuda:1'), ('cpu',))
    """
    return tuple(f"cuda:{index}" for index in range(num_devices)) if on_gpu else ("cpu",) * num_devices
