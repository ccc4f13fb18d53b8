"""What the errors of a run say of it: when to stop, and whether it has learned its images by heart."""

import math
from collections.abc import Sequence

__all__ = ["best_index", "has_stalled", "is_memorised"]

_NEAR_ZERO = 0.01  # training error of a model that knows its images


def best_index(val_errors: Sequence[float]) -> int:
    """Where the held-out error is least, the first of equals."""
    return min(range(len(val_errors)), key=lambda i: (val_errors[i], i))


def has_stalled(val_errors: Sequence[float], patience: int) -> bool:
    """Whether the held-out error has not fallen below its least for `patience` evaluations.

    >>> has_stalled([0.5, 0.4, 0.4, 0.45], patience=2), has_stalled([0.5, 0.4, 0.45], patience=2)
    (True, False)
    """
    return len(val_errors) - 1 - best_index(val_errors) >= patience if val_errors else False


def is_memorised(train_error: float, val_errors: Sequence[float], num_val: int) -> bool | None:
    """Training error near 0 while the held-out error no longer falls: more steps will not help, more images may.

    Flat is a held-out error whose least in the later half of the evaluations is no lower, by its standard error, than
    in the earlier half. None where there are fewer than two evaluations or no held-out images: it cannot be told.

    >>> is_memorised(0.0, [0.6, 0.5, 0.5, 0.51], num_val=1000), is_memorised(0.0, [0.6, 0.5, 0.4, 0.3], num_val=1000)
    (True, False)
    """
    if len(val_errors) < 2 or num_val == 0:
        return None
    half = len(val_errors) // 2
    early, late = min(val_errors[:half]), min(val_errors[half:])
    return train_error <= _NEAR_ZERO and late >= early - math.sqrt(early * (1 - early) / num_val)
