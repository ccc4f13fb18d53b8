"""A selection is the same, streamed from parquet and taken of all rows in memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import read_records, write_records
from scaling.reading import streaming
from scaling.selection.rules import select

LEVELS = st.integers(0, 6)
PARTS = st.lists(st.lists(st.tuples(LEVELS, LEVELS), max_size=12), min_size=1, max_size=5)


def records(x, y, **columns):
    ids = [f"r{i}" for i in range(len(x))]
    frame = pd.DataFrame({"run_id": ids, "step": 100, "weights": "last", "compute_flops": x, "upstream_error": y})
    return frame.assign(**columns)


def runs(n, seed=0, **columns):
    rng = np.random.default_rng(seed)
    x = np.floor(10 ** rng.uniform(3, 6, n))
    return records(x, np.round(np.minimum(1, x**-0.1 * np.exp(rng.exponential(0.3, n))), 3), **columns)


def write_parts(frame, folder, num_parts=3, **options):
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), num_parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{i}.parquet", **options)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(streaming, "_BATCH_ROWS", 7)
    monkeypatch.setattr(streaming, "_WIDE_BATCH_ROWS", 5)


# The same rows ------------------------------------------------------------------------------------------------


@given(PARTS, st.sampled_from(["pareto", "convex_hull"]))
def test_selections_merge(parts, selection):
    """The selection of all points is that of the parts' selections put together, the first of equal points included."""
    numbered, start = [], 0
    for part in parts:
        x, y = np.array(part, dtype=float).reshape(-1, 2).T
        numbered.append((x, y, start + np.arange(x.size)))
        start += x.size
    x, y, index = (np.concatenate(column) for column in zip(*numbered, strict=True))
    kept = [select(px, py, selection) for px, py, _ in numbered]
    mx, my, mi = (np.concatenate([p[c][k] for p, k in zip(numbered, kept, strict=True)]) for c in range(3))
    assert mi[select(mx, my, selection)].tolist() == index[select(x, y, selection)].tolist()


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
@pytest.mark.parametrize("row_group_size", [None, 10])
def test_streamed_and_in_memory_are_the_same_rows(tmp_path, selection, row_group_size):
    frame = runs(200, model_family="vit", num_params=np.arange(200) + 2**62)
    write_parts(frame, tmp_path / "parts", row_group_size=row_group_size)
    streamed = read_records(tmp_path / "parts", selection=selection)
    expected = frame.iloc[select(frame["compute_flops"], frame["upstream_error"], selection)]
    pd.testing.assert_frame_equal(streamed, expected.reset_index(drop=True))
    pd.testing.assert_frame_equal(streamed, read_records(frame, selection=selection))
    frame.to_csv(tmp_path / "runs.csv", index=False)
    assert read_records(tmp_path / "runs.csv", selection=selection)["run_id"].tolist() == streamed["run_id"].tolist()
    assert streamed.attrs == {"num_rows": 200, "num_skipped": 0}


@pytest.mark.usefixtures("small_batches")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.tuples(LEVELS, LEVELS, st.sampled_from(["last", "ema"]), st.booleans()), min_size=1, max_size=40))
def test_ties_weights_and_conditions_are_as_in_memory(tmp_path_factory, rows):
    x, y, weights, cooled = zip(*rows, strict=True)
    frame = records(np.array(x), np.array(y) / 6, weights=weights, cooled_down=cooled)
    folder = tmp_path_factory.mktemp("runs")
    write_parts(frame, folder)
    for choice in ({"weights": None}, {"weights": weights[0], "where": "cooled_down and compute_flops > 1"}):
        streamed = read_records(folder, selection="pareto", **choice)
        in_memory = read_records(frame, selection="pareto", **choice)
        assert streamed["run_id"].tolist() == in_memory["run_id"].tolist()
        assert streamed.attrs == in_memory.attrs


def test_where_without_a_selection_and_of_a_flag_with_nulls():
    frame = runs(4, cooled_down=[True, None, False, True], depth=[2, 2, 2, 3])
    assert read_records(frame, where="cooled_down and depth < 3")["run_id"].tolist() == ["r0"]
    assert read_records(frame, where="not cooled_down")["run_id"].tolist() == ["r2"]


