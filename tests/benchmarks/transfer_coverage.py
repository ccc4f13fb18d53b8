"""How often the interval of e_IR covers the truth, where the hull of the models is selected from the models themselves.

`python -m tests.benchmarks.transfer_coverage --help`. Nominal 95 % intervals of e_IR, and of downstream accuracy at
upstream accuracy .8, in simulated models whose best follow a known law: the three hulls that could be read off Figure 1
of Abnar et al. 2021. Models are uniform in .1 to .6 of upstream accuracy, their log e_DS is above the law's by an
exponential excess (mean .1) and seed noise. Every simulation is a line of a log, so that the study can be stopped,
resumed and lengthened; each seed is a simulation of every cell.
"""

import argparse
import datetime
import json
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scaling import FitWarning, fit_transfer

from .frontier_coverage import LEVEL, RESULTS, read_log, scatter

LAWS = Path(__file__).parents[2] / "data" / "published" / "abnar2021_fig1_hull_laws_digitised.csv"
TASKS = ("pets", "cifar100", "imagenet")
NUM_MODELS = (200, 800)
UPSTREAM = (0.1, 0.6)  # of the models; Figure 1 of the paper reaches about .6
BEYOND = 0.8  # upstream accuracy at which the law is predicted
KEY = ("task", "method", "n", "noise", "seed")
CUT = {"window": (0.15, 1.0)}
METHODS: dict[str, dict[str, Any]] = {
    "stochastic": {"selection": "stochastic"},
    "simulated_world": {"intervals": "simulated_world"},
    "simulated_world, cut": {"intervals": "simulated_world", **CUT},
    "case_bootstrap": {"intervals": "case_bootstrap"},
    "case_bootstrap, cut": {"intervals": "case_bootstrap", **CUT},
}
HEAD = """\
Nominal 95 % intervals of e_IR, and of downstream accuracy at upstream accuracy .8. Standard error of a coverage of .95:
.22 over the root of the simulations. Models are uniform in .1 to .6 of upstream accuracy; the law is fitted to the
vertices of their hull, or to the edge of all of them; "cut": window=(.15, 1). Bias, RMSE: of e_IR of the fit. At 0:
share of intervals of e_IR whose low end is 0. 300 draws for each interval. Seconds are of one busy core.
"""


def law_of(task: str) -> tuple[float, float, float]:
    """k, alpha, e_IR."""
    row = pd.read_csv(LAWS).set_index("task").loc[task]
    return float(row["k_refit"]), float(row["alpha_refit"]), float(row["e_ir_hull"])


def draw_models(rng: np.random.Generator, task: str, n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Upstream and downstream accuracy, shape (n,)."""
    k, alpha, e_ir = law_of(task)
    upstream = rng.uniform(*UPSTREAM, n)
    error = (k * (1 - upstream) ** alpha + e_ir) * scatter(rng, n, "exponential", noise)
    return upstream, 1 - np.minimum(error, 0.999)


def simulate(task: str, method: str, n: int, noise: float, seed: int, num_draws: int) -> dict[str, Any]:
    """The intervals of one simulated set of models."""
    key = dict(zip(KEY, (task, method, n, noise, seed), strict=True))
    rng = np.random.default_rng([seed, n])
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            trans = fit_transfer(*draw_models(rng, task, n, noise), **METHODS[method], num_draws=num_draws, rng=rng)
            low, high = trans.interval("e_ir", LEVEL)
            band = trans.predict([BEYOND], LEVEL)
        except (ValueError, np.linalg.LinAlgError) as error:
            return {**key, "failure": str(error)}
    found = {"e_ir": trans.params["e_ir"], "low": low, "high": high, "band_low": band.low[0], "band_high": band.high[0]}
    return {**key, **found, "seconds": time.process_time() - start}


def table(rows: list[dict[str, Any]]) -> str:
    """A line a cell."""
    frame = pd.DataFrame(rows)
    lines = [
        f"{'task':8} {'method':20} {'models':>6} {'noise':>5} {'sims':>5} {'covered':>7} {'width':>7} {'at 0':>5}"
        f" {'bias':>7} {'RMSE':>7} {'at .8':>7} {'seconds':>7} {'failed':>6}"
    ]
    for name, place in (("task", TASKS), ("method", tuple(METHODS))):
        frame[name] = pd.Categorical(frame[name], place, ordered=True)
    for (task, method, n, noise), cell in frame.groupby(["task", "method", "n", "noise"], observed=True):
        lines.append(f"{task:8} {method:20} {n:>6} {noise:>5} {len(cell):>5} {_figures(str(task), cell)}")
    return "\n".join(lines)


def _figures(task: str, cell: pd.DataFrame) -> str:
    k, alpha, e_ir = law_of(task)
    done = cell[cell["low"].notna()]
    beyond = 1 - (k * (1 - BEYOND) ** alpha + e_ir)
    miss = done["e_ir"] - e_ir
    figures = [
        ((done["low"] <= e_ir) & (e_ir <= done["high"])).mean(), (done["high"] - done["low"]).median(),
        (done["low"] <= 0).mean(), miss.mean(), (miss**2).mean() ** 0.5,
        ((done["band_low"] <= beyond) & (beyond <= done["band_high"])).mean(), done["seconds"].median(),
    ]  # fmt: skip
    widths = ("7.3f", "7.4f", "5.2f", "7.4f", "7.4f", "7.3f", "7.2f")
    text = " ".join(format(figure, width) for figure, width in zip(figures, widths, strict=True))
    return f"{text} {len(cell) - len(done):>6}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, default=Path("runs/transfer_coverage.jsonl"), help="a line a simulation")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--models", nargs="+", type=int, default=list(NUM_MODELS))
    parser.add_argument("--noises", nargs="+", type=float, default=[0.01])
    parser.add_argument("--draws", type=int, default=300, help="of the law, for each interval")
    parser.add_argument("--simulations", type=int, default=200, help="of each cell")
    parser.add_argument("--hours", type=float, default=np.inf, help="stop after these")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    done = {tuple(row[name] for name in KEY) for row in read_log(arguments.log)}
    end = time.monotonic() + 3600 * arguments.hours
    with arguments.log.open("a") as log:
        for seed in range(arguments.simulations):
            for cell in product(arguments.tasks, arguments.methods, arguments.models, arguments.noises):
                if (*cell, seed) not in done and time.monotonic() < end:
                    print(json.dumps(simulate(*cell, seed, arguments.draws)), file=log, flush=True)
    text = HEAD + table(read_log(arguments.log))
    print(text)
    (RESULTS / f"{datetime.date.today()}-transfer-coverage.txt").write_text(text + "\n")


if __name__ == "__main__":
    main()
