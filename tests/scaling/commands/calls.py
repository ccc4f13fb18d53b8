"""Calls of the command line, and runs to call it on."""

import csv
import io
import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from scaling.cli import app


def call(*args):
    """The result of a command: exit_code, stdout, stderr."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def answer(*args, exit_code=0):
    """The JSON of a command."""
    result = call(*args, "--json")
    assert result.exit_code == exit_code, result.stderr
    return json.loads(result.stdout)


def table(*args):
    """The rows of the csv of a command, as texts."""
    return list(csv.DictReader(io.StringIO(call(*args, "--csv").stdout)))


def refused(*args, exit_code=2):
    """The one line of a command that gives no answer."""
    result = call(*args)
    assert result.exit_code == exit_code, result.stdout + result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def made_runs(n=60, seed=0):
    """Runs of two families above a saturating power law, with a downstream task above a transfer law."""
    rng = np.random.default_rng(seed)
    compute = 10 ** np.linspace(18, 22, n)
    upstream = (0.5 * (compute / 1e18) ** -0.25 + 0.08) * np.exp(rng.exponential(0.05, n))
    pets = (0.6 * upstream**1.5 + 0.06) * np.exp(rng.exponential(0.03, n))
    return pd.DataFrame(
        {
            "run_id": [f"run{i}" for i in range(n)], "step": 1, "weights": "last", "status": "ok",
            "compute_flops": compute, "upstream_error": upstream, "pets_10shot_error": pets,
            "pets_5shot_error": pets * 1.1, "model_family": np.where(np.arange(n) % 3 == 0, "resnet", "vit"),
            "num_params": np.geomspace(1e6, 1e9, n).astype(int),
            "train_examples": rng.permutation(np.geomspace(1e4, 1e7, n)).astype(int),
            "spread": rng.uniform(0.01, 0.05, n), "times": rng.integers(1, 4, n),
            "upstream_num_eval": rng.integers(1000, 50_000, n), "depth": np.arange(n) % 5,
        }
    )  # fmt: skip
