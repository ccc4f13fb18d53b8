"""What equal compute buys: an interval at the target after the cells that `suggest` asks for, and after a plain grid.

`python -m tests.benchmarks.suggest_simulation --help`. Worlds of a known law, a first sweep on a logarithmic grid over
two decades of compute, and a target two decades above it. Then as much compute as the next `EXTENSION` computes of that
grid cost is spent in each of several ways. Every world is a line of a log, so that the study can be stopped, resumed
and lengthened; each seed is a world of every setting.
"""

import argparse
import datetime
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scaling import FitWarning, fit_law
from sweeps.suggestions.present_fit import PresentFit, fit_present
from sweeps.suggestions.suggest import suggest

from .frontier_coverage import LEVEL, RESULTS, read_log

LEAST, LARGEST, TARGET = 1e13, 1e15, 1e17
EXTENSION = 3  # computes of the first grid's spacing
ROUNDS = 3  # the picks are trained in three parts, and the rest suggested anew
NUM_CANDIDATES, NUM_DRAWS = 30, 300
Law = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class World:
    """Runs of a known law.

    Attributes:
        law, selection: what is fitted.
        num_computes, num_shapes: of the first sweep; of a frontier each compute has several shapes.
        noise: standard deviation of log error.
        excess: mean of the exponential excess of log error over the frontier.
    """

    law: str
    truth: Law
    num_computes: int
    noise: float
    selection: str = "all"
    num_shapes: int = 1
    excess: float = 0.0

    @property
    def first(self) -> np.ndarray:
        return np.repeat(np.geomspace(LEAST, LARGEST, self.num_computes), self.num_shapes)

    def outcomes(self, seed: int) -> Callable[[np.ndarray], np.ndarray]:
        """Errors at some x; of a seed the same first sweep whatever follows."""
        rng = np.random.default_rng([seed, self.num_computes])

        def of(x: np.ndarray) -> np.ndarray:
            scatter = self.noise * rng.standard_normal(x.size) + self.excess * rng.exponential(1.0, x.size)
            return self.truth(x) * np.exp(scatter)

        return of


_LAWS: dict[str, tuple[str, Law, int]] = {
    "power": ("power", lambda x: 0.6 * (x / LEAST) ** -0.2, 6),
    "saturating, c .05": ("saturating_power", lambda x: 0.6 * (x / LEAST) ** -0.25 + 0.05, 8),
    "saturating, c .15": ("saturating_power", lambda x: 0.5 * (x / LEAST) ** -0.4 + 0.15, 8),
    "shifted": ("shifted_power", lambda x: 1.2 * (1 + x / LEAST) ** -0.3, 8),
    "double saturating": ("double_saturating_power", lambda x: 1.2 * (1 + x / LEAST) ** -0.35 + 0.05, 12),
}
WORLDS = {f"{name}, {noise:.0%}": World(*law, noise) for name, law in _LAWS.items() for noise in (0.02, 0.05)}
WORLDS |= {
    f"{selection} frontier": World(*_LAWS["saturating, c .05"][:2], 10, 0.01, selection, 4, 0.1)
    for selection in ("pareto", "stochastic")
}


def upward(world: World) -> np.ndarray:
    """The grid goes on above its largest compute, in its own steps: what it costs is the budget of all ways."""
    step = (LARGEST / LEAST) ** (1 / (world.num_computes - 1))
    return np.repeat(LARGEST * step ** np.arange(1, EXTENSION + 1), world.num_shapes)


def uniform(world: World) -> np.ndarray:
    """A second grid of as many computes from the least one in equal logarithmic steps, as far up as the budget pays."""
    budget = upward(world).sum()

    def grid(top: float) -> np.ndarray:
        return np.repeat(np.geomspace(LEAST, top, world.num_computes), world.num_shapes)

    low, high = LARGEST / 10, budget
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if grid(middle).sum() <= budget else (low, middle)
    return grid(low)


