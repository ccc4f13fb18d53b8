import pandas as pd
import pytest

from scaling.plots import plot_tuning
from scaling.tuning import tuning_table

from .helpers import texts

RUNS = pd.DataFrame(
    {
        "run_id": list("abcdef"), "step": 9, "weights": "last", "model_variant": ["S"] * 3 + ["L"] * 3,
        "width": [16] * 3 + [64] * 3, "lr": [1e-3, 3e-3, 1e-2] * 2, "status": ["ok"] * 5 + ["diverged"],
        "upstream_val_error": [0.5, 0.4, 0.45, 0.2, 0.3, None], "upstream_error": [0.5, 0.42, 0.4, 0.25, 0.3, None],
    }
)  # fmt: skip


def test_held_out_and_evaluation_errors_and_the_chosen():
    ax = plot_tuning(tuning_table(RUNS))
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    held_out, evaluation = ([line for line in lines if line.get_linestyle() == style] for style in ("-", "--"))
    assert sorted(list(line.get_ydata()) for line in held_out) == [[0.2, 0.3], [0.5, 0.4, 0.45]]
    assert sorted(list(line.get_ydata()) for line in evaluation) == [[0.25, 0.3], [0.5, 0.42, 0.4]]
    chosen = [line for line in ax.lines if line.get_markersize() == 10]
    is_open = {float(line.get_xdata()[0]): isinstance(line.get_markerfacecolor(), str) for line in chosen}
    assert is_open == {1e-3: True, 3e-3: False}  # the first is the lowest that was tried; a colour of a map is no text
    (crosses,) = (line for line in ax.lines if line.get_marker() == "x")
    assert crosses.get_xdata().tolist() == [1e-2]
    assert texts(ax) == ["S", "L", "held out", "evaluation"]


def test_what_is_no_table_of_tuning_is_refused():
    with pytest.raises(ValueError, match="column 'cell' is missing"):
        plot_tuning(RUNS)
    with pytest.raises(ValueError, match="must have rows"):
        plot_tuning(tuning_table(RUNS).iloc[:0])
