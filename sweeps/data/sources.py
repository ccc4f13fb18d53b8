"""How the batches of a training set are read: from the device, from the host, or from disk."""

from typing import Any

import torch

from .batches import ResidentSource, Source
from .images import Images, MappedImages
from .stream.images import StreamedImages
from .stream.prefetch import PrefetchSource
from .stream.source import StreamSource

__all__ = ["fits_on_device", "make_source"]

_SHARE_OF_FREE = 0.5  # the rest is the model's


def fits_on_device(num_bytes: int, device: torch.device) -> bool:
    """Whether a set of that size may lie on the device as a whole: half of a GPU's free memory; always on the CPU.

    >>> fits_on_device(10**15, torch.device("cpu"))
    True
    """
    if device.type != "cuda":
        return True
    return num_bytes <= _SHARE_OF_FREE * torch.cuda.mem_get_info(device)[0]


def make_source(
    images: Images | MappedImages | StreamedImages,
    *,
    device: torch.device,
    seed: int,
    batch_size: int,
    repeats: int = 1,
    crops: bool = False,
) -> Source:
    """Batches of a training subset on the device: resident where it fits, else gathered or read ahead.

    Args:
        images: decoded ones, on the device or the host (mapped into memory or not), or ones that stay on disk.
        crops: the recipe's augmentation is "inception_flip"; streamed images are then cut by their readers.
    """
    options: Any = {"seed": seed, "batch_size": batch_size, "repeats": repeats}
    if isinstance(images, StreamedImages):
        source: Source = StreamSource(images.to(torch.device("cpu")), **options, crops=crops)
    elif images.labels.device == device or fits_on_device(images.num_bytes, device):
        return ResidentSource(images.to(device), **options)
    else:
        source = ResidentSource(images, **options)
    return source if device.type == "cpu" else PrefetchSource(source, device)
