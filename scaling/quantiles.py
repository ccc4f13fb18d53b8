"""Quantiles that the half widths of central intervals are made of."""

from .prediction import check_level

__all__ = ["expanded_level", "normal_quantile", "student_quantile"]


def normal_quantile(level: float) -> float:
    """Half the width of a central interval, in standard errors that are known."""
    from scipy.special import ndtri

    check_level(level)
    return float(ndtri((1 + level) / 2))


def student_quantile(level: float, degrees_of_freedom: float) -> float:
    """Half the width of a central interval, in standard errors that have so many degrees of freedom."""
    from scipy.special import stdtrit

    check_level(level)
    return float(stdtrit(degrees_of_freedom, (1 + level) / 2))


def expanded_level(half_width: float) -> float:
    """The level whose normal quantile is a half width: with Student's, percentiles expand (Hesterberg 2015, 4.6)."""
    from scipy.special import ndtr

    return float(2 * ndtr(half_width) - 1)
