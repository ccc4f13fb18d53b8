"""Few-shot linear evaluation of frozen features, by a closed form in float64. Two probes, named.

`plain`: the closed form of the ViT paper, its l2 chosen on other images. `whitened`: standardised features and an
almost unregularised bias (big_vision's `fewshot_lsr`, used in Scaling Vision Transformers), with big_vision's one l2 or
one that is chosen as the plain probe's is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

__all__ = [
    "CHOICE_PER_CLASS", "L2_VALUES", "PROBES", "WHITENED_L2", "FewshotResult", "LinearClassifier", "evaluate_fewshot",
    "fit_probe", "rank_in_class", "ridge_path",
]  # fmt: skip

WHITENED_L2 = 2.0**10  # big_vision, configs of Zhai et al. 2021
L2_VALUES = tuple(10.0**power for power in range(-3, 6))  # of which one is chosen on held-out images
CHOICE_PER_CLASS = 5  # images a class, other than those fitted, on which an l2 is chosen
_MIDDLE_L2 = L2_VALUES[len(L2_VALUES) // 2]
_BIAS_FEATURE = 100.0  # a constant so large that its weight, the bias, is hardly regularised
_STD_FLOOR = 1e-5

Labelled = tuple[torch.Tensor, np.ndarray]


@dataclass(frozen=True)
class FewshotResult:
    """Error on the test images of one probe, number of shots and draw.

    Attributes:
        l2_rule: how the l2 was had: "fixed"; "held-out 5 a class", or "held-out 2 to 5 a class" where a class has no
            more; where none are left "middle" of the nine (plain) or "fixed, none held out" (whitened).
    """

    probe: str
    num_shots: int
    draw: int
    l2: float
    l2_rule: str
    error: float
    num_train: int


@dataclass(frozen=True)
class LinearClassifier:
    """weights float64 (width, classes), bias (1, classes), and the l2 they were fitted with and how it was had."""

    weights: torch.Tensor
    bias: torch.Tensor
    l2: float
    l2_rule: str

    def predict(self, features: torch.Tensor) -> np.ndarray:
        """The class of greatest score of each row of features float64 (n, width)."""
        return _classes(features, self.weights, self.bias)


def evaluate_fewshot(
    train: Labelled,
    test: Labelled,
    *,
    num_classes: int,
    shots: tuple[int, ...],
    num_draws: int,
    seed: int = 0,
    probes: Sequence[str] = ("plain", "whitened"),
    l2_rule: str = "fixed",
) -> Iterator[FewshotResult]:
    """Every probe, number of shots and draw of one task and layer.

    The shots of a draw are nested: its 1-shot image a class is the first of its 5. A draw is a function of `seed`, its
    number and the labels, so all layers and models are probed on the same images.

    Args:
        train, test: features (n, width) and labels (n,).
        shots: images a class. A class with fewer in `train` gives what it has; `num_train` says how many that were.
        num_draws: draws of the training images.
        probes: keys of `PROBES`.
        l2_rule: of the whitened probe: "fixed", which is 2^10, or "held-out", one of `L2_VALUES`.

    >>> features, labels = torch.eye(3).repeat(8, 1), np.tile(np.arange(3), 8)
    >>> results = evaluate_fewshot((features, labels), (features, labels), num_classes=3, shots=(1,), num_draws=1)
    >>> [(result.probe, result.error) for result in results]
    [('plain', 0.0), ('whitened', 0.0)]
    """
    train, test_features = (train[0].double(), train[1]), test[0].double()
    for draw in range(num_draws):
        ranks = rank_in_class(train[1], np.random.default_rng([seed, draw]))
        others = _take(train, (ranks >= max(shots)) & (ranks < max(shots) + CHOICE_PER_CLASS))
        for num_shots in sorted(shots):
            data = _take(train, ranks < num_shots)
            for probe in probes:
                found = fit_probe(probe, data, others, num_classes, l2_rule)
                error = float(np.mean(found.predict(test_features) != test[1]))
                yield FewshotResult(probe, num_shots, draw, found.l2, found.l2_rule, error, len(data[1]))


def fit_probe(
    probe: str, data: Labelled, others: Labelled, num_classes: int, l2_rule: str = "fixed"
) -> LinearClassifier:
    """The probe fitted to `data`, features float64, its l2 by its rule: of several the one that errs least on
    `others`, the smallest of equals."""
    x, y = data[0], _signs(data[1], num_classes)
    values, rule = _l2_of(probe, data[1], others[1], l2_rule)
    weights, bias = PROBES[probe](x, y, values)
    chosen = 0
    if len(values) > 1:
        chosen = int(np.argmin((_classes(others[0], weights, bias) != others[1]).mean(1)))
    return LinearClassifier(weights[chosen], bias[chosen], values[chosen], rule)


def _l2_of(probe: str, fitted: np.ndarray, others: np.ndarray, l2_rule: str) -> tuple[tuple[float, ...], str]:
    """The values of l2 that a probe may take, and the rule's name."""
    is_fixed = probe == "whitened" and l2_rule == "fixed"
    if is_fixed or len(others) == 0:
        if probe == "plain":
            return (_MIDDLE_L2,), "middle"
        return (WHITENED_L2,), "fixed" if is_fixed else "fixed, none held out"
    fewest = np.bincount(others, minlength=int(fitted.max()) + 1)[fitted].min()  # of a class that is fitted
    short = "" if fewest == CHOICE_PER_CLASS else f"{fewest} to "
    return L2_VALUES, f"held-out {short}{CHOICE_PER_CLASS} a class"


