"""A report of a million rows: seconds, peak memory, size of the page, and how long a browser takes to open it.

`python -m tests.benchmarks.report_speed`. Each report is made in a process of its own, whose peak memory counts, and
opened in a browser of its own. `--csv`: of the same rows as csv; `--folders 2000`: of a sweep of so many run folders.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.writing import write_records

from ..scaling.page.browser import browser_path, load_seconds, new_browser

FAMILIES = {"vit": 1.0, "resnet": 2.5, "mixer": 1.6, "convnext": 1.8, "hybrid": 0.9}
TASKS = ("pets", "cifar100", "dtd")
_MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
from scaling.cli import app
try:
    app(sys.argv[1:])
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss, which a process begins with that of its parent.
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps([time.perf_counter() - start, used.ru_utime + used.ru_stime, int(peak) * 1024 / 1e9]))
"""


class Cost(NamedTuple):
    """Of one report."""

    seconds: float
    cpu_seconds: float
    peak_gigabytes: float
    page_megabytes: float


def make_records(folder: Path, num_rows: int, num_with_evals: int = 5_000, seed: int = 0) -> Path:
    """Records of the full schema, 60 columns filled, 5 % of the runs diverged, and evals of some of them."""
    frame = _records(num_rows, np.random.default_rng(seed))
    write_records(frame, folder / "records.parquet")
    ok = frame[frame["status"] == "ok"].head(num_with_evals)
    write_records(_evals(ok, np.random.default_rng(seed + 1)), folder / "evals.parquet", table="evals")
    return folder / "records.parquet"


def _records(num: int, rng: np.random.Generator) -> pd.DataFrame:
    family = rng.choice(list(FAMILIES), num)
    factor = pd.Series(family).map(FAMILIES).to_numpy(dtype=float)
    compute = 10 ** rng.uniform(15, 21, num)
    above = np.exp(rng.exponential(0.2, num) + 0.01 * rng.standard_normal(num))
    error = np.minimum((0.5 * (compute / factor / 1e15) ** -0.15 + 0.08) * above, 0.99)
    diverged = rng.random(num) < 0.05
    step = rng.integers(1_000, 100_000, num)
    names = [f"{name}_{place:07d}_{value:x}" for place, (name, value) in enumerate(zip(family, step, strict=True))]
    counts = {"num_classes": 1000, "image_size": 224, "depth": 12, "num_heads": 6, "patch_size": 16, "num_tokens": 196}
    counts |= {"head_params": 384_000, "upstream_num_eval": 50_000, "warmup_steps": 500, "cooldown_steps": 1000}
    counts |= {"num_threads": 1, "num_devices": 1, "num_micro_batches": 1, "numerics_version": 1, "repeats": 1}
    texts = {"source": "made up", "upstream_dataset": "imagenet", "eval_split": "val", "pooling": "avg"}
    texts |= {"flops_rule": "3x forward", "recipe": "small_scale", "optimizer": "adamw", "schedule": "cosine"}
    texts |= {"augment": "crop", "label_loss": "softmax", "weight_decay_rule": "lr_scaled", "precision": "bfloat16"}
    texts |= {"device": "cpu", "host": "a", "torch_version": "2.9", "git_commit": "0" * 40, "weights": "last"}
    amounts = {"flops_per_image": 1e9, "head_flops_per_image": 1e6, "weight_decay": 0.05, "head_lr_multiplier": 1.0}
    amounts |= {"head_weight_decay": 0.1, "label_smoothing": 0.1, "drop_path": 0.0, "beta1": 0.9, "beta2": 0.999}
    amounts |= {"grad_clip": 1.0, "mixup": 0.2, "ema_decay": 0.999, "wall_seconds": 3600.0, "head_bias": 0.0}
    frame = pd.DataFrame({"run_id": names, "model_family": family, "step": step, **counts, **texts, **amounts})
    return frame.assign(
        model_variant=[f"{value}/16" for value in rng.choice(list("TSBLH"), num)],
        width=rng.choice([192, 384, 768], num), num_params=rng.integers(5_000_000, 600_000_000, num),
        train_examples=rng.choice([100_000, 400_000, 1_281_167], num), batch_size=1024, planned_steps=step,
        cooled_down=True, images_seen=step * 1024, compute_flops=compute, compute_core_days=compute / 1e18,
        trunk_id=names, upstream_error=np.where(diverged, np.nan, error), upstream_loss=3 * error,
        upstream_top5_error=error / 4, upstream_val_error=np.minimum(error * 1.01, 1), train_loss=2 * error,
        train_error=error / 2, status=np.where(diverged, "diverged", "ok"), seed=rng.integers(0, 3, num),
        diverged_step=pd.array(np.where(diverged, step, 0), dtype="Int64"), lr=rng.choice([3e-4, 1e-3, 3e-3], num),
        training_images_per_second=rng.uniform(100, 900, num), peak_memory_bytes=rng.integers(10**9, 10**10, num),
    )  # fmt: skip


def _evals(runs: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    parts = []
    for place, task in enumerate(TASKS):
        for shots in (5, 10):
            above = np.exp(rng.exponential(0.1, len(runs)))
            error = np.minimum((0.7 * runs["upstream_error"] ** (1.2 + 0.3 * place) + 0.5 / shots) * above, 0.99)
            part = runs[["run_id", "step", "weights"]].assign(task=task, num_shots=shots, error=error)
            parts.append(part.assign(method="fewshot", probe="whitened", layer="pre_logits", draw=0))
    return pd.concat(parts, ignore_index=True)


def measure(records: Path, page: Path) -> Cost:
    """Of the command, in a process of its own."""
    asked = [sys.executable, "-c", _MEASURE, "report", str(records), "-o", str(page)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    seconds, cpu_seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return Cost(seconds, cpu_seconds, peak, page.stat().st_size / 1e6)


def make_folders(folder: Path, num: int) -> Path:
    """A sweep of runs, each of a folder with its records and evals."""
    frame = _records(num, np.random.default_rng(0))
    evals = _evals(frame[frame["status"] == "ok"], np.random.default_rng(1))
    for place, run in enumerate(frame["run_id"]):
        own = folder / "runs" / run
        own.mkdir(parents=True)
        write_records(frame.iloc[[place]], own / "records.parquet")
        if len(some := evals[evals["run_id"] == run]):
            write_records(some, own / "evals.parquet", table="evals")
    return folder


def opened_seconds(page: Path) -> float:
    """From the start of the navigation to the end of the load event, in a browser that has opened nothing before."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, new_browser(driver) as browser:
        tab = browser.new_page()
        tab.goto(page.as_uri())
        return load_seconds(tab)


def _table_of(folder: Path, asked: argparse.Namespace) -> Path:
    if asked.folders:
        return make_folders(folder / "sweep", asked.folders)
    records = make_records(folder, asked.rows)
    if not asked.csv:
        return records
    pd.read_parquet(records).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--folders", type=int)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, page = _table_of(Path(folder), asked), Path(folder) / "report.html"
        costs = [measure(records, page) for _ in range(asked.repeats)]
        found = dict(zip(Cost._fields, zip(*costs, strict=True), strict=True))
        if browser_path():
            found["load_seconds"] = tuple(opened_seconds(page) for _ in range(asked.repeats))
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, values in found.items():
        each = ", ".join(f"{value:.2f}" for value in values)
        print(f"{name}: median {statistics.median(values):.2f} of {each}")


if __name__ == "__main__":
    main()
