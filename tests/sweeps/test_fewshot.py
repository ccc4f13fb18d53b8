import numpy as np
import pytest
import torch

from sweeps.fewshot import PROBES, evaluate_fewshot, plain_weights, whitened_probe


def test_worked_example_of_the_plain_closed_form():
    """X'X + I = [[7, 5], [5, 15]], X'Y = [[2, -2], [-4, 4]]; x = (1, 2) scores (-.325, .325): class 1."""
    x = torch.tensor([[1.0, 0], [2, 1], [0, 2], [1, 3]]).double()
    y = torch.tensor([[1.0, -1], [1, -1], [-1, 1], [-1, 1]]).double()
    weights = plain_weights(x, y, l2=1.0)
    assert weights.numpy() == pytest.approx(np.array([[0.625, -0.625], [-0.475, 0.475]]), abs=1e-15)
    assert (torch.tensor([1.0, 2]).double() @ weights).numpy() == pytest.approx([-0.325, 0.325], abs=1e-15)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (5, 30)])
@pytest.mark.parametrize("l2", [1e-3, 1.0, 1e5])
def test_primal_and_dual_are_the_same_weights(n, d, l2):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((n, 3))
    direct = np.linalg.inv(x.T @ x + l2 * np.eye(d)) @ x.T @ y
    ours = plain_weights(torch.from_numpy(x), torch.from_numpy(y), l2).numpy()
    # 1e-7: at l2 = 1e-3 the reference inverts a matrix whose condition is 1e5.
    np.testing.assert_allclose(ours, direct, rtol=1e-7, atol=1e-12)


def test_whitened_rule_against_an_independent_implementation():
    """Standardised features, a constant 100, Y = 2 onehot - 1, l2 = 2^10, by eigendecomposition as in big_vision."""
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((40, 8)) * 3 + 1, rng.integers(0, 4, 40)
    x[np.arange(40), labels] += 4
    test = rng.standard_normal((60, 8)) * 3 + 1
    mean, std = x.mean(0), x.std(0) + 1e-5
    z = np.hstack([(x - mean) / std, np.full((40, 1), 100.0)])
    values, vectors = np.linalg.eigh(z.T @ z)
    weights = vectors @ np.diag(1 / (values + 1024)) @ vectors.T @ z.T @ (2 * np.eye(4)[labels] - 1)
    expected = (np.hstack([(test - mean) / std, np.full((60, 1), 100.0)]) @ weights).argmax(1)
    ours, l2, _ = whitened_probe((torch.from_numpy(x), labels), None, torch.from_numpy(test), 4)
    assert l2 == 1024
    assert ours.tolist() == expected.tolist()


def separable(n_per_class, num_classes=5, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(num_classes), n_per_class)
    features = np.eye(num_classes)[labels] + noise * rng.standard_normal((labels.size, num_classes))
    return torch.from_numpy(features), labels


@pytest.mark.parametrize("probe", PROBES)
def test_separable_features_are_told_apart_and_noise_is_not(probe):
    def errors(noise):
        results = evaluate_fewshot(
            separable(20, noise=noise), separable(40, noise=noise, seed=1), num_classes=5, shots=(1, 10), num_draws=3
        )
        return {(r.num_shots, r.draw): r.error for r in results if r.probe == probe}

    assert max(errors(0.05).values()) == 0
    assert np.mean(list(errors(50.0).values())) == pytest.approx(0.8, abs=0.06)


def test_draws_are_seeded_and_differ():
    data = separable(20, noise=1.0)

    def errors(seed):
        return [r.error for r in evaluate_fewshot(data, data, num_classes=5, shots=(1,), num_draws=4, seed=seed)]

    assert errors(0) == errors(0) != errors(1)
    assert len(set(errors(0)[1::2])) > 1


def test_classes_with_too_few_images_give_what_they_have():
    train = separable(3)
    results = list(evaluate_fewshot(train, separable(5), num_classes=5, shots=(1, 10), num_draws=1))
    assert {r.num_shots: r.num_train for r in results} == {1: 5, 10: 15}
    assert {r.l2_rule for r in results if r.probe == "plain"} == {"middle"}


def test_the_plain_rule_chooses_its_l2_on_images_it_was_not_fitted_to():
    results = list(evaluate_fewshot(separable(20, noise=2.0), separable(9), num_classes=5, shots=(10,), num_draws=5))
    plain = [r for r in results if r.probe == "plain"]
    assert {r.l2_rule for r in plain} == {"held-out 5 a class"}
    assert len({r.l2 for r in plain}) > 1
