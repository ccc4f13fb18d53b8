"""The compute-optimal model size and images seen by three approaches, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..attempt import attempt_each
from ..errors import FitError, FitWarning, issue, warning_lines
from ..frames import check_names, finished_rows
from ..inputs import check_number, check_positive, generator, numbers
from ..prediction import check_level, warn_beyond
from .allocation import AllocationFit, Runs, read_runs
from .envelope import fit_envelope
from .isoflop import fit_isoflop
from .parametric import fit_parametric

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["APPROACHES", "HOFFMANN_2022_EXPONENTS", "OptimalAllocation", "interval_text", "optimal_allocation"]

_BIAS = 0.02  # of an exponent: what an envelope's staircase or one list of sizes makes of an exact law
_OPEN_BIAS = 0.1  # of a + b, that is worth a word where it has no interval
APPROACHES = ("envelope", "isoflop", "parametric")  # 1, 2 and 3 of Hoffmann et al. 2022
HOFFMANN_2022_EXPONENTS = {
    "envelope": (0.50, 0.488, 0.502),
    "isoflop": (0.49, 0.462, 0.534),
    "parametric": (0.46, 0.454, 0.455),
}
"""What Hoffmann et al. 2022 (arXiv 2203.15556) print for language models, Table 2: a with its 10th and 90th percentile.

