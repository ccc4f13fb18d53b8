"""The largest eigenvalue against the whole Hessian, and sharpness by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, hessian

from sweeps.data.images import normalise
from sweeps.measure.curvature import largest_eigenvalue, measure, sharpness
from sweeps.training.losses import training_loss

SMALL = {
    "vit": {"vit": [{"width": 8, "depth": 1, "patch": 4}]},
    "resnet": {"resnet": [{"width": 2, "depth": [1, 1]}]},
}


def spectrum(values, seed=0):
    """The product with a symmetric float64 matrix of these eigenvalues, and a start vector."""
    generator = torch.Generator().manual_seed(seed)
    size = len(values)
    basis = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
    matrix = basis * torch.tensor(values, dtype=torch.float64) @ basis.T
    return lambda vector: matrix @ vector, torch.randn(size, generator=generator, dtype=torch.float64)


def move_all(model):
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))


# Both of torch's own forward mode.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("recipe", [{}, {"label_loss": "sigmoid", "label_smoothing": 0.1}])
@pytest.mark.parametrize("family", SMALL)
def test_top_eigenvalue_of_the_whole_hessian(subject_of, family, recipe):
    fields = {f"recipe__{name}": value for name, value in recipe.items()}
    subject = subject_of(num_images=8, change=move_all, model=SMALL[family], **fields)
    inputs, labels = normalise(subject.train.pixels), subject.train.labels
    weights = {name: value.detach() for name, value in subject.model.named_parameters()}
    sizes = [value.numel() for value in weights.values()]

    def loss(flat):
        parts = (part.view_as(like) for part, like in zip(flat.split(sizes), weights.values(), strict=True))
        logits = functional_call(subject.model, dict(zip(weights, parts, strict=True)), (inputs,))
        return training_loss(logits, labels, subject.config.recipe)

    eigenvalues = torch.linalg.eigvalsh(hessian(loss)(torch.cat([v.flatten() for v in weights.values()])).double())
    found = {row["name"]: row["value"] for row in measure(subject)}
    assert found["hessian_residual"] <= 0.05
    # An eigenvalue lies within the residual, and float32 products are exact to about 1e-5 of the largest magnitude.
    wanted, slack = eigenvalues[-1].item(), 1e-4 * eigenvalues.abs().max().item()
    assert abs(found["hessian_top_eigenvalue"] - wanted) <= found["hessian_residual"] * wanted + slack


def test_of_an_indefinite_matrix_the_algebraically_largest():
    found = largest_eigenvalue(*spectrum([-10.0, -9.0, -3.0, 0.0, 0.0, 1.0, 2.0]))
    assert found.value == pytest.approx(2, rel=0.05)
    assert largest_eigenvalue(*spectrum([-10.0, -9.0, -3.0])).value == pytest.approx(-3, rel=0.05)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40), st.integers(0, 99))
def test_an_eigenvalue_lies_within_the_residual_and_none_is_exceeded(values, seed):
    found = largest_eigenvalue(*spectrum(values, seed))
    rounding = 1e-9  # float64 of values up to 10
    assert min(abs(found.value - value) for value in values) <= found.residual * abs(found.value) + rounding
    assert found.value <= max(values) + rounding


def test_one_that_has_not_converged_says_so():
    found = largest_eigenvalue(*spectrum([*np.linspace(-20, 1, 500)]))  # crowded, and small beside the lowest
    assert found.residual > 0.05
    assert found.value < 1


def test_no_curvature_is_zero():
    assert largest_eigenvalue(lambda vector: 0 * vector, torch.ones(5)) == (0, 0)


def test_sharpness_by_hand():
    model = nn.Linear(2, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    curvatures = torch.tensor([3.0, 4.0])  # g = (3, 4) of norm 5, at w = (1, 1)
    rises = sharpness(model, lambda: (curvatures * model.weight[0] ** 2).sum() / 2, rhos=[0.5, 0.1])
    # rho ||g|| + rho^2 / 2 (3 .6^2 + 4 .8^2)
    assert rises[1] == pytest.approx(0.1 * 5 + 0.005 * (3 * 0.36 + 4 * 0.64), rel=1e-5)  # float32
    assert rises[0] == pytest.approx(0.5 * 5 + 0.125 * (3 * 0.36 + 4 * 0.64), rel=1e-5)  # float32
    assert torch.equal(model.weight.detach(), torch.ones(1, 2))


def test_sharpness_of_a_small_step_is_the_norm_of_the_gradient(subject_of):
    subject = subject_of(change=move_all, measure={"names": ["curvature"], "curvature_examples": 5})
    rows = [row for row in measure(subject) if row["name"] == "sharpness"]
    assert [row["other"] for row in rows] == ["rho=0.05", "rho=0.2"]
    assert all(row["num_examples"] == 5 and row["split"] == "train" for row in rows)
    loss = training_loss(
        subject.model(normalise(subject.train.pixels[:5])), subject.train.labels[:5], subject.config.recipe
    )
    gradient = torch.autograd.grad(loss, list(subject.model.parameters()))
    norm = sum(part.double().square().sum().item() for part in gradient) ** 0.5
    top = next(row["value"] for row in measure(subject) if row["name"] == "hessian_top_eigenvalue")
    # The second-order term is at most rho^2 / 2 of the top eigenvalue; twice that leaves room for the third.
    assert abs(rows[0]["value"] - 0.05 * norm) <= 0.05**2 * top


def test_the_same_run_gives_the_same_values(subject_of):
    first, again = (list(measure(subject_of(change=move_all))) for _ in range(2))
    assert first == again
