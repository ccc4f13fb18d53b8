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
    assert labels == [*lines, f"best of each {panel} size", "longer was worse"]
    best = next(line for line in ax.lines if line.get_label() == f"best of each {panel} size")
    assert best.get_xdata().tolist() == x
    assert "L" in [text.get_text() for text in ax.texts]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_an_unknown_panel(found):
    with pytest.raises(ValueError, match=r"panel must be one of .*, got 'duration'"):
        sc.plots.plot_bottlenecks(found, "duration")