# Closed forms -------------------------------------------------------------------------------------------------


def _plain(x: torch.Tensor, y: torch.Tensor, l2: Sequence[float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (l2, width, classes) and bias (l2, 1, classes), here zero, of the closed form without a bias.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 4.1, fast few-shot evaluation.
    """
    weights = ridge_path(x, y, l2)
    return weights, torch.zeros_like(weights[:, :1])


def _whitened(x: torch.Tensor, y: torch.Tensor, l2: Sequence[float]) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (l2, width, classes) and bias (l2, 1, classes) on features standardised by those fitted.

    They are those for the features as they are: (x - mean) / std W + 100 b = x (W / std) + (100 b - mean W / std).

    Source: big_vision `evaluators/fewshot_lsr.py`; Zhai et al. 2021 (arXiv 2106.04560), section 2.
    """
    mean, std = x.mean(0), x.std(0, correction=0) + _STD_FLOOR
    constant = torch.full_like(x[:, :1], _BIAS_FEATURE)
    found = ridge_path(torch.cat([(x - mean) / std, constant], dim=1), y, l2)
    weights = found[:, :-1] / std[:, None]
    return weights, _BIAS_FEATURE * found[:, -1:] - mean[None] @ weights


PROBES: dict[str, Callable[..., tuple[torch.Tensor, torch.Tensor]]] = {"plain": _plain, "whitened": _whitened}


def ridge_path(x: torch.Tensor, y: torch.Tensor, l2: Sequence[float]) -> torch.Tensor:
    """W = (X'X + l2 I)^-1 X'Y for each l2 > 0, or its dual X'(XX' + l2 I)^-1 Y where that is smaller.

    Shape (number of l2, width, classes), from one decomposition.

    >>> x = torch.tensor([[1.0, 0], [2, 1], [0, 2], [1, 3]]).double()
    >>> ridge_path(x, torch.tensor([[1.0, -1], [1, -1], [-1, 1], [-1, 1]]).double(), l2=[1.0])
    tensor([[[ 0.6250, -0.6250],
             [-0.4750,  0.4750]]], dtype=torch.float64)
    """
    if x.shape[0] >= x.shape[1]:
        return _solve_shifted(x.T @ x, x.T @ y, l2)
    return x.T @ _solve_shifted(x @ x.T, y, l2)


def _solve_shifted(gram: torch.Tensor, right: torch.Tensor, l2: Sequence[float]) -> torch.Tensor:
    """(gram + l2 I)^-1 right for each l2, by Cholesky's factor for one; eigenvectors cost ten of these, and do all."""
    if len(l2) == 1:
        shifted = gram + l2[0] * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        return torch.cholesky_solve(right, torch.linalg.cholesky(shifted))[None]
    values, vectors = torch.linalg.eigh(gram)
    shifts = torch.tensor(l2, dtype=gram.dtype, device=gram.device)[:, None]
    # An eigenvalue of zero may come out below it by more than a small l2.
    return vectors @ ((vectors.T @ right) / (values.clamp_min(0) + shifts)[:, :, None])


def _classes(features: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor) -> np.ndarray:
    return (features @ weights + bias).argmax(-1).cpu().numpy()


# Draws --------------------------------------------------------------------------------------------------------


def rank_in_class(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random rank of each image among those of its class: those below k are the k shots."""
    ranks = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        ranks[rng.permutation(members)] = np.arange(len(members))
    return ranks


def _take(data: Labelled, chosen: np.ndarray) -> Labelled:
    rows = np.flatnonzero(chosen)
    return data[0][torch.from_numpy(rows)], data[1][rows]


def _signs(labels: np.ndarray, num_classes: int) -> torch.Tensor:
    signs = np.full((len(labels), num_classes), -1.0)
    signs[np.arange(len(labels)), labels] = 1.0
    return torch.from_numpy(signs)
