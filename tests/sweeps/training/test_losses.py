import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from timm.data.mixup import mixup_target
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from torch import nn

from sweeps.models import VitConfig
from sweeps.specs.config import RecipeConfig
from sweeps.training.losses import distillation_loss, init_head_bias, training_loss

TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}  # sums of a few float32 numbers in another order


def recipe(**fields):
    return RecipeConfig.model_validate(fields)


def example(num_images=6, num_classes=5):
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(0, 3, (num_images, num_classes)).astype(np.float32))
    return logits, torch.from_numpy(rng.integers(0, num_classes, num_images))


def one_hot(labels, num_classes=5):
    return F.one_hot(labels, num_classes).float()


def test_cross_entropy_by_hand():
    logits = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    expected = (np.log(1 + np.exp(-2)) + np.log(2)) / 2
    assert float(training_loss(logits, torch.tensor([1, 0]), recipe())) == pytest.approx(expected, rel=1e-6)


def test_sigmoid_by_hand():
    logits = torch.tensor([[1.0, -2.0], [0.5, 0.0]])
    each = [np.log1p(np.exp(-1)), np.log1p(np.exp(-2)), np.log1p(np.exp(0.5)), np.log(2)]
    loss = training_loss(logits, torch.tensor([0, 1]), recipe(label_loss="sigmoid"))
    assert float(loss) == pytest.approx(sum(each) / 2, rel=1e-6)


@pytest.mark.parametrize("label_loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_labels_are_shares_of_one_class(label_loss, smoothing):
    logits, labels = example()
    config = recipe(label_loss=label_loss, label_smoothing=smoothing)
    expected = training_loss(logits, labels, config)
    torch.testing.assert_close(training_loss(logits, one_hot(labels), config), expected, **TOLERANCE)


def test_smoothing_is_timms_for_labels_and_for_mixed_ones():
    logits, labels = example()
    config = recipe(label_smoothing=0.1)
    expected = LabelSmoothingCrossEntropy(0.1)(logits, labels)
    torch.testing.assert_close(training_loss(logits, labels, config), expected, **TOLERANCE)
    smoothed_then_mixed = mixup_target(labels, 5, lam=0.3, smoothing=0.1)
    mixed = mixup_target(labels, 5, lam=0.3)
    expected = SoftTargetCrossEntropy()(logits, smoothed_then_mixed)
    torch.testing.assert_close(training_loss(logits, mixed, config), expected, **TOLERANCE)
    expected = F.binary_cross_entropy_with_logits(logits, smoothed_then_mixed, reduction="none").sum(1).mean()
    config = recipe(label_smoothing=0.1, label_loss="sigmoid")
    torch.testing.assert_close(training_loss(logits, mixed, config), expected, **TOLERANCE)


@pytest.mark.parametrize("label_loss", ["softmax", "sigmoid"])
def test_half_precision_logits_are_summed_in_float32(label_loss):
    logits, labels = example()
    loss = training_loss(logits.bfloat16(), labels, recipe(label_loss=label_loss))
    assert loss.dtype == torch.float32
    assert torch.equal(loss, training_loss(logits.bfloat16().float(), labels, recipe(label_loss=label_loss)))


@given(st.floats(-1e4, 1e4), st.sampled_from(["softmax", "sigmoid"]), st.sampled_from([0.0, 0.2]))
def test_large_logits_give_a_finite_loss(value, label_loss, smoothing):
    config = recipe(label_loss=label_loss, label_smoothing=smoothing)
    assert training_loss(torch.tensor([[value, 0.0, -value]]), torch.tensor([0]), config).isfinite()


def test_distillation_is_half_labels_half_teacher():
    logits, labels = example()
    other, teacher = -logits.flip(0), labels.roll(1)
    config = recipe(label_smoothing=0.1)
    expected = (F.cross_entropy(logits, labels, label_smoothing=0.1) + F.cross_entropy(other, teacher)) / 2
    torch.testing.assert_close(distillation_loss(logits, other, labels, teacher, config), expected, **TOLERANCE)


def test_distillation_on_a_teacher_that_knows_the_labels_is_training():
    logits, labels = example()
    for label_loss in ("softmax", "sigmoid"):
        config = recipe(label_loss=label_loss)
        expected = training_loss(logits, labels, config)
        torch.testing.assert_close(distillation_loss(logits, logits, labels, labels, config), expected, **TOLERANCE)


def test_the_gradients_of_the_two_heads_are_apart():
    logits, labels = (values.clone() for values in example())
    logits.requires_grad_()
    other = logits.detach().clone().requires_grad_()
    distillation_loss(logits, other, one_hot(labels), labels.roll(1), recipe()).backward()
    expected = (other.detach().softmax(1) - one_hot(labels.roll(1))) / (2 * len(labels))
    torch.testing.assert_close(other.grad, expected, **TOLERANCE)


def test_head_bias_is_set_and_zero_leaves_the_models_own():
    model = VitConfig(width=16, depth=1, patch=4, heads=1).build(8, 10)
    head = model.get_classifier()
    nn.init.constant_(head.bias, 0.5)
    init_head_bias(model, recipe())
    assert (head.bias == 0.5).all()
    weight = head.weight.clone()
    init_head_bias(model, recipe(head_bias=-10.0))
    assert (head.bias == -10).all()
    assert torch.equal(head.weight, weight)
    assert head.bias.requires_grad


def test_head_bias_without_a_bias_or_with_two_heads():
    class Model(nn.Module):
        def __init__(self, *heads):
            super().__init__()
            self.heads = nn.ModuleList(heads)

        def get_classifier(self):
            return self.heads if len(self.heads) > 1 else self.heads[0]

    model = Model(nn.Linear(2, 3), nn.Linear(2, 3))
    init_head_bias(model, recipe(head_bias=-10.0))
    assert all((head.bias == -10).all() for head in model.heads)
    with pytest.raises(ValueError, match=r"recipe.head_bias: needs a classifier with a bias, got Linear without"):
        init_head_bias(Model(nn.Linear(2, 3, bias=False)), recipe(head_bias=-10.0))


def test_a_sigmoid_loss_starts_near_zero_with_the_papers_bias():
    """Without it the first loss is the logarithm of 2 for each class."""
    labels = torch.arange(4)
    for bias, expected in ((0.0, 1000 * np.log(2)), (-10.0, 10.0 + 1000 * np.exp(-10))):
        loss = training_loss(torch.full((4, 1000), bias), labels, recipe(label_loss="sigmoid"))
        assert float(loss) == pytest.approx(expected, rel=1e-4)  # log(1 + x) ~ x for x of 5e-5
