"""Too little memory: how that is told from other faults, and how the memory of what failed is freed."""

import errno
import gc

import torch

__all__ = ["free_memory", "is_out_of_memory"]

# Of RuntimeErrors that are no `torch.OutOfMemoryError`: the CPU's allocator, the CUDA driver, cuBLAS and cuDNN.
_TEXTS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the machine had too little memory.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes do not match"))
    (True, False)
    """
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _TEXTS)


def free_memory() -> None:
    """Give back what nothing refers to any more, cycles and the GPU's cache included."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
