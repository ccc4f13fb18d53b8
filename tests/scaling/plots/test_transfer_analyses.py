import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.plots.style import new_axes
from scaling.transfer import (
    best_layers,
    choice_loss,
    head_optima,
    optimum_against_rank,
    overlay_layers,
    rank_correlations,
    same_curve,
    sufficient_predictor,
)  # fmt: skip

from .helpers import labels, words


def trends_table(num_tasks):
    rows = [
        {"task": f"task{t}", "upstream": us, "num_shots": s, "e_ir": 0.5 / s + 0.01 * t}
        for t in range(num_tasks) for us in ("jft", "i21k") for s in (1, 5, 10)
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(e_ir_low=0.0, e_ir_high=1.0)


def test_trends_have_a_line_a_task_and_the_median():
    ax = sc.plots.plot_trends(trends_table(8))
    assert labels(ax) == ["i21k: median of 8 tasks", "jft: median of 8 tasks"]
    assert len(ax.lines) == 2 * (8 + 1)
    median = next(line for line in ax.lines if line.get_label().startswith("jft"))
    np.testing.assert_allclose(median.get_ydata(), 0.5 / np.array([1, 5, 10]) + 0.035)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "5", "10"]
    assert words(ax) == []


def test_the_median_is_of_the_tasks_with_all_shots():
    """A task that drops out at 10 shots would move the median for that alone."""
    table = trends_table(3)
    table.loc[(table["task"] == "task2") & (table["num_shots"] == 10), "e_ir"] = np.nan
    ax = sc.plots.plot_trends(table)
    assert labels(ax)[0] == "i21k: median of the 2 of 3 tasks with all shots"
    median = next(line for line in ax.lines if line.get_label() == labels(ax)[0])
    np.testing.assert_allclose(median.get_ydata(), 0.5 / np.array([1, 5, 10]) + 0.005)
    table.loc[table["num_shots"] == 10, "e_ir"] = [0.1, *[np.nan] * 5]
    table.loc[(table["num_shots"] == 1) & (table["task"] == "task0"), "e_ir"] = np.nan
    assert "jft: no task has all shots" in labels(sc.plots.plot_trends(table))


def test_one_far_value_does_not_rule_the_axis():
    table = trends_table(7).assign(e_ir_low=np.nan, e_ir_high=np.nan)
    table.loc[0, "e_ir"] = 180.0
    ax = sc.plots.plot_trends(table)
    assert ax.get_title(loc="left") == "1 of 42 values lie outside the axis"
    assert 0.5 < ax.get_ylim()[1] < 1


def test_tables_without_shots_say_so():
    with pytest.raises(ValueError, match="num_shots is null: a trend needs columns"):
        sc.plots.plot_trends(trends_table(2).assign(num_shots=pd.NA))
    with pytest.raises(ValueError, match="column 'upstream' must not be null; row 0"):
        sc.plots.plot_trends(trends_table(2).assign(upstream=None))


def test_few_tasks_are_named_and_have_intervals():
    ax = sc.plots.plot_trends(trends_table(2))
    assert sorted(words(ax)) == ["task0", "task0", "task1", "task1"]
    assert len(ax.collections) == 4
    with pytest.raises(ValueError, match="no row of the table has both"):
        sc.plots.plot_trends(trends_table(2).assign(e_ir=np.nan))


def controlled():
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.1, 0.6, 30)
    downstream = 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1) + 0.01 * rng.standard_normal(30)
    return upstream, downstream, 10 ** rng.uniform(6, 8, 30)


def test_residuals_against_a_factor():
    upstream, downstream, size = controlled()
    result = sufficient_predictor(upstream, downstream, {"num_params": size, "step": size[::-1]})
    ax = sc.plots.plot_sufficiency(result)
    assert ax.get_xlabel() == "parameters"
    points = next(line for line in ax.lines if line.get_label() == "runs")
    np.testing.assert_array_equal(points.get_xdata(), size)
    np.testing.assert_array_equal(points.get_ydata(), result.residuals)
    assert f"p = {result.table['p_value'][0]:.2g}" in words(ax)[0]
    assert sc.plots.plot_sufficiency(result, "step").get_xlabel() == "steps"
    with pytest.raises(ValueError, match="factor must be one of"):
        sc.plots.plot_sufficiency(result, "width")


