import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.tables import (
    audit_duplicates,
    audit_law_ends,
    audit_repeats,
    audit_signs,
    audit_summary,
    audit_values,
    contradictions,
)
from scaling.tables.audit import CHECKS
from scaling.tables.rounding import mean_rounding, printed_decimals

# Rounding ---------------------------------------------------------------------------------------------------------


def test_a_string_keeps_its_zeros_and_numbers_share_the_most_decimals():
    assert printed_decimals(["0.80", "8", "8e-4", "2.5e3"]).tolist() == [2, 0, 4, 0]
    assert printed_decimals([0.8, 0.825, 7]).tolist() == [3, 3, 3]
    assert printed_decimals([0.1 + 0.2]).tolist() == [1]  # not what arithmetic leaves behind


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(1, 4))
def test_a_mean_of_few_rounded_rows_is_never_called_wrong(values, decimals):
    """Up to five rows the tolerance is the worst case."""
    rows = pd.Series([f"{value:.{decimals}f}" for value in values])
    printed = pd.Series({"mean": f"{np.mean(values):.{decimals}f}"})
    assert audit_summary(rows, printed, {"mean": rows.index}).is_consistent.all()


def test_a_mean_of_many_rounded_rows_is_seldom_called_wrong():
    """Four standard deviations are exceeded once in 16,000, and the rounding of the mean adds to them."""
    values = np.random.default_rng(0).uniform(0, 1, (19, 400))
    table = pd.DataFrame(values.T).map("{:.2f}".format)
    printed = pd.DataFrame({"mean": values.mean(axis=0)}).map("{:.2f}".format)
    assert contradictions(audit_summary(table, printed, {"mean": table.columns})).empty


def test_a_mean_that_is_off_by_three_units_is_called_wrong():
    values = np.random.default_rng(0).uniform(0, 1, 19)
    rows = pd.Series(values).map("{:.2f}".format)
    printed = pd.Series({"mean": f"{values.mean() + 0.03:.2f}"})
    assert not audit_summary(rows, printed, {"mean": rows.index}).is_consistent.any()


def test_rounding_of_a_mean_is_the_worst_case_for_few_and_falls_with_many():
    assert mean_rounding([0.5] * 5) == 0.5
    assert mean_rounding([0.5] * 400) == pytest.approx(4 * 0.5 / np.sqrt(3 * 400), rel=1e-12)


# Values, sums, medians --------------------------------------------------------------------------------------------


def test_half_a_unit_is_what_rounding_explains():
    checks = audit_values(["0.23", "0.23", "0.23"], [0.225, 0.235, 0.2351])
    assert checks.is_consistent.tolist() == [True, True, False]
    assert tuple(checks.columns) == CHECKS
    assert checks["where"].tolist() == ["entry 0", "entry 1", "entry 2"]


def test_the_unit_of_the_numbers_changes_nothing():
    fractions = audit_values(["0.2300", "0.2350"], [0.23004, 0.23506])
    percent = audit_values(["23.00", "23.50"], [23.004, 23.506])
    assert fractions.is_consistent.tolist() == percent.is_consistent.tolist() == [True, False]


