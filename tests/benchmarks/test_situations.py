"""The situations in which other tools are measured: those that take no time, and where the answers are recorded."""

import re
from pathlib import Path

import numpy as np

from . import situations

RECORDED = sorted((Path(__file__).parent / "results").glob("*-situations.txt"))


def test_a_missing_value_is_named_by_its_row():
    said = situations.missing_value()
    assert "row 3" in said["scaling.fit_law"]
    assert "row 3" not in said["curve_fit, careful"]


def test_ties_and_collinear_points_are_kept():
    assert situations.ties()["scaling.pareto_frontier"] == "[0, 2, 4]"
    kept = situations.collinear()
    assert kept["scaling.convex_hull"] == "7 points"
    assert kept["scipy ConvexHull"].startswith("QhullError")


def test_predictions_do_not_depend_on_the_unit():
    x, y = situations.eight_points(np.random.default_rng(1), 0.01)
    new = np.geomspace(1e18, 1e22, 9)
    raw, scaled = situations.ours(x, y)(new), situations.ours(x / 1e18, y)(new / 1e18)
    np.testing.assert_allclose(raw, scaled, rtol=1e-9)  # what the library promises


def test_a_careful_user_of_scipy_finds_what_fit_law_finds():
    x, y = situations.eight_points(np.random.default_rng(1), 0.01)
    far = np.array([1e22])
    np.testing.assert_allclose(situations.curve_fit_careful(x, y)(far), situations.ours(x, y)(far), rtol=1e-4)


def test_each_situation_is_recorded():
    text = RECORDED[-1].read_text()
    for situation in situations.SITUATIONS:
        assert situation.__doc__ in text, f"python -m tests.benchmarks.situations > {RECORDED[-1].name}"


def test_the_page_shows_what_is_recorded():
    page = (Path(__file__).parents[2] / "docs" / "against_other_tools.md").read_text()
    shown = re.findall(r"(?<![\w.])(?:\d*\.\d+|\d\.\de-\d+)(?![\w.])", "\n".join(page.split("\n| ")[2:]))
    recorded = set(re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", RECORDED[-1].read_text()))
    values = {float(each) for each in recorded}
    assert shown
    assert [each for each in shown if float(each) not in values] == []
