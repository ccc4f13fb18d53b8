import gzip
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import read_records
from scaling.reading.csv_tables import read_csv_table

TABLE = "model;params;top1\nvit;1.013,01;76,5%\nresnet;25,6;23,4 %\n"


def read(folder, text, encoding="utf-8", name="runs.csv", newline=None, **options):
    path = folder / name
    opened = gzip.open if name.endswith(".gz") else open
    with opened(path, "wt", encoding=encoding, newline=newline) as file:
        file.write(text)
    return read_csv_table(path, **options)[0]


def values(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("list")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("name", ["runs.csv", "runs.tsv", "runs.txt", "runs.csv.gz"])
def test_separator_and_encoding_are_found_out(tmp_path, separator, encoding, name):
    text = "Modèle|a b|note\nViT-é|0.5|x\nResNet|1.25|y\n".replace("|", separator)
    assert values(read(tmp_path, text, encoding, name)) == {
        "Modèle": ["ViT-é", "ResNet"], "a b": [0.5, 1.25], "note": ["x", "y"],
    }  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_quoted_cells_hold_separators_quotes_and_line_breaks(tmp_path, newline):
    text = 'a,b\n"x, ""y""","1\n2"\nz,3\n'
    frame = read(tmp_path, text, newline=newline)
    assert frame["a"].tolist() == ['x, "y"', "z"]
    assert frame["b"].str.split().tolist() == [["1", "2"], ["3"]]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,013.01", "305.08"], [1013.01, 305.08]),
        (["1.013,01", "305,08"], [1013.01, 305.08]),
        (["1 013,01", "305,08"], [1013.01, 305.08]),
        (["1\u202f013,01", "305\u00a0000"], [1013.01, 305000]),
        (["1'013.01", "2’000"], [1013.01, 2000]),
        (["1.234.567", "86.415"], [1234567, 86415]),
        (["1,234,567", "86,415"], [1234567, 86415]),
        (["23.4%", "5 %"], [0.234, 0.05]),
        (["23,4 %", "1.000 %"], [0.234, 10]),
        (["+2", "−5", "-1.5"], [2, -5, -1.5]),
        (["1,5e-3", "2E+9"], [1.5e-3, 2e9]),
        ([".5", "5."], [0.5, 5]),
        (["1,5", "-", "N/A", "null", "", "NaN", " - "], [1.5, *[math.nan] * 6]),
        (["1.234", "0.5"], [1.234, 0.5]),
        (["1,234", "0.5"], [1234, 0.5]),
        (["1,234", "0,5"], [1.234, 0.5]),
        (["9007199254740993", "1"], [9007199254740993, 1]),
    ],
)
def test_the_forms_of_numbers(tmp_path, cells, numbers):
    found = read(tmp_path, "a\tb\n" + "".join(f"{cell}\tx\n" for cell in cells))["a"]
    # 23.4 / 100 is the next double to 0.234; every other number is exact.
    assert found.tolist() == pytest.approx(numbers, rel=2e-16, nan_ok=True)
    assert found.tolist()[0] == numbers[0] or "%" in cells[0]


def test_names_that_would_become_one_number_stay_texts(tmp_path):
    assert read(tmp_path, "a\tb\n0012\tx\n12\ty\n")["a"].tolist() == ["0012", "12"]
    assert read(tmp_path, "a\tb\n0012\tx\n0013\ty\n")["a"].tolist() == [12, 13]
    assert read(tmp_path, "a\tb\n0x10\tx\n12\ty\n")["a"].tolist() == ["0x10", "12"]


def test_another_column_says_what_the_decimal_separator_is(tmp_path):
    text = 'params,error\n"{}",{}\n'
    assert read(tmp_path, text.format("1,234", "0.5"))["params"][0] == 1234
    assert read(tmp_path, "params;error\n1.234;0,5\n")["params"][0] == 1234
    assert read(tmp_path, "params;error\n1,234;0,5\n")["params"][0] == 1.234


def test_where_no_cell_says_it_the_table_is_refused(tmp_path):
    text = 'model,params\na,"1,234"\n'
    with pytest.raises(
        ValueError, match=r"runs.csv: column 'params' can be read two ways: '1,234' .*decimal="
    ) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
    assert read(tmp_path, text, decimal=".")["params"][0] == 1234
    assert read(tmp_path, text, decimal=",")["params"][0] == 1.234
    with pytest.raises(ValueError, match=r"'1\.234'"):
        read(tmp_path, "model;params\na;1.234\n")
    # Programs write a point with commas between cells.
    assert read(tmp_path, "model,loss\na,1.234\n")["loss"][0] == 1.234


