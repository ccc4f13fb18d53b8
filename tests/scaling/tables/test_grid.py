import pandas as pd
import pytest

from scaling.tables import missing_cells

AXES = ["model", "data_size", "steps_bs4096"]


def test_cells_that_are_there_and_missing_make_the_grid(published):
    """Zhai et al. 2021, Tables 4-13: 262 runs."""
    runs = published("zhai2021_runs_imagenet_fewshot.csv")
    missing = missing_cells(runs, AXES)
    num_cells = runs[AXES].nunique().prod()
    assert len(missing) + len(runs[AXES].drop_duplicates()) == num_cells
    assert missing.merge(runs[AXES]).empty
    # The largest model was trained once.
    assert (missing.model == "G/14").sum() == num_cells / runs.model.nunique() - 1


def test_a_full_grid_misses_nothing():
    runs = pd.DataFrame({"a": [1, 1, 2, 2], "b": list("xyxy")})
    assert missing_cells(runs, ["a", "b"]).empty
    assert list(missing_cells(runs, ["a", "b"]).columns) == ["a", "b"]


def test_a_null_is_named():
    with pytest.raises(ValueError, match="column 'b' must have a value in every row; row 1 has none"):
        missing_cells(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), ["a", "b"])


def test_axes_are_a_list_of_columns_of_one_kind():
    for axes in ("a", []):
        with pytest.raises(ValueError, match="axes must be a list of one or more names"):
            missing_cells(pd.DataFrame({"a": [1, 2]}), axes)
    with pytest.raises(ValueError, match="column 'a' must hold values of one kind, got int, str"):
        missing_cells(pd.DataFrame({"a": [1, "x"]}), ["a"])
