import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.data.prepare import prepare_data
from sweeps.engines import Event
from sweeps.planning.estimate import (
    BEGIN_SECONDS,
    END_SECONDS,
    END_SECONDS_A_RUN,
    chosen_shapes,
    estimate_plan,
    make_estimate,
    plan_shapes,
    simulate,
)
from sweeps.planning.step_shapes import num_evaluations, shapes_of, step_shape
from sweeps.planning.timing import ShapeTimes, time_shape
from sweeps.runner.cost import evaluation_images, finetune_cost, run_cost
from sweeps.runner.training_order import in_order

from ..conftest import plan_of

ONE = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
MANY = {
    "vit": [{"width": 8 * w, "depth": 1, "patch": 4, "heads": 1} for w in range(1, 31)],
    "resnet": [{"width": 4, "depth": [1, 1]}],
}
TIMES = ShapeTimes(job=1.0, step=0.5, evaluation_image=0.01, run=2.0)


def test_what_changes_no_step_makes_no_shape():
    """Rates, lengths, seeds, subsets and schedules do not."""
    plan = plan_of(
        model=ONE, recipe__lr=[1e-3, 2e-3], recipe__weight_decay=[0, 0.1], seeds=[0, 1], recipe__mixup=[0.1, 0.2],
        schedule__kind=["constant", "linear"],
    )  # fmt: skip
    assert len(shapes_of(plan)) == 1
    assert sum(map(len, shapes_of(plan).values())) == len(plan.trunks)


@pytest.mark.parametrize(
    "changes",
    [
        {"recipe__batch_size": [16, 32]}, {"recipe__mixup": [0, 0.2]}, {"recipe__optimizer": ["adamw", "sgd"]},
        {"precision": ["float32", "bfloat16"]}, {"upstream__image_size": [8, 16]}, {"recipe__sam_rho": [None, 0.1]},
        {"recipe__rand_augment_ops": [0, 2]}, {"threads": [1, 2]}, {"checkpoint_activations": [False, True]},
    ],
)  # fmt: skip
def test_what_changes_a_step_makes_a_shape(changes):
    assert len(shapes_of(plan_of(model=ONE, **changes))) == 2


@pytest.mark.parametrize("every", [None, "3 steps", "7 steps", "100 steps"])
def test_evaluations_are_counted_as_they_are_made(every):
    """By the course of a trunk, step by step: its runs leave it at their cooldown."""
    (trunk,) = plan_of(model=ONE, train_examples=200, evaluate__every=every).trunks
    count, step = 0, 0
    configs = sorted(trunk.configs, key=lambda config: config.steps)
    for config in configs:
        for at in range(step + 1, config.branch_step + 1):
            count += bool(config.evaluate.every_steps) and at % config.evaluate.every_steps == 0
        step = config.branch_step
        own = [bool(config.evaluate.every_steps) and at % config.evaluate.every_steps == 0
               for at in range(step + 1, config.steps + 1)]  # fmt: skip
        count += sum(own) + (not own[-1])
    assert num_evaluations(trunk.configs) == count


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.integers(1, 6))
def test_slots_are_neither_idle_nor_full_beyond_measure(durations, num_slots):
    """Graham's bounds of list scheduling."""
    wall = simulate(durations, num_slots)
    ideal = max(sum(durations) / num_slots, max(durations))
    assert ideal * (1 - 1e-12) <= wall <= (sum(durations) / num_slots + max(durations)) * (1 + 1e-12)
    assert simulate(durations, 1) == pytest.approx(sum(durations))


def test_the_time_of_a_trunk_by_hand():
    plan = plan_of(model=ONE, train_examples=200)
    shapes = plan_shapes(plan)
    estimate = make_estimate(plan, shapes, {shapes[0].config: TIMES}, num_slots=2, startup=3.0)
    images = 300 + 100 + 200 + 20 * 10 + 50  # test, held out, trained on; a task's training and test images
    assert evaluation_images(plan.configs[0]) == images
    expected = 1 + 44 * 0.5 + 2 * images * 0.01 + 2 * 2
    around = BEGIN_SECONDS + END_SECONDS + 2 * END_SECONDS_A_RUN
    assert estimate.wall_seconds == pytest.approx(around + 3 + expected)
    assert estimate.slot_seconds == pytest.approx(expected)


def test_fine_tuning_counts_by_images_and_trainings():
    asked = {
        "tasks": ["digits", "shapes"],
        "examples": 100,
        "lr": [0.01, 0.1],
        "steps": 5,
        "batch_size": 64,
        "draws": 3,
    }
    plan = plan_of(model=ONE, train_examples=200, steps=20, finetune=asked, recipe__ema_decay=0.9)
    cost = finetune_cost(plan.configs[0])
    assert cost.num_trainings == 2 * 2 * 3 * 3  # weights, tasks, draws, two rates and the chosen one
    shapes = plan_shapes(plan)
    (with_it,) = make_estimate(
        plan, shapes, {shapes[0].config: ShapeTimes(0, 0, 0, 0, 0, 0.1, 10.0)}, 1, 0.0
    ).trunk_seconds.values()
    assert with_it == pytest.approx(0.1 * cost.num_images + 10 * cost.num_trainings)


def test_of_many_shapes_some_of_each_family_are_measured_with_both_ends():
    shapes = plan_shapes(plan_of(model=MANY))
    chosen = chosen_shapes(shapes, most=8)
    assert len(chosen) <= 8
    assert {shape.config.model.family for shape in chosen} == {"vit", "resnet"}
    vits = [shape for shape in shapes if shape.config.model.family == "vit"]
    assert {vits[0], vits[-1]} <= set(chosen)
    assert chosen_shapes(shapes) != shapes
    assert chosen_shapes(shapes, most=31) == shapes


