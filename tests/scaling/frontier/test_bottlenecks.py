import numpy as np
import pandas as pd
import pytest

from scaling import FitWarning
from scaling.frames import finished_rows
from scaling.frontier import bottlenecks


@pytest.fixture
def zhai(published):
    """Zhai et al. 2021 (2106.04560), Tables 4-13, with the parameters of Table 2."""
    runs, models = published("zhai2021_runs_imagenet_fewshot.csv"), published("zhai2021_table2_models.csv")
    params = runs["model"].map(models.set_index("name")["mio_params"]) * 1e6
    return bottlenecks(
        runs.assign(num_params=params, error=runs["inet10_err_pct"] / 100),
        model="model",
        data="data_size",
        y="error",
    )


def cell(found, model, data):
    cells = found.cells
    return cells[(cells["model"] == model) & (cells["data"] == data)].iloc[0]


def test_l_16_on_few_data(zhai):
    """The text says 27 % on 30M images and 19 % on more; the tables say 27.8 %, 20.5 %, 19.0 % and 18.5 %."""
    errors = [cell(zhai, "L/16", data)["error"] for data in (3e7, 3e8, 1e9, 3e9)]
    assert errors == pytest.approx([0.278, 0.205, 0.19, 0.185])
    assert [cell(zhai, "L/16", data)["binds"] for data in (3e7, 3e8, 1e9, 3e9)] == ["data", "data", "data", "model"]


def test_l_16_on_30m_images_is_worse_after_400k_steps(zhai):
    few = cell(zhai, "L/16", 3e7)
    assert few["duration"] == 400_000 * 4096
    assert (few["longest"], few["error_at_longest"]) == (4_000_000 * 4096, pytest.approx(0.328))
    overtrained = zhai.cells[~zhai.cells["is_longest"]]
    assert overtrained[["model", "data"]].to_numpy().tolist() == [["B/16", 3e7], ["L/16", 3e7], ["L/16", 3e8]]
    assert "overtrained: L/16 on 3e+07: 0.278 at 1.64e+09, then 0.328 at 1.64e+10" in zhai.summary()


def test_best_of_each_size(zhai):
    """Figure 2, centre and right: a small model stays above, whatever its data; so do few data, whatever the model."""
    by_model, by_data = zhai.by_model.set_index("model"), zhai.by_data.set_index("data")
    models = ["Ti/16", "S/16", "B/16", "L/16", "g/14", "G/14"]
    assert by_model.loc[models, "error"].to_list() == pytest.approx([0.478, 0.324, 0.232, 0.185, 0.155, 0.151])
    assert by_data["error"].to_list() == pytest.approx([0.278, 0.205, 0.19, 0.151])
    assert by_data["model"].to_list() == ["L/16", "L/16", "L/16", "G/14"]
    assert by_data["is_largest_model"].to_list() == [False, False, False, True]
    assert set(by_model.loc[["Ti/16", "S/16", "B/16"], "binds"]) == {"model"}


def test_a_cell_that_was_trained_for_less_is_held_back_by_that(zhai):
    """B/28 on 3B images was trained for 30K steps only, and does better on 300M images trained for longer."""
    short = cell(zhai, "B/28", 3e9)
    assert short["binds"] == "duration"
    assert short["duration_cut"] == pytest.approx((0.558 - 0.291) / 0.558)
    assert zhai.by_model.set_index("model").loc["B/28", "data"] == 3e8


def grid(floor_model=0.0, floor_data=0.0):
    """Errors of three models on three data sizes, each axis with a floor of its own."""
    rows = [(str(n), n, d, t) for n in (1.0, 10, 100) for d in (1e3, 1e4, 1e5) for t in (1e5, 1e6)]
    runs = pd.DataFrame(rows, columns=["model_variant", "num_params", "train_examples", "images_seen"])
    error = floor_model * runs["num_params"] ** -0.5 + floor_data * (runs["train_examples"] / 1e3) ** -0.5
    return runs.assign(upstream_error=error * (runs["images_seen"] / 1e5) ** -0.1)


@pytest.mark.parametrize(("floors", "binds"), [((0.9, 0.05), "model"), ((0.05, 0.9), "data")])
def test_the_axis_that_binds_is_that_of_the_floor(floors, binds):
    first = bottlenecks(grid(*floors)).cells.iloc[0]
    assert first["binds"] == binds


def test_where_no_other_run_was_made_what_binds_is_unknown():
    """The largest model on the largest data for the longest: no run of the grid says what would be better."""
    last = bottlenecks(grid(0.9, 0.05)).cells.iloc[-1]
    assert last["binds"] == "unknown"
    assert last[["data_cut", "model_cut", "duration_cut"]].isna().all()