def test_arms_and_their_one_curve():
    upstream, downstream, _ = controlled()
    result = same_curve(upstream, downstream, np.repeat(["size", "data", "epochs"], 10), num_draws=19)
    ax = sc.plots.plot_same_curve(result, task="pets 10-shot")
    assert labels(ax)[:3] == ["data", "epochs", "size"]
    assert labels(ax)[3].startswith("one curve: k =")
    drawn = np.concatenate([line.get_xdata() for line in ax.lines if line.get_label() in ("size", "data", "epochs")])
    np.testing.assert_allclose(sorted(drawn), sorted(upstream))
    assert ax.get_ylabel() == "pets 10-shot accuracy"
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    points = ax.transData.transform([xy for line in ax.lines for xy in line.get_xydata()])
    assert not any(box.contains(*point) for point in points)  # the legend lies over no point


def test_matrix_shows_each_number_with_two_digits():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((30, 25)), columns=[f"task{k}" for k in range(25)])
    matrix = rank_correlations(frame)
    ax = sc.plots.plot_rank_matrix(matrix)
    assert len(ax.texts) == 625
    shown = np.array([float(text) for text in words(ax)]).reshape(25, 25)
    np.testing.assert_allclose(shown, matrix, atol=0.0051)  # half of the last digit
    width, height = ax.figure.get_size_inches()
    assert min(width, height) / 25 > 0.4  # inches a cell, with the margins: digits of 8 points fit
    assert [tick.get_text() for tick in ax.get_yticklabels()] == frame.columns.tolist()


def test_a_large_matrix_is_quick():
    """As many as the 38 tasks of open_clip: to lay out 1444 texts took most of 8 s."""
    ax = sc.plots.plot_rank_matrix(pd.DataFrame(np.full((38, 38), 0.5)))
    assert not any(text.get_in_layout() for text in ax.texts)
    small = sc.plots.plot_rank_matrix(pd.DataFrame(np.full((38, 38), 0.5)), ax=new_axes())
    assert words(small) == []  # where none could be read
    with pytest.raises(ValueError, match="must have rows and columns"):
        sc.plots.plot_rank_matrix(pd.DataFrame())


def test_choice_loss_beside_a_blind_choice():
    rng = np.random.default_rng(0)
    result = choice_loss(rng.uniform(0.3, 0.7, 40), rng.random(40), rng.random(40), width=0.1)
    ax = sc.plots.plot_choice_loss(result)
    task, blind = (line for line in ax.lines if line.get_marker() not in ("None", ""))
    np.testing.assert_array_equal(task.get_ydata(), result.table["loss"])
    np.testing.assert_array_equal(blind.get_ydata(), result.table["loss_at_random"])
    assert f"{result.saved:+.4f} saved" in ax.get_title(loc="left")
    assert labels(ax)[0] == f"by the first task: mean {result.mean_loss:.4f}"


def test_digits_near_one_and_nought():
    matrix = pd.DataFrame([[1.0, 0.999, -0.001], [-1.0, -0.999, 0.5]])
    assert words(sc.plots.plot_rank_matrix(matrix)) == ["1", ".99", ".00", "-1", "-.99", ".50"]


def test_layers_over_models():
    overlay = overlay_layers([0.2, 0.6, 0.5], [0.1, 0.3, 0.6], [0.3, 0.6, 0.7])
    ax = sc.plots.plot_layers(overlay, task="pets")
    assert "best layer (2 of 3)" in labels(ax)
    drawn = next(line for line in ax.lines if line.get_label().startswith("layers"))
    np.testing.assert_array_equal(drawn.get_ydata(), overlay.layer_accuracy)


