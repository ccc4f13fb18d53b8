"""Results as plain values: JSON holds each, and the numbers are those of the result."""

import json

import numpy as np
import pytest

import scaling as sc
from scaling.plain import interval_or_none, plain

X = np.geomspace(1e15, 1e18, 40)
NOISE = np.exp(0.02 * np.random.default_rng(0).standard_normal(40))
UPSTREAM = (0.4 * (X / 1e15) ** -0.3 + 0.1) * NOISE
DOWNSTREAM = (0.7 * UPSTREAM**1.5 + 0.05) * NOISE[::-1]
FAMILIES = np.where(np.arange(40) % 2 == 0, "vit", "resnet")


@pytest.fixture(scope="module")
def results():
    front = sc.fit_frontier(X, UPSTREAM, num_draws=60)
    trans = sc.fit_transfer(1 - UPSTREAM, 1 - DOWNSTREAM, selection="pareto", num_draws=60)
    both = sc.chain(front, trans)
    return {
        "fit": sc.fit_law("saturating_power", X, UPSTREAM),
        "grouped": sc.fit_law("saturating_power", X, UPSTREAM, groups=FAMILIES, shared=["c"]),
        "frontier": front,
        "stochastic": sc.fit_frontier(X, UPSTREAM, selection="stochastic", num_draws=60),
        "transfer": trans,
        "chain": both,
        "target": both.solve_for_compute(0.8),
        "prediction": front.predict([1e18, 2e18], 0.9),
        "ensemble": sc.fit_ensemble(X, UPSTREAM),
        "ratio": sc.frontier.cost_ratio(
            X, UPSTREAM, FAMILIES, reference="vit", rival="resnet", targets=[0.2], num_draws=50
        ),
    }


def test_every_kind_is_written_by_json(results):
    for name, result in results.items():
        assert json.loads(json.dumps(plain(result))), name


def test_a_frontier_has_its_parameters_intervals_and_selected_runs(results):
    front = results["frontier"]
    values = plain(front, level=0.8)
    assert values["params"] == front.params
    assert values["intervals"]["b"] == list(front.interval("b", 0.8))
    assert values["selected"] == front.selected.tolist()
    assert values["draws"] == "simulated_world"
    assert values["stochastic"] is None
    assert plain(results["stochastic"])["stochastic"]["mean_excess"] > 0


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_warnings_are_kind_and_text():
    few = sc.fit_law("power", [1, 2, 4], [1, 0.5, 0.26])
    assert [kind for kind, _ in plain(few)["warnings"]] == ["under_one_decade"]


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_fixed_parameter_has_no_interval():
    fit = sc.fit_law("saturating_power", X, UPSTREAM, fixed={"c": 0.1})
    assert plain(fit)["intervals"]["c"] is None
    assert interval_or_none(lambda: fit.interval("b")) == list(fit.interval("b"))


def test_of_groups_the_shared_parameter_stands_once(results):
    values = plain(results["grouped"])
    assert values["intervals"]["c"] == list(results["grouped"].interval("c"))
    assert values["intervals"]["vit"]["b"] == list(results["grouped"].interval("b", "vit"))


def test_a_chain_holds_both_laws_and_its_saturation(results):
    values = plain(results["chain"], 0.9)
    assert values["saturation_interval"] == list(results["chain"].saturation_interval(0.9))
    assert values["upstream"]["params"] == results["frontier"].params
    assert values["downstream"]["params"] == results["transfer"].params


def test_another_kind_is_refused():
    with pytest.raises(TypeError, match="got int"):
        plain(3)
