"""Whether the runs contradict a stochastic frontier: are noise and excess alike at small, middle and large x?

By the probability integral transform the model's distribution function, taken at the runs below the threshold and over
its value there, is uniform; and the share of runs below the threshold is its value there. Both are tested in each third
of x (Kolmogorov and Smirnov's test, the binomial test), so that an edge far below the runs of one end is seen, which
the likelihood of all runs together hides. Parameters are fitted to the same runs, so that the p values are too large
rather than too small. Not seen is what the law can follow, an excess that grows steadily with x; nor the few runs of
one end, for chance alone lets the best of them lie far above the edge: of three runs with a mean excess of .25 in log y
all lie .15 above it in more than half of all cases. Whether the law has the wrong shape is asked of a law with one
parameter more (`gain_p_value`).
"""

import numpy as np

from .excess import log_survival

__all__ = [
    "LEAST_P_VALUE",
    "LEAST_SHAPE_P_VALUE",
    "PARTS",
    "binomial_p_value",
    "gain_p_value",
    "thin",
    "uniform_p_value",
    "worst_part",
]

PARTS = ("least", "middle", "largest")  # thirds of x
# Of 1,800 simulated frontiers of 50, 200 and 800 runs whose excess the model describes, or nearly (half-normal, a
# mixture), none has less, nor of the law's shape. That allows a rate up to .002.
LEAST_P_VALUE = 1e-3
LEAST_SHAPE_P_VALUE = 1e-4  # of a law with one parameter more
_MOST_DRAWS = 64  # of the posterior, whose distribution functions are averaged
_MOST_RUNS = 6000  # that are looked at: of more, runs equally spaced in the order of x
_TINY = np.finfo(float).tiny


def worst_part(
    x: np.ndarray,
    log_y: np.ndarray,
    log_threshold: np.ndarray,
    log_law: np.ndarray,
    noise: np.ndarray,
    scale: np.ndarray,
    shape: np.ndarray,
) -> tuple[float, str]:
    """The least p value of all tests, times their number (Bonferroni), and what is wrong there.

    Args:
        x, log_y, log_threshold: of all runs, shape (n,), x ascending.
        log_law: of each draw of the posterior, shape (num_draws, n).
        noise, scale, shape: of each draw, shape (num_draws,).
    """
    terms = [part[:, None] for part in (noise, scale, shape)]
    to_run, to_threshold = (
        np.mean(-np.expm1(np.minimum(log_survival(at - log_law, *terms), 0.0)), axis=0) for at in (log_y, log_threshold)
    )
    below = log_y <= log_threshold
    found = []
    for name, part in zip(PARTS, np.array_split(np.arange(x.size), len(PARTS)), strict=True):
        found += _tests(name, below[part], to_run[part], to_threshold[part])
    p_value, text = min(found)
    return min(1.0, p_value * len(found)), text


def thin(x: np.ndarray, num_draws: int) -> tuple[np.ndarray, slice]:
    """The runs that are looked at, x ascending, and the draws."""
    order = np.argsort(x, kind="stable")
    return order[:: -(-x.size // _MOST_RUNS)], slice(None, None, -(-num_draws // _MOST_DRAWS))


def _tests(name: str, below: np.ndarray, to_run: np.ndarray, to_threshold: np.ndarray) -> list[tuple[float, str]]:
    """p value and finding of both tests of one part: all arrays have its runs, shape (m,)."""
    num_below, expected = int(below.sum()), float(np.clip(np.mean(to_threshold), 0.0, 1.0))
    share = f"{num_below / below.size:.0%} of the runs of the {name} third lie nearest to the edge, where the fit has"
    found = [(binomial_p_value(num_below, below.size, expected), f"{share} {expected:.0%}")]
    if num_below:
        place = np.clip(to_run[below] / np.maximum(to_threshold[below], _TINY), 0.0, 1.0)
        side = "farther from" if np.mean(place) > 0.5 else "nearer to"
        text = f"the best runs of the {name} third lie {side} the edge than its noise and excess say"
        found.append((uniform_p_value(place), text))
    return found


# `scipy.stats` has both tests, but its import takes half a second.


def binomial_p_value(num: int, of: int, probability: float) -> float:
    """Of a number as far from what is expected, to either side: twice the smaller tail."""
    from scipy.special import bdtr, bdtrc

    tails = bdtr(num, of, probability), bdtrc(num - 1, of, probability) if num else 1.0
    return float(min(1.0, 2 * min(tails)))


def gain_p_value(gain: float) -> float:
    """Of a gain in log-likelihood by one more parameter: that twice the gain is chi-squared (Wilks 1938)."""
    from scipy.special import chdtrc

    return float(chdtrc(1, 2 * max(gain, 0.0)))


def uniform_p_value(values: np.ndarray) -> float:
    """Of values in [0, 1] that are as far from uniform: Kolmogorov and Smirnov's, with Stephens' correction (1970)."""
    from scipy.special import kolmogorov

    n, steps = values.size, np.arange(values.size + 1) / values.size
    ordered = np.sort(values)
    distance = max(np.max(steps[1:] - ordered), np.max(ordered - steps[:-1]))
    return float(kolmogorov((np.sqrt(n) + 0.12 + 0.11 / np.sqrt(n)) * distance))
