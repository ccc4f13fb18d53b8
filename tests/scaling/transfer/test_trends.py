import numpy as np
import pandas as pd
import pytest

from scaling.transfer import fit_tasks, fit_transfer, param_trends, sign_exceptions, sign_shares


@pytest.fixture
def table1(published):
    """Abnar et al. 2021 (arXiv 2110.02095), Table 1, under the names of `param_trends`."""
    names = {"ds": "task", "us": "upstream", "corr_with_shots": "correlation"}
    return published("abnar2021_table1_param_shot_corr.csv").rename(columns=names).replace({"param": {"e_IR": "e_ir"}})


def records(seed=0, n=60):
    """Models of two upstream sets, all on the hull laws of two tasks; with more shots k and e_IR fall, alpha rises."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"upstream_dataset": np.repeat(["jft", "i21k"], n), "upstream_error": rng.uniform(0.4, 0.9, 2 * n)}
    )
    for task, base in (("pets", 0.1), ("cars", 0.2)):
        for shots in (1, 5, 10, 25):
            k, alpha, e_ir = law(base, shots)
            frame[f"{task}_{shots}shot_error"] = k * frame["upstream_error"] ** alpha + e_ir
    return frame


def law(base, shots):
    return 0.6 - 0.004 * shots, 1.5 + 0.02 * shots, base - 0.003 * shots


@pytest.fixture(scope="module")
def fits():
    """Pareto points and the case bootstrap: of exact laws the quickest."""
    return fit_tasks(records(), selection="pareto", intervals="case_bootstrap", num_draws=20)


# Table 1 ------------------------------------------------------------------------------------------------------


def test_means_and_medians_of_abnar_table_1(table1):
    """Recomputed from its 48 rows, to the two digits in which they are stated."""
    shares = sign_shares(table1).set_index(["upstream", "param"])
    means = {"JFT": [-0.31, 0.18, -0.60], "ImageNet21K": [-0.68, 0.62, -0.40]}
    medians = {"JFT": [-0.58, 0.36, -0.78], "ImageNet21K": [-0.89, 0.76, -0.59]}
    for upstream in means:
        rows = shares.loc[upstream].loc[["k", "alpha", "e_ir"]]
        np.testing.assert_allclose(rows["mean"], means[upstream], atol=0.0051)  # half a unit of the last digit
        np.testing.assert_allclose(rows["median"], medians[upstream], atol=0.0051)
    assert (shares["num_tasks"] == 8).all()
    assert shares["num_contradicting"].sum() == len(sign_exceptions(table1)) == 10  # by sign alone: there is no p
    assert shares["num_unclear"].sum() == 0


# Fits ---------------------------------------------------------------------------------------------------------


def test_a_row_a_fit_with_the_parameters_of_its_law(fits):
    table = fits
    assert len(table) == 16
    assert (table["reason"] == "").all()
    assert (table["num_models"] == 60).all()
    for row in table.itertuples():
        base = {"pets": 0.1, "cars": 0.2}[row.task]
        # The points are exact: what is left is the solver's end.
        assert (row.k, row.alpha, row.e_ir) == pytest.approx(law(base, row.num_shots), rel=1e-4)


def test_it_is_fit_transfer_with_its_intervals():
    frame = records()
    rng = np.random.default_rng(3)
    frame["pets_5shot_error"] = np.minimum(frame["pets_5shot_error"] * np.exp(rng.exponential(0.1, len(frame))), 1)
    options = {"selection": "pareto", "num_draws": 100}
    table = fit_tasks(frame, group=None, tasks=["pets_5shot_error"], level=0.9, rng=np.random.default_rng(5), **options)
    [rng] = np.random.default_rng(5).spawn(1)
    fit = fit_transfer(1 - frame["upstream_error"], 1 - frame["pets_5shot_error"], rng=rng, **options)
    assert table["upstream"].tolist() == ["all"]
    for name, value in fit.params.items():
        assert table[name][0] == value
        assert (table[f"{name}_low"][0], table[f"{name}_high"][0]) == fit.interval(name, 0.9)


def test_a_row_does_not_depend_on_the_others():
    frame = noisy()
    options = {"group": None, "selection": "pareto", "num_draws": 30}
    alone = fit_tasks(frame, tasks=["cars_5shot_error"], **options)
    among = fit_tasks(frame, tasks=["pets_1shot_error", "cars_5shot_error"], **options)
    pd.testing.assert_frame_equal(alone, among.iloc[1:].reset_index(drop=True))


def noisy():
    frame = records()
    rng = np.random.default_rng(3)
    tasks = [name for name in frame if name.endswith("shot_error")]
    frame[tasks] = np.minimum(frame[tasks] * np.exp(rng.exponential(0.1, (len(frame), len(tasks)))), 1)
    return frame


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_groups_are_a_column_cut_with_the_rows():
    frame = noisy().assign(trunk_id=np.repeat(np.arange(60), 2))
    options = {"selection": "pareto", "intervals": "case_bootstrap", "num_draws": 30}
    table = fit_tasks(frame, tasks=["pets_5shot_error"], groups="trunk_id", **options)
    part = frame[frame["upstream_dataset"] == "jft"]
    [rng] = np.random.default_rng(0).spawn(1)
    fit = fit_transfer(
        1 - part["upstream_error"], 1 - part["pets_5shot_error"], groups=part["trunk_id"], rng=rng, **options
    )
    row = table.set_index("upstream").loc["jft"]
    assert (row["k_low"], row["k_high"]) == fit.interval("k")


def test_a_fit_without_a_degree_of_freedom_has_no_intervals():
    """Three models on a hull: the law goes through them, and an interval of it would be of nothing."""
    frame = pd.DataFrame({"upstream_error": [0.8, 0.6, 0.4], "pets_5shot_error": [0.7, 0.45, 0.3]})
    row = fit_tasks(frame, group=None, num_draws=20).iloc[0]
    assert "few_points" in row["warnings"]
    assert row["reason"] == ""
    assert row[["k", "alpha", "e_ir"]].notna().all()
    assert row[[f"{name}{end}" for name in ("k", "alpha", "e_ir") for end in ("_low", "_high")]].isna().all()


def test_a_model_without_upstream_error_is_the_reason_of_its_rows_only():
    frame = records()
    frame.loc[frame.index[0], "upstream_error"] = 0.0  # of jft
    options = {"selection": "pareto", "intervals": "case_bootstrap", "num_draws": 20}
    reasons = fit_tasks(frame, tasks=["pets_1shot_error"], **options).set_index("upstream")["reason"].to_dict()
    assert reasons == {"i21k": "", "jft": "1 of 60 models have no upstream error"}
    perfect = records().assign(pets_1shot_error=0.0)
    reasons = fit_tasks(perfect, tasks=["pets_1shot_error"], selection="stochastic")["reason"]
    assert set(reasons) == {"60 of 60 models have no downstream error"}


def test_models_without_the_task_are_left_out_and_a_failure_says_why():
    frame = records()
    frame.loc[frame.index[:20], "pets_5shot_error"] = np.nan
    frame.loc[(frame["upstream_dataset"] == "i21k") & (frame["upstream_error"] < 2), "cars_1shot_error"] = 0.5
    options = {"selection": "pareto", "intervals": "case_bootstrap", "num_draws": 20}
    table = fit_tasks(frame, **options).set_index(["task", "upstream", "num_shots"])
    assert table.loc[("pets", "jft", 5), "num_models"] == 40
    failed = table.loc[("cars", "i21k", 1)]
    assert np.isnan(failed["e_ir"])
    assert failed["reason"]
    assert (table["reason"] != "").sum() == 1
    assert param_trends(table.reset_index())["num_settings"].value_counts().to_dict() == {4: 9, 3: 3}


def test_records_of_one_upstream_set_need_not_name_it():
    """As a table kept by hand; the same numbers as with `group=None`."""
    own = records().drop(columns="upstream_dataset")
    found, told = (fit_tasks(own, num_draws=20, **options) for options in ({}, {"group": None}))
    assert set(found["upstream"]) == {"all"}
    pd.testing.assert_frame_equal(found, told)


def test_bad_records():
    with pytest.raises(ValueError, match="column 'set' is missing"):
        fit_tasks(records(), group="set")
    with pytest.raises(ValueError, match="column 'upstream_dataset' must not be null"):
        fit_tasks(records().assign(upstream_dataset=None))
    with pytest.raises(ValueError, match="no column is named <task>_<k>shot_error"):
        fit_tasks(records()[["upstream_dataset", "upstream_error"]])
    with pytest.raises(ValueError, match=r"pass tasks=\[\.\.\.\]"):
        fit_tasks(pd.DataFrame({"upstream_error": [0.5], "pets accuracy": [0.5]}), group=None)
    with pytest.raises(ValueError, match="groups must be the name of a column, got ndarray"):
        fit_tasks(records(), groups=np.arange(120))
    frame = records().assign(pets_1shot_error=30.0)
    with pytest.raises(ValueError, match=r"column 'pets_1shot_error' must lie in .*percent"):
        fit_tasks(frame)


# Correlations -------------------------------------------------------------------------------------------------


def test_laws_that_are_linear_in_shots_correlate_fully(fits):
    trends = param_trends(fits)
    signs = trends["param"].map({"k": -1.0, "alpha": 1.0, "e_ir": -1.0})
    np.testing.assert_allclose(trends["correlation"], signs, atol=1e-6)  # as above, the solver's end
    assert sign_exceptions(trends).empty
    shares = sign_shares(trends)
    assert (shares["num_tasks"] == 2).all()
    np.testing.assert_array_equal(shares["share_positive"], shares["param"].map({"k": 0.0, "alpha": 1.0, "e_ir": 0.0}))


def test_correlation_and_p_value_are_scipys():
    from scipy.stats import pearsonr

    shots, values = [1, 5, 10, 20, 25], [0.5, 0.3, 0.35, 0.1, 0.2]
    table = pd.DataFrame({"task": "pets", "upstream": "jft", "num_shots": shots, "k": values})
    row = param_trends(table, params=["k"]).iloc[0]
    expected = pearsonr(shots, values)
    assert (row["correlation"], row["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert (row["num_left_out"], row["reason"]) == (0, "")
    row = param_trends(table, params=["k"], log_shots=True).iloc[0]
    assert row["correlation"] == pytest.approx(pearsonr(np.log(shots), values).statistic)


def test_fits_that_are_not_determined_have_no_trend():
    kinds = ["", "failed_draws, few_points", "not_identified", "failed_draws", ""]
    table = pd.DataFrame(
        {"task": "a", "upstream": "jft", "num_shots": [1, 5, 10, 20, 25], "k": [0.1, 9.0, 9.0, 0.2, 0.4]}
    )
    row = param_trends(table.assign(warnings=kinds), params=["k"]).iloc[0]
    assert (row["num_settings"], row["num_left_out"]) == (3, 2)
    assert row["correlation"] == pytest.approx(np.corrcoef([1, 20, 25], [0.1, 0.2, 0.4])[0, 1])
    row = param_trends(table.assign(warnings=["few_points"] * 3 + ["", ""]), params=["k"]).iloc[0]
    assert row["reason"] == "2 numbers of shots, 3 left out, which the models do not determine"


def test_a_correlation_that_is_not_told_from_nought_contradicts_nothing():
    trends = pd.DataFrame(
        {"task": list("abcd"), "upstream": "jft", "param": "k", "correlation": [0.9, 0.99, -0.99, 0.3]}
    )
    row = sign_shares(trends.assign(p_value=[0.29, 0.01, 0.01, np.nan])).iloc[0]
    assert (row["num_agreeing"], row["num_contradicting"], row["num_unclear"]) == (1, 1, 2)
    assert sign_exceptions(trends.assign(p_value=[0.29, 0.01, 0.01, np.nan]))["task"].tolist() == ["b"]
    assert sign_exceptions(trends)["task"].tolist() == ["a", "b", "d"]


def test_what_has_no_correlation_says_why_and_is_counted_apart():
    table = pd.DataFrame({"task": ["a"] * 4 + ["b"] * 2, "upstream": "jft", "num_shots": [1, 5, 10, 20, 1, 5]})
    trends = param_trends(table.assign(e_ir=[0.0, 1e-15, 0.0, 3e-14, 0.2, 0.1]), params=["e_ir"])
    assert trends["correlation"].isna().all()
    assert trends["reason"].tolist() == ["constant at 0", "2 numbers of shots"]
    shares = sign_shares(trends).iloc[0]
    assert (shares["num_tasks"], shares["num_undefined"], shares["num_contradicting"]) == (0, 2, 0)


def test_bad_tables():
    fine_tuned = pd.DataFrame({"task": ["a"], "upstream": "jft", "num_shots": [pd.NA], "k": [0.1]})
    with pytest.raises(ValueError, match="num_shots is null: a trend needs"):
        param_trends(fine_tuned, params=["k"])
    with pytest.raises(ValueError, match="column 'upstream' must not be null; row 0"):
        param_trends(fine_tuned.assign(upstream=None), params=["k"])
    table = pd.DataFrame({"task": "a", "upstream": "jft", "num_shots": [1, 1, 5], "k": [0.1, 0.2, 0.3]})
    with pytest.raises(ValueError, match="has a number of shots twice"):
        param_trends(table, params=["k"])
    with pytest.raises(ValueError, match="num_shots must be positive"):
        param_trends(table.assign(num_shots=[0, 1, 5]), params=["k"])
    trends = pd.DataFrame({"task": ["a"], "upstream": ["jft"], "param": ["e_IR"], "correlation": [0.5]})
    with pytest.raises(ValueError, match="expected must have the sign of each parameter; 'e_IR'"):
        sign_shares(trends)
    with pytest.raises(ValueError, match="an expected sign is -1 or 1, got 0"):
        sign_shares(trends, expected={"e_IR": 0})
    with pytest.raises(ValueError, match=r"a correlation lies in \[-1, 1\]; row 0"):
        sign_exceptions(trends.assign(correlation=50.0), expected={"e_IR": -1})
