"""Whatever comes in: a finite result, or one sentence of the kinds that are promised.

`FUZZ_EXAMPLES=2000 pytest tests/scaling/test_fuzz.py` searches long.
"""

import datetime
import decimal
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling as sc
from scaling.reading.where import rows_where

from ..fuzz import FUZZ

REFUSED = (ValueError, sc.FitError)  # what docstrings promise of wrong arguments, and of a fit that cannot be had

CELLS = st.one_of(
    st.floats(0, 1), st.floats(1e10, 1e22), st.floats(), st.integers(-3, 3), st.integers(-(2**70), 2**70), st.none(),
    st.booleans(), st.text(max_size=8),
    st.sampled_from([decimal.Decimal("0.5"), datetime.date(2026, 1, 1), pd.NA]),
    st.sampled_from(["12%", "1,5", "1.000,5", "1e18", "NaN", "inf", "-", " ", "0012", "1/2", "0.3 +- 0.1"]),
)  # fmt: skip
COLUMNS = (
    "run_id",
    "upstream_error",
    "compute_flops",
    "step",
    "model_family",
    "status",
    "cooled_down",
    "weights",
    "extra",
)
NUMBERS = st.one_of(
    st.floats(0.01, 0.99), st.floats(1e-300, 1e300), st.floats(),
    st.sampled_from([0.0, -1.0, 1.0, math.inf, math.nan, 5e-324]),
)  # fmt: skip


TIDY = (st.floats(0.05, 0.95), st.floats(1e10, 1e20), st.sampled_from(["a", "b", "ok"]), st.integers(1, 100))


def frames(num_rows):
    """Of columns in order, so that an example often gets past the first check, and of anything."""
    cells = st.one_of(*(st.lists(each, min_size=num_rows, max_size=num_rows) for each in (CELLS, *TIDY)))
    columns = st.dictionaries(st.sampled_from(COLUMNS), cells, min_size=1)
    return columns.map(lambda found: pd.DataFrame({name: pd.Series(of, dtype=object) for name, of in found.items()}))


FRAMES = st.integers(0, 6).flatmap(frames)


def check_words(error):
    told = str(error)
    assert told.strip(), "an error without a word"
    assert len(told) < 3000
    return told


def check_records(read):
    """A DataFrame whose fractions are fractions, or a refusal in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            frame = read()
        except REFUSED as error:
            check_words(error)
            return
    assert isinstance(frame, pd.DataFrame)
    if "upstream_error" in frame:
        errors = frame["upstream_error"].to_numpy(dtype=float, na_value=np.nan)
        assert np.all((errors >= 0) & (errors <= 1) | np.isnan(errors)), errors


@FUZZ
@given(FRAMES)
def test_a_data_frame_is_read_or_refused(frame):
    before = frame.copy()
    check_records(lambda: sc.read_records(frame))
    pd.testing.assert_frame_equal(frame, before)


@FUZZ
@given(
    frame=FRAMES,
    separator=st.sampled_from([",", ";", "\t", "|"]),
    start=st.sampled_from(["", "\ufeff", "# x\n", "\n", "\x00"]),
    encoding=st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_a_csv_is_read_or_refused(tmp_path_factory, frame, separator, start, encoding):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    text = start + frame.to_csv(index=False, sep=separator)
    path.write_bytes(text.encode(encoding, errors="replace"))
    check_records(lambda: sc.read_records(path))


@FUZZ
@given(data=st.binary(max_size=200), suffix=st.sampled_from([".csv", ".parquet", ".txt", ".json", ""]))
def test_bytes_are_read_or_refused(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"fuzz_bytes{suffix}"
    path.write_bytes(data)
    for read in (sc.read_records, sc.read_evals, sc.read_measurements):
        check_records(lambda read=read: read(path))


@FUZZ
@given(data=st.data())
def test_a_damaged_parquet_is_read_or_refused(tmp_path_factory, data):
    """Some bytes of a good file changed, cut off or put in."""
    path = tmp_path_factory.getbasetemp() / "good.parquet"
    frame = pd.DataFrame(
        {"run_id": ["a", "b"], "upstream_error": [0.5, 0.4], "compute_flops": [1e15, 1e16], "step": [1, 2]}
    )
    frame.to_parquet(path)
    good = path.read_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    changed = data.draw(
        st.sampled_from(
            [
                good[:place],
                good[:place] + b"\x00" + good[place:],
                good[:place] + data.draw(st.binary(max_size=9)) + good[place + 9 :],
            ]
        )
    )
    other = path.with_name("damaged.parquet")
    other.write_bytes(changed)
    check_records(lambda: sc.read_records(other))


NAMES = st.sampled_from(
    ["top1", "gmacs", "1", "2e9", "100", "nothing", "top1.x", "__import__", "f", "''", "None", "top1 top1"]
)


SIGNS = r"< > == != [ ] ( ) { } + - * ** / % // & | ~ @ # \ ; = : , . ` $ ? ! ^ ... ' " + '"'
NAMES_AND_NUMBERS = (
    "depth name e whole @x and or not in is if else for lambda None True str 1 0 0.5 1e400 0x 1_0 'a' \U0001f680"
)
CALLS = "isna() log( abs( between(1,2)"
WORDS = st.sampled_from([*SIGNS.split(), *NAMES_AND_NUMBERS.split(), *CALLS.split(), "\n", "9" * 400])


@FUZZ
@given(st.lists(WORDS, max_size=7).map(" ".join))
def test_a_condition_holds_of_each_row_or_is_refused(where):
    rows = {"depth": [1, 2, 3], "name": ["a", "b", "c"], "e": [0.1, math.nan, 0.3]}
    frame = pd.DataFrame(rows).assign(whole=pd.array([1, None, 3], dtype="Int64"))
    try:
        truth = rows_where(frame, where)
    except ValueError as error:
        told = check_words(error)
        assert told.startswith("where must be"), told
    else:
        assert truth.dtype == bool
        assert truth.shape == (3,)


@FUZZ
@given(
    st.dictionaries(
        st.one_of(st.sampled_from(["upstream_error", "compute_flops", "run_id", "own", ""]), st.text(max_size=5)),
        st.one_of(
            st.text(max_size=12), NAMES,
            st.tuples(NAMES, st.sampled_from(["+", "-", "*", "/", "**", "//", "%", "@", "<"]), NAMES).map(" ".join),
            st.sampled_from(["1 - top1 / 100", "(1 - top1", "top1[0]", "top1()", "lambda: 1", "9**9**9", "top1 / 0"]),
            st.just("-" * 500 + "1"),
        ),
        min_size=1, max_size=3,
    )
)  # fmt: skip
def test_an_expression_of_columns_is_computed_or_refused(columns):
    frame = pd.DataFrame({"top1": [76.5, 81.0], "gmacs": [4.1, 17.6], "f": [1.0, 2.0]})
    check_records(lambda: sc.read_records(frame, columns=columns))


def points(min_size=0, max_size=9):
    """Of anything, or such as can be fitted."""
    pairs = (st.tuples(NUMBERS, NUMBERS), st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)))
    return st.one_of(*(st.lists(pair, min_size=min_size, max_size=max_size) for pair in pairs))


ODD = st.sampled_from(
    [
        lambda x: x,
        np.array,
        lambda x: np.array(x, dtype=object),
        lambda x: pd.Series(x, dtype=float),
        lambda x: np.array(x).reshape(-1, 1),
        lambda x: [str(each) for each in x],
        lambda x: pd.array(x, dtype="Float64"),
    ]
)


def finite_or_refused(call, *values):
    """What `values` reads off the result is finite or infinite, never nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sc.FitWarning)
        try:
            result = call()
            found = [value(result) for value in values]
        except REFUSED as error:
            check_words(error)
            return
    for each in found:
        assert not np.isnan(np.asarray(each, dtype=float)).any(), each