Besiroglu et al. 2024 (arXiv 2404.10102) find that .46 does not follow from the runs behind it: .513 +- .020.
"""


@dataclass(frozen=True, repr=False, eq=False)
class OptimalAllocation:
    """N_opt ~ C^a and D_opt ~ C^b by each approach. Made by `optimal_allocation`.

    Attributes:
        fits: an `AllocationFit` for each approach that could be had.
        reasons: why not, for each other.
        runs: finished runs, in logarithms.
    """

    fits: dict[str, AllocationFit]
    reasons: dict[str, str]
    runs: Runs

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """What a reader must know, of all approaches."""
        found = [warning for fit in self.fits.values() for warning in fit.warnings]
        return (*found, *_disagreements(self.exponent_table()), *_not_one(self.fits))

    @property
    def exponents(self) -> pd.DataFrame:
        """`exponent_table` at 95 %."""
        return self.exponent_table()

    @property
    def budgets(self) -> pd.DataFrame:
        """A row a budget of the IsoFLOP approach, with the reason of each that was refused.

        Raises:
            FitError: that approach was not had.
        """
        if "isoflop" not in self.fits:
            raise FitError(f"no IsoFLOP budgets: {self.reasons.get('isoflop', 'the approach was not asked for')}")
        return self.fits["isoflop"].points

    def exponent_table(self, level: float = 0.95) -> pd.DataFrame:
        """A row an approach: approach, a, a_low, a_high, b, b_low, b_high, reason ("" where there are exponents)."""
        import pandas as pd

        check_level(level)
        rows = []
        for approach in [name for name in APPROACHES if name in self.fits or name in self.reasons]:
            row: dict[str, object] = {"approach": approach}
            for letter, name in (("a", "num_params"), ("b", "images_seen")):
                values = (np.nan, np.nan, np.nan)
                if approach in self.fits:
                    line = getattr(self.fits[approach], name)
                    values = (line.exponent, *line.exponent_interval(level))
                row |= dict(zip((letter, f"{letter}_low", f"{letter}_high"), values, strict=True))
            rows.append(row | {"reason": self.reasons.get(approach, "")})
        return pd.DataFrame(rows)

    def predict(self, compute: ArrayLike, level: float | None = None) -> pd.DataFrame:
        """Model size and images seen that give the least loss at so much compute.

        Args:
            compute: positive, any shape, in the unit of the runs.
            level: with one, columns `num_params_low`, `num_params_high`, `images_seen_low`, `images_seen_high`.

        Returns:
            A row for each approach and compute: approach, compute_flops, num_params, images_seen.

        Warns:
            FitWarning: `extrapolation` more than a decade beyond the runs, or, at compute of the runs, where an optimum
                is below the smallest or above the largest model tried.
        """
        import pandas as pd

        compute = check_positive("compute", numbers("compute", compute)).ravel()
        self._warn_beyond_sizes(compute)
        warn_beyond(compute, np.exp(self.runs.log_c), "compute")
        parts = []
        for approach, fit in self.fits.items():
            part: dict[str, object] = {"approach": approach, "compute_flops": compute}
            for name in ("num_params", "images_seen"):
                part[name] = getattr(fit, name).predict(compute)
                if level is not None:
                    part[f"{name}_low"], part[f"{name}_high"] = getattr(fit, name).interval(compute, level)
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def _warn_beyond_sizes(self, compute: np.ndarray) -> None:
        inside = compute[(np.log(compute) >= self.runs.log_c.min()) & (np.log(compute) <= self.runs.log_c.max())]
        if inside.size == 0:
            return
        ends = np.array([inside.min(), inside.max()])
        texts = [f"{name}: {text}" for name, fit in self.fits.items() for text in fit.beyond_sizes(self.runs, ends)]
        if texts:
            issue(FitWarning("extrapolation", "; ".join(texts)))

    def summary(self, level: float = 0.95) -> str:
        """The exponents of each approach, side by side, and what a reader must know."""
        lines = [f"compute-optimal allocation of {self.runs.y.size} runs: N ~ C^a, D ~ C^b, {level:.0%} intervals"]
        for row in self.exponent_table(level).to_dict("records"):
            if row["reason"]:
                lines.append(f"  {row['approach']:>10}: none ({row['reason']})")
            else:
                a, b = (_exponent_text(row, letter) for letter in "ab")
                lines.append(f"  {row['approach']:>10}: {a}   {b}{self._used(row['approach'])}")
        ends = np.exp([self.runs.log_c.min(), self.runs.log_c.max()])
        lines += [f"  {name}: {text}" for name, fit in self.fits.items() for text in fit.beyond_sizes(self.runs, ends)]
        return "\n".join([*lines, *warning_lines(self.warnings)])

    def _used(self, approach: str) -> str:
        if approach != "isoflop":
            return ""
        reasons = self.fits[approach].points["reason"]
        return f"   {(reasons == '').sum()} of {len(reasons)} budgets used"

    def __repr__(self) -> str:
        return self.summary()


def interval_text(low: float, high: float, digits: int) -> str:
    """[0.44, 0.46], or [open] where nothing tells how wide it is.

    >>> interval_text(0.444, 0.456, 2), interval_text(-np.inf, np.inf, 2)
    ('[0.44, 0.46]', '[open]')
    """
    return f"[{low:.{digits}f}, {high:.{digits}f}]" if np.isfinite(low) and np.isfinite(high) else "[open]"


def _exponent_text(row: dict[Any, Any], letter: str) -> str:
    return f"{letter} = {row[letter]:.3f} {interval_text(row[f'{letter}_low'], row[f'{letter}_high'], 3)}"


def _disagreements(table: pd.DataFrame) -> tuple[FitWarning, ...]:
    """Pairs of approaches whose intervals of an exponent lie apart."""
    had, found = table[table["reason"] == ""].to_dict("records"), []
    for (one, other), letter in product(combinations(had, 2), "ab"):
        lower, upper = sorted((one, other), key=lambda row: row[letter])
        if upper[f"{letter}_low"] - lower[f"{letter}_high"] > _BIAS:
            found.append(" and ".join(f"{row['approach']} {_exponent_text(row, letter)}" for row in (one, other)))
    if not found:
        return ()
    return (FitWarning("approaches_disagree", "the 95% intervals do not overlap: " + "; ".join(found)),)


def _not_one(fits: dict[str, AllocationFit]) -> tuple[FitWarning, ...]:
    """Approaches whose exponents do not sum to one."""
    found = []
    for name, fit in fits.items():
        total = fit.num_params.exponent + fit.images_seen.exponent
        low, high = fit.sum_interval(0.95)
        if abs(total - 1) > (_BIAS if np.isfinite(low) else _OPEN_BIAS) and not (np.isfinite(low) and low <= 1 <= high):
            found.append(f"{name} a + b = {total:.2f} {interval_text(low, high, 2)}")
    if not found:
        return ()
    text = "; ".join(found) + ": not 1, so compute is no constant times parameters and images, which a law of N D takes"
    return (FitWarning("uneven_compute", text),)


def optimal_allocation(
    runs: pd.DataFrame,
    *,
    y: str = "upstream_error",
    num_params: str = "num_params",
    images_seen: str = "images_seen",
    compute: str | None = "compute_flops",
    run: str = "run_id",
    groups: str | None = None,
    approaches: Sequence[str] = APPROACHES,
    budgets: Sequence[float] | None = None,
    tolerance: float = 0.1,
    smoothing: float = 0.1,
    flops_per_param_image: float | None = None,
    objective: str = "log_huber",
    num_draws: int = 1000,
    rng: np.random.Generator | None = None,
) -> OptimalAllocation:
    """How model size N and images seen D should grow with compute C: N_opt ~ C^a, D_opt ~ C^b, by three approaches.

    1. "envelope": the run with the least loss at each of 1500 log-spaced values of compute, over the smoothed and
       interpolated training curves where runs have several rows, else the frontier of finished runs.
    2. "isoflop": at each budget of compute a parabola of the loss in log N, and a power law through the vertices. A
       budget whose parabola is concave or has its vertex outside the sizes tried is refused, with its reason.
    3. "parametric": L = E + A N^-alpha + B D^-beta, least at C = k N D where N = G (C / k)^(beta / (alpha + beta)).

    Approaches 2 and 3 use the last row of each run; where only some of these are of a finished schedule, those.

    On exact losses of a known law a parabola and the envelope's staircase bias a by up to .02. 95 % intervals of a
    covered it in .92 to 1.00 of simulations (`tests/benchmarks/results`, frontier-analyses). They contain the noise of
    the runs, not these biases, nor that another form of law may be true.

    Args:
        runs: records, a row an evaluated model.
        y: column of a loss or an error; lower is better.
        num_params, images_seen, compute, run: columns; without a column `run` each row is a run of its own. compute
            may be in any unit; None: it is flops_per_param_image times N D.
        groups: column of what a bootstrap draws together, e.g. trunk_id; of the envelope and the parametric approach.
        approaches: which.
        budgets: compute of each IsoFLOP budget; None: runs of three sizes or more within the tolerance.
        tolerance: how far apart compute counts as equal, as a share: in an IsoFLOP budget, and on the frontier of
            finished runs, where a run must not be beaten by one of so much more compute.
        smoothing: of training curves, the kernel's standard deviation in log compute; 0 only interpolates.
        flops_per_param_image: k; None: the geometric mean of C / (N D). 6 for language models.
        objective: of the parametric fit, as in `fit_law`.
        num_draws, rng: of the bootstrap; None is `numpy.random.default_rng(0)`.

    Raises:
        ValueError: bad input: which column, which row, what is valid.
        FitError: no approach could be had, with each reason.

    Warns:
        FitWarning: `unfinished_runs` where the last rows of some runs are of no finished schedule, `refused_budget`,
            `few_points` where fewer than three budgets are left: the intervals are open; `approaches_disagree` where
            intervals of two approaches lie apart, by more than their biases; `uneven_compute` where C / (N D) differs
            between runs, or a + b is not 1; `failed_draws`, and those of `fit_law`.

    Source: Hoffmann et al. 2022 (arXiv 2203.15556), section 3; their Table 2 is `HOFFMANN_2022_EXPONENTS`; G: Eq. 4.

    >>> import pandas as pd
    >>> c, ratio = (grid.ravel() for grid in np.meshgrid(np.geomspace(1e18, 1e22, 9), np.geomspace(0.2, 5, 9)))
    >>> n = ratio * (c / 6) ** 0.5
    >>> d = c / (6 * n)
    >>> runs = pd.DataFrame({"num_params": n, "images_seen": d, "compute_flops": c})
    >>> runs["upstream_loss"] = 1.7 + 400 * n**-0.3 + 400 * d**-0.3
    >>> optimal_allocation(runs, y="upstream_loss", num_draws=50).exponents[["approach", "a", "b"]].round(2)
         approach    a    b
    0    envelope  0.5  0.5
    1     isoflop  0.5  0.5
    2  parametric  0.5  0.5
    """
    _check_options(approaches, budgets, tolerance, smoothing, flops_per_param_image)
    rows = read_runs(
        runs, y=y, num_params=num_params, images_seen=images_seen, compute=compute, run=run, groups=groups,
        flops_per_param_image=flops_per_param_image,
    )  # fmt: skip
    last = rows.last_rows()
    last = last[finished_rows(runs.iloc[last])]
    rng, finals = generator(rng), rows.take(last)
    ways: dict[str, Callable[[], AllocationFit]] = {
        "envelope": lambda: fit_envelope(rows, smoothing, tolerance, num_draws, rng),
        "isoflop": lambda: fit_isoflop(finals, budgets, tolerance, num_draws, rng),
        "parametric": lambda: fit_parametric(
            finals, flops_per_param_image, objective, num_draws, rng, has_groups=groups is not None
        ),
    }
    asked = {name: way for name, way in ways.items() if name in approaches}
    fits, reasons = attempt_each(asked, "no approach has an optimum")
    result = OptimalAllocation(fits, reasons, finals)
    issue(*result.warnings)
    return result


def _check_options(
    approaches: Sequence[str], budgets: Sequence[float] | None, tolerance: float, smoothing: float, k: float | None
) -> None:
    if not set(check_names("approaches", approaches)) <= set(APPROACHES):
        raise ValueError(f"approaches must be some of {APPROACHES}, got {approaches!r}")
    if budgets is not None:
        amounts = check_positive("budgets", numbers("budgets", budgets))
        if amounts.ndim != 1 or amounts.size == 0:
            raise ValueError(f"budgets must be a list of positive amounts of compute, got {budgets!r}")
    check_number("tolerance", tolerance, positive=True)
    check_number("smoothing", smoothing)
    if k is not None:
        check_number("flops_per_param_image", k, positive=True)
