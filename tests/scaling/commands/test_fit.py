"""`scaling fit`: each option reaches the library, the numbers are the library's, and what cannot be is one line."""

import numpy as np
import pytest

import scaling as sc
from scaling.selection.rules import select

from .calls import answer, call, made_runs, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")


def direct(runs, law="saturating_power", **options):
    return sc.fit_law(law, runs["compute_flops"].to_numpy(), runs["upstream_error"].to_numpy(), **options)


def test_the_default_is_fit_law_of_all_runs(path, runs):
    found, fit = answer("fit", path), direct(runs)
    row = found["rows"][0]
    assert {name: row[name] for name in "abc"} == fit.params
    assert (row["b_low"], row["b_high"]) == fit.interval("b")
    assert row["residual_std"] == fit.residual_std
    assert row["num_points"] == 60
    assert "group" not in row


def test_json_holds_the_fit_so_that_it_can_be_had_again(path, runs):
    found = answer("fit", path)
    again = sc.Fit.from_dict(found["fits"]["all runs"])
    assert again.predict(1e23) == direct(runs).predict(1e23)
    assert found["selected"]["all runs"] == runs["run_id"].tolist()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--objective", "least_squares", {"objective": "least_squares"}),
        ("--fix", "c=0.05", {"fixed": {"c": 0.05}}),
        ("--bound", "c=0.09:0.2", {"bounds": {"c": (0.09, 0.2)}}),
        pytest.param("--law", "broken_power_2", {"law": "broken_power_2"}, marks=pytest.mark.slow),
        ("--law", "power", {"law": "power"}),
    ],
)
def test_options_of_the_fit(path, runs, option, value, expected):
    row = answer("fit", path, option, value)["rows"][0]
    fit = direct(runs, **expected)
    assert fit.params != direct(runs).params
    assert {name: row[name] for name in fit.params} == fit.params


def test_delta_of_a_huber_objective(path, runs):
    row = answer("fit", path, "--objective", "log_huber", "--delta", 0.02)["rows"][0]
    assert row["b"] == direct(runs, objective="log_huber", delta=0.02).params["b"]
    assert row["b"] != direct(runs, objective="log_huber").params["b"]


@pytest.mark.parametrize(
    ("option", "name", "column"), [("--y-std", "y_std", "spread"), ("--counts", "counts", "times")]
)
def test_columns_of_each_point(path, runs, option, name, column):
    row = answer("fit", path, option, column)["rows"][0]
    assert row["b"] == direct(runs, **{name: runs[column].to_numpy()}).params["b"]


def test_num_eval_of_the_binomial_objective(path, runs):
    row = answer("fit", path, "--objective", "binomial", "--num-eval", "upstream_num_eval")["rows"][0]
    fit = direct(runs, objective="binomial", num_eval=runs["upstream_num_eval"].to_numpy())
    assert row["b"] == fit.params["b"]


@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
def test_select_fits_the_selected_runs_and_names_them(path, runs, selection):
    found = answer("fit", path, "--select", selection)
    chosen = runs.iloc[select(runs["compute_flops"].to_numpy(), runs["upstream_error"].to_numpy(), selection)]
    assert 3 < len(chosen) < 60
    assert found["selected"]["all runs"] == chosen["run_id"].tolist()
    assert found["rows"][0]["b"] == direct(chosen).params["b"]
    assert f"{len(chosen)} of 60 runs selected: {selection}" in found["notes"]


def test_by_is_a_row_a_group(path, runs):
    rows = answer("fit", path, "--by", "model_family")["rows"]
    assert [row["group"] for row in rows] == ["resnet", "vit"]
    assert rows[1]["b"] == direct(runs[runs["model_family"] == "vit"]).params["b"]


def test_shared_is_one_joint_fit(path, runs):
    found = answer("fit", path, "--by", "model_family", "--shared", "c", "--at", 1e22)
    ordered = runs.sort_values("model_family", kind="stable")
    whole = direct(ordered, groups=ordered["model_family"].to_numpy(), shared=["c"])
    assert [row["c"] for row in found["rows"]] == [whole.params["c"]] * 2
    assert found["rows"][1]["b"] == whole.params["vit"]["b"]
    assert found["rows"][1]["b_low"] == whole.interval("b", "vit")[0]
    assert found["fits"]["joint"]["shared"] == ["c"]
    assert found["predictions"][1]["median"] == whole.predict(1e22, "vit")