def test_where_other_runs_were_made_and_none_is_better_nothing_binds():
    runs = grid(0.0, 0.5)
    runs["upstream_error"] = 0.3
    found = bottlenecks(runs)
    assert found.cells["binds"].tolist() == ["none"] * 8 + ["unknown"]
    assert found.cells["data_cut"].isna().sum() == 3  # of the largest data


def test_rows_that_differ_in_more_than_the_axis_of_their_panel_are_named(zhai):
    text = zhai.summary()
    assert "best error on each data size (rows differ in model and duration too)" in text
    assert "best error of each model (rows differ in data and duration too)" in text
    assert "  3e+07: 0.278, L/16 for 1.64e+09; binds: data" in text


def test_the_order_of_rows_changes_nothing():
    runs = grid(0.4, 0.4)
    one, other = bottlenecks(runs), bottlenecks(runs.sample(frac=1, random_state=0))
    for name in ("cells", "by_model", "by_data"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def test_rows_from_inside_a_run_are_left_out_and_named():
    runs = grid(0.4, 0.4).assign(cooled_down=True)
    runs.loc[[1, 5], "cooled_down"] = False
    with pytest.warns(
        FitWarning, match="2 of 18 rows are from inside a run and left out, the first is row 1"
    ) as caught:
        found = bottlenecks(runs)
    assert caught[0].filename == __file__
    assert caught[0].message.kind == "unfinished_runs"
    assert found.num_excluded == 2
    assert cell(found, "1.0", 1e3)["longest"] == 1e5


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"cooled_down": [None, None]},
        {"cooled_down": [False, False]},
        {"step": [5, 5], "planned_steps": [5, 5]},
    ],
)
def test_rows_of_one_kind_are_no_mixture_and_all_used(columns):
    assert finished_rows(pd.DataFrame({"run_id": ["a", "b"], **columns})).all()


@pytest.mark.parametrize("dtype", ["boolean", "object", "bool[pyarrow]"])
def test_a_flag_of_any_type_is_read(dtype):
    flags = pd.Series([True, False, None], dtype=dtype)
    with pytest.warns(FitWarning, match="1 of 3 rows"):
        assert finished_rows(pd.DataFrame({"cooled_down": flags})).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_params": [1, 2]}, "a model has one 'num_params'; 'S' has 2"),
        ({"train_examples": [0, 1]}, "column 'train_examples' must be positive and finite; row 0 is 0"),
        ({"upstream_error": [0.2, 30]}, r"must lie in \[0, 1\]; row 1 is 30 \(is this percent"),
        ({"images_seen": [1, np.nan]}, "column 'images_seen' must hold finite numbers; row 1"),
    ],
)
def test_bad_input(change, message):
    good = {"num_params": [1, 1], "train_examples": [10, 20], "upstream_error": [0.5, 0.4], "images_seen": [1, 1]}
    with pytest.raises(ValueError, match=message):
        bottlenecks(pd.DataFrame({"model_variant": ["S", "S"], **good, **change}))


def test_a_missing_column_and_an_empty_table():
    with pytest.raises(ValueError, match="column 'num_params' is missing"):
        bottlenecks(grid(0.4, 0.4).drop(columns="num_params"))
    with pytest.raises(ValueError, match="at least one row"):
        bottlenecks(grid(0.4, 0.4).iloc[:0])


def test_a_row_without_a_model_is_named():
    runs = grid(0.4, 0.4)
    runs["model_variant"] = runs["model_variant"].astype(object).where(runs.index != 2, None)
    with pytest.raises(ValueError, match="column 'model_variant' must name the model; row 2 is null"):
        bottlenecks(runs)


def test_rows_are_counted_in_the_table_as_it_was_given():
    runs = grid(0.4, 0.4).assign(cooled_down=True)
    runs.loc[0, "cooled_down"] = False
    runs.loc[3, "upstream_error"] = np.nan
    with pytest.raises(ValueError, match="column 'upstream_error' must hold finite numbers; row 3"):
        bottlenecks(runs)


def test_flags_as_text_are_read():
    flags = pd.DataFrame({"cooled_down": ["True", "false", " TRUE", ""]})
    with pytest.warns(FitWarning, match="1 of 4 rows"):
        assert finished_rows(flags).tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match="column 'cooled_down' must hold true, false or nothing; row 1 is 'maybe'"):
        finished_rows(pd.DataFrame({"cooled_down": ["True", "maybe"]}))
