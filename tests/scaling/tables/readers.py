"""The tables of papers in the form that the tests take, and short ways to ask of them; `published` reads a file."""

import pandas as pd

from scaling.tables import (
    audit_law_ends,
    audit_values,
    check_comparison,
    compare_rows,
    factor_differences,
    factor_ranges,
    group_means,
    one_factor_difference,
    pairwise_ratios,
    rank_flips,
)

H14, L16, L16_I21K, BIT = "vit_h14_jft", "vit_l16_jft", "vit_l16_i21k", "bit_l"
FACTORS = ["architecture", "size", "recipe", "data", "teacher"]
TOP1 = "imagenet_top1_pct"


def vit_table2(published):
    """Accuracies and SDs in percent, a row a data set; the last row of the table, the cost, apart."""
    table = published("dosovitskiy2020_table2.csv").set_index("dataset")
    table.columns = [H14, "sd_" + H14, L16, "sd_" + L16, L16_I21K, "sd_" + L16_I21K, BIT, "sd_" + BIT, "noisy_student"]
    return table.iloc[:-1, :-1].astype(float), table.iloc[-1][[H14, L16, L16_I21K, BIT, "noisy_student"]].astype(float)


def vit_rows(published, a, b, **options):
    table = vit_table2(published)[0]
    return compare_rows(table[a], table[b], table["sd_" + a], table["sd_" + b], name_a=a, name_b=b, **options)


def vit_cost_ratio(published, a, b):
    return pairwise_ratios(vit_table2(published)[1]).loc[a, b]


def vtab(published):
    return published("dosovitskiy2020_table9_vtab.csv").set_index("model")


def vtab_factors(published):
    table = pd.DataFrame({"mean": group_means(vtab(published))["All"]})
    return table.assign(size=["H/14", "L/16", "L/16"], data=["JFT", "JFT", "ImageNet-21k"])


def vit_table5(published):
    table = published("dosovitskiy2020_table5.csv")
    return rank_flips(table[table.dataset == "ImageNet"].set_index("pretrain").drop(columns="dataset").T)


def l16_less_b16(published):
    values = vit_table5(published).values
    return (values.loc["ViT-L/16"] - values.loc["ViT-B/16"]).tolist()


def adam_against_sgd(published):
    table = published("dosovitskiy2020_table7.csv").set_index("dataset").drop(index="Average")
    return [compare_rows(table[f"{net}_adam"], table[f"{net}_sgd"]) for net in ("r50", "r152x2")]


def table2_less_table5(published):
    polyak, plain = vit_table2(published)[0].loc["ImageNet"], vit_table5(published).values
    return [
        polyak[H14] - plain.loc["ViT-H/14", "JFT-300M"],
        polyak[L16] - plain.loc["ViT-L/16", "JFT-300M"],
        polyak[L16_I21K] - plain.loc["ViT-L/16", "ImageNet-21k"],
    ]


def objectnet(published):
    return published("objectnet.csv").set_index("model")[["top1_pct", "top5_pct"]]


def zhai_flips(published, task):
    return rank_flips(published("zhai2021_table1.csv").set_index("model"), ["imagenet", task]).flips


def law_ends(published, task):
    laws = published("zhai2021_printed_laws.csv")
    return audit_law_ends(laws[laws.task == task], 0.999)


def hybrid_gaps(published):
    """Hybrid less plain ViT of Table 6, by size and epochs."""
    table = published("dosovitskiy2020_table6.csv").set_index(["name", "epochs"]).imagenet
    vits = [("B/32", 7), ("B/16", 7), ("L/32", 7), ("L/16", 7), ("L/16", 14)]
    return [table[f"R50x1+ViT-{size}", epochs] - table[f"ViT-{size}", epochs] for size, epochs in vits]


def factors(published):
    return published("recipe_architecture_factors.csv").set_index("model")


def one_factor(published, a, b, names=FACTORS):
    return one_factor_difference(factors(published), a, b, names, TOP1).difference


def any_difference(published, a, b):
    """Of a pair that may be refused."""
    pairs = factor_differences(factors(published), FACTORS, TOP1).set_index(["row_a", "row_b"])
    return pairs.loc[(a, b), "difference"]


def refusal(published, a, b):
    return factor_differences(factors(published), FACTORS, TOP1).set_index(["row_a", "row_b"]).loc[(a, b), "reason"]


def factor_range(published, factor):
    table = factor_ranges(factor_differences(factors(published), [*FACTORS, "resolution"], TOP1))
    return table.loc[factor, ["lowest", "highest"]].tolist()


def comparison(published, a, b):
    return check_comparison(factors(published), a, b, FACTORS, TOP1, amounts=["data_images"])


def published_difference(published, a, b):
    table = published("zhai2021_table1.csv").set_index("model")[["imagenet", "imagenet_real"]]
    return (table.loc[a] - table.loc[b]).tolist()


def impossible_laws(published):
    """Chance errors: 1000, 100, 37 and 200 balanced classes."""
    laws = published("zhai2021_printed_laws.csv").query("figure.str.contains('Fig9')")
    classes = {"ImageNet": 1000, "CIFAR-100": 100, "Pets": 37, "Birds": 200}
    chance = [1 - 1 / classes[task.split()[0]] for task in laws.task]
    checks = audit_law_ends(laws, chance, where=laws.task)
    return checks[~checks.is_consistent]["where"].tolist()


def steps_audit(published):
    runs = published("zhai2021_runs_imagenet_fewshot.csv")
    return audit_values(runs.steps_bs4096, runs.images_seen / 4096)


def h14_control(found):
    """The control that the table has beside H/14, with respect to data."""
    [label] = found.controls.query("beside == 'ViT-H/14 JFT-300M' and factor == 'data'").row
    return label