def test_intervals_of_a_bootstrap_by_its_seed_and_draws(path, runs):
    options = ("--interval", "residuals", "--draws", 50, "--seed", 3)
    row = answer("fit", path, *options)["rows"][0]
    boot = sc.bootstrap_fit(direct(runs), num_draws=50, rng=np.random.default_rng(3))
    assert (row["b_low"], row["b_high"]) == boot.interval("b")


def test_intervals_of_cases(path, runs):
    row = answer("fit", path, "--interval", "cases", "--draws", 50)["rows"][0]
    boot = sc.bootstrap_fit(direct(runs), num_draws=50, method="case", rng=np.random.default_rng(0))
    assert (row["b_low"], row["b_high"]) == boot.interval("b")


def test_cases_draw_the_branches_of_a_trunk_together(runs, tmp_path):
    trunks = [f"trunk{i // 4}" for i in range(60)]
    runs.assign(trunk_id=trunks).to_parquet(tmp_path / "runs.parquet")
    row = answer("fit", tmp_path / "runs.parquet", "--interval", "cases", "--draws", 50)["rows"][0]
    boot = sc.bootstrap_fit(direct(runs), num_draws=50, groups=trunks, rng=np.random.default_rng(0))
    assert (row["b_low"], row["b_high"]) == boot.interval("b")


def test_profile_intervals_at_a_level(path, runs):
    row = answer("fit", path, "--interval", "profile", "--level", 0.8)["rows"][0]
    assert (row["c_low"], row["c_high"]) == sc.profile_interval(direct(runs), "c", 0.8)


def test_a_fixed_parameter_has_no_interval(path):
    row = answer("fit", path, "--fix", "c=0.05")["rows"][0]
    assert row["c_low"] is None


def test_at_gives_both_bands(path, runs):
    rows = answer("fit", path, "--at", "1e22", "--at", "1e23", "--level", 0.9)["predictions"]
    fit = direct(runs)
    for row, x in zip(rows, (1e22, 1e23), strict=True):
        assert (row["at"], row["quantity"]) == (x, "upstream_error")
        assert (row["median"], row["low"], row["high"]) == tuple(map(float, fit.predict(x, 0.9)))
        assert (row["prediction_low"], row["prediction_high"]) == tuple(
            float(end) for end in list(fit.predict(x, 0.9, "prediction"))[1:]
        )
    assert rows[1]["decades_beyond"] == pytest.approx(1)
    assert rows[0]["decades_beyond"] == 0


def test_target_is_the_x_of_an_error_with_an_interval_and_inf_where_never(path, runs):
    rows = answer("fit", path, "--target", 0.1, "--target", 0.02, "--draws", 50)["predictions"]
    assert rows[0]["median"] == direct(runs).solve_for_x(0.1)
    assert rows[0]["low"] < rows[0]["median"] < rows[0]["high"]
    assert rows[1]["median"] == "inf"


def test_exit_code_1_where_no_target_is_reached(path):
    assert answer("fit", path, "--target", 0.02, "--draws", 50, exit_code=1)["predictions"][0]["median"] == "inf"


def test_a_law_that_grows_never_falls_to_an_error_below_its_offset(path):
    args = ("fit", path, "--law", "transfer", "--x", "upstream_error", "--task", "pets", "--draws", 50)
    assert answer(*args, "--target", 0.01, exit_code=1)["predictions"][0]["median"] == "inf"


def test_task_shots_x_and_y_name_the_columns(path, runs):
    row = answer("fit", path, "--task", "pets", "--shots", 5, "--x", "num_params")["rows"][0]
    fit = sc.fit_law("saturating_power", runs["num_params"].to_numpy(), runs["pets_5shot_error"].to_numpy())
    assert row["b"] == fit.params["b"]
    assert answer("fit", path, "--y", "pets_5shot_error", "--x", "num_params")["rows"][0]["b"] == row["b"]


