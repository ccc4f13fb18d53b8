"""What papers say against themselves is found, by functions that know of no paper; consistent tables give nothing."""

import pandas as pd
import pytest

from scaling.tables import (
    VTAB_GROUPS,
    audit_duplicates,
    audit_law_ends,
    audit_repeats,
    audit_signs,
    audit_summary,
    contradictions,
    group_means,
    vtab_task,
)


@pytest.fixture
def abnar_table5(published):
    table = published("abnar2021_table5_vtab_hwd.csv").set_index("dataset").map("{:.2f}".format)
    is_mean = table.index.str.startswith("VTAB")
    means = table[is_mean].rename(index=lambda name: name.removeprefix("VTAB-").replace("ALL", "All"))
    return table[~is_mean].rename(index=vtab_task).T, means.T


def test_abnar_table5_natural_and_all_do_not_follow_from_the_rows(abnar_table5):
    groups = VTAB_GROUPS | {"All": abnar_table5[0].columns}
    checks = audit_summary(*abnar_table5, groups).set_index("where")
    follows = checks.follows.round(4).to_dict()
    assert follows["Natural hwd_0"] == 0.73
    assert follows["Natural hwd_5"] == 0.8
    assert follows["Specialized hwd_0"] == 0.82
    assert follows["Specialized hwd_5"] == 0.8175
    assert (follows["All hwd_0"], follows["All hwd_5"]) == (0.6811, 0.6611)
    wrong = checks[~checks.is_consistent]
    assert sorted(wrong.index) == ["All hwd_0", "All hwd_5", "Natural hwd_0", "Natural hwd_5"]
    assert wrong.printed["Natural hwd_0"] == 0.69
    assert wrong.printed["All hwd_5"] == 0.68


def test_abnar_table2_three_pairs_are_identical(published):
    found = audit_duplicates(published("abnar2021_table2_rse.csv").set_index("ds"))
    assert found["where"].tolist() == [
        "clevr_count = clevr_distance",
        "dsprites_location = dsprites_orientation",
        "smallnorb_azimuth = smallnorb_elevation",
    ]


def test_abnar_table1_ten_of_48_signs_contradict_the_sentence(published):
    table = published("abnar2021_table1_param_shot_corr.csv")
    wide = table.pivot(index=["ds", "us"], columns="param", values="corr_with_shots")
    checks = audit_signs(wide, {"k": -1, "alpha": 1, "e_IR": -1})
    assert len(checks) == 48
    assert sorted(contradictions(checks)["where"]) == [
        "caltech ImageNet21K alpha", "cars ImageNet21K k", "cars JFT alpha", "dtd JFT alpha", "dtd JFT k",
        "imagenet JFT alpha", "imagenet JFT k", "pets ImageNet21K e_IR", "pets JFT k", "uc_merced JFT e_IR",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("statistic", "jft", "i21k"),
    [("mean", [-0.31, 0.18, -0.60], [-0.68, 0.62, -0.40]), ("median", [-0.58, 0.36, -0.78], [-0.89, 0.76, -0.59])],
)
def test_abnar_summary_of_the_shot_trend_is_neither_mean_nor_median_of_table1(published, statistic, jft, i21k):
    rows = published("abnar2021_table1_param_shot_corr.csv").set_index(["us", "param", "ds"]).corr_with_shots
    printed = published("abnar2021_shot_trend_summary.csv").set_index(["us", "param"]).corr_with_shots
    groups = {key: [label for label in rows.index if label[:2] == key] for key in printed.index}
    checks = audit_summary(rows, printed, groups, statistic=statistic)
    assert checks.follows.tolist() == pytest.approx(jft + i21k, abs=0.005)  # two decimals are known
    assert not checks.is_consistent.any()


