import math
import re
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from scaling import read_records, validate_records
from scaling.cli import app
from scaling.reading.column_map import map_columns
from scaling.reading.expressions import evaluate


def table(**changes):
    frame = pd.DataFrame(
        {
            "model": ["vit", "vit", "resnet"], "img size": [224, 384, 224], "top1": [81.0, 83.0, 76.5],
            "GMACs": [4.5, 9.0, 4.0],
        }
    )  # fmt: skip
    return frame.assign(**changes)


COLUMNS = {"upstream_error": "1 - top1 / 100", "run_id": "model,img size", "compute_flops": "2e9 * GMACs"}


def test_names_expressions_and_joined_texts():
    found = map_columns(table(), COLUMNS | {"image_size": "img size", "num_params": "GMACs * 1e6"})
    assert found["run_id"].tolist() == ["vit@224", "vit@384", "resnet@224"]
    assert found["upstream_error"].tolist() == pytest.approx([0.19, 0.17, 0.235], rel=1e-15)
    assert found["compute_flops"].tolist() == [9e9, 18e9, 8e9]
    assert found["image_size"].tolist() == [224, 384, 224]
    assert found["num_params"].tolist() == [4_500_000, 9_000_000, 4_000_000]
    assert found["GMACs"].tolist() == table()["GMACs"].tolist()
    validate_records(found)


def test_what_the_key_lacks_is_filled():
    found = map_columns(table().drop(columns="model"), {"upstream_error": "1 - top1 / 100"})
    assert found[["run_id", "step", "weights"]].iloc[-1].tolist() == ["row 2", 0, "last"]
    assert read_records(table(), columns={"upstream_error": "1 - top1/100"})["run_id"].tolist()[0] == "row 0"


def test_a_table_of_finished_runs_needs_no_mapping(tmp_path):
    (tmp_path / "a.csv").write_text("run_id,compute_flops,upstream_error\n007,1e18,52 %\nb,1e19,38 %\n")
    found = read_records(tmp_path / "a.csv")
    assert found[["run_id", "step", "weights", "status"]].values.tolist() == [
        ["007", 0, "last", "ok"],
        ["b", 0, "last", "ok"],
    ]
    assert found["upstream_error"].tolist() == [0.52, 0.38]
    frame = pd.DataFrame({"compute_flops": [1.0, 2.0], "upstream_error": [0.5, 0.4]})
    assert read_records(frame)["run_id"].tolist() == ["row 0", "row 1"]
    stepped = read_records(frame.assign(run_id="a", step=[5, 10]))
    assert stepped[["run_id", "step", "weights"]].values.tolist() == [["a", 5, "last"], ["a", 10, "last"]]


def test_a_table_that_may_hold_several_rows_of_a_run_is_refused():
    frame = pd.DataFrame({"run_id": ["a", "a"], "epoch": [1, 2], "upstream_error": [0.5, 0.4]})
    with pytest.raises(ValueError, match=r"must not repeat; row 1 .* run_id='run_id,epoch'"):
        read_records(frame)
    with pytest.raises(ValueError, match="columns run_id, weights are missing"):  # of how many runs are these steps?
        read_records(frame.drop(columns="run_id").rename(columns={"epoch": "step"}))


def test_percent_and_fractions_in_one_column_are_told():
    with pytest.warns(UserWarning, match=r"'top1' seems to mix percent and fractions: row 1 is 0.783, others are 78.1"):
        read_records(table(top1=[78.1, 0.783, 80.2]), columns=COLUMNS)
    for plain in ([0.1, 60.0, 75.0], [0.1, 0.3, 75.0]):  # of models that guess; warnings are errors
        read_records(table(top1=plain), columns=COLUMNS)
    errors = {"upstream_error": "top1 / 100", "run_id": "model,img size"}
    read_records(table(top1=[0.5, 0.9, 3.0]), columns=errors)  # errors of CIFAR-10 in percent


