import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scaling import read_evals, read_measurements, read_records, validate_records, write_records, writing
from scaling.schema import RECORDS, TABLES, arrow_schema


def records(n=3, **changes):
    frame = pd.DataFrame(
        {
            "run_id": [f"r{i}" for i in range(n)], "step": 100, "weights": "last", "model_family": "vit",
            "upstream_error": np.linspace(0.5, 0.2, n), "compute_flops": 1e18, "num_params": 2**62 + 1, "status": "ok",
            "cooled_down": True,
        }
    )  # fmt: skip
    return frame.assign(**changes)


def evals(**changes):
    row = {
        "run_id": "r0", "step": 100, "weights": "last", "task": "pets", "method": "fewshot", "probe": "whitened",
        "num_shots": 10, "layer": "pre_logits", "draw": 0, "error": 0.4,
    }  # fmt: skip
    return row | changes


def test_what_is_written_is_read(tmp_path):
    write_records(records(), tmp_path / "records.parquet")
    back = read_records(tmp_path / "records.parquet")
    for name in records().columns:
        assert back[name].tolist() == records()[name].tolist(), name
    assert back["schema_version"].tolist() == [1, 1, 1]
    assert set(RECORDS) <= set(back.columns)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_writes_its_whole_schema(tmp_path, table):
    rows = {"records": records(1), "evals": pd.DataFrame([evals()])}.get(
        table, pd.DataFrame([{"run_id": "r", "step": 1, "weights": "last", "name": "norm", "value": -1.5}])
    )
    write_records(rows, tmp_path / f"{table}.parquet", table)
    assert pq.read_schema(tmp_path / f"{table}.parquet").equals(arrow_schema(table))


def test_extra_columns_are_kept_also_where_only_one_run_has_them(tmp_path):
    for i, extra in enumerate([{}, {"my_note": "x"}]):
        (tmp_path / "runs" / str(i)).mkdir(parents=True)
        write_records(records(1, run_id=f"r{i}", **extra), tmp_path / "runs" / str(i) / "records.parquet")
    assert read_records(tmp_path)["my_note"].isna().tolist() == [True, False]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "records.parquet"
    write_records(records(1), path)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_records(records(3), path)
    monkeypatch.undo()
    assert len(read_records(path)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["records.parquet"]


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"not parquet at all", None])
def test_a_damaged_file_is_named_and_the_rest_is_read(tmp_path, damage):
    for i in range(3):
        (tmp_path / "runs" / str(i)).mkdir(parents=True)
        write_records(records(1, run_id=f"r{i}"), tmp_path / "runs" / str(i) / "records.parquet")
    path = tmp_path / "runs" / "1" / "records.parquet"
    path.write_bytes(path.read_bytes()[:-30] if damage is None else damage)
    with pytest.warns(UserWarning, match=r"skipped damaged parquet file .*runs/1/records.parquet"):
        assert read_records(tmp_path)["run_id"].tolist() == ["r0", "r2"]


def test_only_damaged_files_are_an_error(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"x")
    for path in (tmp_path, tmp_path / "a.parquet"):
        with pytest.raises(ValueError, match=r"a\.parquet cannot be read as parquet: .*footer"):
            read_records(path)
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"none of 2 parquet files under .* the first, .*a\.parquet: .*footer"):
        read_records(tmp_path)


def test_a_csv_without_a_name_of_one_and_a_pipe_are_told(tmp_path):
    (tmp_path / "models").write_text("run_id,upstream_error\na,0.5\n")
    with pytest.raises(ValueError, match=r"cannot be read as parquet: .*; a csv file is named \.csv, \.tsv or \.txt"):
        read_records(tmp_path / "models")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is neither a file nor a folder"):
        read_records(tmp_path / "pipe.csv")


