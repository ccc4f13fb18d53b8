import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scaling as sc
from scaling.cli import app

from .made import made_runs


@pytest.fixture
def records(tmp_path):
    runs = made_runs(14, num_tasks=0).drop(columns="model_family").assign(depth=[2, 3] * 7, loss=0.5)
    other = runs.assign(weights="ema", upstream_error=runs.upstream_error * 1.1)
    sc.write_records(pd.concat([runs, other]), tmp_path / "records.parquet")
    rows = [
        {"run_id": run, "step": 100, "weights": weights, "task": "pets", "method": "fewshot", "probe": probe,
         "num_shots": 10, "layer": layer, "draw": 0, "error": error}
        for run in runs.run_id
        for weights in ("last", "ema")
        for probe, layer, error in (("whitened", "pre_logits", 0.5), ("plain", "block_1", 0.75))
    ]  # fmt: skip
    sc.write_records(pd.DataFrame(rows), tmp_path / "evals.parquet", table="evals")
    return tmp_path / "records.parquet"


def _run(*options):
    return CliRunner().invoke(app, ["report", *map(str, options)])


def _page(path):
    return path.read_text()


def test_a_page_and_what_it_holds(records, tmp_path):
    done = _run(records, "-o", tmp_path / "a.html", "--title", "Night <1>", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["rows"], row["runs"], row["finished"], row["tasks"]) == (14, 14, 14, 1)
    assert row["bytes"] == (tmp_path / "a.html").stat().st_size
    assert "Night &lt;1&gt;" in _page(tmp_path / "a.html")
    done = _run(records, "--output", tmp_path / "a.html", "--csv")
    assert done.stdout.splitlines()[0].startswith("page,rows,runs")


def test_the_page_is_report_html_unless_told(records, tmp_path, monkeypatch, undrawn):
    monkeypatch.chdir(tmp_path)
    assert _run(records).exit_code == 0
    assert (tmp_path / "report.html").is_file()


HALVED = f"upstream_error {made_runs(14).upstream_error.min() / 2:.4g}"
# Options and what the page then holds (a pattern), and what it does not hold without them.
OPTIONS = {
    "x": (["--x", "train_examples"], "against train_examples"),
    "y": (["--y", "loss"], "loss against training compute"),
    "by": (["--by", "depth"], r"<td[^>]*>\s*3\s*<"),
    "where": (["--where", "depth > 2"], r"7 \(7 runs\): 7 finished"),
    "weights": (["--weights", "ema"], "<td[^>]*>\\s*ema"),
    "probe and layer": (["--probe", "plain", "--layer", "block_1"], r">0\.25<"),
    "law": (["--law", "power"], r"<td[^>]*>power: a x\^-b<"),
    "level": (["--level", "0.8"], "Intervals: 80%"),
    "seed": (["--seed", "7"], r"seed of the draws</\w+>\s*<td[^>]*>7<"),
    "column": (["--column", "upstream_error=upstream_error / 2"], HALVED),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_shows_in_the_page(name, records, tmp_path, undrawn):
    asked, pattern = OPTIONS[name]
    done = _run(records, "-o", tmp_path / "a.html", *asked)
    assert done.exit_code == 0, done.output
    assert re.search(pattern, _page(tmp_path / "a.html"))


def test_a_table_of_ones_own_with_decimal_commas(tmp_path, undrawn):
    runs = made_runs(14, num_tasks=0)
    lines = [f"{run};{100 * (1 - error):.2f};{flops:.0f}".replace(".", ",") for run, error, flops in
             zip(runs.run_id, runs.upstream_error, runs.compute_flops, strict=True)]  # fmt: skip
    (tmp_path / "own.csv").write_text("\n".join(["model;top1;flops", *lines]))
    columns = [
        "--column",
        "upstream_error=1 - top1 / 100",
        "--column",
        "compute_flops=flops",
        "--column",
        "run_id=model",
    ]
    done = _run(tmp_path / "own.csv", "-o", tmp_path / "a.html", *columns, "--decimal", ",", "--json")
    assert done.exit_code == 0, done.output
    assert "run-3" in _page(tmp_path / "a.html")
    best = np.round(runs.upstream_error.min(), 4)
    assert f"{best:.4g}" in _page(tmp_path / "a.html")


WRONG = {
    "no such file": (["missing.parquet"], "missing.parquet"),
    "an empty file": (["empty.parquet"], "cannot be read"),
    "an empty csv": (["empty.csv"], "empty.csv"),
    "no such folder of the page": (["RECORDS", "-o", "nowhere/a.html"], "a folder that is there"),
    "no row": (["RECORDS", "--where", "depth > 9"], "no rows to report of"),
    "no such group": (["RECORDS", "--by", "model_famly"], "model_family"),
    "no such weights": (["RECORDS", "--weights", "best"], "best"),
    "a level beyond": (["RECORDS", "--level", "1"], "level"),
    "no column": (["RECORDS", "--column", "upstream_error"], "--column"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_one_line_and_exit_code_2(name, records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "empty.csv").touch()
    asked, said = WRONG[name]
    done = _run(*(str(records) if text == "RECORDS" else text for text in asked))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_page_is_written_where_a_link_points(records, tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    assert _run(records, "-o", tmp_path / "link.html").exit_code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").stat().st_size > 1000
