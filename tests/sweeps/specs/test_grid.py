import time

from sweeps.specs.config import RunConfig
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from ..conftest import changed, plan_of


def test_runs_of_one_cell_share_a_trunk():
    plan = plan_of(steps=[20, 40, 80])
    assert len(plan.configs) == 12
    assert len(plan.trunks) == 4
    for trunk in plan.trunks:
        assert [config.steps for config in trunk.configs] == [20, 40, 80]
        assert len({config.trunk_id for config in trunk.configs}) == 1
        assert trunk.num_steps == 64 + 4 + 8 + 16  # the trunk to the last branch, and each cooldown


def test_ten_lengths_from_one_trunk_cost_1_9_of_the_longest_run_instead_of_5_5():
    trunk = plan_of(steps=[100 * i for i in range(1, 11)], train_examples=800).trunks[0]
    assert trunk.num_steps / 1000 == 1.9
    assert sum(config.steps for config in trunk.configs) / 1000 == 5.5


def test_a_schedule_that_depends_on_the_length_cannot_branch():
    for kind in ("cosine", "linear"):
        plan = plan_of(schedule__kind=kind)
        assert len(plan.trunks) == len(plan.configs) == 8
        assert all(trunk.trunk_id == trunk.configs[0].run_id for trunk in plan.trunks)


def test_a_percent_warm_up_cannot_branch():
    assert len(plan_of(schedule__warmup="10%", steps=[40, 80]).trunks) == 8


def test_why_runs_are_trained_alone():
    assert plan_of().alone == ()
    assert plan_of(schedule__warmup="0%").alone == ()
    assert plan_of(schedule__kind="cosine").alone == (("schedule.kind 'cosine' depends on the length of the run", 8),)
    ((reason, count),) = plan_of(schedule__warmup=["10%", 5]).alone
    assert (reason, count) == ("schedule.warmup in percent: give it in steps, epochs or examples", 8)
    ((reason, count),) = plan_of(evaluate__every="50%").alone
    assert (reason, count) == ("evaluate.every in percent: give it in steps, epochs or examples", 8)


def test_a_run_of_one_length_loses_nothing_by_its_schedule():
    assert plan_of(schedule__kind="cosine", steps=[20]).alone == ()


def test_a_batch_may_be_larger_than_the_subset():
    """Its images then repeat within a batch; epochs stay what they are."""
    plan = plan_of(train_examples=100, recipe__batch_size=128, steps=None, epochs=64)
    assert {config.steps for config in plan.configs} == {50}


def test_evaluations_may_be_further_apart_than_the_run_is_long():
    assert {config.evaluate.every_steps for config in plan_of(evaluate__every="1000 steps").configs} == {1000}


def test_a_model_that_is_only_evaluated_has_no_steps(monkeypatch):
    monkeypatch.setattr("sweeps.models.VitConfig.trainable", False)
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    plan = plan_of(model=models, steps=0, schedule={"kind": "constant"})
    assert {config.steps for config in plan.configs} == {0}


def test_five_thousand_cells_are_planned_in_seconds():
    models = {"vit": [{"width": [16, 32, 48, 64, 80], "depth": [1, 2, 3, 4], "patch": 4}]}
    axes = {"train_examples": [100, 200, 400, 600, 800], "steps": [20, 40, 80, 160, 320], "seeds": [0, 1]}
    started = time.process_time()
    plan = make_plan(parse_spec(changed(model=models, recipe__lr=[1e-3, 2e-3, 3e-3, 4e-3, 5e-3], **axes)))
    assert len(plan.configs) == 5000
    assert time.process_time() - started < 10  # 1 to 2 on an idle core


def test_duplicates_are_dropped_and_counted():
    plan = plan_of(seeds=[0, 0])
    assert len(plan.configs) == 8
    assert plan.num_duplicates == 8


def test_run_ids_are_hashes_of_the_resolved_config():
    """Golden: an id that changes trains every finished run again. Raise `numerics_version` when that is meant."""
    plan = plan_of()
    assert plan.configs[0].run_id == plan_of(name="another", order="largest_first").configs[0].run_id
    assert plan.configs[0].run_id == plan_of(upstream__folder="/elsewhere").configs[0].run_id
    assert len({config.run_id for config in plan.configs}) == 8
    assert plan.configs[0].run_id == "58928bdce865"


def test_the_plan_does_not_depend_on_the_order_of_fields():
    a, b = plan_of(), plan_of(recipe=None)
    assert {c.run_id for c in a.configs}.isdisjoint(c.run_id for c in b.configs)
    again = plan_of(recipe={"lr": 3e-3, "batch_size": 16, "name": "small_scale"})
    assert [c.run_id for c in a.configs] == [c.run_id for c in again.configs]


def test_equal_writings_are_equal_runs():
    assert plan_of(train_examples=["50%"]).configs[0].run_id == plan_of(train_examples=[450]).configs[0].run_id
    assert plan_of(schedule__warmup=5).configs[0].run_id == plan_of(schedule__warmup="80 examples").configs[0].run_id


def test_a_config_survives_json():
    for config in plan_of().configs:
        assert RunConfig.model_validate_json(config.model_dump_json()) == config


def test_a_subset_as_large_as_the_set_leaves_the_held_out_part_out():
    plan = plan_of(train_examples=[1000])
    assert plan.configs[0].train_examples == 900
    assert plan.configs[0].upstream.num_val == 100


def test_axes_of_the_training_make_no_second_evaluation_of_a_model_that_is_only_evaluated(monkeypatch):
    monkeypatch.setattr("sweeps.models.VitConfig.trainable", False)
    axes = {"recipe__lr": [1e-3, 1e-2], "seeds": [0, 1], "train_examples": [100, 200], "recipe__batch_size": [8, 16]}
    axes |= {"evaluate__every": "10 steps", "evaluate__stop_after": 2}
    plan = plan_of(model={"vit": [{"width": 16, "depth": 1, "patch": 4}]}, steps=0, **axes)
    assert (len(plan.configs), plan.num_duplicates) == (1, 15)


def test_a_plan_says_what_a_suite_lacks_once():
    plan = plan_of(downstream__tasks=["vtab-like"])
    assert any("no dmlab" in line for line in plan.missing)
    assert len(set(plan.missing)) == len(plan.missing)
    assert plan_of().missing == ()
