import re

import pytest

from sweeps.planning.describe import describe_plan, tuned_columns, tuned_fields
from sweeps.runner.cost import finetune_cost, forget_counted, run_cost
from sweeps.specs.faults import SpecError
from sweeps.training.saved_model import save_model

from ..conftest import plan_of

ONE = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}  # 4 runs: 2 subsets x 2 lengths


def test_nothing_is_tuned_where_each_cell_has_one_value():
    assert tuned_fields(plan_of().configs) == {}
    of_each_size = {"vit": [{"width": w, "depth": 1, "patch": 4, "recipe": {"lr": lr}} for w, lr in ((16, 1), (32, 2))]}
    assert tuned_fields(plan_of(model=of_each_size).configs) == {}
    assert tuned_fields(plan_of(model=ONE, seeds=[0, 1]).configs) == {}


def test_each_tuned_field_is_counted_at_the_same_others():
    found = tuned_fields(plan_of(model=ONE, recipe__lr=[1e-3, 2e-3, 3e-3], recipe__beta1=[0.8, 0.9]).configs)
    assert found == {"lr": [3] * 8, "beta1": [2] * 12}


def test_a_weight_decay_of_the_head_that_follows_is_no_field_of_its_own():
    assert tuned_fields(plan_of(model=ONE, recipe__weight_decay=[0, 0.1]).configs) == {"weight_decay": [2] * 4}
    both = plan_of(model=ONE, recipe__weight_decay=[0, 0.1], recipe__head_weight_decay=[1, 2])
    assert tuned_fields(both.configs) == {"weight_decay": [2] * 8, "head_weight_decay": [2] * 8}


def test_cells_of_unequal_numbers_of_values():
    models = {
        "vit": [{"width": w, "depth": 1, "patch": 4, "recipe": {"lr": lr}} for w, lr in ((16, [1, 2]), (32, [1, 2, 3]))]
    }
    assert "recipe.lr: 2 to 3 values in each of 8 cells" in describe_plan(plan_of(model=models))


def test_sharpness_aware_minimisation_costs_twice():
    def flops(**changes):
        return float(describe_plan(plan_of(model=ONE, **changes)).splitlines()[-1].split()[-1])

    assert flops(recipe__sam_rho=0.1) == pytest.approx(2 * flops(), rel=0.01)  # three digits are printed


def test_a_teachers_forward_passes_are_counted(tmp_path):
    """The teacher is of the student's shape: (3 + 1) / 3 of the FLOPs."""
    (config, *_) = plan_of(model=ONE).configs
    save_model(tmp_path / "teacher", config.model.build(config.image_size, config.num_classes), config)
    text = describe_plan(plan_of(model=ONE, recipe__teacher=str(tmp_path / "teacher")))
    plain = describe_plan(plan_of(model=ONE))
    taught, alone = (float(printed.splitlines()[-1].split()[-1]) for printed in (text, plain))
    assert taught == pytest.approx(4 / 3 * alone, rel=0.01)  # three digits are printed


@pytest.mark.parametrize(
    ("asked", "changes", "seen"),
    [
        ({"examples": 1000, "lr": [0.01, 0.1]}, {}, 2 * 64 + 64),
        ({"examples": 50, "lr": [0.01, 0.1]}, {}, 2 * 40 + 50),  # a fifth of few images chooses the rate
        ({"examples": "all", "lr": 0.1}, {}, 64),
        ({"examples": "all", "lr": 0.1, "draws": 3}, {"recipe__ema_decay": 0.9}, 2 * 3 * 64),
    ],
)
def test_what_fine_tuning_adds_is_told_and_shown_while_it_runs(asked, changes, seen):
    """At the upstream size an image costs the same in both, but for the classifier of as many classes: the digits'."""
    asked = {"tasks": ["digits"], "steps": 5, "batch_size": 64, **asked}
    plan = plan_of(model=ONE, finetune=asked, downstream=None, **changes)
    (line,) = (line for line in describe_plan(plan).splitlines() if line.startswith("fine-tuning"))
    training = 16 * sum(trunk.num_steps for trunk in plan.trunks)
    added, ratio = re.fullmatch(r"fine-tuning of 4 models adds (\S+) FLOPs, (\S+) times the training", line).groups()
    assert float(ratio) == pytest.approx(4 * 5 * seen / training, rel=0.05)  # two digits are printed
    cost = run_cost(plan.configs[0]).training_flops
    assert float(added) == pytest.approx(4 * 5 * seen * cost, rel=0.01)  # three digits
    assert finetune_cost(plan.configs[0]).num_images == 5 * seen


def test_a_model_that_cannot_be_built_is_told(monkeypatch):
    def fails(self, *args, **kwargs):
        raise RuntimeError("no such\nshape")

    monkeypatch.setattr("sweeps.models.VitConfig.build", fails)
    forget_counted()  # another test may have counted this model
    with pytest.raises(SpecError, match=r"model.vit: w24d1/4 cannot be built: no such shape"):
        describe_plan(plan_of(model={"vit": [{"width": 24, "depth": 1, "patch": 4}]}))


def test_columns_that_follow_what_is_tuned_are_tuned_too():
    def columns(**changes):
        return tuned_columns(plan_of(model=ONE, **changes).configs)

    assert columns(recipe__weight_decay=[0, 0.1]) == ["weight_decay", "head_weight_decay"]
    assert columns(recipe__mixup=[0, 0.2], recipe__repeats=[1, 2]) == ["mixup", "augment", "repeats"]
    assert columns(recipe__optimizer=["adamw", "sgd"]) == ["optimizer"]
