import typing

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.evaluation.fewshot import (
    CHOICE_PER_CLASS,
    L2_VALUES,
    PROBES,
    WHITENED_L2,
    evaluate_fewshot,
    fit_probe,
    rank_in_class,
    ridge_path,
)  # fmt: skip
from sweeps.specs.asked import DownstreamConfig, ProbeName

NO_OTHERS = torch.zeros(0, 8).double(), np.zeros(0, np.int64)


# Closed forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [(1.0,), (1.0, 5.0)], ids=["by Cholesky", "by eigenvectors"])
def test_worked_example_of_the_plain_closed_form(l2):
    """X'X + I = [[7, 5], [5, 15]], X'Y = [[2, -2], [-4, 4]]; x = (1, 2) scores (-.325, .325): class 1."""
    x = torch.tensor([[1.0, 0], [2, 1], [0, 2], [1, 3]]).double()
    y = torch.tensor([[1.0, -1], [1, -1], [-1, 1], [-1, 1]]).double()
    weights = ridge_path(x, y, l2)[0]
    assert weights.numpy() == pytest.approx(np.array([[0.625, -0.625], [-0.475, 0.475]]), abs=1e-15)
    assert (torch.tensor([1.0, 2]).double() @ weights).numpy() == pytest.approx([-0.325, 0.325], abs=1e-15)
    plain = fit_probe("plain", (x, np.array([0, 0, 1, 1])), NO_OTHERS, 2)
    assert (plain.l2, plain.l2_rule) == (10.0, "middle")
    assert torch.equal(plain.weights, ridge_path(x, y, (10.0,))[0])


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(-3, 5))
def test_the_ridge_path_against_a_direct_solve(n, d, seed, power):
    """1e-10 of the solution's norm where the condition of X'X + l2 I is below 1e5, as it is here from l2 = .01 up.

    A backward stable solve in float64 errs by some 1e-16 n times the condition; for more of it by that much more.
    """
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], (n, 3))
    l2 = (10.0**power, 1.0, 2.0**10)
    path = ridge_path(torch.from_numpy(x), torch.from_numpy(y), l2).numpy()
    for value, found in zip(l2, path, strict=True):
        matrix = x.T @ x + value * np.eye(d)
        direct = np.linalg.solve(matrix, x.T @ y)
        one = ridge_path(torch.from_numpy(x), torch.from_numpy(y), (value,))[0].numpy()
        tolerance = 1e-10 * max(1.0, np.linalg.cond(matrix) / 1e5) * np.linalg.norm(direct)
        assert np.linalg.norm(found - direct) <= tolerance
        assert np.linalg.norm(one - direct) <= tolerance


