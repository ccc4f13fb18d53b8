import warnings

import pandas as pd
import pytest

from scaling.attempt import attempt, table_lines
from scaling.errors import FitError, FitWarning, issue


def test_kinds_once_and_in_order_and_other_warnings_are_issued():
    def fit():
        issue(FitWarning("ridge", "a"), FitWarning("at_bound", "b"), FitWarning("ridge", "c"))
        warnings.warn("another", DeprecationWarning, stacklevel=2)
        return 3

    with pytest.warns(DeprecationWarning, match="another"):
        assert attempt(fit) == (3, "ridge, at_bound", "")


def test_a_wrong_argument_is_an_error_and_a_fit_that_cannot_be_had_a_reason():
    def raising(error):
        raise error

    assert attempt(lambda: raising(FitError("too few"))) == (None, "", "too few")
    with pytest.raises(ValueError, match="wrong"):
        attempt(lambda: raising(ValueError("wrong")))


def test_a_reason_stands_once_below_its_table():
    table = pd.DataFrame({"fit": ["a", "a", "b"], "mse": [1.0, 2.0, 3.0], "reason": ["no", "no", ""]})
    assert table_lines(table, "fit").splitlines()[-2:] == ["  b  3.0", "a: no"]
