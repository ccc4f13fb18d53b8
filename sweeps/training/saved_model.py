"""A trained model in one file: its weights and the config of its run, which is read without torch."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..paths import written_whole
from ..specs.config import RunConfig, UpstreamConfig

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["check_teacher", "file_sha256", "load_model", "read_config", "save_model"]


def save_model(path: Path, model: "nn.Module", config: RunConfig) -> None:
    """Write weights and config, whole or not at all."""
    from safetensors.torch import save_file

    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    metadata = {"config": config.model_dump_json()}
    written_whole(path, lambda temporary: save_file(weights, temporary, metadata=metadata))


def load_model(path: str | Path, device: "torch.device") -> "nn.Module":
    """The model in evaluation mode, its parameters fixed.

    Raises:
        ValueError: not a file that `save_model` wrote.
    """
    from safetensors.torch import load_file

    config = read_config(path)
    model = config.model.build(config.image_size, config.num_classes).to(device)
    model.load_state_dict(load_file(path, device=str(device)))
    return model.eval().requires_grad_(False)


def read_config(path: str | Path) -> RunConfig:
    """The config of the run that a model comes from.

    Raises:
        ValueError: not a file that `save_model` wrote.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:
            return RunConfig.model_validate_json((file.metadata() or {})["config"])
    except FileNotFoundError:
        raise ValueError(f"no file {path}") from None
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not the model.safetensors of a run: {' '.join(str(error).split())}") from error


def check_teacher(path: str, upstream: UpstreamConfig) -> str:
    """The hash of a teacher's file, once it is one that can teach this upstream set.

    Raises:
        ValueError: no such model, or other classes or images than the student's.
    """
    try:
        config = read_config(path)
    except ValueError as error:
        raise ValueError(f"recipe.teacher: {error}") from error
    for field in ("num_classes", "image_size"):
        theirs, ours = getattr(config, field), getattr(upstream, field)
        if theirs != ours:
            raise ValueError(f"recipe.teacher: must have the student's {field} {ours}, got {theirs} in {path}")
    return file_sha256(path)


def file_sha256(path: str | Path) -> str:
    """The hash of a file's content, looked at anew where the file was written since."""
    return _sha256(str(path), Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _sha256(path: str, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
