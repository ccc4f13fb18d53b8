"""Few-shot linear evaluation of frozen features, by a closed form in float64. Two rules, named.

`whitened`: standardised features, an almost unregularised bias, one l2 (big_vision's `fewshot_lsr`, used in
Scaling Vision Transformers). `plain`: the closed form of the ViT paper, its l2 chosen on other images.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

__all__ = ["PROBES", "FewshotResult", "evaluate_fewshot", "plain_weights", "ridge_path", "whitened_probe"]

WHITENED_L2 = 2.0**10  # big_vision, configs of Zhai et al. 2021
_BIAS_FEATURE = 100.0  # a constant so large that its weight, the bias, is hardly regularised
_STD_FLOOR = 1e-5
PLAIN_L2 = tuple(10.0**power for power in range(-3, 6))
CHOICE_PER_CLASS = 5  # images a class, other than those fitted, on which the plain rule chooses its l2


@dataclass(frozen=True)
class FewshotResult:
    """Error on the test images of one probe, number of shots and draw."""

    probe: str
    num_shots: int
    draw: int
    l2: float
    l2_rule: str
    error: float
    num_train: int


def evaluate_fewshot(
    train: tuple[torch.Tensor, np.ndarray],
    test: tuple[torch.Tensor, np.ndarray],
    *,
    num_classes: int,
    shots: tuple[int, ...],
    num_draws: int,
    seed: int = 0,
) -> Iterator[FewshotResult]:
    """Every probe, number of shots and draw of one task.

    The shots of a draw are nested: its 1-shot image a class is the first of its 5.

    Args:
        train, test: features (n, width) and labels (n,).
        shots: images a class. A class with fewer in `train` gives what it has; `num_train` says how many that were.
        num_draws: draws of the training images.

    >>> features, labels = torch.eye(3).repeat(8, 1), np.tile(np.arange(3), 8)
    >>> results = evaluate_fewshot((features, labels), (features, labels), num_classes=3, shots=(1,), num_draws=1)
    >>> [(result.probe, result.error) for result in results]
    [('plain', 0.0), ('whitened', 0.0)]
    """
    for draw in range(num_draws):
        ranks = _rank_in_class(train[1], np.random.default_rng([seed, draw]))
        choice = np.flatnonzero((ranks >= max(shots)) & (ranks < max(shots) + CHOICE_PER_CLASS))
        for num_shots in sorted(shots):
            fitted = np.flatnonzero(ranks < num_shots)
            data, others = (_take(train, rows) for rows in (fitted, choice))
            for name, probe in PROBES.items():
                predictions, l2, rule = probe(data, others, test[0], num_classes)
                error = float(np.mean(predictions != test[1]))
                yield FewshotResult(name, num_shots, draw, l2, rule, error, len(fitted))


def whitened_probe(train, others, test_features, num_classes):
    """Predictions of the whitened rule with l2 = 2^10; `others` is not used.

    Source: big_vision `evaluators/fewshot_lsr.py`; Zhai et al. 2021 (arXiv 2106.04560), section 2.
    """
    features, labels = train[0].double(), train[1]
    mean, std = features.mean(0), features.std(0, correction=0) + _STD_FLOOR
    weights = plain_weights(_with_bias((features - mean) / std), _signs(labels, num_classes), WHITENED_L2)
    scores = _with_bias((test_features.double() - mean) / std) @ weights
    return scores.argmax(1).cpu().numpy(), WHITENED_L2, "fixed"


def plain_probe(train, others, test_features, num_classes):
    """Predictions of the plain rule; the l2 of nine that errs least on `others`, the smallest of equals.

    Without `others` (too few images a class) the middle one.
    """
    x, y = train[0].double(), _signs(train[1], num_classes)
    weights = ridge_path(x, y, PLAIN_L2)
    if len(others[1]) == 0:
        chosen, rule = len(PLAIN_L2) // 2, "middle"
    else:
        predictions = (others[0].double() @ weights).argmax(2).cpu().numpy()
        chosen, rule = int(np.argmin((predictions != others[1]).mean(1))), f"held-out {CHOICE_PER_CLASS} a class"
    return (test_features.double() @ weights[chosen]).argmax(1).cpu().numpy(), PLAIN_L2[chosen], rule


PROBES = {"plain": plain_probe, "whitened": whitened_probe}


def plain_weights(x: torch.Tensor, y: torch.Tensor, l2: float) -> torch.Tensor:
    """W = (X'X + l2 I)^-1 X'Y, shape (width, classes), or its dual X'(XX' + l2 I)^-1 Y where that is smaller.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 4.1, fast few-shot evaluation.

    >>> x = torch.tensor([[1.0, 0], [2, 1], [0, 2], [1, 3]]).double()
    >>> plain_weights(x, torch.tensor([[1.0, -1], [1, -1], [-1, 1], [-1, 1]]).double(), l2=1.0)
    tensor([[ 0.6250, -0.6250],
            [-0.4750,  0.4750]], dtype=torch.float64)
    """
    return ridge_path(x, y, (l2,))[0]


def ridge_path(x: torch.Tensor, y: torch.Tensor, l2: Sequence[float]) -> torch.Tensor:
    """`plain_weights` for each of several l2, shape (number of l2, width, classes), from one eigendecomposition."""
    is_primal = x.shape[0] >= x.shape[1]
    values, vectors = torch.linalg.eigh(x.T @ x if is_primal else x @ x.T)
    projected = vectors.T @ (x.T @ y if is_primal else y)
    shrunk = projected / (values[:, None] + torch.tensor(l2, dtype=x.dtype, device=x.device)[:, None, None])
    return vectors @ shrunk if is_primal else x.T @ (vectors @ shrunk)


def _take(data: tuple[torch.Tensor, np.ndarray], rows: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
    return data[0][torch.from_numpy(rows)], data[1][rows]


def _with_bias(features: torch.Tensor) -> torch.Tensor:
    return torch.cat([features, torch.full_like(features[:, :1], _BIAS_FEATURE)], dim=1)


def _signs(labels: np.ndarray, num_classes: int) -> torch.Tensor:
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(labels), num_classes)
    return 2.0 * one_hot.double() - 1


def _rank_in_class(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random rank of each image among those of its class."""
    ranks = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        ranks[rng.permutation(members)] = np.arange(len(members))
    return ranks
