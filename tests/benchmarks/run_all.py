"""Everything that the project promises, measured again: one table of value, bar, and whether it is met.

    python -m tests.benchmarks.run_all [--only WORD] [--write]

A row is a number (a function of this file, or the median of a benchmark of `make bench`) or tests that hold a bar by
themselves. Each number has a process to itself in turn, and what fails is a row that says why. `--only` takes the rows
whose text has the word; `--write` keeps the table in `results/`. Rows with data of `SCALING_DATA_DIR` need that folder.
Speed is of this machine and of what else runs on it: the load stands above the table.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["ROWS", "Row", "measured", "table"]

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One promise.

    Args:
        subject: the part of the project.
        what: what is measured, with its unit.
        bar: "< 3", "> 0.97" or "pass", which means that tests hold it.
        measure: the number, or the tests (paths and node ids); a text is why it cannot be measured here.
    """

    subject: str
    what: str
    bar: str
    measure: "Callable[[], float] | tuple[str, ...] | str"


@dataclass(frozen=True)
class Measured:
    row: Row
    value: str
    met: str  # yes, no, or not here


@cache
def benchmarks() -> dict[str, float]:
    """Median seconds of each benchmark of `tests/benchmarks/test_scaling_speed.py`, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "benchmarks.json"
        command = ["tests/benchmarks/test_scaling_speed.py", "--benchmark-enable", f"--benchmark-json={kept}"]
        _pytest(*command)
        return {each["name"]: each["stats"]["median"] for each in json.loads(kept.read_text())["benchmarks"]}


def benchmark(name: str) -> Callable[[], float]:
    return lambda: benchmarks()[name]


def _pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def run_tests(nodes: Iterable[str]) -> tuple[str, str]:
    """How many passed, and whether all did; those of every mark but `gpu`."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "tests.xml"
        done = _pytest(*nodes, "-m", "not gpu", f"--junitxml={kept}")
        if done.returncode not in (0, 1):  # 1: some failed
            raise RuntimeError((done.stdout + done.stderr).strip().splitlines()[-1])
        suite = next(iter(ElementTree.parse(kept).getroot()))
    count = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    if not passed and not failed:
        return f"0 passed{skipped}", "not here"
    return f"{passed} passed{skipped}" + (f", {failed} failed" if failed else ""), "no" if failed else "yes"


def cpu_of_child(command: list[str]) -> float:
    """Processor seconds that a process takes, with those it starts."""
    before = os.times()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


