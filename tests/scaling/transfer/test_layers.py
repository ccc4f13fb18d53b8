import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.layers import layer_order
from scaling.transfer import best_layers, layer_accuracies, overlay_layers
from tests.scaling import measured

LAYERS = [*(f"block_{k}" for k in range(1, 13)), "pre_logits"]


def evals(accuracy, draws=1, noise=0.0, **columns):
    """Rows of a probe at each of the layers, in no order."""
    rng = np.random.default_rng(0)
    layers = LAYERS[: len(accuracy)]
    frame = pd.DataFrame({"layer": np.repeat(layers, draws), "draw": np.tile(np.arange(draws), len(layers))})
    frame["error"] = 1 - np.repeat(accuracy, draws) - noise * rng.standard_normal(len(frame))
    return frame.assign(**({"task": "pets", "num_shots": 10, "num_eval": 1000} | columns)).sample(
        frac=1, random_state=1
    )


def test_earliest_of_equally_good_layers():
    row = best_layers(evals([0.2, 0.5, 0.7, 0.7, 0.6])).iloc[0]
    assert (row["best_layer"], row["position"], row["num_layers"]) == ("block_3", 0.5, 5)
    assert (row["accuracy"], row["last_accuracy"], row["gain"]) == pytest.approx((0.7, 0.6, 0.1))


def test_block_10_comes_after_block_9_and_the_named_layer_last():
    accuracy = np.linspace(0.1, 0.7, 13)
    row = best_layers(evals(accuracy)).iloc[0]
    assert (row["best_layer"], row["position"], row["gain"]) == ("pre_logits", 1.0, 0.0)
    accuracy[9] = 0.9
    assert best_layers(evals(accuracy)).iloc[0]["best_layer"] == "block_10"


def test_within_a_standard_error_of_the_binomial_of_one_draw():
    """sqrt(.7 * .3 / 1000) is .0145: .69 is within it, .68 is not."""
    assert best_layers(evals([0.2, 0.68, 0.69, 0.7]), within_standard_error=True).iloc[0]["best_layer"] == "block_3"
    assert best_layers(evals([0.2, 0.68, 0.69, 0.7])).iloc[0]["best_layer"] == "block_4"
    many = evals([0.2, 0.68, 0.69, 0.7], num_eval=100_000)
    assert best_layers(many, within_standard_error=True).iloc[0]["best_layer"] == "block_4"


def test_within_a_standard_error_of_the_mean_of_draws():
    frame = evals([0.2, 0.6, 0.7], draws=4)
    frame.loc[frame["layer"] == "block_3", "error"] = [0.1, 0.2, 0.4, 0.5]  # mean accuracy .7, standard error .091
    assert best_layers(frame, within_standard_error=True).iloc[0]["best_layer"] == "block_3"
    frame.loc[frame["layer"] == "block_3", "error"] = [0.05, 0.15, 0.45, 0.55]  # .7, .119
    assert best_layers(frame, within_standard_error=True).iloc[0]["best_layer"] == "block_2"


def test_a_row_a_probe_and_the_mean_over_models_where_asked():
    frame = pd.concat(
        [
            evals([0.2, 0.7, 0.6], run_id="a"),
            evals([0.2, 0.3, 0.6], run_id="b"),
            evals([0.9, 0.1, 0.1], run_id="a", task="svhn"),
            evals([0.9, 0.1, 0.1], run_id="b", task="svhn"),
        ]
    )
    each = best_layers(frame).set_index(["run_id", "task"])["best_layer"]
    assert each.to_dict() == {
        ("a", "pets"): "block_2", ("b", "pets"): "block_3", ("a", "svhn"): "block_1", ("b", "svhn"): "block_1",
    }  # fmt: skip
    mean = best_layers(frame, by=["task"]).set_index("task")
    assert mean["best_layer"].to_dict() == {"pets": "block_3", "svhn": "block_1"}  # (.6 + .6) / 2 over (.7 + .3) / 2
    assert mean.loc["svhn", "gain"] == pytest.approx(0.8)