@pytest.mark.usefixtures("small_batches")
def test_runs_without_a_result_are_skipped_and_counted(tmp_path):
    frame = runs(60)
    status = np.where(np.arange(60) % 10 == 0, "diverged", "ok")
    frame = frame.assign(status=status, upstream_error=frame["upstream_error"].where(status == "ok"))
    write_parts(frame, tmp_path)
    streamed = read_records(tmp_path, selection="pareto")
    assert streamed.attrs == {"num_rows": 60, "num_skipped": 6}
    assert set(streamed["status"]) == {"ok"}
    assert streamed.attrs == read_records(frame, selection="pareto").attrs


def test_other_columns_and_columns_of_some_files_only(tmp_path):
    runs(20).to_parquet(tmp_path / "a.parquet")
    runs(20, seed=1, num_params=np.arange(20), note="b").to_parquet(tmp_path / "b.parquet")
    best = read_records(tmp_path, selection="pareto", x="num_params")
    assert best.attrs == {"num_rows": 40, "num_skipped": 20}
    assert set(best["note"]) == {"b"}
    assert set(read_records(tmp_path, selection="pareto", where="num_params >= 0")["note"]) == {"b"}


def test_task_columns_of_the_selected_rows(tmp_path):
    write_records(records([1.0, 2.0, 3.0], [0.5, 0.6, 0.4]), tmp_path / "records.parquet")
    evals = pd.DataFrame({"run_id": ["r0", "r1", "r2"], "step": 100, "weights": "last", "task": "pets",
                          "method": "finetune", "error": [0.3, 0.2, 0.1]})  # fmt: skip
    write_records(evals, tmp_path / "evals.parquet", "evals")
    best = read_records(tmp_path, selection="pareto")
    assert best["pets_finetune_error"].tolist() == [0.3, 0.1]
    assert best.attrs == {"num_rows": 3, "num_skipped": 0}


def test_no_row_that_can_be_selected(tmp_path):
    frame = runs(3, status="failed", upstream_error=np.nan)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path, frame):
        best = read_records(source, selection="pareto")
        assert best.empty
        assert best.attrs == {"num_rows": 3, "num_skipped": 3}


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "upstream_error",
            23.0,
            r"upstream_error must lie in \[0, 1\] \(is this percent\? divide by 100\); row 12: 23.0",
        ),
        ("upstream_error", np.inf, "upstream_error must be finite; row 12: inf"),
        ("upstream_error", np.nan, "upstream_error must not be null; row 12: nan"),
        ("compute_flops", -1.0, "compute_flops must not be negative; row 12: -1.0"),
        ("weights", None, "weights must not be null; row 12"),
    ],
)
def test_a_bad_value_is_named_with_its_file_and_row(tmp_path, column, value, message):
    frame = runs(60)
    frame.loc[32, column] = value
    write_parts(frame, tmp_path)
    with pytest.raises(ValueError, match=rf"bad records in .*part-1\.parquet: {message}"):
        read_records(tmp_path, selection="pareto")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"selection": "hull"}, r"selection must be one of \('all', 'pareto', 'convex_hull'\), got 'hull'"),
        ({"x": "flops"}, "x and y must be columns of the records, got 'flops'"),
        ({"y": "run_id"}, "x and y must be columns of numbers, got 'run_id', which is a text"),
        ({"weights": "lst"}, r"weights must be one of \['last'\] or None, got 'lst'"),
        ({"where": "colour > 2"}, "where must be true or false of each row, got 'colour > 2': name 'colour'"),
        ({"where": "step +"}, r"where must be true or false of each row, got 'step \+'"),
        ({"where": "step == step.max()"}, r"of each row by itself, got 'step == step.max\(\)' with max"),
        ({"where": "index > 3"}, "of each row by itself, got 'index > 3' with index"),
        ({"where": "step + 1"}, r"where must be true or false of each row, got 'step \+ 1'"),
    ],
)
def test_a_bad_choice_is_named(tmp_path, choice, message):
    write_parts(runs(20), tmp_path)
    for source in (tmp_path, runs(20)):
        with pytest.raises(ValueError, match=message):
            read_records(source, **({"selection": "pareto"} | choice))


def test_a_missing_column_is_named_with_its_file(tmp_path):
    runs(5).to_parquet(tmp_path / "a.parquet")
    runs(5).drop(columns="step").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"bad records in .*b\.parquet: column step is missing"):
        read_records(tmp_path, selection="pareto")