def test_the_law_of_two_inputs(runs, tmp_path):
    loss = 1.7 + 400 * runs["num_params"] ** -0.34 + 400.0 * runs["train_examples"] ** -0.3
    loss = loss * np.exp(0.01 * np.random.default_rng(0).standard_normal(60))
    runs.assign(loss=loss).to_parquet(tmp_path / "runs.parquet")
    args = ("fit", tmp_path / "runs.parquet", "--law", "additive", "--x", "num_params", "--x2", "train_examples")
    found = answer(*args, "--y", "loss", "--at", "3e8,1e7")
    x = np.column_stack([runs["num_params"], runs["train_examples"]]).astype(float)
    fit = sc.fit_law("additive", x, loss.to_numpy())
    assert found["rows"][0]["alpha"] == fit.params["alpha"]
    assert found["predictions"][0]["median"] == fit.predict([3e8, 1e7])


def test_where_and_what_was_left_out(path, runs):
    found = answer("fit", path, "--where", "depth > 1")
    assert found["rows"][0]["b"] == direct(runs[runs["depth"] > 1]).params["b"]
    assert found["left_out"] == {}


def test_runs_that_are_left_out_are_counted(runs, tmp_path):
    runs.assign(status=["diverged", *["ok"] * 59]).to_parquet(tmp_path / "runs.parquet")
    found = answer("fit", tmp_path / "runs.parquet")
    assert found["left_out"] == {"not ok (diverged, failed)": 1}
    assert any("1 not ok" in note for note in found["notes"])
    assert found["rows"][0]["num_points"] == 59


def test_a_group_without_a_fit_has_its_reason_and_the_others_their_fits(runs, tmp_path):
    labels = ["lone", *["vit"] * 59]
    runs.assign(model_family=labels).to_parquet(tmp_path / "runs.parquet")
    rows = answer("fit", tmp_path / "runs.parquet", "--by", "model_family")["rows"]
    assert "got 1 points" in rows[0]["reason"]
    assert rows[0]["b"] is None
    assert rows[1]["b"] > 0


def test_no_fit_at_all_is_exit_code_1(runs, tmp_path):
    runs.head(1).to_parquet(tmp_path / "runs.parquet")
    result = call("fit", tmp_path / "runs.parquet", "--figure", tmp_path / "a.png")
    assert result.exit_code == 1
    assert "got 1 points" in result.stdout
    assert "nothing to draw" in result.stderr


def test_csv_is_the_table_or_what_was_asked(path, runs):
    assert float(table("fit", path)[0]["b"]) == direct(runs).params["b"]
    assert float(table("fit", path, "--at", 1e22)[0]["median"]) == direct(runs).predict(1e22)


def test_the_text_has_the_law_and_standard_error_what_the_fit_warns_of(runs, tmp_path):
    runs.tail(10).to_parquet(tmp_path / "runs.parquet")
    result = call("fit", tmp_path / "runs.parquet")
    assert result.stdout.startswith("saturating_power: a x^-b + c; upstream_error against compute_flops")
    assert "warning (under_one_decade): x spans 0.61 decades" in result.stderr


def test_of_groups_the_kinds_of_warnings_stand_in_the_table_with_their_meaning(runs, tmp_path):
    runs.tail(14).to_parquet(tmp_path / "runs.parquet")
    result = call("fit", tmp_path / "runs.parquet", "--by", "model_family", "--law", "power")
    assert "under_one_decade: x spans less than one decade" in result.stdout


def test_a_warning_of_a_prediction_names_its_group(path):
    result = call("fit", path, "--by", "model_family", "--at", 1e24)
    assert "warning (extrapolation): resnet: x lies" in result.stderr


@pytest.mark.slow  # each type of file also in test_plot
def test_figures(path, tmp_path):
    files = [tmp_path / f"fit.{suffix}" for suffix in ("png", "svg", "pdf")]
    options = [option for file in files for option in ("--figure", file)]
    result = call("fit", path, "--by", "model_family", "--shared", "c", *options)
    assert result.exit_code == 0, result.stderr
    assert all(file.stat().st_size > 5000 for file in files)


