import numpy as np
import pytest

from scaling import FitError
from scaling.transfer import RULES, Rule, compare_best_models, predict_best_models

EDGE, FRONTIER, VERTICES = (Rule("transfer", points) for points in ("stochastic", "pareto", "vertices"))
LINE = Rule("logit", "all")


def models(n=120, seed=0):
    """Models below e_DS = .7 e_US^2 + .1, of which a third lies on it."""
    rng = np.random.default_rng(seed)
    upstream = rng.uniform(0.1, 0.7, n)
    error = 0.7 * (1 - upstream) ** 2 + 0.1
    return upstream, 1 - np.minimum(error * np.exp(rng.exponential(0.15, n) * (rng.random(n) < 0.67)), 0.99)


@pytest.fixture(scope="module")
def best():
    return predict_best_models(*models(), num_draws=100)


def test_every_rule_has_a_row_and_predicts(best):
    table = best.table
    assert len(table) == len(RULES) == len(best.reasons)
    assert set(best.fits) == set(RULES)
    assert set(table.predicts) == {"best", "mean"}
    assert table.saturation.notna().sum() == sum(rule.law == "transfer" for rule in RULES)


def test_scores_by_hand(best):
    held = best.is_held_out
    band = best.predict(LINE, best.upstream[held])
    error = band.median - best.downstream[held]
    row = best.table.set_index(["law", "points"]).loc[("logit", "all")]
    assert row.mae_all == pytest.approx(np.abs(error).mean())
    assert row.rmse_all == pytest.approx(np.sqrt((error**2).mean()))
    assert row.bias_all == pytest.approx(error.mean())
    inside = (band.low <= best.downstream[held]) & (best.downstream[held] <= band.high)
    assert row.covered_all == pytest.approx(inside.mean())
    assert (row.num_all, row.num_frontier) == (6, np.sum(held & best.is_on_frontier))


def test_the_true_law_of_the_best_models_foresees_those_on_the_frontier(best):
    """The edge is known to about 1 % of the error here, the mean model lies .1 of the error below it."""
    table = best.table.set_index(["law", "points"])
    assert table.mae_frontier["transfer", "stochastic"] < 0.01
    assert table.mae_frontier["transfer", "vertices"] < 0.01
    assert table.bias_frontier["logit", "all"] < -0.01


def test_the_models_of_highest_upstream_accuracy_are_held_out_and_nothing_of_them_is_fitted():
    upstream, downstream = models()
    worse = np.where(upstream >= np.sort(upstream)[-6], 0.2, downstream)
    base, changed = (
        predict_best_models(upstream, d, rules=[FRONTIER, LINE], num_draws=20) for d in (downstream, worse)
    )
    assert base.is_held_out.sum() == 6
    assert upstream[base.is_held_out].min() > upstream[~base.is_held_out].max()
    for rule in (FRONTIER, LINE):
        assert base.predict(rule, [0.65]).median == changed.predict(rule, [0.65]).median
    assert changed.table.num_frontier.tolist() == [0, 0]
    assert "mae_frontier" not in changed.table


def test_a_rules_interval_does_not_depend_on_the_rules_beside_it():
    alone, beside = (predict_best_models(*models(), rules=r, num_draws=20) for r in ([EDGE], [FRONTIER, EDGE]))
    assert alone.table.saturation_low[0] == beside.table.saturation_low[1]


def test_models_that_tie_are_held_out_together():
    upstream, downstream = models(40)
    upstream[:5] = 0.75
    best = predict_best_models(upstream, downstream, share=0.05, rules=[LINE])
    assert best.is_held_out.sum() == 5


def test_a_fit_that_cannot_be_had_is_noted_and_the_warnings_are_too():
    """A convex cloud: its upper hull is the chord between two models."""
    upstream = np.linspace(0.1, 0.8, 60)
    best = predict_best_models(upstream, upstream**4, rules=[VERTICES, FRONTIER, LINE], num_draws=20)
    table = best.table
    assert table.reason[0].startswith("the hull is one chord between two models")
    assert table.reason[1] == ""
    assert "at_bound" in table.warnings[1].split(", ")
    assert table.mae_all.isna().tolist() == [True, False, False]
    with pytest.raises(FitError, match="'transfer, vertices' has no fit: the hull is one chord"):
        best.predict(VERTICES, [0.5])
    assert "3 of 60 models held out" in repr(best)


def test_tasks_in_one_table():
    tasks = {"pets": models(seed=1), "cars": models(seed=2)}
    table = compare_best_models(tasks, rules=[EDGE, LINE], num_draws=20)
    assert table.task.tolist() == ["pets", "pets", "cars", "cars"]
    alone = predict_best_models(*tasks["cars"], rules=[EDGE, LINE], num_draws=20).table
    assert table.mae_all.tolist()[2:] == alone.mae_all.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0}, "share must leave models to fit and to predict, of 120, got 0"),
        ({"share": 1.0}, "share must leave"),
        ({"share": "a"}, "share must leave .* got 'a'"),
        ({"names": ["a"]}, "names must have one label a model, 120, got 1"),
        ({"upstream": np.ones(120)}, "upstream_accuracy must be below 1; row 0 is 1"),
        ({"upstream": np.full(120, 0.5)}, "holds out every model"),
        ({"upstream": [0.1]}, "equally long"),
    ],
)
def test_bad_arguments(change, message):
    upstream, downstream = models()
    upstream = change.pop("upstream", upstream)
    with pytest.raises(ValueError, match=message):
        predict_best_models(upstream, downstream, rules=[LINE], **change)


def test_a_share_is_not_rounded_up_by_rounding():
    upstream, downstream = models(100)
    assert predict_best_models(upstream, downstream, share=0.07, rules=[LINE]).is_held_out.sum() == 7


def test_no_rules_and_no_tasks():
    with pytest.raises(ValueError, match=r"rules must be a list of Rule\(law, points\), got \["):
        predict_best_models(*models(), rules=["logit"])
    with pytest.raises(ValueError, match=r"rules must be a list of Rule"):
        predict_best_models(*models(), rules=[])
    with pytest.raises(ValueError, match="one or more pairs"):
        compare_best_models({})


def test_a_rule_is_one_of_the_table():
    with pytest.raises(ValueError, match=r"a rule is a law and its points, of .*, got 'logit' on 'vertices'"):
        Rule("logit", "vertices")