@FUZZ
@given(st.sampled_from(sorted(sc.LAWS)), st.sampled_from(sorted(sc.OBJECTIVES)), points(), ODD)
def test_a_law_is_fitted_or_refused(law, objective, xy, odd):
    x, y = ([each[place] for each in xy] for place in (0, 1))
    finite_or_refused(
        lambda: sc.fit_law(law, odd(x), odd(y), objective=objective),
        lambda fit: list(fit.params.values()),
        lambda fit: fit.predict(fit.x),
    )


@FUZZ
@given(st.sampled_from(["all", "pareto", "convex_hull", "stochastic"]), points(max_size=12), ODD)
def test_a_frontier_is_fitted_or_refused(selection, xy, odd):
    x, y = ([each[place] for each in xy] for place in (0, 1))
    finite_or_refused(
        lambda: sc.fit_frontier(odd(x), odd(y), selection=selection, num_draws=20),
        lambda fit: list(fit.params.values()),
    )


@FUZZ
@given(
    st.sampled_from(["all", "pareto", "convex_hull", "stochastic"]),
    st.lists(st.tuples(st.floats(0, 1), NUMBERS), max_size=12),
    ODD,
)
def test_a_law_of_transfer_is_fitted_or_refused(selection, xy, odd):
    x, y = ([each[place] for each in xy] for place in (0, 1))
    finite_or_refused(
        lambda: sc.fit_transfer(odd(x), odd(y), selection=selection, num_draws=20),
        lambda fit: list(fit.params.values()),
    )


@FUZZ
@given(points(), ODD, st.permutations(range(9)))
def test_frontier_and_hull_are_those_of_the_points_in_any_order(xy, odd, order):
    x, y = ([each[place] for each in xy] for place in (0, 1))
    order = [place for place in order if place < len(x)]
    for select in (sc.pareto_frontier, sc.convex_hull):
        try:
            kept = select(odd(x), odd(y))
        except REFUSED as error:
            check_words(error)
            continue
        again = select([x[place] for place in order], [y[place] for place in order])
        assert [x[place] for place in kept] == [x[order[place]] for place in again]


@FUZZ
@given(points(max_size=6), NUMBERS)
def test_classifiers_are_mixed_or_refused(xy, target):
    finite_or_refused(lambda: sc.mix_classifiers(np.array(xy), upstream_accuracy=target), lambda mix: mix.weights)


@FUZZ
@given(points(min_size=3, max_size=8), st.lists(st.sampled_from(sorted(sc.LAWS)), min_size=1, max_size=2, unique=True))
def test_laws_are_compared_or_refused(xy, laws):
    x, y = ([each[place] for each in xy] for place in (0, 1))
    finite_or_refused(lambda: sc.compare_laws(x, y, laws=laws), lambda table: table["num_params"].dropna())


@pytest.mark.parametrize("values", [np.array([[1.0]]), np.array("x"), None, 3, "abc", {"a": 1}])
def test_what_is_no_list_of_points_is_refused(values):
    for call in (
        sc.pareto_frontier,
        sc.convex_hull,
        sc.fit_frontier,
        sc.fit_transfer,
        lambda x, y: sc.fit_law("power", x, y),
    ):
        with pytest.raises((*REFUSED, TypeError)) as told:
            call(values, values)
        check_words(told.value)