def test_features_of_less_than_full_rank_and_a_large_scale_keep_a_positive_definite_system():
    """Rounding puts eigenvalues of zero at some -1e-16 of the greatest, here below -l2."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 20)) * 1e8)
    y = torch.from_numpy(rng.choice([-1.0, 1.0], (60, 2)))
    small, large = ridge_path(x, y, (1e-3, 1e5))
    least_squares = torch.linalg.lstsq(x, y, driver="gelsd", rcond=1e-10).solution
    # 1e-2: what rounding leaves of the null space, 1e-16 * 1e18 / 1e-3 without the bound at zero.
    assert torch.linalg.norm(x @ small - x @ least_squares) <= 1e-2 * torch.linalg.norm(x @ least_squares)
    assert torch.linalg.norm(x @ large - x @ least_squares) <= 1e-2 * torch.linalg.norm(x @ least_squares)


@pytest.mark.parametrize(("n", "d"), [(40, 8), (12, 30)])
@pytest.mark.parametrize("l2_rule", ["fixed", "held-out"])
def test_whitened_rule_against_an_independent_implementation(n, d, l2_rule):
    """Standardised features, a constant 100, Y = 2 onehot - 1, l2 = 2^10, by eigendecomposition as in big_vision."""
    rng = np.random.default_rng(1)

    def draw(n):
        x, labels = rng.standard_normal((n, d)) * 3 + 1, np.arange(n) % 4
        x[np.arange(n), labels] += 4
        return x, labels

    (x, labels), (other, other_labels), (test, _) = draw(n), draw(20), draw(60)
    mean, std = x.mean(0), x.std(0) + 1e-5

    def whiten(values):
        return np.hstack([(values - mean) / std, np.full((len(values), 1), 100.0)])

    values, vectors = np.linalg.eigh(whiten(x).T @ whiten(x))

    def scores(features, l2):
        right = whiten(x).T @ (2 * np.eye(4)[labels] - 1)
        return whiten(features) @ (vectors @ np.diag(1 / (values + l2)) @ vectors.T @ right)

    data, others = (torch.from_numpy(x), labels), (torch.from_numpy(other), other_labels)
    found = fit_probe("whitened", data, others, 4, l2_rule)
    if l2_rule == "fixed":
        assert (found.l2, found.l2_rule) == (1024.0, "fixed")
    else:
        errors = [np.mean(scores(other, l2).argmax(1) != other_labels) for l2 in L2_VALUES]
        assert (found.l2, found.l2_rule) == (L2_VALUES[int(np.argmin(errors))], "held-out 5 a class")
    expected = scores(test, found.l2)
    ours = (torch.from_numpy(test) @ found.weights + found.bias).numpy()
    # 1e-6: at l2 = 1e-3 the reference has a condition of 1e9 (100^2 n / l2), of which eigenvectors lose half at most.
    np.testing.assert_allclose(ours, expected, atol=1e-6 * np.abs(expected).max())
    assert found.predict(torch.from_numpy(test)).tolist() == expected.argmax(1).tolist()


# Choice of the l2 ---------------------------------------------------------------------------------------------


def separable(n_per_class, num_classes=5, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(num_classes), n_per_class)
    features = np.eye(num_classes)[labels] + noise * rng.standard_normal((labels.size, num_classes))
    return torch.from_numpy(features), labels


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("l2_rule", ["fixed", "held-out"])
def test_separable_features_are_told_apart_and_noise_is_not(probe, l2_rule):
    def errors(noise):
        results = evaluate_fewshot(
            separable(20, noise=noise), separable(40, noise=noise, seed=1), num_classes=5, shots=(1, 10), num_draws=3,
            probes=[probe], l2_rule=l2_rule,
        )  # fmt: skip
        return {(r.num_shots, r.draw): r.error for r in results}

    assert max(errors(0.05).values()) == 0
    assert np.mean(list(errors(50.0).values())) == pytest.approx(0.8, abs=0.06)


def test_an_l2_is_chosen_on_images_it_was_not_fitted_to():
    results = list(
        evaluate_fewshot(
            separable(20, noise=2.0), separable(9), num_classes=5, shots=(10,), num_draws=5, l2_rule="held-out"
        )
    )
    assert {r.l2_rule for r in results} == {"held-out 5 a class"}
    for probe in PROBES:
        assert len({r.l2 for r in results if r.probe == probe}) > 1


@pytest.mark.parametrize("l2_rule", ["fixed", "held-out"])
def test_test_images_do_not_change_what_is_chosen(l2_rule):
    def chosen(test):
        results = evaluate_fewshot(
            separable(20, noise=2.0), test, num_classes=5, shots=(1, 5), num_draws=3, l2_rule=l2_rule
        )
        return [(r.probe, r.num_shots, r.draw, r.l2) for r in results]

    features, labels = separable(9)
    assert chosen((features, labels)) == chosen((features.flip(0) * 3, labels))


def test_of_equals_the_smallest_l2_is_chosen():
    data, others = separable(10, noise=0.01), separable(5, noise=0.01, seed=1)
    assert fit_probe("plain", data, others, 5).l2 == L2_VALUES[0]
    assert fit_probe("whitened", data, others, 5, "held-out").l2 == L2_VALUES[0]


def test_classes_with_too_few_images_give_what_they_have():
    train = separable(3)
    results = list(evaluate_fewshot(train, separable(5), num_classes=5, shots=(1, 10), num_draws=1, l2_rule="held-out"))
    assert {r.num_shots: r.num_train for r in results} == {1: 5, 10: 15}
    rules = {r.probe: (r.l2, r.l2_rule) for r in results}
    assert rules == {"plain": (10.0, "middle"), "whitened": (WHITENED_L2, "fixed, none held out")}


def test_the_rule_says_how_few_images_the_l2_was_chosen_on():
    features, labels = separable(12)
    some = labels != 3
    some[np.flatnonzero(labels == 3)[:9]] = True  # of class 3 no more than 9: 5 to fit, 4 to choose on
    train = features[torch.from_numpy(some)], labels[some]
    results = list(evaluate_fewshot(train, separable(5), num_classes=5, shots=(5,), num_draws=2))
    assert {(r.probe, r.l2_rule) for r in results} == {("plain", "held-out 4 to 5 a class"), ("whitened", "fixed")}


# Draws --------------------------------------------------------------------------------------------------------


def fitted_rows(labels, shots, seed, monkeypatch):
    """Which training images each fit takes, by a feature that is their number, and those that an l2 is chosen on."""
    found, chosen_on = [], []

    def record(probe, data, others, num_classes, l2_rule):
        found.append(set(data[0][:, 0].int().tolist()))
        chosen_on.append(set(others[0][:, 0].int().tolist()))
        return fit_probe(probe, data, others, num_classes, l2_rule)

    monkeypatch.setattr("sweeps.evaluation.fewshot.fit_probe", record)
    features = torch.arange(len(labels)).double()[:, None]
    list(evaluate_fewshot(
        (features, labels), (features, labels), num_classes=4, shots=shots, num_draws=2, seed=seed, probes=["plain"],
    ))  # fmt: skip
    monkeypatch.undo()
    return found, chosen_on


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60), st.sets(st.sampled_from([1, 2, 5, 10, 25]), min_size=2),
    st.integers(0, 2**31 - 1),
)  # fmt: skip
def test_draws_are_nested_balanced_and_functions_of_the_seed(labels, shots, seed):
    labels = np.array(labels)
    with pytest.MonkeyPatch.context() as monkeypatch:
        found, chosen_on = fitted_rows(labels, tuple(shots), seed, monkeypatch)
        again = fitted_rows(labels, tuple(sorted(shots, reverse=True)), seed, monkeypatch)
    assert (found, chosen_on) == again
    for draw in np.array_split(np.arange(len(found)), 2):
        of_draw = [found[place] for place in draw]
        for num_shots, smaller, larger in zip(sorted(shots), of_draw, [*of_draw[1:], of_draw[-1]], strict=True):
            assert smaller <= larger
            counts = np.bincount(labels[sorted(smaller)], minlength=4)
            assert counts.tolist() == np.minimum(np.bincount(labels, minlength=4), num_shots).tolist()
        assert not of_draw[-1] & chosen_on[draw[0]]
        assert all(np.bincount(labels[sorted(rows)]).max(initial=0) <= CHOICE_PER_CLASS for rows in chosen_on if rows)


def test_a_draw_does_not_depend_on_how_many_there_are_nor_on_the_features():
    labels = np.repeat(np.arange(4), 10)
    ranks = [rank_in_class(labels, np.random.default_rng([0, draw])) for draw in range(3)]
    assert any((ranks[0] != other).any() for other in ranks[1:])
    data = separable(20, noise=1.0)

    def errors(num_draws, seed=0):
        results = evaluate_fewshot(data, data, num_classes=5, shots=(1,), num_draws=num_draws, seed=seed)
        return [r.error for r in results]

    assert errors(4)[:4] == errors(2)
    assert errors(4) != errors(4, seed=1)
    assert len(set(errors(4)[1::2])) > 1


def test_the_config_knows_the_probes():
    assert set(typing.get_args(ProbeName)) == set(PROBES) == set(DownstreamConfig().probes)