def test_a_sign_of_percent_in_some_cells_is_told():
    for columns in (COLUMNS, COLUMNS | {"upstream_error": "top1"}):
        with pytest.raises(ValueError, match=r"has % in all its cells or in none"):
            read_records(table(top1=["78.1", "79 %", "80"]), columns=columns)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["78,3", "diverged", "81,2"], r"row 1 is 'diverged' \(1 such\)"),  # not the first, which is a number
        (["78,3", None, "81.2"], "row 0 is '78,3', row 2 is '81.2': a decimal comma and a decimal point"),
        (["78,3", "81,O", "diverged"], r"row 1 is '81,O' \(2 such\)"),
    ],
)
def test_the_cell_that_keeps_a_column_from_being_numbers_is_told(cells, message):
    with pytest.raises(ValueError, match=message):
        read_records(table(top1=cells), columns=COLUMNS)


def test_a_row_of_sums_is_told():
    frame = pd.DataFrame(
        {"run_id": ["a", "b", "Total:"], "compute_flops": [1.0, 2.0, 3.0], "upstream_error": [0.5, 0.4, None]}
    )
    with pytest.warns(UserWarning, match=r"the last row, 'Total:', seems to sum up the others; where="):
        assert len(read_records(frame)) == 3
    assert len(read_records(frame, where="run_id != 'Total:'")) == 2


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("num_param", "num_params"), ("Compute_FLOPs", "compute_flops"), ("model famly", "model_family")],
)
def test_a_name_nearly_as_one_of_records_is_told(slip, meant):
    with pytest.warns(UserWarning, match=f"columns has {slip!r}, which is no column of records: is {meant!r} meant?"):
        assert slip in read_records(table(), columns={"upstream_error": "1 - top1 / 100", slip: "GMACs"})


@pytest.mark.filterwarnings("error")
def test_names_of_ones_own_are_no_slips():
    own = {"digits_10shot_error": "1 - top1 / 100", "gmacs": "GMACs", "upstream_top1_error": "0.5"}
    read_records(table(), columns={"upstream_error": "1 - top1 / 100", "upstream_top5_error": "0.1"} | own)


def test_labels_that_differ_in_spelling_alone_are_told():
    with pytest.warns(UserWarning, match="column 'kind': 'ViT-S' and 'vit_s' are two groups"):
        read_records(table(kind=["ViT-S", "vit_s", "vits"]), columns={"upstream_error": "1 - top1 / 100"})


def test_a_run_without_an_error_is_no_ok_run():
    """As a crashed run of an export; a model that was not trained here need not have an upstream error."""
    top1 = [81.0, None, 76.5]
    columns = {"upstream_error": "1 - top1 / 100"}
    assert map_columns(table(top1=top1, step=5), columns)["status"].tolist() == ["ok", "failed", "ok"]
    assert map_columns(table(top1=top1), columns)["status"].tolist() == ["ok", "ok", "ok"]
    assert math.isnan(read_records(table(top1=top1, step=5), columns=columns)["upstream_error"][1])
    assert map_columns(table(status="diverged"), columns)["status"].tolist() == ["diverged"] * 3


def test_counts_are_whole_in_spite_of_rounding():
    params = np.round(np.random.default_rng(0).uniform(1, 1000, 500), 2)
    product = params * 1e6
    assert (product != np.rint(product)).any()  # what is rounded away
    found = map_columns(pd.DataFrame({"m": params}), {"num_params": "1e6 * m"})["num_params"]
    assert found.dtype == np.int64
    assert found.tolist() == [round(value * 100) * 10_000 for value in params]
    half = map_columns(pd.DataFrame({"m": [1.5]}), {"num_params": "m"})
    with pytest.raises(ValueError, match=r"num_params must be whole; row 0: 1\.5"):
        validate_records(half.assign(upstream_error=0.5))


@pytest.mark.parametrize(
    "words", [["yes", "no", "Yes"], ["True", "False", "true"], [1, 0, 1], [1.0, 0.0, 1.0], [True, False, True]]
)
def test_flags_as_users_write_them(words):
    found = map_columns(table(ended=words), COLUMNS | {"cooled_down": "ended"})["cooled_down"]
    assert found.dtype == bool
    assert found.tolist() == [True, False, True]


