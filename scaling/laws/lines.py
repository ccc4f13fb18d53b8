"""Straight lines between transformed accuracies, T(y) = slope T(x) + intercept."""

import numpy as np

from .base import Law, Link

__all__ = ["log_linear", "logit_linear", "probit_linear"]


def _log_forward(p: np.ndarray) -> np.ndarray:
    return -np.log1p(-p)


def _logit_forward(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


def _logit_backward(z: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0.0, -z))


def _probit_forward(p: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(p)


def _probit_backward(z: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(z)


def _probit_slope(p: np.ndarray) -> np.ndarray:
    return np.sqrt(2 * np.pi) * np.exp(_probit_forward(p) ** 2 / 2)


_LOG = Link("-log(1-p)", _log_forward, lambda p: 1 / (1 - p), lambda z: -np.expm1(-z))
_LOGIT = Link("logit", _logit_forward, lambda p: 1 / (p * (1 - p)), _logit_backward)
_PROBIT = Link("probit", _probit_forward, _probit_slope, _probit_backward)


def _line(name: str, link: Link, source: str) -> Law:
    def value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return link.backward(theta[..., 0:1] * link.forward(x) + theta[..., 1:2])

    def jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        transformed = link.forward(x)
        slope = link.slope(value(theta, x))
        return np.stack([transformed / slope, 1 / slope], axis=-1)

    def inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            x = link.backward((link.forward(np.asarray(y, dtype=float)) - theta[..., 1:2]) / theta[..., 0:1])
        return np.where(np.isnan(x), np.inf, x)

    def basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
        transformed = link.forward(x)
        one = np.stack([transformed, np.ones_like(transformed)])
        return np.broadcast_to(one, (len(nonlinear), *one.shape))

    return Law(
        name, f"T(y) = slope T(x) + intercept, T(p) = {link.name}", source, ("slope", "intercept"),
        lower=(-np.inf, -np.inf), upper=(np.inf, np.inf),
        value=value, jacobian=jacobian, inverse=inverse, in_units=lambda theta, x_unit, y_unit: theta,
        grid=lambda x: np.empty((1, 0)), basis=basis, linear=(0, 1), nonlinear=(),
        mixed=(), rate="slope", increasing=True, num_starts=1, link=link,
    )  # fmt: skip


log_linear = _line("log_linear", _LOG, "log of the errors against each other: Abnar et al. 2021 with e_IR = 0")
logit_linear = _line("logit_linear", _LOGIT, "Kornblith et al. 2019 (arXiv 1805.08974); Taori et al. 2020")
probit_linear = _line("probit_linear", _PROBIT, "Miller et al. 2021 (arXiv 2107.04649)")
