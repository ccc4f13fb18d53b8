import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.tables import rank_flips

tables = st.integers(2, 5).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 9), min_size=width, max_size=width), min_size=2, max_size=6)
)


def frame(values):
    return pd.DataFrame(values, dtype=float, index=[f"m{i}" for i in range(len(values))]).rename(columns=str)


def pairs(result):
    return {tuple(row) for row in result.flips.iloc[:, :4].itertuples(index=False)}


@settings(max_examples=50, deadline=None)
@given(tables)
def test_what_all_models_gain_alike_flips_nothing(values):
    table = frame(values)
    moved = table + np.arange(table.shape[1])
    assert pairs(rank_flips(table)) == pairs(rank_flips(moved))


@settings(max_examples=50, deadline=None)
@given(tables)
def test_flips_are_the_pairs_of_opposite_signs(values):
    table = frame(values)
    expected = {
        (a, b, left, right)
        for i, a in enumerate(table.index)
        for b in table.index[i + 1 :]
        for j, left in enumerate(table.columns)
        for right in table.columns[j + 1 :]
        if np.sign(table.loc[a, left] - table.loc[b, left]) * np.sign(table.loc[a, right] - table.loc[b, right]) == -1
    }
    assert pairs(rank_flips(table)) == expected


def test_errors_rank_the_other_way():
    table = frame([[0.1, 0.2], [0.2, 0.1]])
    assert rank_flips(table, higher_is_better=False).ranks["0"].tolist() == [1, 2]
    assert len(rank_flips(table).flips) == 1


def test_a_tie_is_no_flip_and_shares_the_better_rank():
    result = rank_flips(frame([[1, 2], [1, 1], [0, 0]]))
    assert len(result.flips) == 0
    assert result.ranks["0"].tolist() == [1, 1, 3]


def test_differences_up_to_tie_order_no_models():
    table = frame([[0, 1, 2], [0.5, 0.5, 0.5], [9, 8, 0]])
    result = rank_flips(table)
    assert (result.num_flips, result.num_flipped_pairs) == (6, 3)
    assert "rank flips: 6, by 3 of 3 pairs of models" in repr(result)
    result = rank_flips(table, tie=0.5)  # m0 and m1 are half apart under 0 and under 1
    assert (result.num_flips, result.num_flipped_pairs) == (2, 1)
    assert pairs(result) == {("m0", "m2", "0", "2"), ("m0", "m2", "1", "2")}
    assert "rank flips: 2, by 1 of 3 pairs of models (differences up to 0.5: none)" in repr(result)


def test_decimals_that_float64_does_not_hold_are_ties():
    result = rank_flips(frame([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]]))
    assert result.num_flips == 0
    assert result.ranks.to_numpy().tolist() == [[1, 1], [1, 1]]


def test_what_is_missing_is_named_and_flips_nothing():
    result = rank_flips(frame([[1, 2], [np.nan, 3]]))
    assert result.missing == (("m1", "0"),)
    assert len(result.flips) == 0
    assert "missing: m1 under 0" in repr(result)


@pytest.mark.parametrize(
    ("table", "conditions", "message"),
    [
        (frame([[1, 2]]), ["0"], "at least two conditions"),
        (frame([[1, 2]]), ["0", "zero"], "'zero' is missing"),
        (frame([[1, 2]]), "01", "conditions must be a list"),
        (frame([[1, 2]]), ["0", "0"], "'0' occurs twice"),
        (pd.DataFrame([[1, 2], [2, 1]], index=["m", "m"]), None, "'m' occurs twice"),
    ],
)
def test_bad_input_is_named(table, conditions, message):
    with pytest.raises(ValueError, match=message):
        rank_flips(table, conditions)


@pytest.mark.parametrize("tie", [-1, np.nan, np.inf])
def test_a_tie_is_a_number(tie):
    with pytest.raises(ValueError, match="tie must be a finite number of at least 0"):
        rank_flips(frame([[1, 2]]), tie=tie)
