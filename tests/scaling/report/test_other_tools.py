"""Tables as other tools write them, each to a report with one command and a mapping of columns."""

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from scaling.cli import app

from ..reading.test_column_map import OPEN_CLIP, TIMM, arguments, hive, sheet, wandb


def reported(path, columns, page, *options):
    """What the command says of the page, and the page."""
    words = ["report", str(path), "-o", str(page), *arguments(columns), *options, "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    [said] = json.loads(result.stdout)["rows"]
    return said, page.read_text()


@pytest.mark.parametrize(("make", "num_rows", "num_fitted"), [(wandb, 6, 5), (sheet, 5, 5), (hive, 10, 10)])
def test_a_table_of_another_tool(tmp_path, undrawn, make, num_rows, num_fitted):
    said, page = reported(*make(tmp_path), tmp_path / "out.html")
    assert (said["rows"], said["fitted"]) == (num_rows, num_fitted)
    assert "it follows a x^-b + c of compute_flops" in page
    assert re.search(r"b 0\.35 .*, c 0\.08 \[", page)  # the law that the tables were made by


@pytest.mark.parametrize(
    ("name", "columns", "x"),
    [
        ("timm_results/results-imagenet.csv", TIMM, "num_params"),
        ("open_clip/openclip_results.csv", OPEN_CLIP, "compute_flops"),
    ],
)
def test_published_results(data_folder, tmp_path, undrawn, name, columns, x):
    said, page = reported(data_folder / name, columns, tmp_path / "out.html", "--x", x)
    num_rows = len(pd.read_csv(data_folder / name))
    assert said["rows"] == num_rows
    assert 0.9 * num_rows < said["fitted"] <= num_rows  # some models have no FLOPs
    assert f"it follows a x^-b + c of {x}" in page
