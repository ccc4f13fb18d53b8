"""What a prediction of accuracies misses by, the same for every comparison."""

import numpy as np

from ..prediction import Prediction

__all__ = ["score"]


def score(predicted: Prediction, actual: np.ndarray) -> dict[str, float]:
    """Of one or more accuracies, shape (m,).

    `mse`, `mae`, `rmse`: mean squared, mean absolute and root mean square difference; `bias`: predicted less actual;
    `covered`: share of the actual accuracies in the interval.
    """
    error = predicted.median - actual
    mse = float(np.mean(error**2))
    inside = (predicted.low <= actual) & (actual <= predicted.high)
    return {
        "mse": mse, "mae": float(np.mean(np.abs(error))), "rmse": float(np.sqrt(mse)), "bias": float(np.mean(error)),
        "covered": float(np.mean(inside)),
    }  # fmt: skip