def test_layers_may_be_put_in_order_by_hand():
    frame = evals([0.2, 0.7, 0.7]).replace({"layer": {"block_1": "stem", "block_2": "early", "block_3": "late"}})
    with pytest.raises(ValueError, match="have no order by number: give layers="):
        best_layers(frame)
    assert best_layers(frame, layers=["stem", "late", "early"]).iloc[0]["best_layer"] == "late"
    with pytest.raises(ValueError, match="'early' is missing"):
        best_layers(frame, layers=["stem", "late"])


def test_layers_of_numbers_and_categories_are_by_what_they_are_called():
    frame = pd.DataFrame({"task": "pets", "layer": [10, 2, 1], "error": [0.3, 0.2, 0.5]})
    for layers in (frame["layer"], frame["layer"].astype("category"), frame["layer"].astype(str)):
        row = best_layers(frame.assign(layer=layers)).iloc[0]
        assert (row["best_layer"], row["last_accuracy"]) == ("2", pytest.approx(0.7))
    assert best_layers(frame, layers=[1, 2, 10]).iloc[0]["best_layer"] == "2"


def test_models_of_other_layers_are_not_averaged():
    frame = evals([0.2, 0.7, 0.3, 0.6], run_id="a")
    frame.loc[frame["layer"].isin(["block_3", "block_4"]), "run_id"] = "b"
    with pytest.raises(ValueError, match=r"averaged must have the same layers; not so for \['task'\] = pets"):
        best_layers(frame, by=["task"])


def test_a_perfect_layer_has_a_standard_error():
    """Of 10 images all right: with one more right and one wrong, sqrt(11/12 * 1/12 / 10) = .087."""
    frame = evals([0.2, 0.92, 1.0], num_eval=10)
    assert best_layers(frame, within_standard_error=True).iloc[0]["best_layer"] == "block_2"


def test_bad_tables():
    with pytest.raises(ValueError, match="must have rows, each with a layer"):
        best_layers(evals([0.5, 0.6]).assign(layer=[None, "block_1"]))
    with pytest.raises(ValueError, match="must have rows"):
        best_layers(evals([0.5, 0.6]).iloc[:0])
    with pytest.raises(ValueError, match=r"needs evals of two layers or more, .* has only 'block_1'"):
        best_layers(evals([0.5]))
    with pytest.raises(ValueError, match="percent"):
        best_layers(evals([0.5, 0.6]).assign(error=50.0))
    with pytest.raises(ValueError, match="column 'num_eval' is missing"):
        best_layers(evals([0.5, 0.6]).drop(columns="num_eval"), within_standard_error=True)
    uneven = pd.concat([evals([0.5, 0.6]), evals([0.5])])
    with pytest.raises(ValueError, match=r"equally many rows; not so for .*pets"):
        best_layers(uneven)


# Overlay ------------------------------------------------------------------------------------------------------


def test_layers_on_the_models_hull_leave_no_gap():
    upstream = np.linspace(0.1, 0.6, 13)
    downstream = 0.8 - 2 * (0.7 - upstream) ** 2
    overlay = overlay_layers(downstream, upstream, downstream)
    np.testing.assert_allclose(overlay.gaps, 0, atol=1e-12)
    below = overlay_layers(downstream - 0.05, upstream, downstream)
    np.testing.assert_allclose(below.gaps, -0.05, atol=1e-12)
    assert below.mean_gap == pytest.approx(0.05)


def test_only_the_hull_of_the_models_counts_and_not_the_scale_of_upstream_accuracy():
    rng = np.random.default_rng(0)
    upstream = np.linspace(0.1, 0.6, 30)
    downstream = 0.8 - 2 * (0.7 - upstream) ** 2
    layers = np.linspace(0.1, 0.7, 12)
    cloud_x, cloud_y = np.append(upstream, upstream[1:-1]), np.append(downstream, downstream[1:-1] * rng.random(28))
    one, other = overlay_layers(layers, upstream, downstream), overlay_layers(layers, cloud_x * 0.5 + 0.2, cloud_y)
    np.testing.assert_allclose(one.gaps, other.gaps, atol=1e-12)


