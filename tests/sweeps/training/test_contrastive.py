"""The supervised contrastive loss by hand, and a classifier that features do not notice."""

import math

import numpy as np
import pytest
import torch

from sweeps.data.training import load_training_data
from sweeps.models import FAMILIES
from sweeps.models.cost import count_cost
from sweeps.specs.config import RecipeConfig
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.contrastive import (
    build_projection,
    detached_classifier,
    supervised_contrastive_loss,
    with_projection,
)
from sweeps.training.saved_model import load_model, save_model
from sweeps.training.step import TrainingStep
from sweeps.training.train import new_state

from ..conftest import changed, plan_of
from ..test_every_recipe import SHAPES

CPU = torch.device("cpu")
SUPCON = {"name": "supcon", "batch_size": 12, "lr": 1e-3}
VIT = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}


def recipe_of(temperature):
    return RecipeConfig.model_validate({"contrastive_temperature": temperature})


def by_equation(projected, labels, temperature):
    """Eq. 2 of Khosla et al. with loops, the mean over the images that have a positive."""
    z = projected / np.linalg.norm(projected, axis=1, keepdims=True)
    losses = []
    for i in range(len(z)):
        others = [a for a in range(len(z)) if a != i]
        positives = [p for p in others if labels[p] == labels[i]]
        total = sum(math.exp(z[i] @ z[a] / temperature) for a in others)
        if positives:
            losses.append(
                -sum(math.log(math.exp(z[i] @ z[p] / temperature) / total) for p in positives) / len(positives)
            )
    return sum(losses) / len(losses)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_the_loss_is_the_papers_equation(temperature):
    rng = np.random.default_rng(0)
    projected, labels = rng.standard_normal((9, 5)), np.array([0, 0, 0, 1, 1, 2, 2, 2, 3])  # one is alone
    found = supervised_contrastive_loss(torch.tensor(projected), torch.tensor(labels), recipe_of(temperature))
    assert found.item() == pytest.approx(by_equation(projected, labels, temperature), rel=1e-5)  # float32
    scaled = supervised_contrastive_loss(torch.tensor(3 * projected), torch.tensor(labels), recipe_of(temperature))
    assert scaled.item() == pytest.approx(found.item(), rel=1e-5)


def test_two_pairs_by_hand():
    """Each image has its view at similarity 1 and two at 0: log(1 + 2 exp(-1/t))."""
    projected = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    found = supervised_contrastive_loss(projected, torch.tensor([0, 0, 1, 1]), recipe_of(0.5))
    assert found.item() == pytest.approx(math.log(1 + 2 * math.exp(-2)), rel=1e-6)


def test_images_without_a_positive_give_nothing_and_no_nan():
    projected = torch.randn(4, 3, requires_grad=True)
    loss = supervised_contrastive_loss(projected, torch.arange(4), recipe_of(0.1))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(projected.grad, torch.zeros(4, 3))


@pytest.mark.parametrize("family", [family for family, config in FAMILIES.items() if config.trainable])
def test_the_classifier_is_cut_off_and_its_input_is_at_hand_in_every_family(family):
    config = plan_of(model={family: [SHAPES[family]]}).configs[0]
    model = config.model.build(8, 10).train()
    images = torch.randn(4, 3, 8, 8)
    with detached_classifier(model) as features:
        logits = model(images)
    assert logits.shape == (4, 10)
    assert torch.equal(features[0], model.forward_head(model.forward_features(images), pre_logits=True).flatten(1))
    logits.sum().backward()
    moved = {id(p) for p in model.parameters() if p.grad is not None}
    assert moved == {id(p) for p in model.get_classifier().parameters()}
    model.zero_grad()
    model(images).sum().backward()
    assert all(p.grad is not None for p in model.parameters())  # the hook is gone


@pytest.fixture
def trained():
    """A state after one step, and its config."""

    def train(recipe, num_steps=1):
        spec = changed(recipe=recipe, model=VIT, downstream=None, train_examples=200, steps=20)
        config = make_plan(parse_spec(spec)).configs[0]
        data = load_training_data(config, CPU)
        state, step = new_state(config, CPU), TrainingStep(config, CPU)
        for _ in range(num_steps):
            step(state, data.train.take(np.arange(12)).read())
        return state, config

    return train


def test_the_projection_learns_is_in_the_checkpoint_and_not_in_the_model(trained, tmp_path):
    state, config = trained({**SUPCON, "grad_clip": None})
    start = build_projection(state.model, config)
    assert all((a != b).any() for a, b in zip(state.projection.parameters(), start.parameters(), strict=True))
    snapshot = state.snapshot()
    again = new_state(config, CPU)
    again.restore(snapshot)
    assert all(torch.equal(a, b) for a, b in zip(again.trained.parameters(), state.trained.parameters(), strict=True))
    assert len(snapshot["optimizer"]["state"]) == len(list(state.model.parameters())) + 4  # two kernels, two biases
    cost = count_cost(config.model, 8, 10)
    assert cost.num_params + cost.head_params == sum(p.numel() for p in state.model.parameters())
    save_model(tmp_path / "model.safetensors", state.model, config)
    load_model(tmp_path / "model.safetensors", CPU)


def test_the_body_learns_by_contrast_alone(trained):
    """Another label loss moves the classifier elsewhere, and nothing but it."""
    plain, _ = trained({**SUPCON, "grad_clip": None})
    sigmoid, _ = trained({**SUPCON, "grad_clip": None, "label_loss": "sigmoid"})
    head = {f"head.{name}" for name, _ in plain.model.head.named_parameters()}
    for (name, one), other in zip(plain.model.named_parameters(), sigmoid.model.parameters(), strict=True):
        assert torch.equal(one, other) == (name not in head), name


def test_other_recipes_have_no_projection(trained):
    state, _ = trained({"batch_size": 12})
    assert state.projection is None
    assert state.trained is state.model
    assert "projection" not in state.snapshot()
    assert with_projection(state.model, None) is state.model


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"recipe": {**SUPCON, "mixup": 0.2}},
            "mixup: contrastive_temperature takes each image with one label",
        ),
        ({"recipe": {**SUPCON, "contrastive_temperature": 0}}, r"recipe.contrastive_temperature.*greater than 0"),
        ({"recipe": SUPCON, "cuda_graph": True}, "cuda_graph: replays the model whole"),
    ],
)
def test_what_cannot_be_is_told_before_training(changes, message):
    with pytest.raises(SpecError, match=message):
        plan_of(**changes)
