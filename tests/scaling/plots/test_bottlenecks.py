import pandas as pd
import pytest

import scaling as sc


@pytest.fixture
def found():
    rows = [("S", 1e6, 1e3, 10, 0.5), ("S", 1e6, 1e4, 10, 0.48), ("L", 1e8, 1e3, 10, 0.4), ("L", 1e8, 1e3, 20, 0.45),
            ("L", 1e8, 1e4, 10, 0.2)]  # fmt: skip
    names = ["model_variant", "num_params", "train_examples", "images_seen", "upstream_error"]
    return sc.frontier.bottlenecks(pd.DataFrame(rows, columns=names))


@pytest.mark.parametrize(
    ("panel", "lines", "x"), [("model", ["1k images", "10k images"], [1e6, 1e8]), ("data", ["S", "L"], [1e3, 1e4])]
)
def test_a_panel_has_a_line_for_each_of_the_other_axis(found, panel, lines, x):
    ax = sc.plots.plot_bottlenecks(found, panel)
    labels = ax.get_legend_handles_labels()[1]
    note = ["lines: best at that size or less"] if panel == "model" else []
    assert labels == [*lines, f"best of each {panel} size", "longer was worse", *note]
    best = next(line for line in ax.lines if line.get_label() == f"best of each {panel} size")
    assert best.get_xdata().tolist() == x
    assert "L" in [text.get_text() for text in ax.texts]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_lines_of_models_join_their_own_points(found):
    ax = sc.plots.plot_bottlenecks(found, "data")
    joined = [list(line.get_ydata()) for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata())]
    assert joined == [[0.5, 0.48], [0.4, 0.2]]


def test_many_models_have_a_colour_each():
    rows = [(f"m{k}", 10.0**k, 1e3, 10, 0.9 / (k + 1)) for k in range(11)]
    names = ["model_variant", "num_params", "train_examples", "images_seen", "upstream_error"]
    ax = sc.plots.plot_bottlenecks(sc.frontier.bottlenecks(pd.DataFrame(rows, columns=names)), "data")
    handles = [h for h, label in zip(*ax.get_legend_handles_labels(), strict=True) if label.startswith("m")]
    assert len({tuple(handle.get_color()) for handle in handles}) == 11


def test_names_at_the_edges_are_drawn_to_the_inside(found):
    ax = sc.plots.plot_bottlenecks(found, "model")
    sides = {text.get_text(): text.get_ha() for text in ax.texts}
    assert sides == {"S": "left", "L": "right"}
    best = min(text.xy[1] for text in ax.texts)
    assert ax.get_ylim()[0] < 0.75 * best  # room for the name below the best point


def test_errors_of_0_are_no_warning():
    rows = [("S", 1e6, 1e3, 10, 0.0), ("L", 1e8, 1e3, 10, 0.0)]
    names = ["model_variant", "num_params", "train_examples", "images_seen", "upstream_error"]
    sc.plots.plot_bottlenecks(sc.frontier.bottlenecks(pd.DataFrame(rows, columns=names)))


def test_an_unknown_panel(found):
    with pytest.raises(ValueError, match=r"panel must be one of .*, got 'duration'"):
        sc.plots.plot_bottlenecks(found, "duration")
