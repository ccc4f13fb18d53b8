"""Rows that a law is fitted to, and why the others are left out."""

import numpy as np
import pandas as pd

from scaling.selection.usable import usable_runs


def test_each_row_is_left_out_for_its_own_reason():
    cost = pd.Series([1.0, 2.0, np.nan, "far", 0, -1, np.inf, 8.0, 9.0], dtype=object)
    error = [0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.0, -0.1]
    found = usable_runs(pd.DataFrame({"cost": cost, "error": error}), "cost", "error")
    assert found.frame["cost"].tolist() == [1.0, 2.0]
    assert found.num_left_out == {
        "without cost or error": 1,
        "whose cost is no finite number": 2,
        "with cost of 0, which has no logarithm": 1,
        "with cost below 0": 1,
        "with error of 0, which has no logarithm": 1,
        "with error below 0": 1,
    }
