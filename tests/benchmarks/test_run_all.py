"""The table of all promises: its rows can be run, and what fails is a row of it."""

import math

import pytest

from . import measurement_cost, plan_estimate, run_all, training_throughput
from .run_all import ROOT, ROWS, Row, is_met, measured, table


def test_every_row_can_be_judged():
    for row in ROWS:
        held_by_tests = row.bar == "pass"
        assert held_by_tests == (not callable(row.measure)), row.what
        if not held_by_tests:
            assert not is_met(math.nan, row.bar)
        if isinstance(row.measure, tuple):
            assert row.measure
            assert [path for path in row.measure if not (ROOT / path).exists()] == []


def test_the_specs_that_rows_read_are_there():
    """Rows with a spec take minutes, and no default test runs them."""
    for module in (measurement_cost, plan_estimate, training_throughput):
        assert module.DEMO.exists(), module.__name__


def test_no_row_is_there_twice():
    assert len({row.what for row in ROWS}) == len(ROWS)


def test_a_row_that_fails_is_not_met_and_the_others_stand():
    def fails():
        raise OSError("no disk\nat all")

    rows = [
        Row("a", "low", "< 3", lambda: 2.5), Row("a", "high", "< 3", lambda: 3.5), Row("a", "bad", "> 0", fails),
        Row("a", "gpu", "pass", "no GPU"),
    ]  # fmt: skip
    found = [measured(row) for row in rows]
    assert [each.met for each in found] == ["yes", "no", "no", "not here"]
    assert found[2].value == "OSError: no disk at all"
    assert [line.split()[-1] for line in table(found).splitlines()] == ["met", "yes", "no", "no", "here"]


@pytest.mark.parametrize(
    ("body", "met"), [("assert True", "yes"), ("assert False", "no"), ("pytest.skip()", "not here")]
)
def test_tests_hold_a_bar(body, met, tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text(f"import pytest\n\ndef test_it():\n    {body}\n")
    assert measured(Row("a", "b", "pass", (str(file), "-c", "/dev/null", "--rootdir", str(tmp_path)))).met == met


def test_tests_that_do_not_exist_are_not_met(tmp_path):
    assert measured(Row("a", "b", "pass", (str(tmp_path / "test_none.py"),))).met == "no"


def test_an_unknown_word_is_one_line(capsys):
    with pytest.raises(SystemExit):
        run_all.main(["--only", "no such row"])
    assert capsys.readouterr().err.splitlines()[-1].endswith("--only: no row has 'no such row'")