def seeds(world: World) -> np.ndarray:
    """The first grid again, as often as the budget pays, then the cheapest of it."""
    x, budget = world.first, upward(world).sum()
    whole = int(budget // x.sum())
    return np.append(np.tile(x, whole), x[np.cumsum(x) <= budget - whole * x.sum()])


PLAIN = {"upward": upward, "uniform": uniform, "seeds": seeds}
SUGGESTED = {"at once, 20": (1, 20), "in rounds, 20": (ROUNDS, 20), "in rounds, 200": (ROUNDS, 200)}
"""Rounds, and the most cells."""


def fitted(world: World, x: np.ndarray, y: np.ndarray, seed: int) -> PresentFit:
    runs = pd.DataFrame({"x": x, "y": y})
    options = {"law": world.law, "selection": world.selection, "num_draws": NUM_DRAWS, "seed": seed}
    return fit_present(runs, "x", "y", **options)


def interval(world: World, x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """Of the law at the target, as the toolkit gives it: by the delta method of all runs, else by the draws."""
    source = fit_law(world.law, x, y) if world.selection == "all" else fitted(world, x, y, seed).draws
    band = source.predict(np.array([TARGET]), LEVEL)
    return {name: float(getattr(band, name)[0]) for name in ("low", "median", "high")}


def spend(world: World, seed: int, rounds: int, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """x and y after the suggestions are trained, and what was promised at first: the share of the width left."""
    outcomes, budget = world.outcomes(seed), float(upward(world).sum())
    x, promise = world.first, 1.0
    y = outcomes(x)
    for left in range(rounds, 0, -1):
        cells = np.geomspace(LEAST, budget, NUM_CANDIDATES)
        present = fitted(world, x, y, seed)
        options = {"noise_std": present.noise_at(cells), "budget": budget, "count": count, "level": LEVEL}
        found = suggest(present.draws, TARGET, cells, cells, **options)
        promise = found.width_left if left == rounds else promise
        taken = cells[[pick.cell for pick in found.picks[: -(-len(found.picks) // left)]]]
        budget, count = budget - taken.sum(), count - taken.size
        x, y = np.append(x, taken), np.append(y, outcomes(taken))
        if budget < LEAST or count < 1:
            break
    return x, y, promise


def spend_plainly(world: World, seed: int, more: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    outcomes = world.outcomes(seed)
    return np.append(world.first, more), np.append(outcomes(world.first), outcomes(more)), 1.0


def simulate(name: str, seed: int, ways: tuple[str, ...] = ("first", *PLAIN, *SUGGESTED)) -> dict[str, Any]:
    """Interval at the target of one world after each way of spending."""
    world, start = WORLDS[name], time.process_time()
    found: dict[str, Any] = {"world": name, "seed": seed, "truth": float(world.truth(np.array(TARGET)))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        for way in ways:
            try:
                if way in SUGGESTED:
                    x, y, promise = spend(world, seed, *SUGGESTED[way])
                else:
                    x, y, promise = spend_plainly(world, seed, PLAIN[way](world) if way in PLAIN else world.first[:0])
                more = x[world.first.size :]
                spent = {"flops": float(more.sum()), "runs": more.size, "promise": promise}
                found[way] = interval(world, x, y, seed) | spent
            except ValueError as error:
                found[way] = {"failure": str(error)}
    return found | {"seconds": time.process_time() - start}


def width(interval: dict[str, float]) -> float:
    """In log error; inf of an open interval and of a fit that cannot be had."""
    if "failure" in interval or not 0 < interval["low"] < interval["high"] < np.inf:
        return np.inf
    return float(np.log(interval["high"] / interval["low"]))


def covers(interval: dict[str, float], truth: float) -> bool:
    return "failure" not in interval and interval["low"] <= truth <= interval["high"]


def against(rows: list[dict[str, Any]], way: str, plain: str) -> tuple[np.ndarray, np.ndarray]:
    """Each world's width of one way over another's, and whether it is narrower. Both open: 1, and not narrower."""
    first, second = (np.array([width(row[name]) for row in rows]) for name in (way, plain))
    ratio = np.ones(first.size)
    np.divide(first, second, out=ratio, where=np.isfinite(second))
    return np.where(np.isfinite(first) & ~np.isfinite(second), 0.0, ratio), first < second


def _median_interval(values: np.ndarray) -> str:
    """Median with a 95 % interval from order statistics (binomial, normal approximation)."""
    ordered, n = np.sort(values), values.size
    half = 0.98 * np.sqrt(n)
    low, high = (ordered[int(np.clip(round(n / 2 + end), 0, n - 1))] for end in (-half, half - 1))
    return f"{np.median(values):.2f} [{low:.2f}, {high:.2f}]"


def _world_lines(name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{name}  ({len(rows)} worlds)"
    for way in ("first", *PLAIN, *SUGGESTED):
        widths = np.array([width(row[way]) for row in rows])
        errors = [abs(np.log(row[way]["median"] / row["truth"])) for row in rows if "failure" not in row[way]]
        cover = np.mean([covers(row[way], row["truth"]) for row in rows])
        runs = np.mean([row[way].get("runs", 0) for row in rows])
        spent = np.mean([row[way].get("flops", 0) / row["upward"].get("flops", np.nan) for row in rows])
        line = f"  {way:<15}{runs:>6.1f}{spent:>7.3f}{np.median(widths):>8.3f}{np.median(errors):>8.3f}{cover:>7.2f}"
        if way in SUGGESTED:
            for plain in PLAIN:
                ratio, narrower = against(rows, way, plain)
                line += f"{_median_interval(ratio):>20} {narrower.mean():>4.0%}"
        if way == "at once, 20":
            kept = [
                width(row[way]) / width(row["first"]) / row[way]["promise"] for row in rows if "promise" in row[way]
            ]
            line += f"   {np.nanmedian(kept):.2f}"
        yield line


HEAD = """\
Interval (95 %) of the law at 1e17 FLOPs after equal compute is spent on a first sweep over 1e13 to 1e15 FLOPs: on the
next 3 computes of its grid (upward), on a second grid from the least compute (uniform), on the first grid again with
other seeds (seeds), or on what `suggest` asks for: at once, or in 3 rounds with the law fitted anew; 20 or 200 cells at
most. runs: cells trained; spent: over the budget; width: median of log(high / low); error: median of |log(value /
truth)|; cover: share of intervals with the truth. Then the width over that of each plain way, median with its 95 %
interval, and the share of worlds where it is narrower; and the width of "at once" over the one promised (median).
"""


def report(rows: list[dict[str, Any]]) -> str:
    columns = f"  {'':<15}{'runs':>6}{'spent':>7}{'width':>8}{'error':>8}{'cover':>7}"
    lines = [HEAD, columns + "".join(f"{'over ' + plain:>20}     " for plain in PLAIN)]
    for name in WORLDS:
        if of_world := [row for row in rows if row["world"] == name]:
            lines += [*_world_lines(name, of_world), ""]
    return "\n".join([*lines, f"CPU seconds a world: {np.mean([row['seconds'] for row in rows]):.1f}", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=100, help="worlds of each setting")
    parser.add_argument("--log", type=Path, default=Path("runs/suggest_simulation.jsonl"), help="a line a world")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["world"], row["seed"]) for row in read_log(arguments.log)}
    for seed in range(arguments.seeds):
        for name in arguments.worlds:
            if (name, seed) not in done:
                with arguments.log.open("a") as file:
                    file.write(json.dumps(simulate(name, seed)) + "\n")
    text = report(read_log(arguments.log))
    (RESULTS / f"{datetime.date.today()}-suggest.txt").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
