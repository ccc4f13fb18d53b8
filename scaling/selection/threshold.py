"""The threshold of a stochastic frontier: a low quantile of all runs."""

import numpy as np

__all__ = ["QUANTILE", "threshold_curve"]

QUANTILE = 0.4  # of up to 50 runs at each x below which the errors count, not only that they lie above
# Of more runs fewer are needed, and an interval that is narrower bears less of what a smooth excess leaves out: the
# number below the threshold grows as n^(2/3).
_QUANTILE_RUNS, _QUANTILE_POWER = 50, 1 / 3
_SMOOTH = 1e-3  # where the threshold's absolute value is rounded, in standard deviations


def threshold_curve(log_x: np.ndarray, log_y: np.ndarray) -> np.ndarray:
    """Quantile of log y as a quadratic in log x, at each point: `QUANTILE`, less of many runs.

    Koenker and Bassett's quantile regression (1978), by reweighted least squares (Hunter and Lange 2000).
    """
    quantile = QUANTILE * min(1.0, (_QUANTILE_RUNS / log_x.size) ** _QUANTILE_POWER)
    spread = np.ptp(log_x) / 2
    basis = np.vander((log_x - log_x.mean()) / spread, 3)
    tiny = _SMOOTH * max(float(np.std(log_y)), np.finfo(float).tiny)
    weights = np.ones_like(log_y)
    residuals = log_y
    for _ in range(30):
        root = np.sqrt(weights)
        residuals = log_y - basis @ np.linalg.lstsq(basis * root[:, None], log_y * root, rcond=None)[0]
        weights = np.where(residuals > 0, quantile, 1 - quantile) / np.maximum(np.abs(residuals), tiny)
    return log_y - residuals
