import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.plots.style import draw_points

from .helpers import labels, words

tables, plots = sc.tables, sc.plots
FACTORS = ["recipe", "data"]


@pytest.fixture
def comparison():
    a, b = pd.Series({"pets": 0.97, "dtd": 0.7, "svhn": 0.8}), pd.Series({"pets": 0.96, "dtd": 0.7, "svhn": 0.9})
    return tables.compare_rows(a, b, [0.01] * 3, [np.nan] * 3, name_a="ViT", name_b="BiT", perfect=1)


@pytest.fixture
def pairs():
    table = pd.DataFrame({"recipe": ["o", "n", "n"], "data": ["x", "x", "y"], "top1": [1.0, 3.0, 9.0]})
    return tables.factor_differences(table, FACTORS, "top1")


@pytest.fixture
def flips():
    return tables.rank_flips(pd.DataFrame({"1k": [78, 77, np.nan], "300M": [84, 87, 88]}, index=["B", "L", "H"]))


@pytest.fixture
def checks():
    return tables.audit_values(["0.24", "0.23"], [0.24, 0.24], where=["ours", "theirs"])


def test_a_bar_a_task_with_its_number_and_the_count_of_outcomes(comparison):
    ax = plots.plot_row_comparison(comparison)
    assert sorted(bar.get_width() for bar in ax.patches) == pytest.approx([-10, 0, 1])
    assert [text.get_text() for text in ax.texts] == ["+1.0", "0", "-10.0"]
    assert set(ax.get_legend_handles_labels()[1]) == {"win (1)", "tie (1)", "loss (1)"}
    assert ax.get_title() == "ViT against BiT"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["pets", "dtd", "svhn"]


def test_other_quantities_of_a_comparison(comparison):
    assert [text.get_text() for text in plots.plot_row_comparison(comparison, quantity="difference").texts][1] == "0"
    cut = plots.plot_row_comparison(comparison, quantity="error_cut")
    assert [text.get_text() for text in cut.texts] == ["+25%", "0", "-100%"]
    with pytest.raises(ValueError, match="quantity must be one of"):
        plots.plot_row_comparison(comparison, quantity="ratio")


def test_what_is_unknown_has_no_bar_but_a_word():
    ax = plots.plot_row_comparison(tables.compare_rows([1.0, 2.0], [1.0, 1.0], [0.1, np.nan]))
    assert [text.get_text() for text in ax.texts] == ["0", "unknown"]
    assert len(ax.patches) == 1


def test_factors_are_drawn_and_refused_pairs_apart(pairs):
    ax = plots.plot_factors(pairs)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["data: x → y (1)", "recipe: o → n (1)", "refused, either way (1):\n2+ factors or unknown"]
    drawn = {
        (x, round(y)) for line in ax.lines for x, y in zip(*line.get_data(), strict=True) if line.get_marker() != "None"
    }
    assert {(6.0, 0), (2.0, 1), (8.0, 2)} <= drawn


def test_lines_from_condition_to_condition_named_at_their_end(flips):
    ax = plots.plot_rank_flips(flips, y_label="ImageNet accuracy (%)")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1k", "300M"]
    assert {text.get_text() for text in ax.texts} == {"B", "L", "H"}
    assert ax.get_title().startswith("rank flips: 1, by 1 of 3 pairs of models")
    heights = sorted(text.xy[1] for text in ax.texts)
    assert np.diff(heights).min() > 0.04 * np.ptp(ax.get_ylim())  # names do not overlap


def test_contradictions_of_an_audit_look_different(checks):
    ax = plots.plot_audit(checks, x_label="core-days (k)")
    labels = ax.get_legend_handles_labels()[1]
    assert {"printed (1)", "contradicts (1)"} <= set(labels)
    signs = tables.audit_signs(pd.DataFrame({"k": [1.0]}), {"k": -1})
    assert "bound, and rounding" in plots.plot_audit(signs).get_legend_handles_labels()[1]
    with pytest.raises(ValueError, match="'tolerance' is missing"):
        plots.plot_audit(checks.drop(columns="tolerance"))


def test_an_audit_of_nothing_says_so(checks):
    ax = plots.plot_audit(checks.iloc[:0])
    assert words(ax) == ["nothing found"]


def test_without_any_sd_the_difference_is_drawn():
    result = tables.compare_rows([0.9, 0.8], [0.8, 0.9])
    assert words(plots.plot_row_comparison(result)) == ["+0.1", "-0.1"]
    ax = plots.plot_row_comparison(result, quantity="difference_in_sd")  # all unknown: an empty legend would warn
    assert words(ax) == ["unknown", "unknown"]
    assert ax.get_legend() is None


def test_a_step_between_two_values_has_one_direction():
    table = pd.DataFrame({"recipe": ["o", "n", "n", "o"], "data": ["x", "x", "y", "y"], "top1": [1.0, 3.0, 9.0, 8.0]})
    ax = plots.plot_factors(tables.factor_differences(table, FACTORS, "top1"))
    assert ax.get_yticklabels()[1].get_text() == "recipe: o → n (2)"
    drawn = [line.get_xdata().tolist() for line in ax.lines if line.get_marker() not in ("None", "x")]
    assert drawn == [[7.0, 6.0], [2.0, 1.0]]  # o to n is up under both data


def test_a_group_whose_name_begins_with_an_underscore_is_in_the_legend():
    ax = matplotlib.figure.Figure().subplots()
    draw_points(ax, np.arange(2.0), np.arange(2.0), ["_a", "b"])
    assert [label.lstrip("\u200b") for label in labels(ax)] == ["_a", "b"]