def test_median_and_sum():
    rows = pd.Series(["0.10", "0.20", "0.90"])
    printed = pd.Series({"all": "0.20"})
    assert audit_summary(rows, printed, {"all": rows.index}, statistic="median").is_consistent.all()
    printed = pd.Series({"all": "1.22"})  # three rounded rows may add up to .015 more, and the sum is rounded too
    assert audit_summary(rows, printed, {"all": rows.index}, statistic="sum").is_consistent.all()
    assert not audit_summary(rows, printed, {"all": rows.index}, statistic="sum", exact=True).is_consistent.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rows: audit_summary(rows, rows, {"a": ["b"]}, statistic="mode"), "statistic must be one of"),
        (lambda rows: audit_summary(rows, rows, {"a": ["z"]}), "'a' needs 'z' once; it occurs 0 times"),
        (lambda rows: audit_summary(rows, rows, {"z": ["b"]}), "'printed' needs 'z' once"),
        (lambda rows: audit_summary(rows, rows, {"a": []}), "group 'a' must be a list of one or more names"),
        (lambda rows: audit_summary(rows, rows.to_frame(), {"a": ["b"]}), "both be a Series or both a DataFrame"),
        (lambda rows: audit_values(["1"], [1, 2]), "equally long"),
        (lambda rows: audit_values(["1"], [np.inf]), "follows must be finite"),
        (lambda rows: audit_signs(rows.to_frame("k"), {"k": 2}), "a claimed sign must be 1 or -1"),
        (lambda rows: audit_signs(rows.to_frame("k"), {"alpha": 1}), "'alpha' is missing"),
        (lambda rows: audit_repeats([("lr", "here", np.nan)]), "lr must be finite"),
        (lambda rows: audit_duplicates(rows, max_expected=0), "max_expected must be positive and finite"),
        (lambda rows: audit_duplicates(rows.map("about {}".format)), "no column of numbers"),
        (lambda rows: audit_summary(rows, rows, {}), "groups must name at least one group"),
        (lambda rows: audit_summary(rows, rows, {"a": "b"}), "group 'a' must be a list"),
        (lambda rows: audit_summary(rows.replace(1.5, pd.NA), rows, {"b": ["a", "b"]}), "entry 0 is <NA>"),
        (lambda rows: audit_summary(rows.to_frame().T.iloc[:0], rows.to_frame().T, {"b": ["a"]}), "at least one row"),
        (lambda rows: audit_summary(rows.to_frame(), rows.to_frame().T, {"b": ["a"]}), "transposed: table.T"),
        (lambda rows: audit_summary(rows.to_frame().T, rows.to_frame(), {"b": ["a"]}), "transposed: printed.T"),
        (lambda rows: audit_values(rows, rows, follows_tolerance=-1), "follows_tolerance must be at least 0"),
        (lambda rows: audit_values(rows, rows, follows_tolerance=np.nan), "follows_tolerance must be at least 0"),
        (lambda rows: audit_values(rows, rows, follows_tolerance=[0.1]), r"shape \(\) or \(2,\)"),
        (lambda rows: audit_values(rows, rows, where=["a"]), "where must name each of 2 checks, got 1"),
        (lambda rows: audit_values(["a bit"], [1]), "entry 0 is a bit"),
        (lambda rows: audit_signs(rows.to_frame("k"), {}), "claimed must name at least one column"),
        (lambda rows: contradictions(), "the checks of at least one audit"),
        (lambda rows: contradictions(rows.to_frame("k")), "'kind' is missing"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(pd.Series({"a": 1.5, "b": 2.5}))


# Signs, repeats -----------------------------------------------------------------------------------------------------


def test_a_zero_that_was_rounded_to_contradicts_no_sign():
    values = pd.DataFrame({"k": ["-0.00", "0.01", "-0.01"]}, index=list("abc"))
    assert audit_signs(values, {"k": 1}).is_consistent.tolist() == [True, True, False]


def test_nulls_have_no_sign():
    assert len(audit_signs(pd.DataFrame({"k": [1.0, np.nan]}), {"k": 1})) == 1


def test_one_number_rounded_twice_is_no_contradiction():
    entries = [("mean", "text", "77.6"), ("mean", "table", "77.63"), ("other", "text", "1")]
    checks = audit_repeats(entries)
    assert len(checks) == 1
    assert checks.is_consistent.all()
    assert checks.detail.tolist() == ["table against text"]


def test_nothing_printed_twice_gives_an_empty_table():
    assert audit_repeats([("a", "text", "1")]).empty
    assert tuple(contradictions(audit_repeats([])).columns) == CHECKS


def test_one_row_of_a_table_has_signs_too():
    table = pd.DataFrame({"k": [-0.78, 0.72], "alpha": [0.1, 0.2]}, index=["caltech", "cars"])
    one, all_rows = audit_signs(table.iloc[1], {"k": -1, "alpha": 1}), audit_signs(table, {"k": -1, "alpha": 1})
    assert one.values.tolist() == all_rows[all_rows["where"].str.startswith("cars")].values.tolist()
    assert audit_signs(pd.Series({"k": 1.0}), {"k": 1})["where"].tolist() == ["k"]


# Duplicates -----------------------------------------------------------------------------------------------------


def test_independent_rows_are_seldom_called_copies():
    """At most .01 pairs a table are expected by chance, so in 300 tables about 3 or fewer; 10 is 4 sigma above."""
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame(rng.normal(0.7, 0.1, (25, 3)).round(3)) for _ in range(300)]
    assert sum(len(audit_duplicates(table)) for table in tables) <= 10


