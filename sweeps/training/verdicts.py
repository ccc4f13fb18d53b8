"""What the errors of a run say of it: when to stop, whether it has learned its images by heart, or has exploded."""

import math
from collections.abc import Mapping, Sequence

__all__ = ["best_index", "explosion_step", "has_stalled", "is_memorised"]

_EXPLODED = 10.0  # times the loss of knowing nothing
_STANDARD_ERRORS = 3.0
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


def explosion_step(
    log: Sequence[Mapping[str, float]], untrained_loss: float, error: float, num_classes: int, num_eval: int
) -> int | None:
    """The step since which a finished run's finite loss has exploded; None where it has not.

    It has where the last line of the log is above ten times the loss of knowing nothing and the test error is that of a
    guess, within three standard errors. It is asked at the end only: on the way a loss may rise that far at the highest
    learning rate and fall again in the cooldown. A run that still tells classes apart is not taken for one that
    exploded, however sure it is of its mistakes.

    Args:
        log: lines with `step` and `loss`.
        untrained_loss: of a model that knows nothing, in the units of `loss`.

    Source: a final loss above the untrained one is as good as untrained, Wortsman et al. 2023 (arXiv 2309.14322),
    section 2.2; ten times it is on the safe side.

    >>> log = [{"step": 20, "loss": 2.3}, {"step": 40, "loss": 80.0}, {"step": 60, "loss": 75.0}]
    >>> explosion_step(log, 2.3, error=0.9, num_classes=10, num_eval=300)
    40
    >>> explosion_step(log, 2.3, error=0.5, num_classes=10, num_eval=300) is None
    True
    """
    guess = 1 - 1 / num_classes
    if error < guess - _STANDARD_ERRORS * math.sqrt(guess * (1 - guess) / num_eval):
        return None
    step = None
    for line in reversed(log):
        if line["loss"] <= _EXPLODED * untrained_loss:
            break
        step = int(line["step"])
    return step