def test_a_key_that_occurs_twice_in_the_selection_is_named(tmp_path):
    for name, x, y in (("a", 1.0, 0.5), ("b", 2.0, 0.4)):
        records([x], [y]).to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match="run_id, step, weights must not repeat; row 1: r0 / 100 / last"):
        read_records(tmp_path, selection="pareto")


def damage(path, column, row_group):
    """Overwrite the pages of a column: the file opens, and the column cannot be read."""
    metadata = pq.ParquetFile(path).metadata
    chunk = metadata.row_group(row_group).column(metadata.schema.names.index(column))
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)


@pytest.mark.parametrize(("column", "row_group"), [("upstream_error", 1), ("run_id", 0), (None, None)])
def test_a_damaged_file_is_skipped_whole(tmp_path, column, row_group):
    """Damaged at its end, where a part of it has been added already, or in a column that is read last, or cut off."""
    frame = runs(60)
    frame.loc[32, "upstream_error"] = 0.0  # the best of all lies in the file that is damaged
    write_parts(frame, tmp_path, row_group_size=15)
    path = tmp_path / "part-1.parquet"
    if column is None:
        path.write_bytes(path.read_bytes()[:-30])
    else:
        damage(path, column, row_group)
    with pytest.warns(UserWarning, match=r"skipped damaged parquet file .*part-1\.parquet"):
        streamed = read_records(tmp_path, selection="pareto")
    sound = read_records(frame.drop(index=range(20, 40)), selection="pareto")
    assert streamed["run_id"].tolist() == sound["run_id"].tolist()
    assert streamed.attrs == sound.attrs == {"num_rows": 40, "num_skipped": 0}


def test_only_damaged_files_are_an_error(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"x")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(ValueError, match="none of 1 parquet files"):
        read_records(tmp_path, selection="pareto")


# Memory -------------------------------------------------------------------------------------------------------

_PEAK = """
from pathlib import Path
from scaling import read_records

def peak_kb():  # of this program: getrusage also counts the process that started it
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

read_records({few!r}, selection={selection!r})
before = peak_kb()
read_records({many!r}, selection={selection!r}, wide=False)
print(peak_kb() - before)
"""


def cited(**more):
    """Rows of a paper that prints no upstream error, and one of a sweep."""
    errors = {"upstream_error": [None, None, 0.3], "imagenet_error": [0.4, 0.2, 0.3]}
    rows = {"run_id": list("abc"), "step": 1, "weights": "last", "source": ["smith2021", "smith2021", "sweep:b"]}
    return pd.DataFrame(rows | errors | {"compute_flops": [1.0, 2.0, 3.0]} | more)


@pytest.mark.parametrize(("y", "chosen"), [("imagenet_error", ["a", "b"]), ("upstream_error", ["c"])])
def test_a_papers_rows_may_lack_the_upstream_error(tmp_path, y, chosen):
    cited().to_parquet(tmp_path / "a.parquet")
    for source in (cited(), tmp_path / "a.parquet"):
        assert read_records(source, selection="pareto", y=y)["run_id"].tolist() == chosen
    cited(source="sweep:b").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="upstream_error must not be null"):
        read_records(tmp_path / "b.parquet", selection="pareto")


def test_x_may_be_the_index_that_pandas_wrote(tmp_path):
    cited().set_index("compute_flops").to_parquet(tmp_path / "a.parquet")
    found = read_records(tmp_path / "a.parquet", selection="pareto", y="imagenet_error")
    assert found["compute_flops"].tolist() == [1.0, 2.0]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of the memory is read from /proc")
def test_memory_is_that_of_a_batch_not_of_the_rows(tmp_path):
    """Rows in one row group of one file, as bad as it gets, against reading them whole."""
    n = 1_500_000
    rng = np.random.default_rng(0)
    columns = {"run_id": pa.array(np.arange(n)).cast(pa.string()), "step": np.arange(n), "weights": np.full(n, "last")}
    columns |= {"compute_flops": 10 ** rng.uniform(15, 24, n), "upstream_error": rng.random(n)}
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    runs(20).to_parquet(tmp_path / "few" / "a.parquet")
    pq.write_table(pa.table(columns), tmp_path / "many" / "a.parquet", row_group_size=n)

    def peak_mb(selection):
        code = _PEAK.format(few=str(tmp_path / "few"), many=str(tmp_path / "many"), selection=selection)
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        return int(out) / 1024

    streamed, whole = peak_mb("pareto"), peak_mb("all")
    assert streamed < whole / 3, (streamed, whole)  # measured: 65 and 380 MB