def test_what_is_no_file_in_a_folder_is_told_and_the_rest_is_read(tmp_path):
    for name in "abc":
        (tmp_path / "runs" / name).mkdir(parents=True)
    write_records(records(2), tmp_path / "runs" / "a" / "records.parquet")
    os.mkfifo(tmp_path / "runs" / "b" / "records.parquet")
    (tmp_path / "runs" / "c" / "records.parquet").mkdir()
    with pytest.warns(UserWarning, match="it is a folder, a pipe or a device, and no file") as told:
        assert len(read_records(tmp_path)) == 2
    assert len(told) == 2
    with pytest.warns(UserWarning, match="it is a folder, a pipe or a device, and no file"):
        assert len(read_records(tmp_path, selection="pareto")) == 1


def test_a_folder_that_is_named_like_a_file_is_looked_into(tmp_path):
    (tmp_path / "table.parquet").mkdir()
    write_records(records(2), tmp_path / "table.parquet" / "part-0.parquet")
    assert len(read_records(tmp_path)) == 2


@pytest.mark.parametrize("nothing", ["", " "])
def test_an_empty_path_is_not_the_current_folder(tmp_path, nothing, monkeypatch):
    write_records(records(2), tmp_path / "records.parquet")
    monkeypatch.chdir(tmp_path)
    for read in (read_records, read_evals, read_measurements):
        with pytest.raises(ValueError, match="is a variable not set"):
            read(nothing)


def test_wide_is_true_or_false(tmp_path):
    write_records(records(2), tmp_path / "records.parquet")
    for wrong in (pd.NA, "no", 0):
        with pytest.raises(ValueError, match="wide must be True or False, got"):
            read_records(tmp_path, wide=wrong)


def test_records_of_a_newer_version_are_refused(tmp_path):
    path = tmp_path / "records.parquet"
    records(2).assign(schema_version=[1, 2]).to_parquet(path)
    with pytest.raises(ValueError, match=r"schema_version must be at most 1: a newer version .*; row 1: 2"):
        read_records(path)


def test_wide_view_has_the_mean_over_draws_of_the_probe_asked_for(tmp_path):
    write_records(records(2), tmp_path / "records.parquet")
    rows = [
        evals(draw=0, error=0.4),
        evals(draw=1, error=0.6),
        evals(probe="plain", error=0.9),
        evals(layer="3", error=0.8),
        evals(num_shots=1, error=0.7),
        evals(task="cars", method="finetune", error=0.1),
        evals(task="cars", method="zero_shot", error=0.7),
        evals(weights="ema", error=0.0),
    ]
    write_records(pd.DataFrame(rows), tmp_path / "evals.parquet", "evals")
    runs = read_records(tmp_path)
    assert runs["pets_10shot_error"].tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert runs["pets_1shot_error"][0] == 0.7
    assert read_records(tmp_path / "records.parquet").equals(runs)
    assert runs["cars_finetune_error"][0] == 0.1
    assert runs["cars_zero_shot_error"][0] == 0.7
    assert read_records(tmp_path, probe="plain")["pets_10shot_error"][0] == 0.9
    assert read_records(tmp_path, layer="3")["pets_10shot_error"][0] == 0.8
    assert len(read_evals(tmp_path)) == len(rows)
    assert not any("shot" in name for name in read_records(tmp_path, wide=False).columns)


def test_weights_are_chosen():
    both = pd.concat([records(2), records(2, weights="ema")])
    assert len(read_records(both)) == 2
    assert len(read_records(both, weights="ema")) == 2
    assert len(read_records(both, weights=None)) == 4


def test_csv_and_frame_and_parquet_folder_agree(tmp_path):
    frame = records().drop(columns=["num_params"])
    frame.to_csv(tmp_path / "runs.csv", index=False)
    folder = tmp_path / "other"
    folder.mkdir()
    frame.iloc[:1].to_parquet(folder / "part-0.parquet")
    frame.iloc[1:].to_parquet(folder / "part-1.parquet")
    for source in (frame, tmp_path / "runs.csv", folder):
        assert read_records(source)["upstream_error"].tolist() == frame["upstream_error"].tolist()