def test_columns_that_contradict_each_other_are_refused(tmp_path):
    text = "a;b;c\n0,5;0.5;1,234\n"
    with pytest.raises(ValueError, match=r"columns 'a' \('0,5'\) and 'b' \('0\.5'\) have different decimal"):
        read(tmp_path, text)
    assert values(read(tmp_path, text, decimal=",")) == {"a": [0.5], "b": [0.5], "c": [1.234]}


def test_decimal_is_one_of_two(tmp_path):
    with pytest.raises(ValueError, match=r"decimal must be '\.', ',' or None"):
        read(tmp_path, TABLE, decimal=";")


def test_a_column_that_is_not_all_numbers_is_text(tmp_path):
    frame = read(tmp_path, "model,half,mixed\n7,50%,0.5\nvit-7,0.5,abc\n1.0,0.1,1.5\n")
    assert frame["model"].tolist() == ["7", "vit-7", "1.0"]
    assert frame["half"].tolist() == ["50%", "0.5", "0.1"]  # of which is the second a percentage?
    assert frame["mixed"].tolist() == ["0.5", "abc", "1.5"]


def test_texts_are_as_written(tmp_path):
    (tmp_path / "a.csv").write_text("run_id,n\n007,1\n7,2\n")
    frame, written = read_csv_table(tmp_path / "a.csv", written=["run_id", "other"])
    assert written.to_dict("list") == {"run_id": ["007", "7"]}
    assert frame["run_id"].tolist() == ["007", "7"]
    assert read_csv_table(tmp_path / "a.csv", texts=["run_id"])[0]["run_id"].tolist() == ["007", "7"]


def test_columns_of_texts_do_not_say_what_the_decimal_separator_is(tmp_path):
    text = "run_id;step;weights;upstream_error;torch_version\na;1;last;0,5;2.11\n"
    (tmp_path / "a.csv").write_text(text)
    assert read_records(tmp_path / "a.csv").iloc[0].tolist() == ["a", 1, "last", 0.5, "2.11"]
    mapped = read_records(tmp_path / "a.csv", columns={"lr": "upstream_error / 5"})
    assert mapped[["lr", "torch_version"]].iloc[0].tolist() == [0.1, "2.11"]


def test_flags(tmp_path):
    assert values(read(tmp_path, "a,b\nTrue,1\nfalse,2\nTRUE,3\n"))["a"] == [True, False, True]
    assert values(read(tmp_path, "a,b\nTrue,1\n,2\n"))["a"] == [True, None]


def test_empty_columns_and_rows_of_a_spreadsheet_are_left_out(tmp_path):
    text = ";;;;\na;b;;;\n1;x;;;\n\n;;;;\n2;y;;;\n;;;;\n"
    assert values(read(tmp_path, text)) == {"a": [1, 2], "b": ["x", "y"]}


def test_rows_may_lack_their_last_cells_or_have_empty_ones_more(tmp_path):
    found = values(read(tmp_path, 'a,b,c\n1,2,3\n4,5\n"6",7,8,,\n'))
    assert found == {
        "a": [1, 4, 6],
        "b": [2, 5, 7],
        "c": [3, None, 8],
    }
    with pytest.raises(ValueError, match=r"cannot be read as csv: line 3 has 4 cells, the header 3"):
        read(tmp_path, "a,b,c\n1,2,3\n1,2,3,4\n")


def test_a_spreadsheets_own_line_says_the_separator(tmp_path):
    assert values(read(tmp_path, "sep=;\na;b\n1,5;2\n")) == {"a": [1.5], "b": [2]}
    assert values(read(tmp_path, "sep=;\na;b;c\n1,5;2\n")) == {"a": [1.5], "b": [2], "c": [None]}