def test_other_words_are_no_flags():
    with pytest.raises(ValueError, match="cooled_down must be true or false; row 1: maybe"):
        read_records(table(ended=["yes", "maybe", None]), columns=COLUMNS | {"cooled_down": "ended"})


def test_the_exact_name_of_a_column_wins():
    frame = table(**{"1 - top1": [0.1, 0.2, 0.3], "a,b": "x"})
    found = map_columns(frame, {"upstream_error": "1 - top1", "run_id": "model,img size", "recipe": "a,b"})
    assert found["upstream_error"].tolist() == [0.1, 0.2, 0.3]
    assert found["recipe"].tolist() == ["x"] * 3


def test_odd_names_stand_in_backticks_everywhere():
    frame = table(**{"a, b": ["x", "y", "z"], "done?": "yes"})
    found = map_columns(frame, COLUMNS | {"run_id": "model, `a, b`", "cooled_down": "`done?`", "recipe": "`a, b`"})
    assert found["run_id"].tolist() == ["vit@x", "vit@y", "resnet@z"]
    assert found["recipe"].tolist() == ["x", "y", "z"]
    assert found["cooled_down"].tolist() == [True] * 3


def test_columns_of_one_name_are_refused():
    frame = pd.concat([table(), table()[["top1"]]], axis=1)
    with pytest.raises(ValueError, match="2 columns are named 'top1'"):
        read_records(frame, columns=COLUMNS)


@pytest.mark.parametrize("expression", ["1 - top1 / 100", "0.01 * (100 - top1)", "1 - top1 * 1e-2"])
def test_percent_signs_are_not_divided_away_twice(tmp_path, expression):
    frame, columns = table(top1=["81%", "83%", "76%"]), COLUMNS | {"upstream_error": expression}
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        with pytest.raises(ValueError, match="column 'top1' is written with % and is a fraction already"):
            read_records(source, columns=columns)
        assert read_records(source, columns=COLUMNS | {"upstream_error": "1 - top1"}).attrs == {}


def test_texts_of_digits(tmp_path):
    (tmp_path / "a.csv").write_text("id,k,acc\n007,01,0.5\n7,1,0.6\n")
    found = read_records(tmp_path / "a.csv", columns={"run_id": "id", "upstream_error": "1 - acc", "width": "k"})
    assert found["run_id"].tolist() == ["007", "7"]
    assert found["width"].tolist() == [1, 1]
    shares = read_records(tmp_path / "a.csv", columns={"upstream_error": "acc", "train_error": "k"})
    assert shares["train_error"].tolist() == [1, 1]
    assert shares["id"].tolist() == ["007", "7"]  # two groups, not one
    joined = read_records(tmp_path / "a.csv", columns={"run_id": "id,k", "upstream_error": "k * 0.5", "model": "id"})
    assert joined["run_id"].tolist() == ["007@01", "7@1"]


