import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.tables import check_comparison, factor_differences, factor_ranges, factor_steps, one_factor_difference

FACTORS = ["architecture", "recipe", "data"]
rows = st.lists(st.tuples(*[st.sampled_from(["x", "y", None])] * 3, st.integers(0, 99)), min_size=2, max_size=6)


def frame(values):
    table = pd.DataFrame(values, columns=[*FACTORS, "top1"])
    return table.set_index(pd.Index([f"row {i}" for i in range(len(table))]))


@settings(max_examples=15, deadline=None)
@given(rows)
def test_all_pairs_are_refused_just_where_one_pair_is(values):
    table = frame(values)
    for pair in factor_differences(table, FACTORS, "top1").itertuples():
        if pair.refused:
            with pytest.raises(ValueError, match="must differ in one factor") as error:
                one_factor_difference(table, pair.row_a, pair.row_b, FACTORS, "top1")
            assert str(error.value).endswith(pair.reason)
            assert pair.reason
        else:
            found = one_factor_difference(table, pair.row_a, pair.row_b, FACTORS, "top1")
            assert (found.factor, found.value_a, found.value_b) == (pair.factor, pair.value_a, pair.value_b)
            assert found.difference == pair.difference
            assert pair.reason == ""


@settings(max_examples=15, deadline=None)
@given(rows)
def test_a_pair_is_controlled_just_where_it_is_not_refused(values):
    table = frame(values)
    for pair in factor_differences(table, FACTORS, "top1").itertuples():
        found = check_comparison(table, pair.row_a, pair.row_b, FACTORS, "top1")
        assert found.is_controlled == (not pair.refused)
        assert found.difference == pair.difference


@settings(max_examples=15, deadline=None)
@given(rows)
def test_every_control_that_is_there_is_a_one_factor_comparison(values):
    table = frame(values)
    found = check_comparison(table, "row 0", "row 1", FACTORS, "top1")
    for control in found.controls[~found.controls.is_missing.astype(bool)].itertuples():
        one = one_factor_difference(table, control.beside, control.row, FACTORS, "top1")
        assert (one.factor, one.difference) == (control.factor, control.difference)


def test_the_way_back_has_the_other_sign():
    table = frame([("vit", "old", "1k", 77.91), ("vit", "old", "JFT", 84.15)])
    there, back = (one_factor_difference(table, *ends, FACTORS, "top1") for ends in (table.index, table.index[::-1]))
    assert there.difference == -back.difference
    assert (there.value_a, there.value_b) == (back.value_b, back.value_a) == ("1k", "JFT")


def test_an_unknown_factor_is_not_held_equal():
    table = frame([("vit", "old", None, 1), ("vit", "new", None, 2), ("vit", "new", "JFT", 3)])
    with pytest.raises(ValueError, match=r"they differ in recipe \(old / new\); not known whether equal: data"):
        one_factor_difference(table, "row 0", "row 1", FACTORS, "top1")
    with pytest.raises(ValueError, match="in one factor; not known whether equal: data"):
        one_factor_difference(table, "row 1", "row 2", FACTORS, "top1")


def test_replicates_have_no_factor_to_tell_of():
    table = frame([("vit", "old", "1k", 1), ("vit", "old", "1k", 2)])
    with pytest.raises(ValueError, match="they differ in none"):
        one_factor_difference(table, "row 0", "row 1", FACTORS, "top1")
    assert "replicates" in check_comparison(table, "row 0", "row 1", FACTORS, "top1").caveats[0]


def test_a_finer_list_of_factors_refuses_more(published):
    table = published("recipe_architecture_factors.csv").set_index("model")
    lists = (["recipe"], ["resolution"], ["epochs"], ["recipe_source"])
    factors, refused = ["architecture", "size", "data", "teacher"], []
    for more in lists:
        factors = factors + more
        refused.append(int(factor_differences(table, factors, "imagenet_top1_pct").refused.sum()))
    assert refused == sorted(refused)
    assert refused[0] < refused[-1]


def test_ranges_leave_the_refused_out():
    table = frame([("vit", "old", "1k", 1.0), ("vit", "new", "1k", 3.0), ("cnn", "new", "JFT", 90.0)])
    ranges = factor_ranges(factor_differences(table, FACTORS, "top1"))
    assert ranges.index.tolist() == ["recipe"]
    assert ranges.loc["recipe"].tolist() == [1, 2, 2, 2]


