"""How many times the cost one family of models needs for the error that another reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue
from ..inputs import check_fractions, check_positive, check_same_index, generator, numbers
from ..laws import Law
from ..prediction import check_level
from ..selection.hulls import finite_points
from ..transfer.eval_images import sampling_variance
from .cost_ratios import CostRatio
from .family_costs import Costs, FamilyRuns, fit_family, interpolated_costs, law_costs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cost_ratio"]

_COLUMNS = ("target_error", "method", "reference_cost", "rival_cost", "ratio", "low", "high", "extrapolated")
_ROUNDED = 1 + 1e-9  # a cost that comes back of its logarithm
_LEFT_OUT = ("target_error", "method", "reason")


def cost_ratio(
    x: ArrayLike,
    y: ArrayLike,
    families: ArrayLike,
    *,
    reference: str,
    rival: str,
    targets: ArrayLike | None = None,
    law: str | Law = "saturating_power",
    selection: str = "pareto",
    y_std: ArrayLike | None = None,
    num_eval: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    num_draws: int = 1000,
    rng: np.random.Generator | None = None,
) -> CostRatio:
    """How many times the cost of the reference the rival needs for the same error, by two methods.

    With training compute for x it is the ratio of compute ("ViT needs 2-4 times less"), with images seen that of sample
    efficiency. Above 1 the reference is the cheaper one.

    - "interpolation": each family's Pareto frontier, log x linear in y between neighbouring runs. A target that a
      family's frontier does not span has no ratio and is named in `left_out`: nothing is extrapolated.
    - "law": where the two laws of `fit_frontier` reach the target; inf or 0 where one never does.

    Intervals. Both contain the choice of runs: which models happened to be trained, and with them their seeds.
    Interpolation: the runs of each family (its `groups`) are drawn again and the frontiers taken anew; with `y_std` or
    `num_eval` each run's y is drawn around its own as well. A draw whose frontier does not span the target leaves the
    ratio open on that side, so that few runs give an interval to 0 or inf. Law: the draws of `fit_frontier`; a draw
    without a fit is open on both sides. Not contained: that one family was tuned more than the other, or that the law
    is another.

    Nominal 95 % intervals of a known ratio covered it in .92 to .99 of simulations by interpolation and .96 to 1.00 by
    the law, of 8 to 40 runs a family; of fewer they are mostly open (`tests/benchmarks/results`, frontier-analyses).

    Args:
        x: cost of each run, positive, shape (n,): FLOPs, core-days, images seen.
        y: error of each run, lower is better, shape (n,).
        families: a label a run, shape (n,); runs of other labels are not used.
        reference, rival: the two labels.
        targets: errors at which to compare; None: of each run on the rival's frontier, where the reference's spans it.
        law, selection: of `fit_frontier`, for the second method.
        y_std: standard deviation of each y between seeds, shape (n,) or one number.
        num_eval: instead, images that each error rate was taken on.
        groups: a label a run, for runs that belong together (branches of one trunk).
        level: of the intervals.
        num_draws, rng: of the intervals.

    Raises:
        ValueError: bad input.
        FitError: the two frontiers have no error in common, and no targets are given.

    Warns:
        FitWarning: `unreached` where one of the targets asked for is left out; what the laws warn of, by family.

    Source: Figure 5 of Dosovitskiy et al. 2020 (arXiv 2010.11929); sample efficiency: Figure 3 of Zhai et al. 2021
    (arXiv 2106.04560).

    >>> x = np.tile(np.geomspace(1, 1e4, 12), 2)
    >>> family = np.repeat(["ViT", "ResNet"], 12)
    >>> y = 0.5 * (x / np.where(family == "ViT", 1, 3)) ** -0.25 + 0.1
    >>> ratios = cost_ratio(x, y, family, reference="ViT", rival="ResNet", targets=[0.25], num_draws=50)
    >>> ratios.table[["target_error", "method", "ratio"]].round(2)
       target_error         method  ratio
    0          0.25  interpolation   2.97
    1          0.25            law   3.00
    """
    import pandas as pd

    check_level(level)
    rng = generator(rng)
    check_same_index(x=x, y=y, families=families, y_std=y_std, num_eval=num_eval, groups=groups)
    x, y = finite_points(x, y)
    check_positive("x", x)
    labels = _check_labels("families", families, x)
    for label in (reference, rival):
        if np.ndim(label) > 0 or label is None or label is pd.NA:
            raise ValueError(f"reference and rival must be two labels of families, got {label!r}")
    if reference == rival:
        raise ValueError(f"reference and rival must differ, got {rival!r} twice")
    groups = None if groups is None else _check_labels("groups", groups, x)
    noise = _noise(y, y_std, num_eval)
    pair = [_runs_of(name, x, y, noise, labels, groups) for name in (reference, rival)]
    asked, outside = _check_targets(pair, targets)
    costs = [interpolated_costs(runs, asked, num_draws, rng) for runs in pair]
    rows = outside + _rows("interpolation", pair, costs, asked, level)
    fits = [fit_family(runs, law=law, selection=selection, num_draws=num_draws, rng=rng) for runs in pair]
    laws, notes = [front for front, _ in fits], [note for _, of_family in fits for note in of_family]
    if all(laws):
        rows += _rows("law", pair, [law_costs(front, asked, rng) for front in laws if front], asked, level)
    else:
        why = "; ".join(str(note) for note in notes if note.kind == "no_law")
        rows += [{"target_error": target, "method": "law", "reason": why} for target in asked.tolist()]
    missing = "; ".join(dict.fromkeys(row["reason"] for row in rows if "unreached" in row.get("reason", "")))
    if missing and targets is not None:
        notes.append(FitWarning("unreached", missing))
    issue(*notes)
    table, left_out = _tables(rows)
    everyone = tuple(sorted({str(label) for label in labels}))
    return CostRatio(pair[0], pair[1], laws[0], laws[1], table, left_out, level, tuple(notes), everyone)


# Checks -------------------------------------------------------------------------------------------------------


def _check_labels(name: str, labels: ArrayLike, x: np.ndarray) -> np.ndarray:
    import pandas as pd

    labels = np.asarray(labels, dtype=object)
    if labels.shape != x.shape:
        raise ValueError(f"{name} must have one label a run, shape {x.shape}, got {labels.shape}")
    missing = np.flatnonzero(pd.isna(labels))
    if name == "families" and missing.size:
        raise ValueError(f"{name} must have a label in each row; row {missing[0]} is null ({missing.size} such)")
    return labels


def _noise(y: np.ndarray, y_std: ArrayLike | None, num_eval: ArrayLike | None) -> np.ndarray:
    """Standard deviation of each y, shape (n,)."""
    if y_std is not None and num_eval is not None:
        raise ValueError("give y_std or num_eval, not both")
    if num_eval is not None:
        return np.sqrt(sampling_variance("num_eval", check_fractions("y", y), num_eval))
    std = numbers("y_std", 0.0 if y_std is None else y_std)
    if std.shape not in ((), y.shape):
        raise ValueError(f"y_std must be one number or of shape {y.shape}, got {std.shape}")
    std = np.array(np.broadcast_to(std, y.shape))
    if not np.all((std >= 0) & np.isfinite(std)):
        raise ValueError(f"y_std must be finite and not negative, got {std[~((std >= 0) & np.isfinite(std))][0]:g}")
    return std


def _runs_of(
    name: str, x: np.ndarray, y: np.ndarray, noise: np.ndarray, labels: np.ndarray, groups: np.ndarray | None
) -> FamilyRuns:
    rows = labels == name
    if not rows.any():
        raise ValueError(f"families has no run of {name!r}; there is {', '.join(sorted(set(map(str, labels))))}")
    return FamilyRuns(name, x[rows], y[rows], noise[rows], None if groups is None else groups[rows])


def _check_targets(pair: list[FamilyRuns], targets: ArrayLike | None) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The targets, shape (t,), and rows of the rival's runs that the reference does not span."""
    if targets is not None:
        asked = check_positive("targets", np.atleast_1d(numbers("targets", targets)).ravel())
        if asked.size == 0:
            raise ValueError("targets must hold an error or more, got none")
        if asked.max() > 1 and all(runs.y.max() <= 1 for runs in pair):
            raise ValueError(f"targets must be errors like y, fractions; got {asked.max():g} (percent? divide by 100)")
        return asked, []
    ours, theirs = pair
    errors = theirs.y[theirs.selected]
    reasons = np.array([_why_unreached(ours, error) for error in errors])
    if np.all(reasons != ""):
        raise FitError(f"the frontiers have no error in common ({reasons[0]}): give targets=, which the laws may reach")
    rows = [
        {"target_error": float(error), "method": "interpolation", "reason": reason}
        for error, reason in zip(errors, reasons, strict=True)
        if reason
    ]
    return errors[reasons == ""], rows