_SELECTION = """
import numpy as np, scaling as sc
rng = np.random.default_rng(0)
cost, error = 10 ** rng.uniform(18, 22, 10_000_000), rng.random(10_000_000)
sc.pareto_frontier(cost, error), sc.convex_hull(cost, error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def gigabytes_of_selection() -> float:
    """Peak of a process that selects by both conventions, its two columns of 80 MB included."""
    done = subprocess.run([sys.executable, "-c", _SELECTION], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024 / 1e9


@cache
def report_of_a_million() -> dict[str, float]:
    from .report_speed import make_records, measure, opened_seconds

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        cost = measure(make_records(Path(folder), 1_000_000), page)
        return {**cost._asdict(), "opened": opened_seconds(page)}


@cache
def thousand_runs() -> object:
    """The runner on 1,000 runs of one step, which stand for 5,000."""
    from .runner_overhead import measure

    with tempfile.TemporaryDirectory() as folder:
        return measure(1000, 2, Path(folder) / "night")


def milliseconds_a_run() -> float:
    return 1e3 * thousand_runs().cpu  # type: ignore[attr-defined]


@cache
def folder_of_5000() -> dict[str, float]:
    from tests.sweeps.folders import Kind, ids, write_sweep

    from .sweep_folder_speed import seconds_of

    with tempfile.TemporaryDirectory() as folder:
        paths = write_sweep(Path(folder) / "night", dict.fromkeys(ids(5000), Kind()))
        cold = seconds_of("collect", paths)[1]
        return {"cold": cold, **{name: seconds_of(name, paths)[1] for name in ("status", "collect")}}


def loop_ratio(model: str, batch_size: int) -> Callable[[], float]:
    def ratio() -> float:
        import torch

        from .training_throughput import MODELS, compare_loops

        torch.set_num_threads(1)
        return compare_loops(MODELS[model], batch_size, seconds=1.0, num_rounds=7).ratio

    return ratio


def share_of_evaluation() -> float:
    import torch

    from sweeps.specs.grid import make_plan
    from sweeps.specs.spec import read_spec

    from .training_throughput import DEMO, measure_shares

    torch.set_num_threads(1)
    shares = measure_shares(list(make_plan(read_spec(DEMO)).trunks[::5]))
    return sum(shares.of(name) for name in ("upstream evaluation", "downstream evaluation"))


def share_of_measurements() -> float:
    import torch

    from sweeps.specs.spec import read_spec

    from .measurement_cost import DEMO, cost_table, measured_plan

    torch.set_num_threads(1)
    found = cost_table(measured_plan(read_spec(DEMO)).trunks)
    return float(found["measured"].sum() / found["training"].sum())


def seconds_of_fewshot() -> float:
    import torch

    from .fewshot_speed import LARGE, time_tasks

    torch.set_num_threads(1)
    return sum(each.features + each.plain + each.whitened for each in time_tasks(LARGE))


def plan_against_demo() -> float:
    from .plan_estimate import DEMO, compare

    estimated, real = compare(DEMO, 2)
    return estimated / real


def extrapolation(of_reference: bool) -> Callable[[], float]:
    def score() -> float:
        from . import extrapolation

        ours = extrapolation.ensemble_scores()[0].mean()
        return float(extrapolation.reference_scores()["reference"].mean() - ours if of_reference else ours)

    return score


def seconds_of_notebooks() -> float:
    started = time.monotonic()
    value, met = run_tests(["tests/notebooks"])
    if met != "yes":
        raise RuntimeError(value)
    return time.monotonic() - started


SPEED, LAWS, RUNS, TRAINING, REPORT = "speed", "laws", "runner", "training", "report"
ROWS = (
    Row(
        LAWS,
        "Zhai's printed a, b, c, d on the Pareto frontier; NIST's certified fits",
        "pass",
        ("tests/scaling/test_golden.py",),
    ),
    Row(
        LAWS,
        "every failure seen in practice has its right value or named warning",
        "pass",
        ("tests/scaling/test_traps.py", "tests/scaling/test_traps_beyond_one_law.py"),
    ),
    Row(LAWS, "units, order of rows, weights against repeated rows", "pass", ("tests/scaling/test_metamorphic.py",)),
    Row(
        LAWS, "500 random laws of each kind found, or said not to be told", "pass", ("tests/scaling/test_recovery.py",)
    ),
    Row(
        LAWS,
        "95 % intervals at 10 x hold the truth in .93 to .97, 2,000 simulations x 3",
        "pass",
        ("tests/scaling/test_coverage.py",),
    ),
    Row(
        LAWS,
        "stochastic frontier holds the truth in .90 to .98, compute and transfer law",
        "pass",
        ("tests/scaling/selection/test_stochastic_frontier.py",),
    ),
    Row(
        LAWS,
        "Chinchilla: the global optimum without a start, approaches 1 to 3",
        "pass",
        ("tests/scaling/published/test_hoffmann2022.py",),
    ),
    Row(LAWS, "36 few-shot curves, mean RMSE in log error (aim)", "< 0.0140", extrapolation(False)),
    Row(LAWS, "plain mean of laws less the ensemble, the same curves", "> 0", extrapolation(True)),
    Row(SPEED, "one law, global, no start (ms)", "< 3", lambda: 1e3 * benchmarks()["test_fit_law[log_least_squares]"]),
    Row(
        SPEED,
        "frontier of 200 runs with 2,000 draws, Pareto (s)",
        "< 1.5",
        benchmark("test_frontier_of_200_runs_with_2000_draws[pareto]"),
    ),
    Row(
        SPEED,
        "frontier of 200 runs with 2,000 draws, hull (s)",
        "< 1.5",
        benchmark("test_frontier_of_200_runs_with_2000_draws[convex_hull]"),
    ),
    Row(SPEED, "stochastic frontier of 800 runs (s)", "< 0.5", benchmark("test_stochastic_frontier[800]")),
    Row(
        SPEED,
        "additive law, global, and 4,000 draws (s)",
        "< 8",
        lambda: benchmarks()["test_additive_fit"] + benchmarks()["test_additive_bootstrap_of_4000_draws"],
    ),
    Row(SPEED, "six laws on 36 curves (s)", "< 10", benchmark("test_six_laws_on_36_few_shot_curves")),
    Row(
        SPEED,
        "Pareto frontier of 10 million points (s)",
        "< 3",
        benchmark("test_selection_of_ten_million_points[pareto]"),
    ),
    Row(
        SPEED,
        "convex hull of 10 million points (s)",
        "< 3",
        benchmark("test_selection_of_ten_million_points[upper hull]"),
    ),
    Row(SPEED, "Pareto frontier and hull of 10 million points, memory (GB)", "< 1", gigabytes_of_selection),
    Row(SPEED, "import scaling (s)", "< 0.7", benchmark("test_import")),
    Row(
        SPEED,
        "scaling --help (s of processor)",
        "< 0.5",
        lambda: cpu_of_child([sys.executable, "-m", "scaling", "--help"]),
    ),
    Row(
        "tables",
        "62 check values of the papers, each with its table",
        "pass",
        ("tests/scaling/tables/test_check_values.py",),
    ),
    Row(
        "tables",
        "where papers contradict themselves, the audit finds it",
        "pass",
        ("tests/scaling/tables/test_contradictions.py", "tests/scaling/tables/test_audit.py"),
    ),
    Row(
        "transfer",
        "Abnar's hull laws from points and a cloud; density of points",
        "pass",
        ("tests/scaling/transfer/test_fit.py", "tests/scaling/transfer/test_windows.py"),
    ),
    Row(
        "transfer",
        "intervals of e_IR under selection hold the truth",
        "pass",
        ("tests/scaling/transfer/test_coverage.py",),
    ),
    Row(
        "transfer",
        "timm: five shifts, held-out best 5 %, ViT against ResNet",
        "pass",
        ("tests/benchmarks/test_timm_transfer.py",),
    ),
    Row(
        "transfer",
        "ViT Table 6: compute at equal error, both methods",
        "pass",
        ("tests/scaling/frontier/test_equal_error.py",),
    ),
    Row(
        TRAINING,
        "optimizers, decay rules, schedules against papers and closed forms",
        "pass",
        ("tests/sweeps/optimizers", "tests/sweeps/training/test_schedules.py"),
    ),
    Row(
        TRAINING,
        "SAM by hand on a quadratic; losses, mixing of labels by hand",
        "pass",
        ("tests/sweeps/training/test_attacks.py", "tests/sweeps/training/test_losses.py", "tests/sweeps/augment"),
    ),
    Row(
        TRAINING,
        "FLOPs and parameters of Zhai's Table 2, within 1 % or rounding",
        "pass",
        ("tests/sweeps/models/test_published_sizes.py",),
    ),
    Row(
        TRAINING,
        "killed at any step and resumed, branch against alone: the same bits",
        "pass",
        ("tests/sweeps/training/test_train.py", "tests/sweeps/test_every_recipe.py"),
    ),
    Row(
        TRAINING,
        "same spec twice, one or two side by side: the same records",
        "pass",
        ("tests/sweeps/test_repeatable.py",),
    ),
    Row(TRAINING, "golden losses of three families, golden run id", "pass", ("tests/sweeps/test_golden.py",)),
    Row(
        TRAINING,
        "trends on photographs: images, model size, ResNet below ViT",
        "pass",
        ("tests/sweeps/test_trends.py",),
    ),
    Row(TRAINING, "our loop / a bare loop, ViT w32, batch 32", "> 0.97", loop_ratio("vit w32d2/7", 32)),
    Row(TRAINING, "our loop / a bare loop, ViT w32, batch 128", "> 0.97", loop_ratio("vit w32d2/7", 128)),
    Row(TRAINING, "our loop / a bare loop, ViT w64, batch 128", "> 0.97", loop_ratio("vit w64d4/7", 128)),
    Row(TRAINING, "our loop / a bare loop, ResNet w8, batch 128", "> 0.97", loop_ratio("resnet w8", 128)),
    Row(TRAINING, "share of evaluation in the demo's time", "< 0.20", share_of_evaluation),
    Row(TRAINING, "a smoke of families and recipes on a GPU", "pass", "no GPU"),
    Row(
        "measurements",
        "probes by hand, Hessian, CKA, attention distance, margins, PGD, resizing",
        "pass",
        ("tests/sweeps/measure", "tests/sweeps/evaluation/test_fewshot.py", "tests/sweeps/models/test_resize.py"),
    ),
    Row("measurements", "all measurements / training, demo", "< 0.25", share_of_measurements),
    Row("measurements", "few-shot of all layers, 6 tasks, width 384 (s)", "< 120", seconds_of_fewshot),
    Row(
        RUNS,
        "killed -9 again and again: records as undisturbed (8 and 20 blows)",
        "pass",
        ("tests/sweeps/test_chaos.py",),
    ),
    Row(RUNS, "two runners at once on one folder: no run trained twice", "pass", ("tests/sweeps/test_two_runners.py",)),
    Row(RUNS, "local, Ray and Slurm give equal records", "pass", ("tests/sweeps/engines/test_equal_records.py",)),
    Row(RUNS, "engines on a cluster", "pass", "no Slurm, no second machine"),
    Row(
        RUNS,
        "out of memory, NaN, exception, bad image, full disk in one sweep",
        "pass",
        ("tests/sweeps/test_planted_faults.py",),
    ),
    Row(RUNS, "runner beside the training, 1,000 runs (ms of processor a run)", "< 30", milliseconds_a_run),
    Row(RUNS, "status of 5,000 runs (s of processor)", "< 3", lambda: folder_of_5000()["status"]),
    Row(RUNS, "collect of 5,000 runs, collected before (s of processor)", "< 3", lambda: folder_of_5000()["collect"]),
    Row(RUNS, "collect of 5,000 runs, the first time (s of processor)", "< 3", lambda: folder_of_5000()["cold"]),
    Row(RUNS, "plan's estimate / time of the demo", "0.75 to 1.25", plan_against_demo),
    Row(REPORT, "a report of a million rows (s)", "< 60", lambda: report_of_a_million()["seconds"]),
    Row(REPORT, "its memory (GB)", "< 2", lambda: report_of_a_million()["peak_gigabytes"]),
    Row(REPORT, "its page (MB)", "< 15", lambda: report_of_a_million()["page_megabytes"]),
    Row(REPORT, "its page opens (s)", "< 3", lambda: report_of_a_million()["opened"]),
    Row(
        REPORT,
        "timm, open_clip, W&B, spreadsheet, parquet: one command each",
        "pass",
        ("tests/scaling/report/test_other_tools.py",),
    ),
    Row(REPORT, "hostile records: nothing is executed", "pass", ("tests/scaling/report/test_browser.py",)),
    Row(
        REPORT,
        "every option in a test; exit codes",
        "pass",
        ("tests/scaling/commands/test_options.py", "tests/scaling/commands/test_forms.py"),
    ),
    Row("documents", "every command and program of the pages runs, the site builds", "pass", ("tests/docs",)),
    Row("documents", "notebooks in fresh kernels (s)", "< 360", seconds_of_notebooks),
    Row("code", "no import in a circle, no torch in the analysis", "pass", ("tests/test_imports.py",)),
)


def is_met(value: float, bar: str) -> bool:
    """
    >>> is_met(2.0, "< 3"), is_met(0.9, "> 0.97"), is_met(1.0, "0.75 to 1.25"), is_met(float("nan"), "< 3")
    (True, False, True, False)
    """
    if " to " in bar:
        low, high = map(float, bar.split(" to "))
        return low <= value <= high
    sign, number = bar.split()
    return value < float(number) if sign == "<" else value > float(number)


def measured(row: Row) -> Measured:
    """Whatever goes wrong is the row's own."""
    if isinstance(row.measure, str):
        return Measured(row, row.measure, "not here")
    try:
        if isinstance(row.measure, tuple):
            return Measured(row, *run_tests(row.measure))
        value = row.measure()
    except Exception as error:  # the table has to be had, and the row says it
        return Measured(row, " ".join(f"{type(error).__name__}: {error}".split())[:80], "no")
    return Measured(row, f"{value:.3g}", "yes" if is_met(value, row.bar) else "no")


