import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.measurements import add_measurements, measurement_table
from tests.scaling import measured

RUNS = measured.records()
ROWS = measured.measurements(RUNS)
KEY = {"run_id": "a", "step": 9, "weights": "last"}
ONE = pd.DataFrame([KEY]).assign(upstream_dataset="procedural", seed=3)


def rows(*of, **common):
    return pd.DataFrame([KEY | common | row for row in of])


# Reading ------------------------------------------------------------------------------------------------------


def test_what_is_read_is_checked(tmp_path):
    sc.write_records(ROWS, tmp_path / "measurements.parquet", "measurements")
    assert len(sc.read_measurements(tmp_path)) == len(ROWS)
    for bad, message in ((np.nan, "value must not be null; row 1"), (np.inf, "value must be finite; row 1")):
        ROWS.head(3).assign(value=[1.0, bad, 2.0]).to_parquet(tmp_path / "measurements.parquet")
        with pytest.raises(ValueError, match=f"bad measurements: {message}"):
            sc.read_measurements(tmp_path)
    with pytest.raises(ValueError, match="bad measurements: column name is missing"):
        sc.read_measurements(ROWS.drop(columns="name"))


# A table ------------------------------------------------------------------------------------------------------


def test_layers_lie_in_order_with_their_position_and_the_columns_of_the_record():
    table = measurement_table(ROWS, RUNS, "weight_norm")
    assert table["run_id"].unique().tolist() == RUNS["run_id"].tolist()
    vit = table[table["run_id"] == "vit-small_scale-0.05-0"]
    assert vit["layer"].tolist() == measured.layers("vit", head=True)
    np.testing.assert_allclose(vit["position"], np.linspace(0, 1, 15))
    assert set(vit["model_family"]) == {"vit"}
    assert table.columns.is_unique
    resnet = table[table["model_family"] == "resnet"]  # its own first and last layer
    assert resnet.groupby("run_id")["position"].agg(["min", "max"]).to_numpy().tolist() == [[0, 1], [0, 1]]


def test_heads_lie_in_order_by_number():
    heads = [{"head": str(head), "value": float(head)} for head in (10, 2, 0)]
    distances = rows(*heads, name="attention_distance", layer="block_1")
    table = measurement_table(distances, ONE, "attention_distance")
    assert table["value"].tolist() == [0, 2, 10]
    assert table["position"].tolist() == [0, 0, 0]  # of the one layer


def test_only_models_of_the_records_count():
    part = RUNS[RUNS["model_family"] == "vit"]
    assert set(measurement_table(ROWS, part, "weight_norm")["model_family"]) == {"vit"}
    with pytest.raises(ValueError, match=r"no row of \['attention_distance'\] is of a model of the records"):
        measurement_table(ROWS, RUNS[RUNS["model_family"] == "resnet"], "attention_distance")


@pytest.mark.parametrize(
    ("name", "other", "parts"),
    [
        ("corruption_error", "gaussian_noise:3", {"corruption": "gaussian_noise", "severity": 3}),
        ("fgsm_error", "eps=0.0039", {"radius": 0.0039}),
        ("pgd_error", "eps=1e-05", {"radius": 1e-5}),
        ("sharpness", "rho=0.05", {"rho": 0.05}),
        ("loss", "0.5,-0.25", {"along_1": 0.5, "along_2": -0.25}),
        ("cka", "b7:block_2", {"other_run": "b7", "other_layer": "block_2"}),
        ("cka", "init:block_2", {"other_run": "init", "other_layer": "block_2"}),
        ("cka", "block_2", {"other_layer": "block_2"}),
    ],
)
def test_what_other_says_becomes_columns(name, other, parts):
    table = measurement_table(rows({"name": name, "other": other, "value": 0.5}), ONE, name)
    assert table.loc[0, list(parts)].to_dict() == parts


def test_two_measurements_lie_below_one_another():
    table = measurement_table(ROWS, RUNS[:1], "pgd_error", "fgsm_error")
    assert table["name"].tolist() == ["pgd_error"] * 4 + ["fgsm_error"] * 4


def test_bad_tables():
    with pytest.raises(ValueError, match=r"there is .*weight_norm.*, got 'weight_norms'"):
        measurement_table(ROWS, RUNS, "weight_norms")
    with pytest.raises(ValueError, match=r"names must be of measurements; there is .*, got none"):
        measurement_table(ROWS, RUNS)
    with pytest.raises(ValueError, match=r"a measurement must be there once; repeated is .* weight_norm \w+ \("):
        measurement_table(pd.concat([ROWS, ROWS]), RUNS, "weight_norm")
    with pytest.raises(
        ValueError, match=r"records must have a model once; repeated is vit-small_scale-0.05-0 900 last"
    ):
        measurement_table(ROWS, pd.concat([RUNS, RUNS]), "weight_norm")
    with pytest.raises(ValueError, match=r"'other' of 'loss' must be like '0.5,-0.25', got '0.5'"):
        measurement_table(rows({"name": "loss", "other": "0.5", "value": 1.0}), ONE, "loss")
    with pytest.raises(ValueError, match=r"'other' of 'sharpness' must be like 'rho=0.05', got ''"):
        measurement_table(rows({"name": "sharpness", "other": None, "value": 1.0}), ONE, "sharpness")


