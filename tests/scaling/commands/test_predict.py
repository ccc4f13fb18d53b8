"""`scaling predict`: compute to error or accuracy and back; the numbers are those of the library called directly."""

import numpy as np
import pytest

import scaling as sc

from .calls import answer, call, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")
DRAWS = ("--draws", 60)


def arrays(runs, y="pets_10shot_error"):
    return (runs[name].to_numpy() for name in ("compute_flops", "upstream_error", y))


def laws(runs, selection="stochastic", law="saturating_power", y="pets_10shot_error", seed=0):
    compute, upstream, pets = arrays(runs, y)
    options = {"selection": selection, "num_draws": 60}
    front = sc.fit_frontier(compute, upstream, law=law, rng=np.random.default_rng(seed), **options)
    trans = sc.fit_transfer(1 - upstream, 1 - pets, rng=np.random.default_rng(seed), **options)
    return front, trans, sc.chain(front, trans, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def stochastic(runs):
    return laws(runs)


def test_compute_to_the_upstream_error(path, stochastic):
    found = answer("predict", path, "--at", 1e23, *DRAWS)
    [row] = found["rows"]
    band = stochastic[0].predict(1e23, 0.95)
    assert (row["given"], row["at"], row["quantity"]) == ("compute_flops", 1e23, "upstream_error")
    assert (row["median"], row["low"], row["high"]) == tuple(map(float, band))
    assert row["decades_beyond"] == pytest.approx(1)
    assert found["laws"]["all runs"]["upstream_error"]["params"] == stochastic[0].params


def test_compute_to_the_downstream_accuracy(path, stochastic):
    rows = answer("predict", path, "--at", 1e22, "--at", 1e23, "--task", "pets", *DRAWS, "--level", 0.9)["rows"]
    assert [row["quantity"] for row in rows] == ["upstream_error"] * 2 + ["pets_10shot_accuracy"] * 2
    assert (rows[3]["median"], rows[3]["low"], rows[3]["high"]) == tuple(map(float, stochastic[2].predict(1e23, 0.9)))


def test_downstream_accuracy_to_its_compute_or_never(path, stochastic):
    args = ("--task", "pets", "--downstream-accuracy", 0.9, "--downstream-accuracy", 0.99)
    rows = answer("predict", path, *args, *DRAWS)["rows"]
    for row, accuracy in zip(rows, (0.9, 0.99), strict=True):
        target = stochastic[2].solve_for_compute(accuracy)
        assert float(row["low"]) == target.low
        assert row["probability_never"] == target.probability_never
    assert rows[0]["median"] == stochastic[2].solve_for_compute(0.9).compute
    assert (rows[1]["median"], rows[1]["probability_never"]) == ("inf", 1)


def test_a_target_is_an_error_of_the_task_or_of_upstream(path, stochastic):
    [downstream] = answer("predict", path, "--task", "pets", "--target", 0.1, *DRAWS)["rows"]
    assert downstream["median"] == pytest.approx(stochastic[2].solve_for_compute(0.9).compute, rel=1e-12)  # of 1 - .1
    [upstream] = answer("predict", path, "--target", 0.1, *DRAWS)["rows"]
    assert (upstream["median"], upstream["low"], upstream["high"]) == tuple(stochastic[0].solve_for_x(0.1, level=0.95))
    assert upstream["probability_never"] == np.mean(stochastic[0].bootstrap.limits >= 0.1)


def test_exit_code_1_where_it_is_never_reached(path):
    answer("predict", path, "--task", "pets", "--downstream-accuracy", 0.99, *DRAWS, exit_code=1)
    answer("predict", path, "--target", 0.01, *DRAWS, exit_code=1)


def test_straight_through_the_transfer_law(path, stochastic):
    found = answer("predict", path, "--task", "pets", "--upstream-accuracy", 0.95, *DRAWS)
    [row] = found["rows"]
    assert (row["median"], row["low"], row["high"]) == tuple(map(float, stochastic[1].predict(0.95, 0.95)))
    assert row["decades_beyond"] == pytest.approx(np.log10((1 - stochastic[1].upstream.max()) / 0.05))
    assert list(found["laws"]["all runs"]) == ["left_out", "pets_10shot_error"]


def test_law_and_selection(path, runs):
    args = ("--at", 1e23, "--task", "pets", "--select", "pareto", "--law", "power", *DRAWS)
    found = answer("predict", path, *args)
    front, trans, both = laws(runs, "pareto", "power")
    assert found["rows"][1]["median"] == both.predict(1e23)
    written = found["laws"]["all runs"]
    assert written["upstream_error"]["law"] == "power"
    assert written["upstream_error"]["selected"] == runs["run_id"].iloc[front.selected].tolist()
    assert written["pets_10shot_error"]["selected"] == runs["run_id"].iloc[trans.selected].tolist()


def test_branches_of_a_trunk_are_drawn_together(runs, tmp_path):
    trunks = np.array([f"trunk{i // 4}" for i in range(60)])
    runs.assign(trunk_id=trunks).to_parquet(tmp_path / "runs.parquet")
    found = answer("predict", tmp_path / "runs.parquet", "--at", 1e23, "--select", "pareto", *DRAWS)
    assert found["laws"]["all runs"]["upstream_error"]["draws"] == "case_bootstrap"


@pytest.mark.slow
def test_seed_shots_and_the_columns(path, runs):
    renamed = laws(runs, y="pets_5shot_error", seed=7)[2]
    args = ("--at", 1e23, *DRAWS, "--seed", 7)
    by_task = answer("predict", path, "--task", "pets", "--shots", 5, *args)["rows"]
    by_name = answer("predict", path, "--y", "pets_5shot_error", "--upstream", "upstream_error", *args)["rows"]
    assert by_task == by_name
    assert by_task[1]["low"] == renamed.predict(1e23, 0.95).low


def test_another_upstream_column(path, runs):
    args = ("--upstream", "pets_10shot_error", "--at", 1e23, *DRAWS)
    [row] = answer("predict", path, *args)["rows"]
    compute, _, pets = arrays(runs)
    front = sc.fit_frontier(compute, pets, selection="stochastic", num_draws=60, rng=np.random.default_rng(0))
    assert (row["quantity"], row["median"]) == ("pets_10shot_error", front.predict(1e23))


@pytest.mark.slow
def test_by_is_each_group_and_says_which_has_no_law(runs, tmp_path):
    labels = ["lone", *runs["model_family"][1:]]
    runs.assign(model_family=labels).to_parquet(tmp_path / "runs.parquet")
    found = answer("predict", tmp_path / "runs.parquet", "--by", "model_family", "--at", 1e23, *DRAWS)
    assert [row["group"] for row in found["rows"]] == ["resnet", "vit"]
    assert "needs at least 12 runs" in found["reasons"]["lone"]
    front = laws(runs[1:][runs["model_family"][1:] == "vit"])[0]
    assert found["rows"][1]["median"] == front.predict(1e23)


def test_too_few_runs_are_exit_code_1(runs, tmp_path):
    runs.head(3).to_parquet(tmp_path / "runs.parquet")
    said = refused("predict", tmp_path / "runs.parquet", "--at", 1e23, exit_code=1)
    assert "at least 12 runs" in said
    by_each = refused("predict", tmp_path / "runs.parquet", "--at", 1e23, "--by", "run_id", exit_code=1)
    assert "none of 3 groups has a law" in by_each


def test_the_text_names_laws_warnings_and_saturation(path):
    result = call("predict", path, "--at", 1e24, "--task", "pets", *DRAWS)
    assert "pets_10shot_error: transfer k e^alpha + e_ir" in result.stdout
    assert "pets_10shot_accuracy at infinite compute_flops: 0." in result.stdout
    assert "warning (extrapolation): x lies 2.00 decades beyond" in result.stderr


@pytest.mark.slow
def test_csv(path, stochastic):
    [row] = table("predict", path, "--at", 1e23, *DRAWS)
    assert float(row["median"]) == stochastic[0].predict(1e23)


@pytest.mark.parametrize(
    "args",
    [
        ["--at", "1e23"],
        pytest.param(["--at", "1e23", "--task", "pets", "--downstream-accuracy", "0.9"], marks=pytest.mark.slow),
        ["--upstream-accuracy", "0.9", "--task", "pets"],
    ],
)
def test_figures(path, tmp_path, args):
    result = call("predict", path, *args, *DRAWS, "--figure", tmp_path / "a.png")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "nothing is asked"),
        (["--downstream-accuracy", "0.9"], "need --task"),
        (["--upstream-accuracy", "0.9"], "need --task"),
        (["--downstream-accuracy", "90", "--task", "pets"], "percent"),
        (["--upstream-accuracy", "1", "--task", "pets"], "[0, 1)"),
        (["--target", "1.5"], "--target"),
        (["--at", "-1"], "positive"),
        (["--at", "1e23", "--law", "powr"], "near: power"),
        (["--at", "1e23", "--law", "additive"], "additive"),
        (["--at", "1e23", "--select", "best"], "stochastic"),
        (["--at", "1e23", "--task", "pats"], "pets_10shot_error"),
    ],
)
def test_what_cannot_be_is_one_line(path, args, said):
    assert said in refused("predict", path, *args)


def test_of_a_data_set_without_upstream_errors_upstream_is_its_own():
    asked = ("predict", "zhai2021", "--at", 1e5, "--draws", 20)
    assert answer(*asked)["rows"][0]["quantity"] == "imagenet_10shot_error"
    assert answer(*asked) == answer(*asked, "--task", "imagenet")  # that error is not set against itself


def test_a_target_in_nats_may_lie_above_one(path):
    loss = ("--column", "upstream_loss=1.8 + 2 * upstream_error", "--upstream", "upstream_loss")
    [row] = answer("predict", path, *loss, "--target", 2.3, "--draws", 20)["rows"]
    assert row["given"] == "upstream_loss"
    [alike] = answer("fit", path, *loss[:2], "--y", "upstream_loss", "--target", 2.3)["predictions"]
    assert 0.1 < row["median"] / alike["median"] < 10  # the law of the edge, and of all runs
