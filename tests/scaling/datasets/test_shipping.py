"""What is shipped of a sweep comes out of its folder, and says nothing of the machine."""

import subprocess

import pandas as pd
import pyarrow.parquet as pq
import pytest

from scaling import read_records, write_records
from scaling.datasets.shipped import shipped
from scaling.datasets.shipping import main, ship

SHIPPED = sorted(path.parent.name for path in shipped("sweeps").glob("*/spec.yaml"))


@pytest.fixture
def sweep(tmp_path):
    """Two runs, the later of them first, one with measurements."""
    folder = tmp_path / "sweep"
    for run_id in ("b", "a"):
        own = folder / "runs" / run_id
        own.mkdir(parents=True)
        key = {"run_id": run_id, "step": 9}
        rows = [key | {"weights": w, "upstream_error": 0.5, "host": "a.name", "status": "ok"} for w in ("last", "ema")]
        write_records(rows, own / "records.parquet")
        few = key | {"weights": "last", "method": "fewshot", "probe": "plain", "layer": "pre_logits", "num_shots": 1}
        evals = [few | {"task": task, "draw": draw, "error": 0.25} for task in ("two", "one") for draw in (1, 0)]
        write_records(evals, own / "evals.parquet", "evals")
    measured = {"run_id": "a", "step": 9, "weights": "last", "name": "weight_norm", "value": 1.5}
    layers = [measured | {"layer": layer} for layer in ("head", "block_1")]
    write_records(layers, folder / "runs" / "a" / "measurements.parquet", "measurements")
    (folder / "spec.yaml").write_text("name: sweep\n")
    return folder


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_folder_made_again_is_the_same(name, tmp_path):
    """From the shipped tables, which a newer pyarrow compresses to other bytes."""
    ship(shipped(f"sweeps/{name}"), tmp_path / name)
    there = {path.name for path in shipped(f"sweeps/{name}").iterdir()}
    assert {path.name for path in (tmp_path / name).iterdir()} == there
    for path in (tmp_path / name).iterdir():
        old = shipped(f"sweeps/{name}/{path.name}")
        if path.suffix == ".yaml":
            assert path.read_text() == old.read_text()
            continue
        new_table, old_table = pq.read_table(path), pq.read_table(old)
        assert new_table.equals(old_table, check_metadata=True)
        written_by = [pq.read_metadata(each).created_by for each in (path, old)]
        assert written_by[0] != written_by[1] or path.read_bytes() == old.read_bytes()


def test_the_rows_are_those_of_the_run_folders_sorted_without_the_host(sweep, tmp_path):
    files = ship(sweep, tmp_path / "data" / "sweep")
    names = ["records.parquet", "evals.parquet", "measurements.parquet", "spec.yaml"]
    assert [path.name for path in files] == names
    records, evals, measurements = (pd.read_parquet(path) for path in files[:3])
    assert records[["run_id", "weights"]].to_numpy().tolist() == [[r, w] for r in "ab" for w in ("ema", "last")]
    assert records["host"].isna().all()
    assert b"a.name" not in files[0].read_bytes()
    assert (records["upstream_error"] == 0.5).all()
    assert evals[["run_id", "task", "draw"]].to_numpy().tolist() == [
        [run, task, draw] for run in "ab" for task in ("one", "two") for draw in (0, 1)
    ]
    assert measurements["layer"].tolist() == ["block_1", "head"]
    wide = read_records(tmp_path / "data" / "sweep", probe="plain")
    assert wide["one_1shot_error"].tolist() == [0.25] * 2


@pytest.mark.parametrize("column", ["failure", "teacher", "upstream_dataset"])
def test_a_path_of_the_machine_is_refused_and_nothing_is_written(sweep, tmp_path, column):
    file = sweep / "runs" / "a" / "records.parquet"
    write_records(pd.read_parquet(file).assign(**{column: "no file /home/me/birds/1.png"}), file)
    with pytest.raises(ValueError, match=rf"{column} of records has '/home/me/birds/1.png'"):
        ship(sweep, tmp_path / "data" / "one")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("path", ["/data/birds", "~/birds", "~me/birds", r"C:\birds"])
def test_a_path_of_the_machine_in_the_spec_is_refused_in_one_line(sweep, tmp_path, path, capsys):
    (sweep / "spec.yaml").write_text(f"name: sweep  # runs/demo, https://a.b/c/d, w16d1/8\nfolder: {path}\n")
    with pytest.raises(SystemExit) as ended:
        main([str(sweep), str(tmp_path / "one")])
    assert ended.value.code == 2
    assert f"spec.yaml has {path!r}" in capsys.readouterr().err


def test_the_digests_are_those_of_sha256sum(sweep, tmp_path):
    ship(sweep, tmp_path / "data" / "one")
    ship(sweep, tmp_path / "data" / "other")
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "data", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": OK") == 8


def test_nothing_is_written_into_the_sweep(sweep, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in sweep.rglob("*")}
    ship(sweep, tmp_path / "data" / "one")
    assert {path: path.stat().st_mtime_ns for path in sweep.rglob("*")} == before


def test_a_table_without_rows_is_not_written(sweep, tmp_path):
    (sweep / "runs" / "a" / "measurements.parquet").unlink()
    assert [path.name for path in ship(sweep, tmp_path / "one")] == ["records.parquet", "evals.parquet", "spec.yaml"]


def test_the_command_says_what_it_wrote(sweep, tmp_path, capsys):
    main([str(sweep), str(tmp_path / "one")])
    assert [line.split(": ")[0].rsplit("/")[-1] for line in capsys.readouterr().out.splitlines()] == [
        "records.parquet", "evals.parquet", "measurements.parquet", "spec.yaml",
    ]  # fmt: skip


def test_a_folder_without_a_spec_is_refused(sweep, tmp_path):
    (sweep / "spec.yaml").unlink()
    with pytest.raises(FileNotFoundError, match=r"spec.yaml"):
        ship(sweep, tmp_path / "one")
