"""Are the best models foreseen? The models of the highest upstream accuracy held out, and predicted from the others.

A law on the hull or the frontier says what the best model of an upstream accuracy does, a line through all models what
the mean model does: each is scored against all held-out models and against those of them on the frontier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..attempt import attempt, table_lines
from ..errors import FitError
from ..inputs import check_accuracies, check_same_index, generator, model_names
from ..prediction import Prediction, check_level
from ..selection.rules import select
from .fit import TransferFit, fit_transfer
from .lines import AccuracyLine, fit_line
from .scores import score
from .windows import FITS, selection_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RULES", "BestModels", "Rule", "compare_best_models", "predict_best_models"]

_LINES = ("log", "logit", "probit")
_OF_LINES = ("pareto", "all")
_ROUNDING = 1e-12  # .07 of 100 models are 7.000000000000001 in doubles
_SCORES = ("mae", "rmse", "bias", "covered")


@dataclass(frozen=True)
class Rule:
    """A law fitted to some of the models.

    Attributes:
        law: "transfer" (k e^alpha + e_IR), or a straight line on a scale: "log", "logit", "probit".
        points: what it is fitted to, as in `compare_windows`: "vertices", "near" (by `fit_transfer`'s default
            tolerance) or "sampled" (of the convex hull), "pareto" (models that none with no more upstream accuracy
            beats), "stochastic" (the edge of all models), "all". A line: "pareto" or "all".
    """

    law: str
    points: str

    def __post_init__(self) -> None:
        valid = {"transfer": FITS} | dict.fromkeys(_LINES, _OF_LINES)
        if self.points not in valid.get(self.law, ()):
            raise ValueError(f"a rule is a law and its points, of {valid}, got {self.law!r} on {self.points!r}")

    @property
    def name(self) -> str:
        return f"{self.law}, {self.points}"

    @property
    def predicts(self) -> str:
        """Which model of an upstream accuracy: the "mean" or the "best"."""
        return "mean" if self.points == "all" else "best"

    def fit(self, upstream: np.ndarray, downstream: np.ndarray, **options: Any) -> TransferFit | AccuracyLine:
        if self.law == "transfer":
            return fit_transfer(upstream, downstream, **selection_of(self.points), **options)
        used = np.arange(upstream.size) if self.points == "all" else _frontier(upstream, downstream)
        return fit_line(upstream[used], downstream[used], scaling=self.law)


RULES = (
    *(Rule("transfer", points) for points in FITS),
    *(Rule(law, points) for points in _OF_LINES for law in _LINES),
)
"""The rules that `compare_best_models` compares."""


@dataclass(frozen=True, repr=False, eq=False)
class BestModels:
    """The best models held out and predicted. Made by `predict_best_models`.

    Attributes:
        upstream, downstream: accuracies of all models, shape (n,).
        names: of the models.
        is_held_out: shape (n,).
        is_on_frontier: of all models, shape (n,).
        fits: of each rule that could be fitted.
        warnings: of each rule, kinds, comma-separated.
        reasons: of each rule, why there is no fit; "" where there is one.
        level: of the intervals.
    """

    upstream: np.ndarray
    downstream: np.ndarray
    names: tuple[str, ...]
    is_held_out: np.ndarray
    is_on_frontier: np.ndarray
    fits: Mapping[Rule, TransferFit | AccuracyLine]
    warnings: Mapping[Rule, str]
    reasons: Mapping[Rule, str]
    level: float

    def predict(self, rule: Rule, upstream_accuracy: ArrayLike) -> Prediction:
        """Of a rule that was fitted: of a line the interval of a new model, of the law of transfer that of the law."""
        if rule not in self.fits:
            raise FitError(f"{rule.name!r} has no fit: {self.reasons.get(rule, 'it was not asked for')}")
        fit = self.fits[rule]
        if isinstance(fit, AccuracyLine):
            return fit.predict(upstream_accuracy, self.level, kind="prediction")
        return fit.predict(upstream_accuracy, self.level)

    @property
    def table(self) -> pd.DataFrame:
        """A row a rule; columns as in `compare_best_models`, without the task."""
        import pandas as pd

        return pd.DataFrame([self._row(rule) for rule in self.reasons])

    def _row(self, rule: Rule) -> dict[str, Any]:
        row: dict[str, Any] = {"law": rule.law, "points": rule.points, "predicts": rule.predicts}
        fit = self.fits.get(rule)
        if isinstance(fit, TransferFit):
            low, high = fit.saturation_interval(self.level)
            row |= {"saturation": fit.saturation, "saturation_low": low, "saturation_high": high}
        for against, models in (("all", self.is_held_out), ("frontier", self.is_held_out & self.is_on_frontier)):
            if fit is not None and models.any():
                found = score(self.predict(rule, self.upstream[models]), self.downstream[models])
                row |= {f"{name}_{against}": found[name] for name in _SCORES}
            row[f"num_{against}"] = models.sum()
        return row | {"warnings": self.warnings[rule], "reason": self.reasons[rule]}

    def summary(self) -> str:
        """What was held out, and each rule's errors."""
        held = self.is_held_out
        head = (
            f"{held.sum()} of {held.size} models held out, upstream accuracy {self.upstream[held].min():.4f} and above;"
            f" {np.sum(held & self.is_on_frontier)} of them on the frontier"
        )
        return f"{head}\n{table_lines(self.table, 'law', 'points', float_format='%.4f')}"

    def __repr__(self) -> str:
        return self.summary()


