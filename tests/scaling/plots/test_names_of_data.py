"""Names that come with data may be anything: a figure shows them, and neither fails nor warns of them."""

import io
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import scaling as sc
from scaling.plots.style import draw_points
from scaling.plots.words import column_label, shown_name, task_title

from .helpers import labels
from .test_contract import DOWNSTREAM, UPSTREAM, X, Y, result_of

HOSTILE = {
    "formula": r"$\frac{",
    "dollars": "a $x$ and $y$",
    "script": "<script>alert(1)</script>",
    "underscore": "_x",
    "long": "long " * 2000,
    "emoji": "\U0001f9ea run",
    "of another font": "模型",
    "empty": "",
    "lines": "one\ntwo\ttabs\x07",
    "percent": "100% {x} %s",
}
ALL_IN_ONE = "_$\\frac{ <script> \U0001f9ea 模型\n"  # one figure a plot
NAMED = {
    "plot_adversarial": ["vit"], "plot_against": ["vit"], "plot_attention_distance": ["vit"],
    "plot_best_layers": ["pets", "svhn"], "plot_best_models": ["row 38", "row 39"], "plot_bottlenecks": ["S", "L"],
    "plot_by_layer": ["vit"], "plot_cka": ["vit"], "plot_corruptions": ["vit", "contrast"],
    "plot_cost_ratio": ["vit", "resnet"], "plot_factors": ["o", "n", "recipe"], "plot_head_sweep": ["pets", "svhn"],
    "plot_hull_gap": ["pets", "svhn"], "plot_hull_overlay": ["pets", "svhn"], "plot_landscape": ["vit"],
    "plot_paired_differences": ["vit"], "plot_rank_flips": ["1k", "300M"], "plot_rank_matrix": ["pets_5shot_error"],
    "plot_laws": ["saturating", "power"],
    "plot_robustness": [f"model {i}" for i in range(40)], "plot_row_comparison": ["pets", "dtd"],
    "plot_same_curve": ["size", "data"], "plot_sufficiency": ["num_params"], "plot_trends": ["pets", "jft"],
    "plot_tuning": ["S", "L"], "plot_wd_against_rank": ["pets", "svhn"], "plot_audit": ["entry 0"],
}  # fmt: skip
BY_OPTION = {  # plots that are told names: of groups, of the task
    "plot_best_models": {"task": ALL_IN_ONE}, "plot_chain": {"task": ALL_IN_ONE}, "plot_layers": {"task": ALL_IN_ONE},
    "plot_mixture": {"task": ALL_IN_ONE}, "plot_same_curve": {"task": ALL_IN_ONE}, "plot_windows": {"task": ALL_IN_ONE},
    "plot_transfer": {"task": ALL_IN_ONE, "groups": [ALL_IN_ONE] * 40}, "plot_lines": {"groups": [ALL_IN_ONE] * 40},
    "plot_fit": {"groups": [ALL_IN_ONE] * 20}, "plot_frontier": {"groups": [ALL_IN_ONE] * 20},
    "plot_robustness": {"groups": [ALL_IN_ONE] * 40},
}  # fmt: skip
NO_NAMES = {  # of data: laws, dimensions, fits, budgets
    "plot_choice_loss", "plot_isoflop", "plot_law_comparison", "plot_optimal", "plot_sample_sizes", "plot_scalings",
    "plot_shapes",
}  # fmt: skip