def _why_unreached(runs: FamilyRuns, target: float) -> str:
    """Why the runs' frontier does not span an error; an empty text where it does."""
    errors = runs.y[runs.selected]
    if target < errors[-1]:
        return f"unreached: no {runs.name} run comes below {errors[-1]:.4g}, asked {target:.4g}"
    if target > errors[0]:
        return f"unreached: the {runs.name} frontier starts at {errors[0]:.4g}, asked {target:.4g}"
    return ""


# Ratios -------------------------------------------------------------------------------------------------------


def _rows(
    method: str, pair: list[FamilyRuns], costs: list[Costs], targets: np.ndarray, level: float
) -> list[dict[str, Any]]:
    """A row a target: the costs, their ratio and its interval, or the reason why there is none."""
    ours, theirs = costs
    size = min(len(cost.draw_low) for cost in costs)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf: a draw that says nothing
        ratios = np.exp(theirs.low - ours.low)
        low = np.exp(theirs.draw_low[:size] - ours.draw_high[:size])
        high = np.exp(theirs.draw_high[:size] - ours.draw_low[:size])
    low = np.quantile(np.where(np.isnan(low), 0.0, low), (1 - level) / 2, axis=0, method="lower")
    high = np.quantile(np.where(np.isnan(high), np.inf, high), (1 + level) / 2, axis=0, method="higher")
    rows = []
    for place, target in enumerate(targets.tolist()):
        row = {"target_error": target, "method": method}
        is_told = all(cost.low[place] == cost.high[place] for cost in costs) and not np.isnan(ratios[place])
        if not is_told:
            why = "; ".join(filter(None, (_why_unreached(runs, target) for runs in pair)))
            rows.append({**row, "reason": "unreached: neither law falls to it" if method == "law" else why})
            continue
        at = [float(np.exp(cost.low[place])) for cost in costs]
        beyond = any(_is_beyond(cost, runs.x) for cost, runs in zip(at, pair, strict=True))
        found = {"ratio": ratios[place], "low": low[place], "high": high[place], "extrapolated": beyond}
        rows.append({**row, "reference_cost": at[0], "rival_cost": at[1], **found})
    return rows


def _is_beyond(cost: float, x: np.ndarray) -> bool:
    return not x.min() / _ROUNDED <= cost <= x.max() * _ROUNDED


def _tables(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with a ratio, and those without."""
    import pandas as pd

    told, left_out = ([row for row in rows if ("reason" in row) == is_out] for is_out in (False, True))
    return pd.DataFrame(told, columns=[*_COLUMNS]), pd.DataFrame(left_out, columns=[*_LEFT_OUT])