def test_models_beyond_the_best_do_not_lower_the_curve():
    overlay = overlay_layers([0.2, 0.7, 0.7], [0.1, 0.35, 0.6], [0.2, 0.7, 0.3])
    np.testing.assert_allclose(overlay.hull, [0.2, 0.7, 0.7])


def test_bad_overlays():
    with pytest.raises(ValueError, match="two layers or more"):
        overlay_layers([0.5], [0.1, 0.2], [0.1, 0.2])
    with pytest.raises(ValueError, match="must differ in upstream accuracy"):
        overlay_layers([0.5, 0.6], [0.2, 0.2], [0.1, 0.2])


# As a sweep writes them ---------------------------------------------------------------------------------------


def test_the_layers_of_a_sweep_have_an_order():
    """Neither "embedding" nor "pre_logits" has a number; rows of fine-tuning have no layer."""
    runs = measured.records(seeds=(0,))
    table = best_layers(measured.evals(runs))
    assert len(table) == 2 * 2 * 2  # models, tasks, probes
    assert table.groupby("run_id")["num_layers"].first().to_dict() == {
        "resnet-small_scale-0.05-0": 11, "vit-small_scale-0.05-0": 14,
    }  # fmt: skip
    pets = table[(table["task"] == "pets") & (table["run_id"] == "vit-small_scale-0.05-0")]
    # Best at .85 of the way; the draws' noise of .005 moves it by less than two layers of 13.
    assert pets["position"].between(0.7, 1.0).all()


def test_accuracies_of_each_layer_in_order():
    frame = evals([0.2, 0.6, 0.7], draws=4)
    frame.loc[frame["layer"] == "block_3", "error"] = [0.1, 0.2, 0.4, 0.5]
    curve = layer_accuracies(frame)
    assert curve["layer"].tolist() == ["block_1", "block_2", "block_3"]
    assert curve["position"].tolist() == [0, 0.5, 1]
    assert curve["accuracy"].tolist() == pytest.approx([0.2, 0.6, 0.7])
    assert curve["standard_error"].iloc[-1] == pytest.approx(np.std([0.1, 0.2, 0.4, 0.5], ddof=1) / 2)
    assert layer_accuracies(evals([0.2, 0.6]))["standard_error"].isna().all()
    both = layer_accuracies(pd.concat([frame, evals([0.9, 0.1], task="svhn")]))
    assert both.groupby("task")["layer"].agg(list).to_dict() == {
        "pets": ["block_1", "block_2", "block_3"], "svhn": ["block_1", "block_2"],
    }  # fmt: skip


def test_layers_of_one_model_are_laid_over_all_models():
    runs = measured.records(seeds=(0, 1, 2))
    curves = layer_accuracies(measured.evals(runs[:1]))
    pets = curves[(curves["task"] == "pets") & (curves["probe"] == "whitened")]
    overlay = overlay_layers(pets["accuracy"], 1 - runs["upstream_error"], 1 - runs["pets_10shot_error"])
    assert overlay.depth.size == 14
    np.testing.assert_allclose(overlay.depth, pets["position"], atol=1e-15)  # rounding


@given(st.lists(st.integers(1, 200), unique=True), st.sets(st.sampled_from(["embedding", "pre_logits", "head"])))
def test_any_blocks_lie_between_the_embedding_and_the_pre_logits(blocks, others):
    numbered = [f"block_{number}" for number in blocks]
    order = list(layer_order([*others, *numbered]))
    ends = [name for name in ("pre_logits", "head") if name in others]
    assert order == [
        *(["embedding"] if "embedding" in others else []),
        *sorted(numbered, key=lambda name: int(name[6:])),
        *ends,
    ]