def test_measurements_of_a_sweep_without_any_are_empty(tmp_path):
    write_records(records(), tmp_path / "records.parquet")
    assert len(read_measurements(tmp_path)) == 0


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"upstream_error": [0.5, 23.0, 19.0]},
            r"upstream_error must lie in \[0, 1\] \(is this percent\? .*rows 1: 23.0, 2: 19.0",
        ),
        ({"upstream_error": [0.5, np.nan, 0.2]}, "upstream_error must not be null; row 1: nan"),
        ({"upstream_error": [0.5, np.inf, 0.2]}, "upstream_error must be finite; row 1: inf"),
        ({"upstream_error": ["0.5", "23 %", "0.1"]}, "upstream_error must be a number; row 1: 23 %"),
        ({"compute_flops": -1.0}, "compute_flops must not be negative; rows 0: -1.0"),
        ({"num_params": 0.5}, "num_params must be whole"),
        ({"run_id": "same"}, "run_id, step, weights must not repeat; rows 1: same / 100 / last"),
        ({"upstream_top5_error": [0.1, 0.2, 5.0]}, "upstream_top5_error must lie"),
        ({"run_id": ["a", None, "c"]}, "run_id must not be null; row 1"),
        ({"cooled_down": ["yes", "no", "False"]}, "cooled_down must be true or false; rows 0: yes"),
    ],
)
def test_bad_rows_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        validate_records(records(**changes))


def test_a_model_that_was_only_evaluated_needs_no_upstream_error():
    """It has step 0 and status "ok"; a trained one, or one of unknown status, needs it."""
    frame = records(upstream_error=[0.5, np.nan, 0.2], step=[100, 0, 100], status="ok")
    validate_records(frame)
    for changes in ({"step": 100}, {"status": None}):
        with pytest.raises(ValueError, match="upstream_error must not be null; row 1: nan"):
            validate_records(frame.assign(**changes))


@pytest.mark.parametrize("column", ["run_id", "step", "weights", "upstream_error"])
def test_a_missing_column_is_named(column, tmp_path):
    records().drop(columns=[column]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=f"column {column} is missing; there is .*columns={{'upstream_error': "):
        read_records(tmp_path / "a.parquet")


def test_a_missing_column_of_a_frame_is_named():
    for missing in ("run_id", "upstream_error"):
        with pytest.raises(ValueError, match=f"column {missing} is missing; there is .*columns={{'upstream_error': "):
            read_records(records().drop(columns=[missing]))
    with pytest.raises(ValueError, match=r"column upstream_error is missing; there is model, top1\. .*--column 'up"):
        read_records(pd.DataFrame({"model": ["a"], "top1": [80.0]}))


@pytest.mark.parametrize(("name", "reader"), [("a.xlsx", "read_excel"), ("b.JSON", "read_json")])
def test_a_file_of_another_form_is_told(tmp_path, name, reader):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(ValueError, match=rf"neither parquet nor csv: save it as csv, or .*pandas\.{reader}"):
        read_records(tmp_path / name)


@pytest.mark.parametrize("source", [[{"run_id": "a"}], {"run_id": ["a"]}, None])
def test_a_source_of_another_type_is_told(source):
    with pytest.raises(ValueError, match="read from a path or a pandas DataFrame, got a "):
        read_records(source)


def test_a_sweep_that_has_only_begun_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"it holds no runs/\*/records.parquet and no parquet file"):
        read_records(tmp_path)
    (tmp_path / "plan.jsonl").write_text("{}")
    with pytest.raises(ValueError, match=r"no records in .* yet: a sweep of which no run has ended"):
        read_records(tmp_path)


def test_many_faults_are_named_at_once_and_counted():
    with pytest.raises(ValueError, match="column step is missing") as error:
        validate_records(records(30, upstream_error=50.0).drop(columns=["step"]))
    assert "and 20 more" in str(error.value)


def test_a_run_without_a_result_needs_no_error():
    validate_records(records(status=["ok", "diverged", "failed"], upstream_error=[0.5, None, np.nan]))


def test_nothing_bad_is_written(tmp_path):
    with pytest.raises(ValueError, match="percent"):
        write_records(records(upstream_error=50.0), tmp_path / "records.parquet")
    assert list(tmp_path.iterdir()) == []


