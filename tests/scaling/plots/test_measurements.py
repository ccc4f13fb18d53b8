import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.measurements import add_measurements, measurement_table
from scaling.plots.style import STYLES, name_lines
from scaling.tables import crossings, paired_difference
from tests.scaling import measured

from .helpers import labels, line_of, words

RUNS = measured.records(families=("vit", "mixer", "resnet"), recipes=("small_scale", "sam"))
ROWS = measured.measurements(RUNS)
MODEL = ["model_family", "recipe"]


def table(*names, **where):
    runs = RUNS[np.logical_and.reduce([np.ones(len(RUNS), bool), *(RUNS[k] == v for k, v in where.items())])]
    return measurement_table(ROWS, runs, *names)


def ticks(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


# By layer -----------------------------------------------------------------------------------------------------


def test_models_of_the_same_layers_are_drawn_by_name_with_seeds_and_their_mean():
    of_vit = table("weight_norm", model_family="vit")
    ax = sc.plots.plot_by_layer(of_vit, label="recipe")
    assert labels(ax) == ["sam (mean of 2)", "small_scale (mean of 2)"]
    assert len(ax.lines) == 2 * (2 + 1)
    of_sam = of_vit[of_vit["recipe"] == "sam"]
    mean = of_sam.groupby("layer")["value"].mean()[measured.layers("vit", head=True)]
    np.testing.assert_allclose(line_of(ax, "sam (mean of 2)").get_ydata(), mean)
    assert ticks(ax.xaxis)[0] == "embed-\nding"
    assert ticks(ax.xaxis)[-1] == "head"
    assert ax.get_ylabel() == "norm of the weights"
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > 1.04 * max(line.get_ydata().max() for line in ax.lines)


def test_models_of_other_layers_are_drawn_by_position():
    ax = sc.plots.plot_by_layer(table("weight_norm", seed=0, recipe="sam"), label="model_family")
    assert ax.get_xlabel() == "layer (0 the first of its model, 1 the last)"
    assert [len(line.get_xdata()) for line in ax.lines] == [15, 12, 15]
    both = sc.plots.plot_by_layer(table("weight_norm", seed=0), label="recipe")
    assert labels(both) == ["sam (3 models)", "small_scale (3 models)"]  # and no mean of unlike layers


def test_what_else_tells_values_apart_differs_in_the_line():
    of_mixer = table("active_share", model_family="mixer", seed=0, recipe="sam")
    assert labels(sc.plots.plot_by_layer(of_mixer)) == ["mixer, S/8"]  # whole layers
    ax = sc.plots.plot_by_layer(of_mixer[of_mixer["other"].notna()])
    assert labels(ax) == ["mixer, S/8, channel_mlp", "mixer, S/8, token_mlp"]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"]


def test_probes_are_drawn_too():
    curves = sc.transfer.layer_accuracies(measured.evals(RUNS[:1]))
    ax = sc.plots.plot_by_layer(curves[curves["probe"] == "plain"], label="task", y="accuracy")
    assert labels(ax) == ["digits", "pets"]
    assert ax.get_ylabel() == "accuracy"


def test_attention_distance_has_a_point_a_head_and_the_mean():
    of_vit = table("attention_distance", model_family="vit", seed=0)
    ax = sc.plots.plot_attention_distance(of_vit, label="recipe")
    points, mean = ax.lines[0], ax.lines[1]
    assert len(points.get_xdata()) == 12 * 3
    assert len(mean.get_xdata()) == 12
    assert ticks(ax.xaxis) == [str(block) for block in range(1, 13)]
    first = of_vit[(of_vit["recipe"] == "sam") & (of_vit["layer"] == "block_1")]["value"].mean()
    assert mean.get_ydata()[0] == pytest.approx(first)


def test_bad_tables_by_layer():
    with pytest.raises(ValueError, match=r"must be of one measurement, got \['weight_norm', 'distance_to_init'\]"):
        sc.plots.plot_by_layer(table("weight_norm", "distance_to_init"))
    with pytest.raises(ValueError, match="must have rows"):
        sc.plots.plot_by_layer(table("weight_norm")[:0])
    with pytest.raises(ValueError, match="column 'position' must hold finite numbers"):
        sc.plots.plot_by_layer(table("sharpness"))
    with pytest.raises(ValueError, match="column 'recipes' is missing; there is recipe"):
        sc.plots.plot_by_layer(table("weight_norm"), label="recipes")
    with pytest.raises(ValueError, match="each distance must be of a layer"):
        sc.plots.plot_attention_distance(table("sharpness"))


def test_lines_of_two_kinds_share_a_colour_and_one_is_pale_and_open():
    names, looks = name_lines(RUNS, MODEL)
    assert names[0] == "vit, small_scale"
    dark, pale = looks["vit, sam"], looks["vit, small_scale"]
    assert (dark["marker"], dark["mfc"], pale["mfc"]) == (pale["marker"], dark["color"], "white")
    assert min(pale["color"]) >= 0.4  # blue, whose least part is 0, with that much white
    assert all(looks[name] == look for name, look in name_lines(RUNS[::-1], MODEL)[1].items())  # in any order of rows
    three = name_lines(RUNS.assign(recipe=list("abc") * 4), MODEL)[1]
    assert len({(str(look["color"]), look["marker"]) for look in three.values()}) == len(three)
    assert name_lines(RUNS.assign(recipe=None), MODEL)[0].tolist()[0] == "vit"


def test_lines_of_a_setting_are_by_value_and_no_two_values_have_one_name():
    values = [10.0, 3.0, 0.0, 1234567.0, 1234568.0, 0.01]
    names, looks = name_lines(pd.DataFrame({"lr": values}), "lr")
    assert list(looks) == ["0", "0.01", "3", "10", "1234567", "1234568"]
    assert names.tolist() == ["10", "3", "0", "1234567", "1234568", "0.01"]
    colours = [look["color"] for look in name_lines(pd.DataFrame({"lr": [0.0, 10, 3]}), "lr")[1].values()]
    assert colours == [STYLES[place][0] for place in range(3)]
    decays = [0.0, 10.0, 3.0]
    layers = pd.DataFrame(
        {"decay": decays * 2, "layer": ["block_1"] * 3 + ["block_2"] * 3, "position": [0] * 3 + [1] * 3}
    )
    ax = sc.plots.plot_by_layer(layers.assign(name="weight_norm", value=1.0), label="decay")
    assert labels(ax) == ["0", "3", "10"]


def test_models_of_two_families_and_one_variant_are_not_averaged():
    runs = RUNS.assign(model_variant="S/8")
    errors = measurement_table(ROWS, runs, "corruption_error")
    found = [label.split(":")[0] for label in labels(sc.plots.plot_corruptions(errors))]
    assert found == ["mixer, S/8", "resnet, S/8", "vit, S/8"]
    looks = name_lines(runs, ["model_family", "model_variant"])[1]
    assert [look["mfc"] for look in looks.values()] == [look["color"] for look in looks.values()]  # none pale
    assert looks["vit, S/8"] == name_lines(runs, "model_family")[1]["vit"]


# CKA ----------------------------------------------------------------------------------------------------------


def test_half_a_matrix_of_one_model_is_completed():
    ax = sc.plots.plot_cka(table("cka", model_family="resnet", seed=0, recipe="sam"), label=MODEL)
    matrix = ax.images[0].get_array()
    assert matrix.shape == (11, 11)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.diag(matrix).tolist() == [1] * 11
    assert ax.get_xlabel() == ax.get_ylabel() == "layers of resnet, sam"
    assert ticks(ax.yaxis)[:3] == ["embed-\nding", "1", "2"]
    assert words(ax)[:2] == ["1", f"{np.exp(-1 / 8):.2f}"[1:]]


def test_two_models_have_their_own_layers():
    own = table("cka", model_family="resnet", seed=0, recipe="sam")
    layers = [("block_1", "block_1", 0.3), ("block_1", "block_2", 0.2), ("block_2", "block_1", 0.1),
              ("block_2", "block_2", 0.4)]  # fmt: skip
    other = own[:4].assign(other_run="init")
    other[["layer", "other_layer", "value"]] = layers
    both = pd.concat([own, other])
    ax = sc.plots.plot_cka(both, "init")
    assert ax.images[0].get_array().tolist() == [[0.3, 0.2], [0.1, 0.4]]  # not mirrored
    assert ax.get_xlabel() == "layers of resnet, 18 before training"
    assert sc.plots.plot_cka(both).images[0].get_array().shape == (11, 11)
    with pytest.raises(ValueError, match=r"other must be one of \[None, 'init'\], got 'b7'"):
        sc.plots.plot_cka(both, "b7")
    with pytest.raises(ValueError, match="must be of one model, got"):
        sc.plots.plot_cka(table("cka", model_family="resnet"))


# Landscape ----------------------------------------------------------------------------------------------------


def test_two_landscapes_have_one_scale():
    both = table("loss", model_family="vit", seed=0)
    axes = plt.subplots(1, 2)[1]
    levels = []
    for ax, recipe in zip(axes, ("small_scale", "sam"), strict=True):
        sc.plots.plot_landscape(both, recipe, label="recipe", ax=ax)
        levels.append(ax.collections[0].levels)
        assert ax.get_title() == recipe
        assert words(ax) == ["0.3"]  # the loss of the trained model
    np.testing.assert_array_equal(*levels)
    assert levels[0][0] <= both["value"].min() < both["value"].max() <= levels[0][-1]


def test_the_scale_of_a_flat_landscape_has_digits_enough():
    flat = table("loss", model_family="vit", seed=0, recipe="sam").assign(value=lambda t: 2.1 + 1e-3 * t["value"])
    bar = sc.plots.plot_landscape(flat).figure.axes[1]
    shown = ticks(bar.yaxis)
    assert len(set(shown)) == len(shown) == 7


def test_bad_landscapes():
    both = table("loss", model_family="vit", seed=0)
    with pytest.raises(ValueError, match=r"of must be a model of the table, one of \['small_scale', 'sam'\], got None"):
        sc.plots.plot_landscape(both, label="recipe")
    with pytest.raises(ValueError, match="2 models are called 'vit, Ti/8'"):
        sc.plots.plot_landscape(both)
    with pytest.raises(ValueError, match="must be on a grid of two points or more each way, without gaps"):
        sc.plots.plot_landscape(both[1:], "small_scale", label="recipe")


# Corruptions and attacks --------------------------------------------------------------------------------------


def test_corruptions_stand_side_by_side_and_their_mean_last():
    errors = table("corruption_error", model_family="vit")
    ax = sc.plots.plot_corruptions(errors, label="recipe")
    means = errors[errors["corruption"] != "clean"].groupby("recipe")["value"].mean()
    assert labels(ax) == [f"{name}: mean {means[name]:.3f}" for name in ("sam", "small_scale")]
    assert set(words(ax)) == {"gaussian noise", "defocus blur", "contrast", "pixelate", "mean"}
    of_sam = errors[errors["recipe"] == "sam"].groupby("severity")["value"].mean()
    np.testing.assert_allclose(line_of(ax, labels(ax)[0]).get_ydata(), of_sam)


def test_models_without_a_corruption_are_not_compared():
    errors = table("corruption_error", model_family="vit")
    with pytest.raises(
        ValueError, match=r"must have all 21 corruptions and severities of the table; run 'vit-.*' has 20"
    ):
        sc.plots.plot_corruptions(errors[1:])


def test_attacks():
    ax = sc.plots.plot_adversarial(table("fgsm_error", "pgd_error", model_family="vit"), label="recipe")
    assert labels(ax) == ["sam, PGD", "sam, FGSM", "small_scale, PGD", "small_scale, FGSM"]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"] * 2
    np.testing.assert_allclose(line_of(ax, "sam, PGD").get_xdata(), [0.255, 0.9945, 1.989, 4.0035])  # 255 x radius
    assert [line.get_markerfacecolor() for line in ax.lines][1::2] == ["none"] * 2  # a ring, also where both are equal
    with pytest.raises(ValueError, match="percent"):
        sc.plots.plot_adversarial(table("pgd_error").assign(value=50.0))


# Settings -----------------------------------------------------------------------------------------------------

SWEEP = measured.records(decays=(0, 0.01, 1, 10))
WIDE = add_measurements(SWEEP, measured.measurements(SWEEP))


def test_quantities_against_a_setting_are_means_over_seeds():
    ax = sc.plots.plot_against(WIDE, "head_weight_decay", ["head_margin_train", "head_margin_test"])
    assert ax.get_ylabel() == "head margin"
    assert labels(ax)[0] == "resnet, head margin train"
    of_resnet = WIDE[WIDE["model_family"] == "resnet"]
    mean = of_resnet.groupby("head_weight_decay")["head_margin_train"].mean()
    np.testing.assert_allclose(line_of(ax, labels(ax)[0]).get_ydata(), mean)
    assert ticks(ax.xaxis) == ["0", "0.01", "1", "10"]
    assert ax.get_xscale() == "log"


def test_words_are_places_and_runs_without_a_value_are_counted():
    wide = add_measurements(RUNS, ROWS)
    ax = sc.plots.plot_against(wide, "recipe", "hessian_top_eigenvalue", log=True)
    assert ticks(ax.xaxis) == ["small_scale", "sam"]
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "top eigenvalue of the Hessian"
    ax = sc.plots.plot_against(wide, "recipe", "attention_distance_mean")
    assert ax.get_title(loc="left") == "8 of 12 runs have no value"
    assert labels(ax) == ["vit"]
    with pytest.raises(ValueError, match="no run has values of"):
        sc.plots.plot_against(wide[wide["model_family"] == "resnet"], "recipe", "attention_distance_mean")
    with pytest.raises(ValueError, match=r"logarithmic axis needs positive values, \['sharpness'\] have 0"):
        sc.plots.plot_against(wide.assign(sharpness=0.0), "recipe", "sharpness", log=True)


def test_crossings_have_a_ring_and_their_place():
    runs = pd.DataFrame(
        {"model_family": ["vit"] * 2 + ["resnet"] * 2, "train_examples": [1e3, 1e5] * 2, "error": [0.6, 0.3, 0.5, 0.4]}
    )
    found = crossings(runs, y="error")
    ax = sc.plots.plot_against(runs, "train_examples", "error", crossings=found)
    assert words(ax) == ["10k"]
    assert "the order turns round, perhaps" in labels(ax)
    assert ticks(ax.xaxis) == ["1k", "100k"]


# Paired -------------------------------------------------------------------------------------------------------


def test_differences_are_filled_where_their_interval_leaves_out_0():
    found = pd.DataFrame(
        {"family": ["vit", "resnet", "mixer"], "mean_a": 0.3, "mean_b": 0.2, "difference": [-0.1, -0.1, -0.2],
         "standard_error": [0.01, 0.1, np.nan], "low": [-0.14, -0.5, -np.inf], "high": [-0.06, 0.3, np.inf],
         "num_pairs": [3, 3, 1], "num_unpaired": 0}
    )  # fmt: skip
    ax = sc.plots.plot_paired_differences(found)
    filled, opened = (line for line in ax.lines if line.get_marker() == "o")
    assert filled.get_xdata().tolist() == [-0.1]
    assert opened.get_xdata().tolist() == [-0.1, -0.2]
    assert words(ax) == ["-0.1 (3 pairs)", "-0.1 (3 pairs)", "-0.2 (1 pair, no interval)"]
    assert ticks(ax.yaxis) == ["vit", "resnet", "mixer"]
    with pytest.raises(ValueError, match="must have rows"):
        sc.plots.plot_paired_differences(found[:0])


def test_a_table_of_paired_differences_is_drawn():
    found = paired_difference(RUNS, "upstream_error", "recipe", "small_scale", "sam", along=["sam_rho"])
    ax = sc.plots.plot_paired_differences(found)
    assert len(words(ax)) == 3
    assert ticks(ax.yaxis) == ["mixer, S/8", "resnet, 18", "vit, Ti/8"]  # shapes left out, as they tell no more
    one = found.assign(model_variant="one", model_family="vit", num_heads=[3.0, 6.0, None])
    one = one[["model_family", "model_variant", "num_heads", *found.columns[-8:]]]
    assert ticks(sc.plots.plot_paired_differences(one).yaxis) == ["vit, one, 3", "vit, one, 6", "vit, one"]