def test_names_of_columns(tmp_path):
    with pytest.raises(ValueError, match="2 columns are named 'acc': give each a name of its own"):
        read(tmp_path, "acc,b,acc\n1,2,3\n")
    assert list(read(tmp_path, ",b\n0,2\n")) == ["column 1", "b"]  # an index that pandas wrote


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a\0b,c\n1,2\n", b"\xff\xfe\x00", b"\xe9,a\0\n"])
def test_what_is_no_csv_is_named(tmp_path, content):
    (tmp_path / "runs.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"runs\.csv cannot be read as csv"):
        read_csv_table(tmp_path / "runs.csv")


@pytest.mark.parametrize("text", ['a,b\n1,"x\n2,y\n', 'a,b\n"x,1\ny,2\n', 'a,b\r\n1,"x""\r\n2,y'])
def test_a_quotation_mark_that_is_never_closed_swallows_no_rows(tmp_path, text):
    with pytest.raises(ValueError, match=r"runs\.csv cannot be read as csv: the quotation .* is never closed"):
        read(tmp_path, text)


def test_a_last_cell_of_two_lines(tmp_path):
    assert values(read(tmp_path, 'a,b\n1,"x\ny"\n')) == {"a": [1], "b": ["x\ny"]}
    assert values(read(tmp_path, 'a;b;c\n"x\ny";1;\n"x\nz";;\n'))["a"] == ["x\ny", "x\nz"]
    assert values(read(tmp_path, 'a,b\n"x\ny"\n'))["a"] == ["x\ny"]


def test_bytes_that_cp1252_lacks_are_latin_1(tmp_path):
    (tmp_path / "runs.csv").write_bytes(b"a,b\n\xe9\x81,1\n")
    assert read_csv_table(tmp_path / "runs.csv")[0]["a"].tolist() == ["é\x81"]


def test_a_late_byte_of_another_encoding_is_found(tmp_path):
    # Past the part of the file in which the separator is looked for.
    (tmp_path / "runs.csv").write_bytes(b"a,b\n" + b"x,1\n" * 100_000 + "é,2\n".encode("cp1252"))
    assert read_csv_table(tmp_path / "runs.csv")[0]["a"].iloc[-1] == "é"


def test_a_late_cell_makes_a_column_text_and_says_the_separator(tmp_path):
    lines = ["a;b;c"] + ["1;1.234;x"] * 5000
    frame = read(tmp_path, "\n".join([*lines, "n;1,5;x"]) + "\n")
    assert frame["a"].iloc[-1] == "n"
    assert frame["b"].iloc[[0, -1]].tolist() == [1234, 1.5]


def test_a_table_whose_names_fit_needs_no_mapping(tmp_path):
    text = "run_id;step;weights;upstream_error;num_params;cooled_down\n007;1.000;last;23,4 %;1.234.567;yes\n"
    (tmp_path / "runs.csv").write_text(text, encoding="utf-8-sig")
    row = read_records(tmp_path / "runs.csv").iloc[0].to_dict()
    assert row == {
        "run_id": "007", "step": 1000, "weights": "last", "upstream_error": pytest.approx(0.234, rel=2e-16),
        "num_params": 1234567, "cooled_down": True,
    }  # fmt: skip


def test_records_of_unclear_numbers_need_a_decimal(tmp_path):
    (tmp_path / "runs.csv").write_text('run_id,step,weights,upstream_error,lr\na,1,last,1,"1,234"\n')
    with pytest.raises(ValueError, match=r"column 'lr' can be read two ways: '1,234'"):
        read_records(tmp_path / "runs.csv")
    assert read_records(tmp_path / "runs.csv", decimal=",")["lr"][0] == 1.234
    with pytest.raises(ValueError, match="decimal must be"):
        read_records(tmp_path / "runs.csv", decimal="x")


# Thousands separator, decimal separator, and between cells.
FORMS = [("", ".", ","), (",", ".", ";"), (".", ",", ";"), (" ", ",", ";"), ("\u00a0", ",", "\t"), ("'", ".", ",")]
FORMS += [("", ",", ";"), ("’", ".", "\t")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    numbers=st.lists(st.decimals(-(10**9), 10**9, places=2, allow_nan=False), min_size=1, max_size=8),
    form=st.sampled_from(FORMS),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]),
)
def test_numbers_written_in_any_form_come_back(tmp_path, numbers, form, encoding):
    group, point, separator = form
    cells = [f"{number:,.2f}".replace(",", "g").replace(".", point).replace("g", group) for number in numbers]
    text = f"a{separator}b\n" + "".join(f"{cell}{separator}x\n" for cell in cells)
    assert read(tmp_path, text, encoding)["a"].tolist() == [float(number) for number in numbers]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_what_pandas_writes_comes_back_to_the_last_bit(tmp_path, numbers):
    pd.DataFrame({"a": numbers, "b": "x"}).to_csv(tmp_path / "runs.csv", index=False)
    assert np.array_equal(read_csv_table(tmp_path / "runs.csv", decimal=".")[0]["a"], numbers)


@pytest.mark.slow
def test_a_million_rows_in_tens_of_seconds(tmp_path):
    rng, n = np.random.default_rng(0), 1_000_000
    frame = pd.DataFrame(
        {"run_id": [f"r{i}" for i in range(n)], "step": 1, "weights": "last", "upstream_error": rng.random(n)}
    )
    frame.to_csv(tmp_path / "runs.csv", index=False)
    pd.testing.assert_frame_equal(read_records(tmp_path / "runs.csv"), frame)
