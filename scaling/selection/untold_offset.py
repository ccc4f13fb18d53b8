"""Whether the runs tell e_ir of the law `transfer`, off which a saturation is read.

Where alpha is small k e^alpha is nearly a logarithm of e, and laws of any e_ir are one curve over the runs. Importance
sampling finds a part of them: its interval is then too narrow, and no draw shows it. So the posterior's density is
searched with e_ir held: at 0, and half way from there to the best run.
"""

import numpy as np

from ..errors import FitWarning
from .posterior import Posterior

__all__ = ["untold_offset"]

_FALL = 0.5  # of the log density: a value within one standard error
_NO_SEARCH = 20.0  # a start so far below does not come near
_OFFSET = 2  # place of e_ir among the coordinates, after log k and alpha
_STEP = 1e-4  # of a derivative


def untold_offset(posterior: Posterior, coordinates: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[FitWarning]:
    """A warning where e_ir of 0 and of half the least error are as likely as any, within one standard error.

    Args:
        posterior: whose coordinates are log k, alpha and e_ir in scaled units, then those of noise and excess.
        coordinates: draws of it, shape (m, dimension).
        x, y: upstream and downstream error of all runs, shape (n,).
    """
    densities = posterior.log_density(coordinates)
    best, highest = coordinates[np.argmax(densities)], float(np.max(densities))
    half_way, held = 0.5 * float(y.min()), []
    for offset in (0.0, half_way / posterior.y_unit):
        start = np.clip(_with_offset(best, x / posterior.x_unit, offset), posterior.lower, posterior.upper)
        if not posterior.log_density(start[None])[0] > highest - _NO_SEARCH:
            return []
        held.append(_highest(posterior, start, is_offset_held=True))
        if held[-1] < highest - _FALL:
            return []
    if min(held) < max(*held, _highest(posterior, best, is_offset_held=False)) - _FALL:
        return []
    message = (
        f"these points do not tell e_ir: laws with e_ir = 0 and with {half_way:.3g} fit them as well; its interval and"
        " the saturation's may be far too narrow"
    )
    return [FitWarning("not_identified", message)]


def _with_offset(coordinates: np.ndarray, x: np.ndarray, offset: float) -> np.ndarray:
    """The law of another e_ir whose curve is nearest, in the logarithm of what is above it."""
    log_k, alpha, own = coordinates[:3]
    above = np.maximum(np.exp(log_k) * x**alpha + own - offset, np.finfo(float).tiny)
    new_alpha, new_log_k = np.polyfit(np.log(x), np.log(above), 1)
    return np.concatenate([[new_log_k, new_alpha, offset], coordinates[3:]])


def _highest(posterior: Posterior, start: np.ndarray, is_offset_held: bool) -> float:
    """The highest log density near a start."""
    from scipy.optimize import minimize

    lower, upper, steps = posterior.lower.copy(), posterior.upper.copy(), _STEP * np.eye(start.size)
    if is_offset_held:
        lower[_OFFSET] = upper[_OFFSET] = start[_OFFSET]

    def fall(at: np.ndarray) -> tuple[float, np.ndarray]:
        values = -posterior.log_density(np.clip(np.vstack([at, at + steps, at - steps]), lower, upper))
        ahead, behind = np.split(values[1:], 2)
        return float(values[0]), (ahead - behind) / (2 * _STEP)

    return -float(minimize(fall, start, jac=True, method="BFGS").fun)  # L-BFGS-B ends on the ridge, up to 1 too low
