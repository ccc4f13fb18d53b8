import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from scaling.cli import app
from scaling.datasets import DATASETS


@pytest.fixture(autouse=True)
def no_data_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("SCALING_DATA_DIR", raising=False)
    monkeypatch.setenv("SCALING_CACHE_DIR", str(tmp_path / "cache"))


def scaling(*words):
    return CliRunner().invoke(app, list(words))


def test_all_are_listed():
    done = scaling("datasets", "--json")
    assert done.exit_code == 0
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert list(rows) == list(DATASETS)
    assert (rows["zhai2021"]["rows"], rows["zhai2021"]["comes"], rows["zhai2021"]["here"]) == (262, "shipped", "yes")
    assert (rows["timm_results"]["comes"], rows["timm_results"]["here"]) == ("fetched", "no")
    assert rows["clip_linear_probes"]["comes"] == "unverified"
    assert rows["fewshot_curves"]["rows"] is None
    table = scaling("datasets").stdout
    assert all(name in table for name in DATASETS)


def test_one_is_told_of():
    done = scaling("datasets", "zhai2021")
    assert done.exit_code == 0
    for part in ("arXiv 2106.04560", "--x compute_core_days", "null: the paper prints", "262 rows of 24 columns"):
        assert part in done.stdout
    assert "its files are not here" in scaling("datasets", "open_clip").stdout


def test_its_rows_as_csv_and_json(tmp_path):
    done = scaling("datasets", "objectnet", "--csv")
    (tmp_path / "runs.csv").write_text(done.stdout)
    assert pd.read_csv(tmp_path / "runs.csv")["objectnet_finetune_error"].tolist() == [0.383, 0.413]
    told = json.loads(scaling("datasets", "objectnet", "--json").stdout)
    assert [row["upstream_error"] for row in told["rows"]] == [None, None]
    assert "arXiv 2010.11929" in told["citation"]


def test_another_table_of_a_sweep(tmp_path):
    assert "records, evals" in scaling("datasets", "demo").stdout
    assert "9072 rows of 16 columns: run_id" in scaling("datasets", "demo", "--table", "evals").stdout
    (tmp_path / "evals.csv").write_text(scaling("datasets", "demo", "--table", "evals", "--csv").stdout)
    assert len(pd.read_csv(tmp_path / "evals.csv")) == 9072
    done = scaling("datasets", "zhai2021", "--table", "evals", "--csv")
    assert done.exit_code == 2
    assert "data set 'zhai2021' has the tables records, got 'evals'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_users_folder(tmp_path):
    """A file that is not that of its digest is one line; one that is there is said to be there."""
    (tmp_path / "chinchilla_points").mkdir()
    (tmp_path / "chinchilla_points" / "df.csv").write_text("C,N,D,loss\n1,2,3,4\n")
    done = scaling("datasets", "chinchilla", "--csv", "--folder", str(tmp_path))
    assert done.exit_code == 2
    assert "is not the file that it should be" in done.stderr
    rows = json.loads(scaling("datasets", "--json", "--folder", str(tmp_path)).stdout)["rows"]
    assert [row["name"] for row in rows if row["comes"] != "shipped" and row["here"] == "yes"] == ["chinchilla"]


@pytest.mark.parametrize("words", [("datasets", "zhai21"), ("fit", "zhai21")])
def test_a_wrong_name_is_one_line_with_near_ones(words):
    done = scaling(*words)
    assert done.exit_code == 2
    assert "near names: zhai2021" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_data_sets_name_is_records():
    done = scaling("fit", "zhai2021", "--x", "compute_core_days", "--task", "imagenet", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"][0]["num_points"] == 262
    demo = [
        json.loads(scaling("fit", "demo", "--task", "digits", "--probe", probe, "--json").stdout)["rows"][0]["a"]
        for probe in ("plain", "whitened")
    ]
    assert demo[0] != demo[1]