def test_a_figure_goes_as_far_as_the_prediction(path, tmp_path):
    call("fit", path, "--at", 1e26, "--figure", tmp_path / "far.svg")
    call("fit", path, "--figure", tmp_path / "near.svg")
    far, near = ((tmp_path / name).read_text() for name in ("far.svg", "near.svg"))
    assert "{26}" in far
    assert "{26}" not in near


@pytest.mark.slow  # also of a frontier
def test_one_figure_of_every_group(path, tmp_path):
    call("fit", path, "--by", "model_family", "--figure", tmp_path / "a.svg", "--figure", tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text.count('id="axes_') == 2
    assert (tmp_path / "b.svg").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--law", "saturating_powr"], "near: saturating_power"),
        (["--law", "additive"], "--x2"),
        (["--x2", "num_params"], "one input"),
        (["--y", "upstream_eror"], "there is upstream_error"),
        (["--select", "best"], "selection must be one of"),
        (["--select", "pareto", "--law", "transfer", "--x", "pets_10shot_error"], "falls with one x"),
        (["--objective", "bino"], "objective must be one of"),
        (["--delta", "0.1"], "delta"),
        (["--fix", "d=1"], "has the parameters"),
        (["--fix", "c"], "such as c=0.05"),
        (["--fix", "c=1", "--fix", "c=2"], "once"),
        (["--bound", "c=1"], "LOW:HIGH"),
        (["--bound", "c=1:0"], "bounds of c"),
        (["--shared", "c"], "--by"),
        (["--shared", "q", "--by", "model_family"], "has the parameters"),
        (["--shared", "c", "--by", "model_family", "--interval", "profile"], "delta"),
        (["--interval", "foo"], "delta, residuals, cases, profile"),
        (["--at", "1e22,3"], "takes a number"),
        (["--at", "0"], "positive"),
        (["--target", "10"], "percent"),
        (["--y-std", "spred"], "there is spread"),
        (["--by", "family"], "there is model_family"),
        (["--figure", "a.gif"], ".png, .svg, .pdf"),
        (["--figure", "/nowhere/a.png"], "no folder"),
        (["--json", "--csv"], "one of them"),
        (["--where", "compute_flops < 0"], "no"),
        (["--y", "upstream_error", "--task", "pets"], "both name"),
    ],
)
def test_what_cannot_be_is_one_line(path, args, said):
    assert said in refused("fit", path, *args)


def test_figures_of_laws_that_have_none_are_told_before_the_work(path, tmp_path):
    args = ("--law", "additive", "--x", "num_params", "--x2", "train_examples", "--figure", tmp_path / "a.png")
    assert "one positive variable" in refused("fit", path, *args)


def test_too_many_groups_for_a_figure_lose_no_answer(tmp_path):
    made_runs(150).assign(model_family=[f"g{i % 30}" for i in range(150)]).to_parquet(tmp_path / "runs.parquet")
    result = call("fit", tmp_path / "runs.parquet", "--by", "model_family", "--figure", tmp_path / "a.png")
    assert result.exit_code == 2
    assert "at most 24 groups" in result.stderr
    assert "g29" in result.stdout


@pytest.mark.parametrize("text", ["", "run_id,step\n"])
def test_files_without_runs(tmp_path, text):
    (tmp_path / "runs.csv").write_text(text)
    result = call("fit", tmp_path / "runs.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")  # a line a missing column


def test_percent_is_asked_about(runs, tmp_path):
    runs.assign(upstream_error=100 * runs["upstream_error"]).to_parquet(tmp_path / "runs.parquet")
    assert "percent" in refused("fit", tmp_path / "runs.parquet")


def test_only_diverged_runs(runs, tmp_path):
    runs.assign(status="diverged").to_parquet(tmp_path / "runs.parquet")
    assert "60 not ok" in refused("fit", tmp_path / "runs.parquet")