def test_one_quantity_with_two_values(published):
    table5 = published("dosovitskiy2020_table5.csv").set_index(["pretrain", "dataset"])["ViT-H/14"]["JFT-300M"]
    table6 = published("dosovitskiy2020_table6.csv").set_index(["name", "epochs"]).loc[("ViT-H/14", 14)]
    names = {"ImageNet": "imagenet", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Oxford-IIIT-Pets": "pets"}
    entries = [(data, "Table 5", f"{table5[data]:.2f}") for data in names]
    entries += [(data, "Table 6", f"{table6[column]:.2f}") for data, column in names.items()]
    entries += [("Abnar lr", "D.1", "8e-4"), ("Abnar lr", "head study", "0.008")]
    # L/16 on ImageNet-21k, 8 cores for 30 days: in thousands of core-days.
    entries += [("ViT core-days", "section 4.2", "0.240"), ("ViT core-days", "Table 2", "0.23")]
    found = contradictions(audit_repeats(entries)).set_index("where")
    assert found.follows.to_dict() == {
        "ImageNet": 88.04, "CIFAR-100": 94.55, "Oxford-IIIT-Pets": 97.56, "Abnar lr": 8e-4, "ViT core-days": 0.24,
    }  # fmt: skip
    assert found.printed.to_dict() == {
        "ImageNet": 88.08, "CIFAR-100": 94.71, "Oxford-IIIT-Pets": 97.11, "Abnar lr": 8e-3, "ViT core-days": 0.23,
    }  # fmt: skip


def test_vit_means_of_table2_and_table9_differ_by_no_more_than_rounding(published):
    rows = published("dosovitskiy2020_table9_vtab.csv").set_index("model").drop(columns="Mean")
    printed = pd.DataFrame({"mean": ["77.63", "76.28", "72.72"]}, index=rows.index)
    checks = audit_summary(rows, printed, {"mean": rows.columns})
    assert checks.follows.tolist() == pytest.approx(group_means(rows)["All"].tolist())
    assert checks.difference.round(2).tolist() == [0.0, -0.01, 0.01]
    assert checks.is_consistent.all()
    # As two printings of one number they contradict each other.
    assert len(contradictions(audit_repeats([("L/16", "Table 2", "76.28"), ("L/16", "Table 9", "76.29")]))) == 1


def test_zhai_fine_tuned_law_is_above_a_guess_at_no_compute(published):
    laws = published("zhai2021_printed_laws.csv").set_index("task")
    checks = audit_law_ends(laws.loc[["ImageNet finetune", "ImageNet 5-shot"]], 0.999)
    assert checks.is_consistent.tolist() == [False, True]
    assert checks.printed[0] == pytest.approx(1.39, abs=0.005)


def test_alabdulmohsin_table2_decoder_only_repeats_the_first_row(published):
    [found] = audit_duplicates(published("alabdulmohsin2022_table2_nmt_rmse.csv").set_index("task")).itertuples()
    assert found.where == "6 Enc, 6 Dec = Decoder-only / LM"
    assert found.detail == "3 of 4 entries agree: m2, m3, m4"


def test_counts():
    """Abnar: models by family. Alabdulmohsin: evaluations by domain, of which the text says 90."""
    models = pd.Series({"ViT": 2974, "Mixer": 1593, "ResNet": 249})
    total = pd.Series({"all": 4816})
    assert audit_summary(models, total, {"all": models.index}, statistic="sum", exact=True).is_consistent.all()
    tasks = pd.Series({"image classification": 72, "translation": 5, "language": 5, "BIG-Bench": 10})
    [found] = audit_summary(
        tasks, pd.Series({"all": 90}), {"all": tasks.index}, statistic="sum", exact=True
    ).itertuples()
    assert (found.follows, found.difference, found.is_consistent) == (92, -2, False)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("dosovitskiy2020_table5.csv", slice(2, None)),
        ("dosovitskiy2020_table6.csv", slice(3, 9)),
        ("dosovitskiy2020_table7.csv", slice(1, None)),
        ("dosovitskiy2020_table9_vtab.csv", slice(1, None)),
        ("abnar2021_table5_vtab_hwd.csv", slice(1, None)),
        ("zhai2021_runs_imagenet_fewshot.csv", slice(6, None)),
        ("zhai2021_table1.csv", slice(1, None, 2)),
    ],
)
def test_tables_without_copied_rows_give_no_finding(published, name, columns):
    assert len(audit_duplicates(published(name).iloc[:, columns])) == 0