def test_no_such_place_and_an_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no records at"):
        read_records(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no records in"):
        read_records(tmp_path)


def test_whole_numbers_stay_whole(tmp_path):
    """2^62 + 1 parameters: a float would round them."""
    write_records(records(1), tmp_path / "records.parquet")
    assert read_records(tmp_path / "records.parquet")["num_params"][0] == 2**62 + 1
    assert pq.read_schema(tmp_path / "records.parquet").field("num_params").type == pa.int64()


def test_values_of_other_types_are_converted_one_by_one(tmp_path):
    """The same as columns that have their type already."""
    frame = records(3, cooled_down=[True, None, False], depth=[2.0, np.nan, 3.0], width=pd.array([1, None, 3], "Int64"))
    odd = frame.astype(object).assign(
        run_id=["r0", "r1", "r2"], seed=["1", None, 2**53], recipe=[1, None, "a"], lr="0.5"
    )
    plain = frame.assign(seed=pd.array([1, None, 2**53], "Int64"), recipe=["1", None, "a"], lr=0.5)
    for name, rows in (("odd", odd), ("plain", plain)):
        write_records(rows, tmp_path / f"{name}.parquet")
    assert pq.read_table(tmp_path / "odd.parquet").equals(pq.read_table(tmp_path / "plain.parquet"))
    back = pq.read_table(tmp_path / "plain.parquet").to_pydict()
    assert (back["cooled_down"], back["depth"]) == ([True, None, False], [2, None, 3])
    assert (back["seed"], back["recipe"], back["lr"]) == ([1, None, 2**53], ["1", None, "a"], [0.5] * 3)


def test_a_count_too_large_for_a_float_stays_whole(tmp_path):
    write_records(records(2, num_params=[2.0**60, np.nan]), tmp_path / "records.parquet")
    assert pq.read_table(tmp_path / "records.parquet")["num_params"].to_pylist() == [2**60, None]


def test_only_some_of_many_repeated_keys_are_spelled_out():
    with pytest.raises(ValueError, match=r"must not repeat; rows 1: same / 100 / last, .* and 19 more$"):
        validate_records(records(30, run_id="same"))


def test_evals_are_checked_when_they_are_read(tmp_path):
    write_records(records(1), tmp_path / "records.parquet")
    pd.DataFrame([evals(error=40.0)]).to_parquet(tmp_path / "evals.parquet")
    with pytest.raises(ValueError, match=r"bad evals: error must lie in \[0, 1\] \(is this percent"):
        read_records(tmp_path)


def test_weights_that_no_row_has():
    with pytest.raises(ValueError, match=r"weights must be one of \['last'\] or None, got 'lst'"):
        read_records(records(), weights="lst")


def test_a_csv_that_is_none_is_named(tmp_path):
    for content in (b"", b"\xff\xfe\x00"):
        (tmp_path / "runs.csv").write_bytes(content)
        with pytest.raises(ValueError, match=r"runs.csv cannot be read as csv"):
            read_records(tmp_path / "runs.csv")


def test_a_run_id_of_digits_stays_a_text(tmp_path):
    (tmp_path / "runs.csv").write_text("run_id,step,weights,upstream_error\n007,1,last,0.5\n07,1,last,0.4\n")
    assert read_records(tmp_path / "runs.csv")["run_id"].tolist() == ["007", "07"]


@pytest.mark.parametrize("dtype", [object, "float64", "float32", "Int64", "boolean", "str", None])
@pytest.mark.parametrize("value", [None, 0, 1, 2, 3.0, 2**60, np.nan, np.float32(0.1), np.int64(7), True, "x", "1"])
def test_few_rows_are_written_as_many_are(monkeypatch, value, dtype):
    names = ["lr", "seed", "train_error", "head_bias", "memorised", "recipe"]  # of every kind
    column = pd.Series([value, None], dtype=object)
    try:
        column = column.infer_objects() if dtype is None else column.astype(dtype)
    except (TypeError, ValueError):  # such a value has no such type
        return
    for name in names:
        frame = pd.DataFrame({"run_id": ["a", "b"], name: column})
        with monkeypatch.context() as patch:
            patch.setattr(writing, "_FEW_ROWS", 0)
            try:
                expected = writing._to_arrow(frame, "records")
            except (TypeError, ValueError):  # what no check lets through: a text for a number
                continue
        assert writing._to_arrow(frame, "records").equals(expected), name


# Rows as dictionaries -----------------------------------------------------------------------------------------

ROW = {"run_id": "a", "step": 3, "weights": "last", "status": "ok", "upstream_error": 0.25}


@pytest.mark.parametrize(
    "rows",
    [
        [ROW | {"lr": 1, "batch_size": 8, "ema_decay": None}],
        [ROW, ROW | {"weights": "ema", "status": "diverged", "upstream_error": None}],
        [ROW | {"upstream_error": float("nan"), "status": "failed"}],
        [ROW | {"step": 0, "upstream_error": None}],
        [ROW | {"my_column": "kept", "batch_size": 8.0, "lr": np.float64(0.1)}],
        [ROW | {"compute_flops": 3 * 10**18, "num_params": 2**62 + 1}],
        [ROW | {"schema_version": None, "failure": "größer als 3 µm"}],
    ],
)
def test_dictionaries_are_written_as_their_frame_is(tmp_path, rows):
    write_records(rows, tmp_path / "rows.parquet")
    write_records(pd.DataFrame(rows), tmp_path / "frame.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").equals(pq.read_table(tmp_path / "frame.parquet"))


@pytest.mark.parametrize(
    "wrong",
    [
        [ROW | {"upstream_error": 23.0}],
        [ROW | {"upstream_error": None}],
        [ROW | {"step": -1}],
        [ROW | {"step": None}],
        [ROW | {"step": True, "lr": float("inf")}],
        [ROW | {"batch_size": 1.5}],
        [ROW | {"cooled_down": "perhaps"}],
        [ROW | {"wall_seconds": float("-inf")}],
        [ROW, ROW],
        [{name: value for name, value in ROW.items() if name != "weights"}],
        [{"run_id": "a", "step": 3, "weights": "last", "status": "failed"}],
        [],
    ],
)
def test_wrong_dictionaries_are_refused_as_their_frame_is(tmp_path, wrong):
    with pytest.raises(ValueError, match="bad records") as of_frame:
        write_records(pd.DataFrame(wrong), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="bad records") as of_rows:
        write_records(wrong, tmp_path / "x.parquet")
    assert str(of_rows.value) == str(of_frame.value)
    assert not list(tmp_path.iterdir())


def test_decimals_of_a_data_base_are_floats(tmp_path):
    row = {"run_id": "a", "step": 1, "weights": "last", "upstream_error": Decimal("0.25")}
    pd.DataFrame([row]).to_parquet(tmp_path / "records.parquet")
    assert read_records(tmp_path / "records.parquet")["upstream_error"].dtype == np.float64


WRONG = (5, 2.5, b"x", [], [1, 5], {"a": 1}, {1, 2}, np.ones((2, 2)), pd.DataFrame(), object(), pd.NaT)


@pytest.mark.parametrize("option", ["columns", "probe", "layer", "weights", "where", "x", "y", "selection", "decimal"])
def test_an_option_of_a_wrong_type_is_told_in_words(option):
    for value in WRONG:
        with pytest.raises(ValueError, match=f"{option} must be"):
            read_records(records(), **{"selection": "pareto"} | {option: value})


@pytest.mark.parametrize("read", [read_records, read_evals, read_measurements])
def test_a_source_of_a_wrong_type_is_told_in_words(read):
    for value in WRONG:
        if not isinstance(value, pd.DataFrame):
            with pytest.raises(ValueError, match="read from a path or a pandas DataFrame"):
                read(value)


def test_a_probe_that_no_eval_is_of_is_told(tmp_path):
    write_records(records(2), tmp_path / "records.parquet")
    write_records(pd.DataFrame([evals(draw=0, error=0.4)]), tmp_path / "evals.parquet", table="evals")
    with pytest.warns(UserWarning, match=r"no few-shot evals are of plian at pre_logits: there is \w+ at pre_logits"):
        found = read_records(tmp_path, probe="plian")
    assert not [name for name in found if "shot" in name]