def table(found: Iterable[Measured]) -> str:
    lines = [("part", "what", "bar", "value", "met")]
    lines += [(each.row.subject, each.row.what, each.row.bar, each.value, each.met) for each in found]
    widths = [max(len(line[place]) for line in lines) for place in range(4)]
    return "\n".join(
        "  ".join([*(text.ljust(w) for text, w in zip(line, widths, strict=False)), line[4]]) for line in lines
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose text has this word")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    asked = parser.parse_args(arguments)
    found, loads = [], []
    for row in ROWS:
        if asked.only.lower() in f"{row.subject} {row.what}".lower():
            started = time.monotonic()
            found.append(measured(row))
            loads.append(os.getloadavg()[0])
            print(f"{time.monotonic() - started:6.0f} s  {row.what}: {found[-1].value} ({found[-1].met})", flush=True)
    if not found:
        parser.error(f"--only: no row has {asked.only!r}")
    met = [each.met for each in found]
    text = (
        f"{datetime.date.today()}, {os.cpu_count()} cores, load {statistics.median(loads):.1f}\n\n{table(found)}\n\n"
        f"met {met.count('yes')}, not met {met.count('no')}, not here {met.count('not here')}\n"
    )
    print(f"\n{text}")
    if asked.write:
        (RESULTS / f"{datetime.date.today()}-run-all.txt").write_text(text)


if __name__ == "__main__":
    main()
