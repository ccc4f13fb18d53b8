"""Every figure that a fair table of these papers must give, one line each: what, source, what is found, printed.

ViT: Dosovitskiy et al. 2020 (arXiv 2010.11929); Zhai: Zhai et al. 2021 (2106.04560); DeiT: Touvron et al. 2020
(2012.12877); ConvNeXt: Liu et al. 2022 (2201.03545). Tolerances are half a unit of the last digit given.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from scaling.tables import (
    audit_summary,
    audit_values,
    check_comparison,
    chip_days,
    core_days,
    days_on_cores,
    error_cut,
    extreme_tasks,
    group_means,
    task_gaps,
)

from .readers import (
    BIT,
    FACTORS,
    H14,
    L16,
    L16_I21K,
    TOP1,
    adam_against_sgd,
    any_difference,
    comparison,
    factor_range,
    factors,
    h14_control,
    hybrid_gaps,
    impossible_laws,
    l16_less_b16,
    law_ends,
    objectnet,
    one_factor,
    published_difference,
    refusal,
    steps_audit,
    table2_less_table5,
    vit_cost_ratio,
    vit_rows,
    vit_table2,
    vit_table5,
    vtab,
    vtab_factors,
    zhai_flips,
)


class CheckValue(NamedTuple):
    what: str
    source: str
    found: Callable[[Any], Any]  # of the fixture that reads a published table
    printed: Any
    tolerance: float = 0.0


VIT_B, DEIT, DEIT_BEST = "ViT-B/16 ImageNet-1k", "DeiT-B", "DeiT-B distilled@384 1000 epochs"
CONVNEXT_XL = "ConvNeXt-XL@384 ImageNet-21k"
CHECK_VALUES = [
    CheckValue("8 cores for 30 days", "ViT 4.2", lambda p: core_days(8, 30), 240),
    CheckValue(
        "240 is printed .23k", "ViT Table 2",
        lambda p: audit_values(["0.23"], [0.24]).is_consistent[0], False,
    ),
    CheckValue("chip-days of 9.9k", "ViT Table 2", lambda p: chip_days(9900), 4950),
    CheckValue("days on 8 cores", "ViT Table 2", lambda p: days_on_cores(9900, 8), 1238, 0.5),
    CheckValue("BiT-L over L/16", "ViT Table 2", lambda p: vit_cost_ratio(p, BIT, L16), 14.6, 0.05),
    CheckValue("BiT-L over H/14", "ViT Table 2", lambda p: vit_cost_ratio(p, BIT, H14), 4.0, 0.05),
    CheckValue("NS over H/14", "ViT Table 2", lambda p: vit_cost_ratio(p, "noisy_student", H14), 4.9, 0.05),
    CheckValue(
        "error cut of BiT-L by H/14", "ViT Table 2",
        lambda p: error_cut(1 - vit_table2(p)[0][BIT] / 100, 1 - vit_table2(p)[0][H14] / 100).tolist(),
        [0.08, 0.02, 0.21, 0.16, 0.28, 0.14, 0.06], 0.005,
    ),
    CheckValue(
        "L/16 against BiT-L in SDs", "ViT Table 2", lambda p: vit_rows(p, L16, BIT).table.difference_in_sd.tolist(),
        [7.3, 0, 0.8, 4.9, 3.0, 3.7, -0.0], 0.05,
    ),
    CheckValue(
        "wins, ties, losses", "ViT Table 2",
        lambda p: [getattr(vit_rows(p, L16, BIT), f"num_{name}") for name in ("wins", "ties", "losses")], [5, 1, 1],
    ),
    CheckValue(
        "H/14 less L/16", "ViT Table 2", lambda p: vit_rows(p, H14, L16).table.difference.tolist(),
        [0.79, 0.18, 0.08, 0.65, 0.24, -0.06, 1.35], 0.005,
    ),
    CheckValue(
        "L/16 I21k less BiT-L", "ViT Table 2",
        lambda p: vit_rows(p, L16_I21K, BIT).table.difference["ImageNet"], -2.24, 0.005,
    ),
    CheckValue("at k core-days", "ViT Table 2", lambda p: vit_table2(p)[1][[L16_I21K, BIT]].tolist(), [0.23, 9.9]),
    CheckValue(
        "what the SDs leave out", "ViT Table 2",
        lambda p: vit_rows(p, L16, BIT, sd_contains="the seed of the fine-tuning").caveats[0].split(":")[0],
        "the SDs contain only the seed of the fine-tuning",
    ),
    CheckValue(
        "19 tasks", "ViT Table 9",
        lambda p: group_means(vtab(p))["All"].tolist(), [77.63, 76.29, 72.71], 0.005,
    ),
    CheckValue(
        "group means of H/14", "ViT Table 9",
        lambda p: group_means(vtab(p)).loc["ViT-H/14 (JFT)"].tolist()[:3], [86.7, 87.0, 65.0], 0.05,
    ),
    CheckValue("lowest task", "ViT Table 9", lambda p: set(extreme_tasks(vtab(p)).lowest), {"smallnorb_azimuth"}),
    CheckValue("L/16 less B/16", "ViT Table 5", l16_less_b16, [-1.38, 1.18, 2.97], 0.005),
    CheckValue(
        "gain of B/16", "ViT Table 5",
        lambda p: vit_table5(p).gains.loc["ViT-B/16", "JFT-300M"], 6.24, 0.005,
    ),
    CheckValue(
        "gain of L/16", "ViT Table 5",
        lambda p: vit_table5(p).gains.loc["ViT-L/16", "JFT-300M"], 10.59, 0.005,
    ),
    CheckValue(
        "ranks of B/16, B/32, L/16, L/32 on ImageNet", "ViT Figure 3",
        lambda p: vit_table5(p).ranks["ImageNet"].tolist()[:4], [1, 3, 2, 4],
    ),
    CheckValue(
        "a comparison of checkpoints, not of a design", "ViT Table 5, ConvNeXt Table 1",
        lambda p: comparison(p, "ViT-H/14 JFT-300M", CONVNEXT_XL).caveats[0].split(": ")[1],
        "a difference of checkpoints, not of one choice",
    ),
    CheckValue("Table 2 less Table 5", "ViT Tables 2, 5", table2_less_table5, [0.51, 0.64, 0.15], 0.005),
    CheckValue(
        "averages", "ViT Table 7",
        lambda p: [mean for r in adam_against_sgd(p) for mean in r.table[["a", "b"]].mean()],
        [89.33, 88.79, 94.01, 93.72], 0.005,
    ),
    CheckValue("Adam wins, of 10", "ViT Table 7", lambda p: sum(r.num_wins for r in adam_against_sgd(p)), 7),
    CheckValue(
        "ObjectNet drop of H/14", "ViT Table 2, appendix",
        lambda p: vit_table2(p)[0].loc["ImageNet", H14] - objectnet(p).loc["ViT-H/14 JFT-300M", "top1_pct"],
        26.85, 0.005,
    ),
    CheckValue(
        "H/14 less BiT-L", "ViT appendix",
        lambda p: (objectnet(p).loc["ViT-H/14 JFT-300M"] - objectnet(p).loc["BiT-L"]).tolist(), [3.0, 2.1], 0.05,
    ),
    CheckValue(
        "largest and smallest gap", "ViT Table 9",
        lambda p: task_gaps(vtab(p), "ViT-H/14 (JFT)", "ViT-L/16 (I21k)").gap.iloc[[0, -1]].round(1).to_dict(),
        {"clevr_count": 21.4, "dsprites_orientation": -1.6},
    ),
    CheckValue(
        "size and data are confounded", "ViT Table 9",
        lambda p: check_comparison(
            vtab_factors(p), "ViT-L/16 (I21k)", "ViT-H/14 (JFT)", ["size", "data"], "mean"
        ).is_controlled, False,
    ),
    CheckValue(
        "E(0), fine-tuned", "Zhai Figure 2",
        lambda p: law_ends(p, "ImageNet finetune").printed[0], 1.39, 0.005,
    ),
    CheckValue(
        "and is not possible", "Zhai Figure 2",
        lambda p: law_ends(p, "ImageNet finetune").is_consistent[0], False,
    ),
    CheckValue("E(0), 10-shot", "Zhai Figure 2", lambda p: law_ends(p, "ImageNet 10-shot").printed[0], 0.90, 0.005),
    CheckValue(
        "G/14 less H/14 on ImageNet and on ReaL, which saturates", "Zhai Table 1",
        lambda p: published_difference(p, "ViT-G/14", "ViT-H/14"), [1.90, 0.09], 0.005,
    ),
    CheckValue(
        "better on ObjectNet, worse on ImageNet than G/14", "Zhai Table 1",
        lambda p: zhai_flips(p, "objectnet").query("model_b == 'ViT-G/14'").model_a.tolist(), ["CLIP L/14"],
    ),
    CheckValue(
        "better on ReaL, worse on ImageNet than G/14", "Zhai Table 1",
        lambda p: zhai_flips(p, "imagenet_real").query("model_b == 'ViT-G/14'").model_a.tolist(),
        ["Meta Pseudo Labels"],
    ),
    CheckValue(
        "laws of Figure 9 above a guess at no compute", "Zhai Figure 9",
        lambda p: impossible_laws(p), ["CIFAR-100 10-shot"],
    ),
    CheckValue(
        "runs whose steps are not images / 4096", "Zhai Tables 4-13",
        lambda p: int((~steps_audit(p).is_consistent).sum()), 0,
    ),
    CheckValue("runs", "Zhai Tables 4-13", lambda p: len(steps_audit(p)), 262),
    CheckValue(
        "gain of B/16", "ViT Table 5", lambda p: one_factor(p, VIT_B, "ViT-B/16 JFT-300M"), 6.24, 0.005,
    ),
    CheckValue(
        "gain of L/16 over ImageNet-21k", "ViT Table 2",
        lambda p: vit_rows(p, L16, L16_I21K).table.difference["ImageNet"], 2.46, 0.005,
    ),
    CheckValue(
        "the ImageNet-21k control of H/14", "ViT Table 5",
        lambda p: factors(p)[TOP1][h14_control(comparison(p, "ViT-L/16 ImageNet-21k", "ViT-H/14 JFT-300M"))], 85.13,
    ),
    CheckValue(
        "which a table without it lacks", "ViT Table 9",
        lambda p: [
            caveat for caveat in check_comparison(
                vtab_factors(p), "ViT-L/16 (I21k)", "ViT-H/14 (JFT)", ["size", "data"], "mean"
            ).caveats if "missing" in caveat
        ],
        ["missing control: ViT-L/16 (I21k) with another size (size H/14, data ImageNet-21k)"],
    ),
    CheckValue("L/16 over BiT-L", "ViT Table 2", lambda p: 1 / vit_cost_ratio(p, L16, BIT), 14.6, 0.05),
    CheckValue("H/14 over NS", "ViT Table 2", lambda p: 1 / vit_cost_ratio(p, H14, "noisy_student"), 4.9, 0.05),
    CheckValue("hybrids' gain vanishes", "ViT Table 6", hybrid_gaps, [4.17, 1.43, 1.31, 0.30, 0.0], 0.005),
    CheckValue("recipe, other resolution", "DeiT", lambda p: one_factor(p, VIT_B, DEIT), 3.9, 0.05),
    CheckValue(
        "recipe, same resolution", "DeiT",
        lambda p: one_factor(p, VIT_B, "DeiT-B@384", [*FACTORS, "resolution"]), 5.2, 0.05,
    ),
    CheckValue("with a teacher, longer", "DeiT", lambda p: any_difference(p, VIT_B, DEIT_BEST), 7.3, 0.05),
    CheckValue(
        "which is two factors", "DeiT", lambda p: refusal(p, VIT_B, DEIT_BEST),
        "they differ in recipe (vit / modern), teacher (none / RegNetY-16GF)",
    ),
    CheckValue(
        "on ImageNet-1k above ViT-B/16 on JFT", "DeiT",
        lambda p: factors(p)[TOP1][[DEIT_BEST, "ViT-B/16 JFT-300M"]].tolist(), [85.2, 84.15],
    ),
    CheckValue(
        "recipe of ResNet-50", "ConvNeXt 2.1",
        lambda p: one_factor(p, "ResNet-50", "ResNet-50 modern recipe"), 2.7, 0.05,
    ),
    CheckValue(
        "ConvNeXt-T less Swin-T", "ConvNeXt Table 1",
        lambda p: one_factor(p, "Swin-T", "ConvNeXt-T"), 0.8, 0.05,
    ),
    CheckValue(
        "ConvNeXt-B less Swin-B", "ConvNeXt Table 1",
        lambda p: one_factor(p, "Swin-B@384", "ConvNeXt-B@384"), 0.6, 0.05,
    ),
    CheckValue(
        "isotropic S", "ConvNeXt Table 2",
        lambda p: one_factor(p, "ViT-S", "ConvNeXt-S isotropic"), 79.7 - 79.8, 1e-9,
    ),
    CheckValue(
        "isotropic B", "ConvNeXt Table 2",
        lambda p: one_factor(p, DEIT, "ConvNeXt-B isotropic"), 82.0 - 81.8, 1e-9,
    ),
    CheckValue(
        "isotropic L", "ConvNeXt Table 2",
        lambda p: one_factor(p, "ViT-L", "ConvNeXt-L isotropic"), 0.0, 1e-9,
    ),
    CheckValue("recipe", "DeiT, ConvNeXt", lambda p: factor_range(p, "recipe"), [2.7, 5.19], 0.005),
    CheckValue("teacher", "DeiT", lambda p: factor_range(p, "teacher"), [1.4, 2.1], 0.005),
    CheckValue("architecture", "ConvNeXt", lambda p: factor_range(p, "architecture"), [-0.1, 0.8], 0.005),
    CheckValue(
        "data", "ViT Table 5",
        lambda p: one_factor(p, VIT_B, "ViT-B/16 JFT-300M", [*FACTORS, "resolution"]), 6.24, 0.005,
    ),
    CheckValue(
        "images of ConvNeXt-XL over those of H/14", "ConvNeXt Table 1",
        lambda p: comparison(p, "ViT-H/14 JFT-300M", CONVNEXT_XL).amounts.ratio["data_images"], 1 / 20, 0.005,
    ),
    CheckValue(
        "is uncontrolled", "ConvNeXt Table 1",
        lambda p: comparison(p, "ViT-H/14 JFT-300M", CONVNEXT_XL).is_controlled, False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("check", CHECK_VALUES, ids=lambda check: check.what)
def test_check_value(published, check):
    found = check.found(published)
    if isinstance(check.printed, (str, dict, set, bool)) or check.tolerance == 0:
        assert found == check.printed
    else:
        # 1e-9: a difference of decimals that is exactly half a unit off is no more than a half in float64 either.
        assert found == pytest.approx(check.printed, rel=0, abs=check.tolerance + 1e-9)


def test_printed_averages_follow_from_their_rows(published):
    table = published("dosovitskiy2020_table7.csv").set_index("dataset")
    assert audit_summary(table.T, table.T, {"Average": table.index[:-1]}).is_consistent.all()
    means = vtab(published)
    checks = audit_summary(means, means, {"Mean": means.columns[:-1]})
    assert len(checks) == 3
    assert checks.is_consistent.all()
