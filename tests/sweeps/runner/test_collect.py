"""Collecting run folders: the same tables whatever was collected before, and nothing bad stops it."""

import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scaling import read_evals, read_measurements, read_records
from scaling.schema import RECORDS
from sweeps.cli import app
from sweeps.runner.collect import collect

from ..folders import Kind, ids, write_sweep

NUM = 6


@pytest.fixture
def night(tmp_path):
    return write_sweep(tmp_path / "night", dict.fromkeys(ids(NUM), Kind()))


def tables(paths):
    return {name: pq.read_table(paths.table(name)).to_pandas() for name in ("records", "evals", "measurements")}


def assert_same(found, expected):
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table)


def rewrite(path, change):
    """As an older or a newer version, or a user, may have written the file."""
    pq.write_table(change(pq.ParquetFile(path).read()), path)


def added(name, values):
    return lambda table: table.append_column(name, pa.array(values))


def test_the_tables_are_those_of_the_run_folders(night):
    separate = read_records(night.folder, wide=False), read_evals(night.folder), read_measurements(night.folder)
    found = collect(night.folder)
    assert found.num_rows == {"records": NUM, "evals": 8 * NUM, "measurements": 12 * NUM}
    assert found.run_ids == set(ids(NUM))
    assert_same(tables(night), dict(zip(found.num_rows, separate, strict=True)))
    assert not list(night.folder.glob("*.tmp"))


def test_collecting_again_after_changes_is_as_collecting_from_nothing(night):
    collect(night.folder)
    shutil.rmtree(night.run(ids(NUM)[0]).folder)
    rewrite(night.run(ids(NUM)[1]).records, added("note", ["seen"]))
    write_sweep(night.folder, dict.fromkeys(ids(3, first=NUM), Kind(error=0.25)))
    collect(night.folder)
    again = tables(night)
    for name in again:
        night.table(name).unlink()
    collect(night.folder)
    assert_same(again, tables(night))
    assert len(again["records"]) == NUM + 2


def test_what_has_not_changed_is_not_opened_again(night, monkeypatch):
    from sweeps.runner import run_tables

    collect(night.folder)
    before = tables(night)
    opened = []
    read = run_tables._read
    monkeypatch.setattr(run_tables, "_read", lambda file, columns: opened.append(file) or read(file, columns))
    collect(night.folder)
    assert {file.parent for file in opened} == {night.folder}
    assert_same(tables(night), before)


def test_columns_of_some_runs_and_types_that_differ(night):
    first, second, third, fourth = (night.run(run_id).records for run_id in ids(4))
    rewrite(first, added("dose", [3]))
    rewrite(second, added("dose", [0.5]))
    rewrite(third, added("label", ["warm"]))
    rewrite(fourth, added("label", [7]))
    collect(night.folder)
    runs = read_records(night.table("records")).set_index("run_id")
    assert runs.loc[ids(2), "dose"].tolist() == [3.0, 0.5]
    assert runs.loc[ids(4)[2:], "label"].tolist() == ["warm", "7"]  # a text in one is a text in all
    assert runs.loc[ids(NUM)[4:], ["dose", "label"]].isna().all(axis=None)


def test_an_older_schema_is_filled_with_nulls_and_its_types_are_todays(night):
    def older(table):
        table = table.drop_columns(["diverged_step", "schema_version"])
        return table.set_column(table.column_names.index("step"), "step", table["step"].cast(pa.float64()))

    rewrite(night.run(ids(1)[0]).records, older)
    collect(night.folder)
    runs = pq.read_table(night.table("records"))
    assert runs.column_names == list(RECORDS)
    assert runs.schema.field("step").type == pa.int64()
    assert runs["schema_version"].null_count == 1


def test_damaged_files_are_named_and_skipped(night):
    for run_id, data in zip(ids(3), (b"", b"PAR1 and nothing", None), strict=True):
        file = night.run(run_id).records
        file.write_bytes(file.read_bytes()[:-50] if data is None else data)
    night.run(ids(NUM)[3]).evals.write_bytes(b"short")
    found = collect(night.folder)
    assert set(found.damaged) == {*(str(night.run(i).records) for i in ids(3)), str(night.run(ids(NUM)[3]).evals)}
    assert found.num_rows["records"] == NUM - 3
    output = CliRunner().invoke(app, ["collect", str(night.folder)]).output
    assert output.count("left out, damaged: ") == 4
    assert "4 damaged files left out" in output


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.set_column(t.column_names.index("upstream_error"), "upstream_error", pa.array([23.0])), "percent"),
        (lambda t: t.set_column(t.column_names.index("step"), "step", pa.array(["many"])), "many"),
        (lambda t: t.drop_columns(["weights"]), "weights"),
    ],
)
def test_a_file_with_bad_values_is_skipped_like_a_damaged_one(night, change, why):
    rewrite(night.run(ids(1)[0]).records, change)
    found = collect(night.folder)
    ((file, reason),) = found.damaged.items()
    assert file == str(night.run(ids(1)[0]).records)
    assert why in reason
    assert found.num_rows["records"] == NUM - 1


@pytest.mark.parametrize("collected_before", [False, True])
def test_a_copied_folder_is_said_and_each_model_stands_once(night, collected_before):
    if collected_before:
        collect(night.folder)
    run = night.run(ids(1)[0]).folder
    shutil.copytree(run, run.with_name("0 copy"))  # comes first by its name, and counts less
    shutil.copytree(run, run.with_name(f"{run.name} copy"))
    before = len(read_records(run.parent.parent / "runs" / ids(2)[1] / "records.parquet"))
    found = collect(night.folder)
    assert found.num_rows == {"records": NUM * before, "evals": 8 * NUM, "measurements": 12 * NUM}
    assert found.repeated == dict.fromkeys(
        [str(run.with_name("0 copy")), str(run.with_name(f"{run.name} copy"))], str(run)
    )
    output = CliRunner().invoke(app, ["collect", str(night.folder)]).output
    assert "2 folders left out" in output


def test_a_renamed_folder_counts(night):
    run = night.run(ids(1)[0]).folder
    run.rename(run.with_name("renamed"))
    for _ in range(2):
        assert collect(night.folder).num_rows["records"] == NUM


def test_runs_of_earlier_plans_are_kept_and_said(tmp_path):
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(5), Kind()), asked=ids(3))
    output = CliRunner().invoke(app, ["collect", str(paths.folder)]).output
    assert f"5 records in {paths.table('records')}" in output
    assert "2 runs of earlier plans are among them" in output


def test_a_table_of_which_nothing_is_left_goes(night):
    collect(night.folder)
    for run_id in ids(NUM):
        night.run(run_id).evals.unlink()
    assert collect(night.folder).num_rows["evals"] == 0
    assert not night.table("evals").exists()


def test_only_damaged_records_are_an_error_and_leave_the_table(night):
    collect(night.folder)
    before = night.table("records").read_bytes()
    for run_id in ids(NUM):
        night.run(run_id).records.write_bytes(b"")
    with pytest.raises(ValueError, match=f"no records in .* can be read: {NUM} damaged files"):
        collect(night.folder)
    assert night.table("records").read_bytes() == before


def test_a_write_that_fails_leaves_the_old_table(night, monkeypatch):
    collect(night.folder)
    before = night.table("records").read_bytes()
    write_sweep(night.folder, dict.fromkeys(ids(1, first=NUM), Kind()))
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        collect(night.folder)
    assert night.table("records").read_bytes() == before
    assert not list(night.folder.glob("*.tmp"))