@pytest.mark.parametrize("order", ["largest_first", "cheapest_first"])
def test_trainings_begin_in_the_order_of_their_flops(order):
    """Not of their forward passes alone: a step of sharpness-aware minimisation takes two."""
    plan = plan_of(model=ONE, recipe__sam_rho=[0.1, None], steps=[20], train_examples=800)
    flops = {t.trunk_id: float(run_cost(t.configs[0]).training_flops) for t in plan.trunks}
    first, second = in_order(plan.trunks, flops, order)
    assert (first.configs[0].recipe.sam_rho is not None) == (order == "largest_first")
    assert in_order(plan.trunks, flops, order, last={first.trunk_id}) == [second, first]


def test_shapes_that_are_not_measured_follow_from_their_flops():
    """Times that are a power of the FLOPs are found between two measured shapes, and marked."""
    plan = plan_of(model=MANY)
    shapes = [shape for shape in plan_shapes(plan) if shape.config.model.family == "vit"]
    measured = {
        s.config: ShapeTimes(1.0, s.step_flops**0.7, s.forward_flops**0.5, 1.0) for s in chosen_shapes(shapes, 6)
    }
    everything = plan_shapes(plan)
    found = {shape: (times, how) for shape, times, how in make_estimate(plan, everything, measured, 2, 0.0).times}
    for shape in shapes:
        times, how = found[shape]
        assert times.step == pytest.approx(shape.step_flops**0.7, rel=1e-6)  # exact on a straight line
        assert times.evaluation_image == pytest.approx(shape.forward_flops**0.5, rel=1e-6)
        assert how == ("measured" if shape.config in measured else "from its FLOPs")


def test_a_shape_that_cannot_be_measured_is_told_and_guessed():
    plan = plan_of()
    first, second = plan_shapes(plan)
    estimate = make_estimate(
        plan, [first, second], {first.config: TIMES, second.config: "OutOfMemory: too large"}, 1, 0.0
    )
    how = {shape: how for shape, _, how in estimate.times}
    assert how == {first: "measured", second: "not measured (OutOfMemory: too large)"}
    with pytest.raises(ValueError, match="no step could be measured: OutOfMemory"):
        make_estimate(plan, [first], {first.config: "OutOfMemory: too large"}, 1, 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_real_measurement():
    """Of two shapes: every part takes time, and the steps of a model of 800 times the FLOPs more, however busy."""
    models = {"vit": [{"width": w, "depth": d, "patch": 2} for w, d in ((16, 1), (192, 6))]}
    finetune = {"tasks": ["digits"], "steps": 9, "lr": 0.1, "batch_size": 32}
    plan = plan_of(model=models, train_examples=200, steps=20, finetune=finetune)
    prepare_data(plan.configs)
    shapes = [shape.config for shape in plan_shapes(plan)]
    told = []
    small, large = (time_shape(config, 0.1, ("cpu",), told.append)[1] for config in shapes)
    assert isinstance(small, ShapeTimes), small
    assert isinstance(large, ShapeTimes), large
    assert 0 < small.step < large.step
    assert 0 < small.finetune_image < large.finetune_image
    assert min(small.evaluation_image, small.finetune_task) > 0
    assert not small.scaled
    assert told == [config.run_id for config in shapes]


def test_a_run_on_several_devices_is_not_called_measured():
    plan = plan_of(model=ONE, devices_per_run=2)
    (shape,) = plan_shapes(plan)
    ((_, _, how),) = make_estimate(plan, [shape], {shape.config: TIMES}, 1, 0.0).times
    assert how == "measured on one of its 2 devices, without what they exchange"


def test_what_a_shape_raises_is_told_in_one_line():
    (config, *_) = plan_of(model=ONE).configs
    broken = config.model_copy(update={"upstream": config.upstream.model_copy(update={"num_train": 10})})
    _, said = time_shape(broken, 0.1, ("cpu",), lambda _: None)
    assert isinstance(said, str)
    assert "Error: " in said
    assert "\n" not in said


class TwoSlots:
    """An engine that measures nothing: its first job dies, the others take as long as their place."""

    num_slots = 2

    def run(self, function, jobs):
        self.jobs = jobs
        for place, _ in enumerate(jobs):
            yield Event("progress", place, ("x",))
            times = ShapeTimes(1.0, float(place), 1.0, 1.0)
            yield Event("done", place, (0.0, times)) if place else Event("died", 0, "the worker process died")


def test_slots_that_would_be_idle_measure_once_more():
    plan = plan_of(model={"vit": [{"width": w, "depth": 1, "patch": 4} for w in (16, 32, 48)]})
    engine, shapes, lines = TwoSlots(), plan_shapes(plan), []
    estimate = estimate_plan(plan, engine, shapes, lines.append)
    configs = [config for config, _ in engine.jobs]
    assert configs == [*(shape.config for shape in shapes), shapes[-1].config]  # the one with most work
    assert len(lines) == 4
    (_, first, how), _, (_, last, _) = estimate.times
    assert how == "not measured (the worker process died)"
    assert first.step == 1.0  # as long as the smallest that was measured
    assert last.step == 2.5  # the mean of both


def test_a_shape_stands_for_itself():
    (config, *_) = plan_of(model=ONE).configs
    assert step_shape(step_shape(config)) == step_shape(config)