# Columns of records -------------------------------------------------------------------------------------------


def test_names_of_columns():
    added = [name for name in add_measurements(RUNS, ROWS) if name not in RUNS]
    assert added == [
        "active_share_mean", "attention_distance_mean", "corruption_error_mean", "corruption_error_clean",
        "corruption_error_contrast",
        "corruption_error_defocus_blur", "corruption_error_gaussian_noise", "corruption_error_pixelate",
        "distance_to_init_body", "distance_to_init_head", "fgsm_error_eps=0.001", "fgsm_error_eps=0.0039",
        "fgsm_error_eps=0.0078", "fgsm_error_eps=0.0157", "head_margin_pets_fewshot",
        "head_margin_test", "head_margin_train", "hessian_top_eigenvalue", "near_duplicates", "near_duplicates_pets",
        "pgd_error_eps=0.001", "pgd_error_eps=0.0039", "pgd_error_eps=0.0078", "pgd_error_eps=0.0157",
        "pre_logits_margin_test", "pre_logits_margin_train", "sharpness", "weight_norm_body", "weight_norm_head",
    ]  # fmt: skip


def test_the_record_keeps_its_row_and_the_unmeasured_has_null():
    runs = RUNS.set_axis([5, 5, 3, 1])  # an index that repeats, as of tables put together
    wide = add_measurements(runs, ROWS)
    assert wide.index.tolist() == [5, 5, 3, 1]
    assert wide["attention_distance_mean"].notna().tolist() == (RUNS["model_family"] == "vit").tolist()
    only = ROWS[(ROWS["run_id"] == RUNS["run_id"][2]) & (ROWS["name"] == "sharpness")]
    assert add_measurements(runs, only)["sharpness"].notna().tolist() == [False, False, True, False]


def test_weights_are_summed_below_the_head():
    layers = {"embedding": 1.0, "block_1": 2.0, "pre_logits": 4.0, "head": 8.0}
    norms = rows(*({"layer": layer, "value": value} for layer, value in layers.items()), name="weight_norm")
    wide = add_measurements(ONE, norms)
    assert wide.loc[0, ["weight_norm_body", "weight_norm_head"]].tolist() == [7, 8]


def test_means_of_corruptions_are_of_all_and_null_where_one_is_missing():
    errors = [{"other": f"{kind}:{k}", "value": value} for kind, k, value in
              (("blur", 1, 0.1), ("blur", 2, 0.3), ("noise", 1, 0.4), ("noise", 2, 0.8))]  # fmt: skip
    both = pd.concat([rows(*errors), rows(*errors[:3]).assign(run_id="b")]).assign(name="corruption_error")
    wide = add_measurements(pd.concat([ONE, ONE.assign(run_id="b")]), both)
    columns = ["corruption_error_mean", "corruption_error_blur", "corruption_error_noise"]
    np.testing.assert_allclose(wide[columns], [[0.4, 0.2, 0.6], [np.nan, 0.2, np.nan]])


def test_clean_images_are_no_corruption_and_a_mean_that_was_measured_stays():
    errors = rows({"other": "clean:0", "value": 0.1}, {"other": "blur:1", "value": 0.5}, name="corruption_error")
    assert add_measurements(ONE, errors)["corruption_error_mean"].tolist() == [0.5]
    both = pd.concat([errors, rows({"name": "corruption_error_mean", "value": 0.6})])
    wide = add_measurements(ONE, both)
    assert wide.columns.is_unique
    assert wide["corruption_error_mean"].tolist() == [0.6]


def test_of_layers_with_parts_the_whole_counts():
    shares = rows(
        {"layer": "block_1", "value": 0.2}, {"layer": "block_1", "other": "act", "value": 0.9},
        {"layer": "block_2", "value": 0.4}, name="active_share",
    )  # fmt: skip
    assert add_measurements(ONE, shares)["active_share_mean"].tolist() == pytest.approx([0.3])


def test_the_upstream_set_of_each_record_need_not_be_named():
    """Two upstream sets are one column, what was measured on a task another."""
    runs = pd.concat([ONE, ONE.assign(run_id="b", upstream_dataset="digits")])
    margins = rows(
        {"dataset": "procedural", "value": 1.0},
        {"run_id": "b", "dataset": "digits", "value": 2.0},
        {"run_id": "b", "dataset": "pets", "value": 3.0},
        name="head_margin",
    )
    wide = add_measurements(runs, margins.assign(split="train"))
    assert wide["head_margin"].tolist() == [1, 2]
    assert wide["head_margin_pets"].tolist()[1:] == [3]


def test_columns_are_not_added_twice_and_attrs_stay():
    runs = RUNS.copy()
    runs.attrs["num_rows"] = 9
    wide = add_measurements(runs, ROWS, ["sharpness"])
    assert wide.attrs["num_rows"] == 9
    assert wide.columns[-1] == "sharpness"
    with pytest.raises(ValueError, match=r"must not have the columns of measurements already, got 'sharpness'"):
        add_measurements(wide, ROWS)
    with pytest.raises(ValueError, match="got 'hessian'"):
        add_measurements(RUNS, ROWS, ["hessian"])
    with pytest.raises(ValueError, match=r"no row of .* is of a model of the records"):
        add_measurements(RUNS.assign(step=1), ROWS)