def renamed(value, names):
    """A result in which names are others, also within columns' names such as pets_5shot_error."""
    if isinstance(value, str):
        task = next((name for name in names if value.startswith(f"{name}_") and value.endswith("shot_error")), None)
        return names.get(value, value) if task is None else value.replace(task, names[task], 1)
    if isinstance(value, pd.DataFrame):
        new = value.rename(index=lambda each: renamed(each, names), columns=lambda each: renamed(each, names))
        texts = [
            place
            for place, kind in enumerate(new.dtypes)
            if not pd.api.types.is_numeric_dtype(kind) and new.iloc[:, place].notna().any()
        ]
        for column in new.columns[texts]:
            new[column] = new[column].map(lambda each: renamed(each, names), na_action="ignore")
        return new
    if isinstance(value, pd.Series):
        return value.map(lambda each: renamed(each, names))
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return np.array([renamed(each, names) for each in value], dtype=object)
    if isinstance(value, tuple | list):
        return type(value)(renamed(each, names) for each in value)
    if isinstance(value, dict):
        return {renamed(key, names): renamed(each, names) for key, each in value.items()}
    if is_dataclass(value):
        known = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        return replace(value, **{key: renamed(each, names) for key, each in known.items()})
    return value


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text)]


def test_every_plot_is_told_apart_by_what_names_it_shows():
    assert NAMED.keys() | BY_OPTION.keys() | NO_NAMES == set(sc.plots.__all__)
    assert not (NAMED.keys() | BY_OPTION.keys()) & NO_NAMES


@pytest.mark.parametrize("name", sorted(NAMED.keys() | BY_OPTION.keys()))
def test_a_figure_shows_names_that_are_formulas_markup_or_of_no_font(name):
    """Warnings are errors: of a glyph that is missing, of a layout that has no place."""
    args = result_of(name)
    names = {known: f"{ALL_IN_ONE}{place}" for place, known in enumerate(NAMED.get(name, ()))}
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    getattr(sc.plots, name)(*renamed(args, names), ax=figure.subplots(), **BY_OPTION.get(name, {}))
    figure.savefig(io.BytesIO(), format="svg")
    assert any(r"\$\frac{ <script> ? ??" in text for text in texts_of(figure)), texts_of(figure)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_name_of_any_text_is_in_the_legend(kind):
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    ax = figure.subplots()
    groups = [HOSTILE[kind]] * 10 + ["other"] * 10
    sc.plots.plot_frontier(sc.fit_frontier(X, Y, num_draws=20), groups=groups, ax=ax)
    figure.savefig(io.BytesIO(), format="svg")
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown_name(HOSTILE[kind]) in shown
    assert "other" in shown
    assert max(map(len, shown[:2])) <= 70
    assert ax.get_position().width > 0.5  # of the figure: the legend has not pushed the points aside


@pytest.mark.parametrize("text", HOSTILE.values())
def test_a_name_that_is_shown_already_stays(text):
    assert shown_name(shown_name(text)) == shown_name(text)


def test_names_are_shown_by_their_beginning_and_end():
    assert shown_name("") == "(empty)"
    assert shown_name("a $ b") == r"a \$ b"
    assert shown_name("a" * 100 + "end") == "a" * 39 + "\u2026" + "a" * 17 + "end"
    assert shown_name(3.0) == "3.0"
    assert shown_name("é ü µ ²") == "é ü µ ²"  # what the font has stays


def test_columns_are_named_with_their_units():
    assert column_label("compute_flops") == "training compute (FLOPs)"
    assert column_label("lr") == "learning rate"
    assert column_label("weight_norm") == "norm of the weights"
    assert column_label("my_cost") == "my cost"
    assert task_title("oxford_pets_25shot_error") == "oxford pets 25-shot"
    assert task_title("v2_zero_shot_error") == "v2 zero-shot"


def test_of_very_many_groups_the_small_ones_are_one():
    ax = Figure().subplots()
    groups = [f"g{i:03}" for i in range(100)] + ["large"] * 3
    draw_points(ax, np.arange(103.0), np.arange(103.0), groups)
    assert len(labels(ax)) == 20
    assert {"large", "82 others"} <= set(labels(ax))


def test_the_axis_of_a_transfer_has_its_task():
    ax = sc.plots.plot_transfer(sc.fit_transfer(UPSTREAM, DOWNSTREAM, num_draws=20), task="$x$")
    assert ax.get_ylabel() == r"\$x\$ accuracy"
