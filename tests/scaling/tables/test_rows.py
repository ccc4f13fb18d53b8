import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.tables import compare_rows

NAN = float("nan")
rows = st.lists(
    st.tuples(*[st.integers(0, 10000)] * 2, *[st.one_of(st.just(NAN), st.integers(0, 300))] * 2), min_size=1, max_size=8
).map(lambda values: np.array(values, dtype=float).T / 100)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_the_other_way_round_wins_are_losses(values):
    a, b, sd_a, sd_b = values
    there, back = compare_rows(a, b, sd_a, sd_b), compare_rows(b, a, sd_b, sd_a)
    assert (there.num_wins, there.num_ties, there.num_losses) == (back.num_losses, back.num_ties, back.num_wins)
    assert np.array_equal(there.table.difference_in_sd, -back.table.difference_in_sd, equal_nan=True)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_outcomes_do_not_depend_on_percent_or_fractions(values):
    # 128, because dividing by it is exact in binary
    percent, fractions = compare_rows(*values, tie_sds=1.5), compare_rows(*(values / 128), tie_sds=1.5)
    assert percent.table.outcome.tolist() == fractions.table.outcome.tolist()
    assert np.allclose(percent.table.difference_in_sd, fractions.table.difference_in_sd, equal_nan=True)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_a_wider_tie_rule_has_no_fewer_ties(values):
    narrow, wide = (compare_rows(*values, tie_sds=sds).num_ties for sds in (0.5, 2.0))
    assert narrow <= wide


def test_the_larger_sd_counts_and_a_missing_one_is_named():
    result = compare_rows([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.5, NAN, NAN], [0.1, 0.2, NAN], name_a="A", name_b="B")
    assert result.table.larger_sd.tolist()[:2] == [0.5, 0.2]
    assert result.table.sd_of.tolist() == ["both", "b", "neither"]
    assert result.table.difference_in_sd.tolist()[:2] == [2, 5]
    assert np.isnan(result.table.difference_in_sd[2])
    assert result.caveats[0].startswith("the SDs contain what was not said")
    assert result.caveats[1:] == ("A has no SD: 1", "no SD: 2")


def test_ties_within_so_many_sds_need_an_sd():
    result = compare_rows([1.1, 1.1, 1.0], [1.0, 1.0, 1.0], [0.1, NAN, NAN], tie_sds=1.0 + 1e-9)
    assert result.table.outcome.tolist() == ["tie", "undecided", "tie"]
    assert "undecided, a value or an SD is missing: 1" in result.caveats


def test_an_sd_of_zero_decides_but_gives_no_ratio():
    result = compare_rows([1.1, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0])
    assert result.table.outcome.tolist() == ["win", "tie"]
    assert result.table.difference_in_sd.isna().all()


def test_the_headline_says_how_many_are_beyond_two_sds():
    result = compare_rows([1.3, 1.2, 0.5, 1.0, 2.0], [1.0] * 5, [0.1, 0.1, 0.1, 0.1, NAN])
    assert (result.num_wins, result.num_wins_beyond_2_sd) == (3, 1)  # .2 is two SDs, though 1.2 - 1 is more in float64
    assert (result.num_losses, result.num_losses_beyond_2_sd) == (1, 1)
    head = "3 wins (1 beyond 2 SD, 1 without SD), 1 tie, 1 loss (1 beyond 2 SD)"
    assert result.summary().splitlines()[0] == f"a against b: {head} (tie: equal values)"
    assert compare_rows([1.0], [2.0]).summary().splitlines()[0] == "a against b: 1 loss (tie: equal values)"


def test_decimals_that_float64_does_not_hold_are_ties():
    assert compare_rows([87.76], [87.66], [0.1], [0.1], tie_sds=1).num_ties == 1
    assert compare_rows([1 - 0.7], [0.3]).table[["outcome", "difference"]].to_numpy().tolist() == [["tie", 0.0]]


def test_no_share_of_no_error():
    assert compare_rows([99.0, 100.0], [98.0, 100.0], perfect=100).table.error_cut.tolist() == pytest.approx(
        [0.5, NAN], nan_ok=True
    )


def test_a_missing_value_is_neither_win_nor_tie_nor_loss():
    result = compare_rows([1.0, NAN], [NAN, 2.0])
    assert result.table.outcome.tolist() == ["undecided"] * 2
    assert result.num_wins == result.num_ties == result.num_losses == 0


def test_lower_is_better_for_errors():
    assert compare_rows([0.1], [0.2], higher_is_better=False).num_wins == 1


def test_tasks_come_of_the_index_or_of_the_argument():
    series = pd.Series([1.0], index=["pets"])
    assert compare_rows(series, series).table.index.tolist() == ["pets"]
    assert compare_rows([1.0], [2.0], tasks=["dtd"]).table.index.tolist() == ["dtd"]
    assert "dtd" in repr(compare_rows([1.0], [2.0], tasks=["dtd"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare_rows([1.0], [1.0, 2.0]), "equally long"),
        (lambda: compare_rows([[1.0]], [[1.0]]), "one row"),
        (lambda: compare_rows([1.0], ["88.4/88.5*"]), r"b must hold numbers: .*'88.4/88.5\*'"),
        (lambda: compare_rows(pd.Series([1, 2]), pd.Series([2, 1], index=[1, 0])), "a and b must have the same index"),
        (lambda: compare_rows([1.0], [1.0], [-0.1]), "at least 0"),
        (lambda: compare_rows([1.0], [1.0], [0.1, 0.2]), "one SD a task"),
        (lambda: compare_rows([1.0, 2.0], [1.0, 2.0], tasks=["a"]), "tasks must name each of 2 results, got"),
        (lambda: compare_rows([1.0], [1.0], tie_sds=-1), "tie_sds must be a finite number of at least 0"),
        (lambda: compare_rows([1.0], [1.0], tie_sds=NAN), "tie_sds must be a finite number of at least 0"),
        (lambda: compare_rows([50.0], [40.0], perfect=1), "must lie in"),
        (lambda: compare_rows([0.1], [0.2], higher_is_better=False, perfect=1), "the values accuracies"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