def predict_best_models(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    share: float = 0.05,
    rules: Sequence[Rule] = RULES,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    num_draws: int = 1000,
    rng: np.random.Generator | None = None,
) -> BestModels:
    """Hold out the models of the highest upstream accuracy, fit each rule to the rest, predict.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        share: of the models held out, rounded up; models that tie with the last of them too.
        rules: what is fitted; `RULES` has the law of transfer on six selections, three lines on two.
        names: of the models; row numbers without.
        level: of the intervals: of a line that of a new model, of the law of transfer that of the law itself, in which
            95 % of the models need not lie.
        num_draws, rng: as in `fit_transfer`.

    Warnings of the fits are not issued but named in `warnings`, and why a fit cannot be had in `reasons`. Each rule has
    draws of its own, which are the same whatever rules stand beside it.

    Raises:
        ValueError: bad input, or a share that leaves no model to fit or none to predict.

    >>> upstream = np.linspace(0.1, 0.7, 40)
    >>> best = predict_best_models(upstream, 1 - (0.7 * (1 - upstream) ** 2 + 0.1), num_draws=20,
    ...                            rules=[Rule("transfer", "pareto"), Rule("log", "all")])
    >>> best.table.set_index("law").mae_all.round(4).to_dict()
    {'transfer': 0.0, 'log': 0.0194}
    """
    us, ds = check_accuracies(upstream_accuracy, downstream_accuracy)
    check_same_index(upstream_accuracy=upstream_accuracy, names=names)
    labels = model_names(names, us.size)
    if not isinstance(rules, Sequence) or not rules or not all(isinstance(rule, Rule) for rule in rules):
        raise ValueError(f"rules must be a list of Rule(law, points), got {rules!r}")
    check_level(level)
    held = _held_out(us, share)
    on_frontier = np.zeros(us.size, dtype=bool)
    on_frontier[_frontier(us, ds)] = True
    streams = dict(zip(FITS, generator(rng).spawn(len(FITS)), strict=True))
    fits, kinds, reasons = {}, {}, {}
    for rule in rules:
        options = {"num_draws": num_draws, "rng": streams[rule.points]} if rule.law == "transfer" else {}
        fit, kinds[rule], reasons[rule] = attempt(partial(rule.fit, us[~held], ds[~held], **options))
        fits |= {} if fit is None else {rule: fit}
    return BestModels(us, ds, tuple(labels), held, on_frontier, fits, kinds, reasons, level)


def compare_best_models(tasks: Mapping[str, tuple[ArrayLike, ArrayLike]], **options: Any) -> pd.DataFrame:
    """`predict_best_models` of several tasks in one table.

    Args:
        tasks: upstream and downstream accuracies of each task's models, by name.
        options: of `predict_best_models`.

    Returns:
        A row a task and rule: `task, law, points`; `predicts` (the "mean" or the "best" model);
        `saturation, saturation_low, saturation_high` of the law of transfer; against all held-out models (`_all`) and
        against those on the frontier (`_frontier`): their number `num` (where it is 0 there is no score), `mae`,
        `rmse`, `bias` (predicted less actual), `covered` (share in the interval), all in accuracy; `warnings`: kinds,
        comma-separated; `reason`: why there is no fit, empty where there is one.
        Compare "best" rules by `_frontier`, "mean" rules by `_all`.
    """
    import pandas as pd

    if not isinstance(tasks, Mapping) or not tasks:
        raise ValueError(f"tasks must have one or more pairs of accuracies by name, got {tasks!r}")
    found = []
    for task, (upstream, downstream) in tasks.items():
        table = predict_best_models(upstream, downstream, **options).table
        table.insert(0, "task", task)
        found.append(table)
    return pd.concat(found, ignore_index=True)


def _frontier(us: np.ndarray, ds: np.ndarray) -> np.ndarray:
    return select(us, 1 - ds, "pareto")


def _held_out(us: np.ndarray, share: float) -> np.ndarray:
    is_share = isinstance(share, int | float | np.number) and 0 < share < 1
    num = int(np.ceil(share * us.size * (1 - _ROUNDING))) if is_share else 0
    if not 0 < num < us.size:
        raise ValueError(f"share must leave models to fit and to predict, of {us.size}, got {share!r}")
    held = us >= np.sort(us)[-num]
    if held.all():
        raise ValueError(f"upstream accuracies tie so that share={share!r} holds out every model")
    return held