def test_a_copied_row_is_found_whatever_the_order_and_the_unit():
    values = np.random.default_rng(0).uniform(0.5, 0.9, (10, 4)).round(3)
    values[7, 1:] = values[2, 1:]
    table = pd.DataFrame(values, index=list("abcdefghij"), columns=list("wxyz"))
    assert audit_duplicates(table)["where"].tolist() == ["c = h"]
    assert audit_duplicates(table.iloc[::-1])["where"].tolist() == ["h = c"]
    assert audit_duplicates((100 * table).round(1))["where"].tolist() == ["c = h"]


def test_a_far_entry_does_not_make_agreement_of_the_others_suspect():
    assert audit_duplicates(pd.Series([70.12, 70.15, 70.12, 70.18, 70.21, 99.99])).empty


def test_strings_are_numbers_as_printed_and_words_are_left_out():
    table = pd.DataFrame({"top1": ["70.12", "75.30", "70.12", "78.90", "81.25", "79.40"], "source": ["a"] * 6})
    [found] = audit_duplicates(table, max_expected=0.05).itertuples()
    assert (found.where, found.detail) == ("0 = 2", "1 of 1 entries agree: top1")


def test_chosen_settings_and_constants_are_no_copies():
    table = pd.DataFrame({"batch": [4096] * 6, "top1": [77.91, 78.21, 79.03, 80.44, 81.25, 82.66]})
    assert audit_duplicates(table).empty


# Laws -----------------------------------------------------------------------------------------------------------


def test_a_law_that_starts_at_chance_is_possible():
    laws = pd.DataFrame({"a": ["0.8"], "b": ["0.5"], "c": ["0.1"], "d": ["1.0"]})
    checks = audit_law_ends(laws, 0.9)
    assert checks.printed[0] == pytest.approx(0.9, rel=1e-12)
    assert checks.is_consistent.all()
    # The parameters are printed with one decimal: a is .75 or more, c .05, d at most 1.05.
    assert checks.tolerance[0] == pytest.approx(0.9 - (0.75 * 1.05**-0.55 + 0.05), rel=1e-12)


def test_bad_laws_are_named():
    laws = pd.DataFrame({"a": [0.8], "b": [0.5], "c": [0.1], "d": [0.0]})
    with pytest.raises(ValueError, match="column 'd' must be positive and finite; row 0 is 0"):
        audit_law_ends(laws, 0.9)
    with pytest.raises(ValueError, match=r"E\(0\) .* must be finite; row 0 is inf"):
        audit_law_ends(laws.assign(b=2.0, d=1e-300), 0.9)
    with pytest.raises(ValueError, match="chance_error must be one number or one a law, 1"):
        audit_law_ends(laws.assign(d=1.0), [0.9] * 3)
    with pytest.raises(ValueError, match="is this percent"):
        audit_law_ends(laws.assign(d=1.0), 99.9)
    with pytest.raises(ValueError, match="'d' is missing"):
        audit_law_ends(laws.drop(columns="d"), 0.9)
