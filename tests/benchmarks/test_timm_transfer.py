"""What the timm study rests on: its joins, its families, and the few numbers of its table that say something."""

import numpy as np
import pytest

from scaling.transfer import RULES, Rule, compare_scalings, predict_best_models

from .timm_transfer import TASKS, family_of, inference, models_of, ratios

pytestmark = [
    pytest.mark.usefixtures("data_folder"),
    pytest.mark.filterwarnings("ignore::scaling.FitWarning"),
]


def test_every_model_is_joined_once():
    """The file of ImageNet-A lacks resnet50.tv_in1k, against which its images were chosen, and repeats another."""
    sizes = {task: len(models_of(task)) for task in TASKS}
    assert {size for task, size in sizes.items() if not task.endswith(" A")} == {1556}
    assert sizes["ImageNet to A"] == sizes["ImageNet (A's classes) to A"] == 1555
    assert all(models_of(task).index.is_unique for task in TASKS)


def test_families():
    names = {
        "vit_base_patch16_224.augreg_in1k": "vit", "deit3_small_patch16_384.fb_in1k": "vit",
        "resnet50.a1_in1k": "resnet", "wide_resnet50_2.tv_in1k": "resnet", "legacy_seresnet50.in1k": "resnet",
        "vit_base_r50_s16_384.orig_in21k_ft_in1k": "other",
        "resnest50d.in1k": "other", "vitamin_small_224.x": "other",
    }  # fmt: skip
    assert {name: family_of(name) for name in names} == names
    frame = inference()
    assert len(frame) == 1454
    assert frame.family.value_counts().to_dict() == {"other": 1024, "resnet": 287, "vit": 143}
    only = frame[frame.only_in1k].model
    assert not only.str.contains("in21k|in22k|in12k|jft|webli|laion|swag").any()
    assert len(only) > 1000


def test_vision_transformers_reach_an_error_with_less_inference_compute_than_resnets():
    """Checkpoints of unequal pre-training: half the FLOPs at an error of .2, and fewer at any share of the interval."""
    table = ratios(inference(), (0.2,)).table
    middle, low, high = table[table["method"] == "law"][["ratio", "low", "high"]].iloc[0]
    assert 0.3 < middle < 0.7
    assert 0.15 < low < middle < high < 1


def test_real_saturates_and_the_law_of_transfer_foresees_its_best_models():
    """ReaL is the one concave task: a hull of many vertices, a saturation below 1, and errors of a straight line on
    any scale at least 1.5 times those of the law."""
    upstream, downstream = models_of("ImageNet to ReaL").to_numpy().T
    best = predict_best_models(upstream, downstream, num_draws=100)
    assert best.is_held_out.sum() == 78
    table = best.table.set_index(["law", "points"])
    edge = table.loc[("transfer", "stochastic")]
    assert 0.94 < edge.saturation_low < edge.saturation < edge.saturation_high < 0.965
    assert 0.95 < table.saturation["transfer", "vertices"] < 0.97
    lines = [rule for rule in RULES if rule.law != "transfer"]
    assert min(table.mae_frontier[rule.law, rule.points] for rule in lines) > 1.5 * edge.mae_frontier


def test_imagenet_a_has_no_hull_law_and_no_rule_foresees_it():
    """Its accuracies are convex in those of ImageNet: the upper hull is one chord."""
    pairs = models_of("ImageNet to A").to_numpy().T
    rules = [Rule("transfer", "vertices"), Rule("transfer", "stochastic"), Rule("logit", "all")]
    table = predict_best_models(*pairs, rules=rules, num_draws=100).table
    assert table.reason[0].startswith("the hull is one chord between two models")
    assert table.warnings[1] == "poor_fit"
    assert (table.mae_all[1:] > 0.08).all()


def test_the_logit_straightens_every_shift_best():
    r2 = {task: compare_scalings(*models_of(task).to_numpy().T).r2_accuracy for task in TASKS}
    assert {values.idxmax() for values in r2.values()} == {"logit"}
    assert np.min([values["logit"] for values in r2.values()]) > 0.75