def test_texts_of_numbers_in_a_frame_are_numbers():
    frame = table(top1=["81,0 %", "83,5%", "76%"])
    found = read_records(frame, columns={"upstream_error": "1 - top1", "run_id": "model,img size"})
    assert found["upstream_error"].tolist() == pytest.approx([0.19, 0.165, 0.24], rel=1e-15)
    with pytest.raises(ValueError, match="column 'GMACs' can be read two ways: '4,500'"):
        read_records(table(GMACs="4,500"), columns=COLUMNS)
    assert read_records(table(GMACs="4,500"), columns=COLUMNS, decimal=",")["compute_flops"][0] == 9e9


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"upstream_error": "top1"}, r"upstream_error must lie in \[0, 1\] \(is this percent\? divide by 100\)"),
        ({"upstream_error": "1 - top / 100"}, r"upstream_error = '.*': column 'top' is missing; there is top1"),
        ({"upstream_error": "1 - `top 1`"}, "column 'top 1' is missing; there is top1"),
        ({"run_id": "modle"}, "column 'modle' is missing; there is model"),
        ({"run_id": "model,img sise"}, "column 'img sise' is missing; there is img size"),
        ({"run_id": "model"}, r"must not repeat; row 1 is the second with 'vit' .* run_id='model,img size'"),
        ({"run_id": "top1 / 2"}, "column 'top1 / 2' is missing"),
        ({"compute_flops": "2 * img size"}, r"odd names stand in `backticks`; is `img size` meant, in backticks\?"),
        ({"compute_flops": "model * 2"}, "column 'model' must hold numbers; row 0 is 'vit'"),
        ({"compute_flops": "1 / (GMACs - 9)"}, r"must be finite; row 1 is inf \(GMACs = 9; 1 such\)"),
        ({"compute_flops": "log(GMACs - 9)"}, r"must be finite; row 0 is nan"),
        ({"compute_flops": "9.0 ** 9 ** 9 ** 9"}, r"must be finite; row 0 is inf"),
        ({"compute_flops": "1" + "0" * 400}, "a number is too large"),
        ({"compute_flops": "1 +" * 400 + "1"}, "at most 1000 characters"),
        ({"compute_flops": ""}, "columns must be texts"),
        ({"compute_flops": 3}, "columns must be texts"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(columns, message):
    with pytest.raises(ValueError, match=message) as error:
        read_records(table(), columns=COLUMNS | columns)
    assert "\n" not in str(error.value)


def test_no_column_is_suggested_where_none_tells_rows_apart():
    with pytest.raises(ValueError, match="run_id='model,img_size'"):
        map_columns(pd.DataFrame({"m": ["a", "a"], "acc": [0.5, 0.6]}), {"run_id": "m", "upstream_error": "acc"})


REFUSED = [
    "top1.real", "top1[0]", "__import__('os')", "open('x')", "(lambda: 1)()", "top1 if top1 else 1", "top1 < 3", "'a'",
    "[1]", "{1}", "{}", "(1, 2)", "True", "None", "1j", "top1 @ top1", "top1 // 2", "top1 % 2", "top1 & 1", "~top1",
    "not top1", "top1 and 1", "[x for x in top1]", "exp(top1, 2)", "exp(x=1)", "exp(*top1)", "top1.__class__", "f'{1}'",
    "exp.real(1)", "(x := 1)", "...", "__builtins__", "exp", "log10",
]  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_nothing_but_arithmetic_is_evaluated(expression):
    with pytest.raises(ValueError, match=r"is not allowed: only columns|is missing; there is"):
        evaluate(table(), expression)


@pytest.mark.parametrize(
    "expression", ["1 -", "import os", "top1; 2", "a = 1", "(" * 300, "\0", "`top1", "-" * 999 + "1", "1or 2or"]
)
def test_what_is_no_expression(expression):
    with pytest.raises(ValueError, match="no column and no expression of columns, numbers"):
        evaluate(table(), expression)


# Properties ---------------------------------------------------------------------------------------------------

LEAVES = st.sampled_from(["a", "`b c`", "2", "0.5", "3e-2"])


def _combined(inner):
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    one = st.tuples(st.sampled_from(["-", "exp", "log10", "+"]), inner).map(lambda t: f"{t[0]}({t[1]})")
    return pair | one


@settings(deadline=None, max_examples=150)
@given(expression=st.recursive(LEAVES, _combined, max_leaves=8))
def test_arithmetic_agrees_with_numpy(expression):
    a, b = np.array([1.5, 2.0, 7.0]), np.array([0.25, 3.0, 1.0])
    number = re.sub(r"(?<![\w.`])(\d[\d.]*(?:e-\d+)?)", r"np.float64(\1)", expression)
    with np.errstate(all="ignore"):
        names = {"np": np, "a": a, "b": b, "exp": np.exp, "log10": np.log10}
        expected = np.broadcast_to(eval(number.replace("`b c`", "b"), names), 3)
    frame = pd.DataFrame({"a": a, "b c": b})
    if np.isfinite(expected).all():
        # numpy's power of arrays and of single numbers differ in the last bit.
        np.testing.assert_allclose(evaluate(frame, expression), expected, rtol=1e-12)
    else:
        with pytest.raises(ValueError, match="must be finite"):
            evaluate(frame, expression)


@settings(deadline=None, max_examples=200)
@given(text=st.text(st.sampled_from("ab1.()[]{}'\"`,:;=+-*/_ xlog@<>\\\n"), max_size=30))
def test_any_text_is_evaluated_or_refused(text):
    with suppress(ValueError):
        assert evaluate(pd.DataFrame({"a": [1.0], "b": [2.0]}), text).shape == (1,)


# Tables that people have --------------------------------------------------------------------------------------

WANDB = """"Name","State","Notes","Created","Runtime","val/acc","optimizer.lr","_step","model.gflops","seed"
"run-1","finished","first, with ""warm-up""
second line","2024-05-01T10:00:00.000Z","3605","{}","0.001","5000","1.5","0"
"run-2","finished","-","2024-05-01T11:00:00.000Z","3611","{}","0.001","5000","3","0"
"run-3","finished","","2024-05-01T12:00:00.000Z","7200","{}","0.001","5000","6.2","0"
"run-4","finished","","2024-05-01T13:00:00.000Z","7300","{}","0.001","5000","12.5","1"
"run-5","finished","","2024-05-01T14:00:00.000Z","9300","{}","0.001","5000","25","1"
"run-6","crashed","","2024-05-01T15:00:00.000Z","120","","0.001","300","50","1"
"""

SHEET = (
    "Modell;Parameter;Rechenaufwand (GFLOPs);Genauigkeit;Bemerkung;;\r\n"
    "ViT-S;22.050.664;1.200,5;{};;;\r\nViT-B;86.567.656;4.610;{};„groß“;;\r\nViT-L;304.326.632;16.867,25;{};;;\r\n"
    "ViT-H;632.045.800;61.603;{};-;;\r\nViT-g;1.011.000.000;253.000;{};;;\r\n;;;;;;\r\n\r\n"
)

FLOPS = np.array([1.5, 3, 6.2, 12.5, 25]) * 1e9
SHEET_FLOPS = np.array([1200.5, 4610, 16867.25, 61603, 253000]) * 1e9


def errors(flops):
    """A law that a fit can find."""
    return 0.08 + 0.3 * (flops / flops[0]) ** -0.35


def wandb(folder):
    path = folder / "wandb_export.csv"
    path.write_text(WANDB.format(*(f"{1 - error:.6f}" for error in errors(FLOPS))))
    names = {"run_id": "Name", "step": "_step", "lr": "optimizer.lr", "wall_seconds": "Runtime"}
    return path, names | {"upstream_error": "1 - `val/acc`", "compute_flops": "`model.gflops` * 1e9"}


def sheet(folder):
    path = folder / "tabelle.csv"
    cells = [f"{100 * (1 - error):.4f}".replace(".", ",") + " %" for error in errors(SHEET_FLOPS)]
    path.write_bytes(SHEET.format(*cells).encode("utf-8-sig"))
    names = {"run_id": "Modell", "num_params": "Parameter", "upstream_error": "1 - Genauigkeit"}
    return path, names | {"compute_flops": "1e9 * `Rechenaufwand (GFLOPs)`"}


def hive(folder):
    for number, family in enumerate(["vit", "resnet"]):
        path = folder / f"family={family}" / f"depth={number + 12}"
        path.mkdir(parents=True)
        part = {"name": [f"m{i}" for i in range(5)], "macs": FLOPS / 2, "acc": 100 - 100 * errors(FLOPS)}
        pd.DataFrame(part).to_parquet(path / "part-0.parquet")
    columns = {"run_id": "family,name", "model_family": "family", "compute_flops": "2 * macs"}
    return folder, columns | {"upstream_error": "(100 - acc) / 100"}


def arguments(columns):
    return [word for name, value in columns.items() for word in ("--column", f"{name}={value}")]


@pytest.mark.parametrize(("make", "num_rows"), [(wandb, 6), (sheet, 5), (hive, 10)])
def test_a_table_of_another_tool_is_fitted(tmp_path, make, num_rows):
    path, columns = make(tmp_path)
    runs = read_records(path, columns=columns)
    assert len(runs) == num_rows
    flops = SHEET_FLOPS if make is sheet else FLOPS
    # Cells have six decimals of an error, and are stored as 100 minus it.
    assert runs["upstream_error"].dropna().to_numpy()[:5] == pytest.approx(errors(flops), abs=1e-6)
    assert runs["compute_flops"].to_numpy()[:5] == pytest.approx(flops, rel=1e-15)
    result = CliRunner().invoke(app, ["fit", str(path), *arguments(columns), "--json"])
    assert result.exit_code == 0, result.output


def test_values_of_each_tool(tmp_path):
    runs = read_records(wandb(tmp_path)[0], columns=wandb(tmp_path)[1])
    assert runs["step"].tolist() == [5000] * 5 + [300]
    assert runs["status"].tolist() == ["ok"] * 5 + ["failed"]
    assert runs["Notes"][0] == 'first, with "warm-up"\nsecond line'
    runs = read_records(sheet(tmp_path)[0], columns=sheet(tmp_path)[1])
    assert runs["num_params"].tolist() == [22050664, 86567656, 304326632, 632045800, 1011000000]
    assert list(runs.columns[-3:]) == ["Genauigkeit", "Bemerkung", "status"]
    path, columns = hive(tmp_path / "parts")
    runs = read_records(path, columns=columns)
    assert runs.groupby("model_family")["depth"].unique().map(list).to_dict() == {"resnet": [13], "vit": [12]}


def test_subfolders_are_columns_without_a_mapping_too(tmp_path):
    for family in ("vit", "__HIVE_DEFAULT_PARTITION__"):
        path = tmp_path / f"model_family={family}" / "seed=3"
        path.mkdir(parents=True)
        row = {"run_id": [family], "step": 1, "weights": "last", "upstream_error": 0.5, "compute_flops": 1e9}
        pd.DataFrame(row).to_parquet(path / "part-0.parquet")
    runs = read_records(tmp_path)
    assert runs["model_family"].isna().tolist() == [True, False]
    assert runs["seed"].tolist() == [3, 3]
    assert read_records(tmp_path, selection="pareto")["seed"].tolist() == [3]


def test_halves_and_copies_that_programs_leave_are_no_rows(tmp_path):
    part = pd.DataFrame({"acc": [0.5, 0.6], "x": [1.0, 2.0]})
    for name in ("_size=2/a.parquet", "_temporary/0/a.parquet", ".ipynb_checkpoints/a.parquet", "_size=2/.a.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    runs = read_records(tmp_path, columns={"upstream_error": "1 - acc"})  # without names nothing tells copies apart
    assert runs["run_id"].tolist() == ["row 0", "row 1"]
    assert runs["_size"].tolist() == [2, 2]


@pytest.mark.parametrize("index", [["model"], ["model", "x"], ["model", None]])
def test_named_levels_of_an_index_are_columns(tmp_path, index):
    table = pd.DataFrame({"model": list("abc"), "x": [1.0, 2.0, 3.0], "acc": [0.5, 0.6, 0.7]})
    names = [name or "x" for name in index]
    frame = table.set_index(names).rename_axis(index)
    columns = {"run_id": "model", "upstream_error": "1 - acc"}
    for family in ("vit", "resnet"):
        (tmp_path / f"family={family}").mkdir()
        frame.iloc[[0, 2]].to_parquet(tmp_path / f"family={family}" / "a.parquet")
    assert read_records(frame, columns=columns)["run_id"].tolist() == ["a", "b", "c"]
    runs = read_records(tmp_path, columns=columns | {"run_id": "family,model"})
    assert runs["run_id"].tolist() == ["resnet@a", "resnet@c", "vit@a", "vit@c"]
    assert runs["acc"].tolist() == [0.5, 0.7, 0.5, 0.7]


def test_columns_of_two_levels_are_refused():
    frame = pd.DataFrame({"model": ["a"], "acc": [0.5]}).groupby("model").agg({"acc": ["mean"]}).reset_index()
    with pytest.raises(ValueError, match=r"columns must have one name each, got .'model', ''.: join its levels"):
        read_records(frame, columns={"run_id": "model", "upstream_error": "acc"})


def test_times_are_no_numbers():
    frame = table().assign(when=pd.Timestamp("2024-05-01"))
    with pytest.raises(ValueError, match=r"wall_seconds must be a number, not a time; rows 0: 2024-05-01"):
        read_records(frame, columns={"upstream_error": "1 - top1 / 100", "wall_seconds": "when"})


def test_a_selection_of_a_mapped_table(tmp_path):
    path, columns = hive(tmp_path)
    best = read_records(path, columns=columns, selection="pareto", where="family == 'vit'")
    assert best["run_id"].tolist() == [f"vit@m{i}" for i in range(5)]
    assert best.attrs == {"num_rows": 5, "num_skipped": 0}


TIMM = {"upstream_error": "1 - top1 / 100", "run_id": "model,img_size", "num_params": "1e6 * param_count"}
OPEN_CLIP = {"upstream_error": "1 - `ImageNet 1k`", "run_id": "name,pretrained", "compute_flops": "1e9 * `FLOPs (B)`"}


@pytest.mark.parametrize(
    ("name", "columns", "x"),
    [
        ("timm_results/results-imagenet.csv", TIMM, "num_params"),
        ("open_clip/openclip_results.csv", OPEN_CLIP, "compute_flops"),
    ],
)
def test_published_results_are_fitted(data_folder, name, columns, x):
    runs = read_records(data_folder / name, columns=columns)
    # By another reader, which is told about thousands.
    plain = pd.read_csv(data_folder / name, thousands=",")
    assert len(runs) == len(plain)
    if x == "num_params":
        assert np.allclose(runs["num_params"], 1e6 * plain["param_count"], rtol=1e-12)
        assert np.allclose(runs["upstream_error"], plain["top1_err"] / 100, atol=1e-5)  # both rounded to 3 digits
    else:
        assert np.allclose(runs["compute_flops"], 1e9 * plain["FLOPs (B)"], rtol=1e-12, equal_nan=True)
        assert np.allclose(runs["upstream_error"], 1 - plain["ImageNet 1k"], rtol=1e-12, equal_nan=True)
    line = ["fit", str(data_folder / name), *arguments(columns), "--x", x, "--law", "power", "--json"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output


# The command line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "upstream_error"], "--column must be NAME=EXPRESSION, as in 'upstream_error=1 - top1 / 100'"),
        (["--column", "=top1"], "--column must be NAME=EXPRESSION"),
        (["--column", "lr=top1", "--column", "lr=GMACs"], "--column lr is given twice"),
        (["--decimal", "x"], "decimal must be"),
        (["--column", "upstream_error=1 - tpo1 / 100"], "column 'tpo1' is missing; there is top1"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path, options, message):
    table().to_csv(tmp_path / "a.csv", index=False)
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "a.csv"), *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_decimal_is_an_option(tmp_path):
    flops, law = np.array([1.5, 3, 6.25, 12.5, 25]), errors(FLOPS)
    rows = [f"r{i};{x:.3f};{1000 * y:.3f}\n".replace(".", ",") for i, (x, y) in enumerate(zip(flops, law, strict=True))]
    (tmp_path / "a.csv").write_text("run_id;x;permille\n" + "".join(rows))
    line = ["fit", str(tmp_path / "a.csv"), "--x", "x", "--column", "upstream_error=permille / 1000"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 2
    assert "can be read two ways" in result.stderr
    assert CliRunner().invoke(app, [*line, "--decimal", ","]).exit_code == 0
