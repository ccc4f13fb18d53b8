"""A batch in parts has the gradient of the whole batch, whatever the recipe draws."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from timm.layers.drop import DropPath

import sweeps.training.step as step_module
from sweeps.data.training import load_training_data, training_source
from sweeps.specs.faults import SpecError
from sweeps.training.acceleration import compile_blocks
from sweeps.training.micro_batches import drop_path_of_part, num_parts, split_rows, why_whole
from sweeps.training.step import TrainingStep
from sweeps.training.train import new_state

from ..conftest import plan_of

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
VIT = {"vit": [{"width": 16, "depth": 2, "patch": 4, "heads": 2}]}
MIXER = {"mixer": [{"width": 16, "depth": 2, "patch": 4}]}
CONVNEXT = {"convnext": [{"width": 8, "depth": [1, 1], "patch": 2}]}
# Of the largest gradient or loss: float32 (6e-8) sums of 16 images' gradients in another order, through two blocks.
ROUNDING = 2e-6
RECIPES = {
    "plain": {},
    "clipped": {"recipe__grad_clip": 0.1},
    "smoothed and mixed": {"recipe__label_smoothing": 0.1, "recipe__mixup": 0.5, "recipe__cutmix": 1.0},
    "sigmoid": {"recipe__label_loss": "sigmoid", "recipe__head_bias": -2.0},
    "drop path": {"recipe__drop_path": 0.5},
    "drop path of layers called twice": {"recipe__drop_path": 0.5, "model": MIXER},
    "recomputed": {"recipe__drop_path": 0.5, "checkpoint_activations": True},
    "recomputed layers called twice": {"recipe__drop_path": 0.5, "checkpoint_activations": True, "model": MIXER},
    "sam and average": {"recipe__sam_rho": 0.1, "recipe__ema_decay": 0.5, "recipe__drop_path": 0.5},
}


def config_of(**changes):
    # Plain descent: Adam's first step is the sign of the gradient, which rounding can turn.
    fixed = {"recipe__optimizer": "sgd", "recipe__lr": 0.1, "train_examples": [200], "steps": [20]}
    return plan_of(**{"model": VIT, **fixed, **changes}).configs[0]


def trained(config, k, teacher=None, num_steps=2):
    """Loss of the last step and all that a step leaves: gradient, weights, average."""
    state = new_state(config, CPU)
    step = TrainingStep(config, CPU, teacher, num_micro_batches=k)
    source = training_source(config, load_training_data(config, CPU), CPU)
    for _ in range(num_steps):
        loss = step(state, source.batch(state.step))
    average = [] if state.average is None else list(state.average.parameters())
    weights = list(state.model.parameters())
    return [loss], [p.grad for p in weights], weights, average


def assert_equal_to_rounding(found, expected):
    for some, others in zip(found, expected, strict=True):
        largest = max((other.abs().max().item() for other in others), default=0.0)
        for a, b in zip(some, others, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=ROUNDING * max(1.0, largest))


@given(st.integers(0, 50), st.integers(1, 60), st.integers(1, 70))
def test_parts_cover_the_rows_and_are_nearly_equal(start, num_rows, num_asked):
    parts = split_rows(slice(start, start + num_rows), num_asked)
    rows = [row for part in parts for row in range(part.start, part.stop)]
    sizes = {part.stop - part.start for part in parts}
    assert rows == list(range(start, start + num_rows))
    assert len(parts) == min(num_asked, num_rows)
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("k", [3, 100], ids=["uneven", "one image each"])
def test_the_step_is_that_of_the_whole_batch(recipe, k):
    config = config_of(**RECIPES[recipe])
    assert_equal_to_rounding(trained(config, k), trained(config, 1))


def test_a_teacher_teaches_each_part_what_it_teaches_the_batch():
    config = config_of(model={"vit": [{"width": 16, "depth": 2, "patch": 4, "heads": 2}]})
    teacher = new_state(config.model_copy(update={"seed": 9}), CPU).model.eval().requires_grad_(False)
    found = trained(config, 3, teacher)
    assert_equal_to_rounding(found, trained(config, 1, teacher))
    assert found[0] != trained(config, 3)[0]


def test_the_comparison_sees_masks_that_are_drawn_part_by_part(monkeypatch):
    config = config_of(recipe__drop_path=0.5)
    whole = trained(config, 1)
    monkeypatch.setattr(step_module, "drop_path_of_part", lambda *arguments: step_module.nullcontext())
    with pytest.raises(AssertionError):
        assert_equal_to_rounding(trained(config, 4), whole)


def test_one_part_is_the_present_code_to_the_last_bit():
    """A batch of one part goes the way that the golden losses guard; a config says so as an argument does."""
    config = config_of(recipe__drop_path=0.5)
    for some, others in zip(trained(config, None), trained(config, 1), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(some, others, strict=True))
    split = config.model_copy(update={"micro_batches": 3})
    assert trained(split, None)[0] == trained(config, 3)[0]


def test_layers_are_plain_again_after_a_part():
    model = config_of(recipe__drop_path=0.5).model.build(8, 10, 0.5).train()
    names, before = list(model.state_dict()), copy.deepcopy([vars(layer) for layer in model.modules()])
    with drop_path_of_part(model, slice(0, 2), 4, CPU):
        model(torch.zeros(2, 3, 8, 8))
        assert list(model.state_dict()) == names
    assert any(type(layer) is DropPath for layer in model.modules())
    assert [vars(layer).keys() for layer in model.modules()] == [values.keys() for values in before]


FAULTS = {
    "batch norm": ({"model": {"resnet": [{"width": 4, "depth": [1, 1]}]}}, r"model\.resnet has BatchNorm"),
    "contrast": ({"recipe__name": "supcon", "recipe__contrastive_temperature": 0.1}, "contrastive_temperature"),
    "attack": ({"recipe__attack_radius": 0.03}, r"recipe\.attack_radius"),
    "graph": ({"cuda_graph": True}, "cuda_graph is recorded"),
}


@pytest.mark.parametrize("field", ["micro_batches", "devices_per_run"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_takes_a_batch_whole_is_refused_before_training(field, fault):
    changes, reason = FAULTS[fault]
    config = config_of(**changes)
    assert why_whole(config) is not None
    with pytest.raises(SpecError, match=f"{field}: .*{reason}"):
        config_of(**changes, **{field: 2})


@pytest.mark.parametrize("fault", ["batch norm", "graph"])
def test_what_cannot_be_computed_anew_is_refused_before_training(fault):
    with pytest.raises(SpecError, match=r"checkpoint_activations: .*(BatchNorm|cuda_graph)"):
        config_of(**FAULTS[fault][0], checkpoint_activations=True)


def test_more_devices_than_images_are_refused():
    with pytest.raises(SpecError, match="devices_per_run: 17 devices take at least 17 images a step, got 16"):
        config_of(devices_per_run=17)


def test_parts_that_are_recorded_are_those_that_there_are():
    config = config_of(micro_batches=4, devices_per_run=3)  # of 16 images, 6 at most on a device
    assert (num_parts(config), num_parts(config, 5), num_parts(config, 100)) == (4, 5, 6)


def test_the_fields_enter_the_run_id_only_where_they_are_set():
    plain = config_of()
    assert plain.run_id == config_of(micro_batches=1, devices_per_run=1, checkpoint_activations=False).run_id
    fields = ({"micro_batches": 2}, {"devices_per_run": 2}, {"checkpoint_activations": True})
    assert len({plain.run_id, *(config_of(**field).run_id for field in fields)}) == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # of torch's own tracing
@pytest.mark.parametrize("anew", [False, True], ids=["kept", "recomputed"])
def test_parts_of_compiled_blocks_drop_what_the_whole_batch_drops(anew):
    config = config_of(recipe__drop_path=0.5)

    def compiled(k):
        state = new_state(config.model_copy(update={"checkpoint_activations": anew}), CPU)
        compile_blocks(state.model, backend="aot_eager")
        source = training_source(config, load_training_data(config, CPU), CPU)
        losses = [TrainingStep(config, CPU, num_micro_batches=k)(state, source.batch(state.step)) for _ in range(3)]
        return losses, [p.grad for p in state.model.parameters()]

    whole = trained(config, 1, num_steps=3)
    found = compiled(3)
    assert_equal_to_rounding([found[0][-1:], found[1]], whole[:2])
