"""The quick look at all columns of a table clears none that has a fault."""

import numpy as np
import pandas as pd
import pytest

from scaling.reading.checks import REQUIRED, column_faults, validate
from scaling.schema import RECORDS

KINDS = {"lr": "amount", "seed": "count", "train_error": "fraction", "head_bias": "number", "memorised": "flag"}
VALUES = [None, 0, 1, 2, -1, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan, True, False, "x", "1"]


def one_by_one(frame):
    columns = (column for name, column in RECORDS.items() if name in frame)
    return [line for c in columns for line in column_faults(frame, c, c.name in REQUIRED["records"])]


@pytest.mark.parametrize("dtype", [None, object, "float64", "float32", "Int64", "boolean", "str", "uint8"])
def test_the_faults_found_are_those_of_each_column_by_itself(dtype):
    assert {name: RECORDS[name].kind for name in KINDS} == KINDS
    num_faults = 0
    for value in VALUES:
        column = pd.Series([value, 0], dtype=object)
        try:
            column = column.infer_objects() if dtype is None else column.astype(dtype)
        except (TypeError, ValueError, OverflowError):  # such a value has no such type
            continue
        frame = pd.DataFrame({"run_id": ["a", "b"], "step": 1, "weights": "last", "upstream_error": 0.5})
        frame = frame.assign(**dict.fromkeys(KINDS, column))
        try:
            validate(frame, "records")
            found = []
        except ValueError as error:
            found = str(error).removeprefix("bad records: ").splitlines()
        assert found == one_by_one(frame)
        num_faults += len(found)
    assert bool(num_faults) == (dtype != "boolean")  # which only holds what is true, false or null


def test_a_printed_table_needs_no_upstream_error():
    """Its source cites a paper; a sweep's rows and those of no source need one."""
    rows = pd.DataFrame(
        {"run_id": ["a", "b", "c"], "step": 5, "weights": "last", "upstream_error": [np.nan, np.nan, 0.5]}
    )
    validate(rows.assign(source="zhai2021"), "records")
    validate(rows.assign(source="zhai2021", status="ok"), "records")
    for sources in (["zhai2021", "sweep:x", "x"], ["zhai2021", None, None]):
        with pytest.raises(ValueError, match=r"upstream_error must not be null; row 1: nan$"):
            validate(rows.assign(source=sources), "records")
    with pytest.raises(ValueError, match="weights must not be null; rows 0: None, 1: None, 2: None"):
        validate(rows.assign(source="zhai2021", weights=None), "records")