def test_best_layer_of_each_task():
    rows = [("pets", layer, error) for layer, error in (("block_1", 0.5), ("block_2", 0.2), ("block_3", 0.3))]
    rows += [("svhn", layer, error) for layer, error in (("block_1", 0.1), ("block_2", 0.2), ("block_3", 0.3))]
    evals = pd.DataFrame(rows, columns=["task", "layer", "error"]).assign(num_shots=10)
    ax = sc.plots.plot_best_layers(best_layers(evals))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["svhn 10-shot", "pets 10-shot"]
    assert {"block_1", "block_2", "+0.200", "+0.100"} <= set(words(ax))


def test_best_layers_of_several_models_are_told_apart_and_have_room():
    rows = [(run, layer, error) for run in "abcdefghijklmnopqrst" for layer, error in (("block_1", 0.5), ("head", 0.2))]
    evals = pd.DataFrame(rows, columns=["run_id", "layer", "error"]).assign(task="pets", num_shots=10, probe="plain")
    ax = sc.plots.plot_best_layers(best_layers(evals))
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert sorted(names) == [f"pets 10-shot, {run}" for run in "abcdefghijklmnopqrst"]
    assert ax.figure.get_figheight() / len(names) > 0.3  # inches a row: its name and that of its layer


def head_records():
    decays = np.array([0, 0.01, 0.1, 1, 10])
    frame = pd.DataFrame({"head_weight_decay": decays, "upstream_error": [0.5, 0.4, 0.3, 0.4, 0.5]})
    return frame.assign(pets_5shot_error=[0.5, 0.4, 0.3, 0.2, 0.4], svhn_5shot_error=[0.9, 0.8, 0.7, 0.6, 0.5])


def test_sweep_of_the_head_marks_what_is_not_bracketed():
    records = head_records()
    ax = sc.plots.plot_head_sweep(records, head_optima(records))
    large = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [line.get_markerfacecolor() == "white" for line in large] == [False, False, True]
    assert [line.get_ydata()[0] for line in large] == pytest.approx([0.7, 0.8, 0.5])
    assert set(words(ax)) == {"upstream", "pets 5-shot", "svhn 5-shot"}
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks == ["0", "0.01", "0.1", "1", "10"]  # 0 has a place on the logarithmic axis
    assert np.all(np.diff(ax.get_xticks()) > 0)


def test_the_sweep_is_drawn_of_the_rows_that_the_analysis_took():
    finished = head_records().assign(cooled_down=True)
    mixed = pd.concat([finished, finished.iloc[:2].assign(cooled_down=False, pets_5shot_error=0.99)])
    ax = sc.plots.plot_head_sweep(mixed, head_optima(finished))  # which has warned where it was given them
    line = next(line for line in ax.lines if line.get_label() == "pets 5-shot")
    np.testing.assert_allclose(line.get_ydata(), 1 - finished["pets_5shot_error"])
    with pytest.raises(ValueError, match="optima must have rows"):
        sc.plots.plot_head_sweep(finished, head_optima(finished).iloc[:0])


def test_weight_decay_against_rank():
    records = head_records()
    upstream = np.linspace(0.2, 0.8, 9)
    checkpoints = pd.DataFrame(
        {"upstream_error": upstream, "pets_5shot_error": upstream, "svhn_5shot_error": 1 - upstream}
    )
    table = optimum_against_rank(records, checkpoints)
    ax = sc.plots.plot_wd_against_rank(table)
    assert labels(ax) == ["bracketed", "not bracketed"]
    assert words(ax) == ["pets", "svhn"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "10"]


def test_names_of_one_column_do_not_lie_on_one_another():
    from scaling.plots.style import label_column

    ax = new_axes()
    ax.set_ylim(0, 1)
    label_column(ax, 0.5, np.array([0.99, 0.98, 0.5, 0.97]), list("abcd"), ["k"] * 4)
    heights = sorted(text.xy[1] for text in ax.texts)
    assert np.diff(heights).min() > 0.04
    assert heights[-1] < 1
    assert heights[0] == 0.5