@settings(max_examples=15, deadline=None)
@given(rows)
def test_steps_have_one_direction_and_hold_every_pair(values):
    pairs = factor_differences(frame(values), FACTORS, "top1")
    steps = factor_steps(pairs)
    assert steps.num_pairs.sum() == (~pairs.refused).sum()
    assert not {(f, a, b) for f, a, b in steps.index} & {(f, b, a) for f, a, b in steps.index}


def test_a_step_does_not_depend_on_the_order_of_the_rows_but_for_its_name():
    table = frame([("vit", "old", "1k", 1.0), ("vit", "new", "1k", 3.0), ("cnn", "new", "1k", 8.0),
                   ("cnn", "old", "1k", 4.0)])  # fmt: skip
    steps = factor_steps(factor_differences(table, FACTORS, "top1"))
    assert steps.loc[("recipe", "old", "new")].tolist() == [2, 2, 3, 4]
    assert steps.loc[("architecture", "vit", "cnn")].tolist() == [2, 3, 4, 5]
    assert steps.index.tolist()[0] == ("architecture", "vit", "cnn")
    back = factor_steps(factor_differences(table.iloc[::-1], FACTORS, "top1"))
    assert back.loc[("recipe", "old", "new")].tolist() == [2, 2, 3, 4]
    assert back.loc[("architecture", "cnn", "vit")].tolist() == [2, -5, -4, -3]


def test_amounts_and_missing_controls_are_named():
    table = frame([("vit", "old", "1k", 1.0), ("vit", "new", "JFT", 3.0)]).assign(images=[1.28e6, 3.03e8])
    found = check_comparison(table, "row 0", "row 1", FACTORS, "top1", amounts=["images"])
    assert found.amounts.ratio["images"] == pytest.approx(236.7, abs=0.05)
    assert found.controls.is_missing.tolist() == [True] * 4
    assert found.controls.row.isna().all()
    assert [caveat for caveat in found.caveats if "missing" in caveat] == [
        "missing control: row 0 with another recipe (recipe new, data 1k)",
        "missing control: row 0 with another data (recipe old, data JFT)",
    ]
    assert "uncontrolled" in repr(found)


@pytest.mark.parametrize("call", [one_factor_difference, check_comparison])
@pytest.mark.parametrize(
    ("labels", "factors", "metric", "message"),
    [
        (("row 0", "row 9"), FACTORS, "top1", "no row has the label 'row 9'"),
        (("row 0", "row 1"), ["size"], "top1", "'size' is missing"),
        (("row 0", "row 1"), FACTORS, "top5", "'top5' is missing"),
        (("row 0", "row 1"), FACTORS, "data", "must hold finite numbers"),
    ],
)
def test_bad_input_is_named(call, labels, factors, metric, message):
    table = frame([("vit", "old", "1k", 1.0), ("vit", "new", "1k", 3.0)])
    with pytest.raises(ValueError, match=message):
        call(table, *labels, factors, metric)


def test_lists_of_factors_and_labels_are_checked():
    table = frame([("vit", "old", "1k", 1.0), ("vit", "new", "1k", np.nan)])
    with pytest.raises(ValueError, match="factors must be a list"):
        factor_differences(table, "recipe", "top1")
    with pytest.raises(ValueError, match="factors must name each once; 'recipe' occurs twice"):
        factor_differences(table, ["recipe", "data", "recipe"], "top1")
    for call in (one_factor_difference, check_comparison):
        with pytest.raises(ValueError, match="factors must be a list"):
            call(table, "row 0", "row 1", "recipe", "top1")
    with pytest.raises(ValueError, match="amounts must be a list"):
        check_comparison(table, "row 0", "row 1", FACTORS, "top1", amounts="top1")
    with pytest.raises(ValueError, match="'recipe' must hold single values"):
        factor_differences(table.assign(recipe=[["a"], ["b"]]), FACTORS, "top1")
    with pytest.raises(ValueError, match="row 1 is nan"):
        factor_differences(table, FACTORS, "top1")
    with pytest.raises(ValueError, match="'same' occurs twice"):
        factor_differences(table.set_index(pd.Index(["same"] * 2)), FACTORS, "top1")
    with pytest.raises(ValueError, match="must be positive"):
        check_comparison(table.fillna(0.0).assign(n=0), "row 0", "row 1", FACTORS, "top1", amounts=["n"])
