"""Records to report of."""

import numpy as np
import pandas as pd


def made_runs(num: int = 60, seed: int = 0, num_tasks: int = 1) -> pd.DataFrame:
    """Runs of two families above a known law, E = 0.5 (C / 1e15)^-0.2 + 0.08."""
    rng = np.random.default_rng(seed)
    family = np.array(["vit", "resnet"])[np.arange(num) % 2]
    compute = 10 ** rng.uniform(15, 19, num)
    error = (0.5 * (compute / 1e15) ** -0.2 + 0.08) * np.exp(rng.exponential(0.1, num))
    runs = pd.DataFrame({
        "run_id": [f"run-{place}" for place in range(num)], "step": 100, "weights": "last", "model_family": family,
        "model_variant": "S/16", "compute_flops": compute, "upstream_error": error, "status": "ok", "lr": 1e-3,
        "train_examples": 1000, "planned_steps": 100, "cooled_down": True, "seed": 0, "flops_rule": "3x forward",
    })  # fmt: skip
    for place in range(num_tasks):
        task = (0.6 * error**1.5 + 0.06) * np.exp(rng.exponential(0.05, num))
        runs[f"task{place}_10shot_error"] = np.minimum(task, 0.99)
    return runs


EVIL = [
    "<script>alert(1)</script>", '"onmouseover=alert(1) x="', "]]>", r"$\frac", r"$\frac{$ $x$", "x" * 10_000,
    "a\x00b\x07c\x1b[31m", "\u202egnp.exe", "", "</script><img src=x onerror=alert(1)>", "{{ 7 * 7 }}",
    "_hidden",
]  # fmt: skip


def hostile_runs(num: int = 44) -> pd.DataFrame:
    """Each text as the name of runs, families, variants and failures, and two of them as tasks."""
    runs = made_runs(num)
    names = pd.Series([EVIL[place % len(EVIL)] for place in range(num)], dtype=object)
    runs["run_id"] = [f"{name}{place}" for place, name in enumerate(names)]
    runs["model_family"] = runs["model_variant"] = runs["flops_rule"] = names
    runs["failure"], runs["status"] = names, ["failed"] * 5 + ["diverged"] * 6 + ["ok"] * (num - 11)
    tasks = {f"{text}_5shot_error": runs["task0_10shot_error"] for text in (EVIL[0], EVIL[4])}
    return runs.drop(columns="task0_10shot_error").assign(**tasks)
