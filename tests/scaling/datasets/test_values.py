"""Values of the tables as their papers and files print them."""

import json

import numpy as np
import pandas as pd
import pytest

from scaling import pareto_frontier
from scaling.datasets import DATASETS, find, load, path_or_data_set, paths, table
from scaling.datasets.columns import task_name


def row(runs, **values):
    found = runs
    for name, value in values.items():
        found = found[found[name] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_the_largest_vit_of_zhai():
    run = row(load("zhai2021"), model_variant="G/14")
    assert run["imagenet_10shot_error"] == 0.151
    assert run["compute_core_days"] == 27507.7586
    assert run["images_seen"] == 5_000_000 * 4096 == run["step"] * 4096
    assert run["num_params"] == 1_843_000_000
    # Table 2: 965.3 GFLOPs an image; training is 3 times the forward pass.
    assert run["compute_flops"] == pytest.approx(3 * 965.3e9 * 5e6 * 4096, rel=1e-12)


@pytest.mark.parametrize(("shots", "rmse"), [(5, 0.0115), (10, 0.0125)])
def test_the_printed_laws_lie_as_far_from_zhais_frontier_as_they_do(shots, rmse):
    runs = load("zhai2021")
    x, y = (runs[name].to_numpy() for name in ("compute_core_days", f"imagenet_{shots}shot_error"))
    on = pareto_frontier(x, y)
    laws = table("zhai2021_printed_laws").set_index(["figure", "task"])
    law = next(row for (figure, task), row in laws.iterrows() if "Fig9" in figure and task == f"ImageNet {shots}-shot")
    predicted = law.c + law.a * (x[on] + law.d) ** -law.b
    assert len(on) == 33
    # To the last digit told.
    assert np.sqrt(np.mean((predicted - y[on]) ** 2)) == pytest.approx(rmse, abs=1e-4)


def test_zhais_table_1():
    run = row(load("zhai2021_table1"), model_variant="ViT-G/14")
    assert run["imagenet_finetune_error"] == 0.0955
    assert run["objectnet_finetune_error"] == 0.2947
    assert run["objectnet_finetune_std"] == 0.0052


def test_dosovitskiys_table_2():
    runs = load("dosovitskiy2020_table2")
    run = row(runs, model_variant="ViT-H/14 (JFT)")
    assert (run["compute_core_days"], run["imagenet_finetune_error"], run["vtab_finetune_std"]) == (
        2500,
        0.1145,
        0.0023,
    )
    assert row(runs, model_family="efficientnet")["imagenet_finetune_error"] == 0.116
    assert row(runs, model_family="resnet")["vtab_finetune_std"] == 0.017


def test_dosovitskiys_table_5():
    run = row(load("dosovitskiy2020_table5"), model_variant="ViT-L/16", upstream_dataset="jft-300m")
    assert run["imagenet_finetune_error"] == 0.1288
    assert run["pets_finetune_error"] == 0.0289


@pytest.mark.parametrize(
    ("name", "epochs", "exaflops", "accuracy", "family"),
    [
        ("ViT-H/14", 14, 4262, 88.08, "vit"),
        ("ResNet200x3", 14, 3306, 87.22, "resnet"),
        ("R50x1+ViT-B/16", 7, 274, 85.58, "hybrid"),
    ],
)
def test_dosovitskiys_table_6(name, epochs, exaflops, accuracy, family):
    run = row(load("dosovitskiy2020_table6"), model_variant=name, epochs=epochs)
    assert run["compute_flops"] == exaflops * 1e18
    assert run["imagenet_finetune_error"] == pytest.approx(1 - accuracy / 100, abs=1e-12)
    assert run["model_family"] == family


def test_exaflops_of_table_6_are_three_forward_passes_of_two_a_multiply_add():
    """ViT-B/16: 17.6 G multiply-adds an image (Zhai's Table 2 prints 35.1 GFLOPs). The table prints whole exaFLOPs."""
    run = row(load("dosovitskiy2020_table6"), model_variant="ViT-B/16", epochs=7)
    assert run["compute_flops"] == pytest.approx(3 * 35.1e9 * run["images_seen"], rel=0.01)


def test_dosovitskiys_tables_7_and_9_and_figure_4():
    run = row(load("dosovitskiy2020_table7"), model_variant="ResNet50x1", optimizer="sgd")
    assert run["imagenet_finetune_error"] == 0.2176
    run = row(load("dosovitskiy2020_table9"), model_variant="ViT-H/14 (JFT)")
    assert (run["caltech101_finetune_error"], run["vtab_finetune_error"]) == (0.047, 0.224)
    run = row(load("dosovitskiy2020_figure4"), model_variant="ViT-L/16", train_examples=301_990_000)
    assert run["imagenet_5shot_error"] == 0.2844


def test_small_tables():
    run = row(load("released_models_fewshot"), model_variant="ViT-L/16")
    assert (run["cifar100_10shot_error"], run["pets_1shot_std"], run["pets_l2"]) == (0.157, 0.03, 0.1)
    run = row(load("cifar10_from_scratch"), model_family="resnet", train_examples=1000)
    assert (run["upstream_error"], run["images_seen"]) == (0.454, 320_000)
    assert row(load("objectnet"), run_id="BiT-L")["objectnet_finetune_error"] == 0.413
    run = row(load("recipe_architecture_factors"), run_id="ViT-L/16 JFT-300M")
    assert run["imagenet_error"] == 0.1288
    assert np.isnan(run["upstream_error"])
    run = row(load("alabdulmohsin2022_nmt"), model_variant="6 Enc, 6 Dec", examples_seen=500_000)
    assert run["upstream_loss"] == 0.9311752923076924


def test_timm(data_folder):
    runs = load("timm_results")
    best = runs.loc[runs["upstream_error"].idxmin()]
    assert best["run_id"] == "eva02_large_patch14_448.mim_m38m_ft_in22k_in1k@448"
    assert (best["upstream_error"], best["imagenet_v2_zero_shot_error"]) == (0.09944, 0.1729)
    giant = row(runs, model_variant="eva_giant_patch14_336.clip_ft_in1k")
    assert giant["num_params"] == 1_013_010_000  # "1,013.01"
    # ImageNet-A was made of what this model gets wrong, and its file has none of it.
    lacking = runs.loc[runs["imagenet_a_zero_shot_error"].isna(), "model_variant"]
    assert lacking.tolist() == ["resnet50.tv_in1k"]
    known = row(runs, run_id="vit_base_patch16_224.augreg_in21k_ft_in1k@224")
    assert known["flops_per_image"] == pytest.approx(2 * 16.87e9, rel=0.05)
    families = runs.set_index("architecture")["model_family"]
    assert families["vit_base_r50_s16_384"] == "hybrid"
    assert set(families[["resnet50", "wide_resnet50_2", "resnext50_32x4d"]]) == {"resnet"}


def test_open_clip_counts_a_multiply_add_as_two(data_folder):
    runs, timm = load("open_clip"), load("timm_results")
    ours = runs[runs["model_variant"] == "ViT-B-32"]["image_tower_flops"].iloc[0]
    theirs = timm[timm["architecture"].str.startswith("vit_base_patch32_clip_224")]["flops_per_image"].iloc[0]
    assert ours == pytest.approx(theirs, rel=0.01)  # two decimals are printed


def test_open_clip(data_folder):
    runs = load("open_clip")
    best = runs.loc[runs["imagenet_zero_shot_error"].idxmin()]
    assert best["run_id"] == "ViT-H-14-378-quickgelu@dfn5b"
    assert (best["imagenet_zero_shot_error"], best["num_params"], best["image_size"]) == (0.1563, 986_710_000, 378)
    assert sum(name.endswith("_zero_shot_error") for name in runs) == 38 + 1  # and the mean


def test_clip_linear_probes(data_folder):
    runs = load("clip_linear_probes")
    run = row(runs, run_id="ViT-B-32@openai")
    assert run["cifar100_finetune_error"] == 0.2003
    # 7.4 GMACs of both towers; 12.8 billion samples.
    assert run["compute_flops"] == pytest.approx(6 * 7.4e9 * 12.8e9, rel=1e-12)
    assert runs["imagenet_25shot_error"].notna().all()
    assert runs.loc[runs["imagenet_finetune_error"].idxmin(), "model_variant"] == "ViT-H-14"


def test_the_original_of_the_linear_probes_gives_what_its_best_rows_give(data_folder, tmp_path):
    """It has a row a learning rate and number of epochs."""
    best = pd.read_csv(paths("clip_linear_probes")["scaling_experiment_data2.json"])
    worse = best.assign(lp_acc1=best["lp_acc1"] * 0.9, lr=0.5)
    original = pd.concat([worse, best], ignore_index=True)
    folder = tmp_path / "clip_benchmark"
    folder.mkdir()
    folder.joinpath("scaling_experiment_data2.json").write_text(json.dumps(original.to_dict("records")))
    found = load("clip_linear_probes", folder=tmp_path).set_index("run_id")
    expected = load("clip_linear_probes").set_index("run_id")
    pd.testing.assert_frame_equal(found, expected, check_like=True)


def test_fewshot_curves(data_folder):
    runs = load("fewshot_curves")
    curve = runs[runs["model_variant"] == "BiT/50/1"]
    tasks = [name for name in runs if name.endswith("shot_error")]
    assert sorted(tasks) == [f"{task}_{k}shot_error" for task in ("birds", "imagenet") for k in (10, 25, 5)]
    assert curve["imagenet_10shot_is_to_fit"].sum() == 68
    assert curve["imagenet_10shot_error"].notna().sum() == 68 + 262
    # Fitted is what lies in the first half of the examples seen.
    fitted = curve["imagenet_10shot_is_to_fit"].fillna(False).astype(bool)
    seen = curve.loc[curve["imagenet_10shot_error"].notna(), "images_seen"]
    assert curve.loc[fitted, "images_seen"].max() <= seen.max() / 2


def test_other_tasks_of_the_whole_file_keep_their_names(tmp_path):
    lines = ["Domain,Task,Model,Seen Examples,Loss,Training", "IC,other_5,ViT/S/16,100.0,0.5,1"]
    path = tmp_path / "whole.csv"
    path.write_text("\n".join(lines))
    assert find("fewshot_curves").read(path)["other_5shot_error"].tolist() == [0.5]


def test_chinchilla(data_folder):
    run = load("chinchilla").iloc[0]
    assert (run["num_params"], run["tokens_seen"], run["upstream_loss"]) == (73_824_672, 3_154_403_320, 3.405928)
    assert run["compute_flops"] == pytest.approx(6 * 73_824_672 * 3_154_403_320.0, rel=1e-3)


def test_tables_that_hold_no_models_are_read_as_they_are(published):
    pd.testing.assert_frame_equal(table("abnar2021_table2_rse"), published("abnar2021_table2_rse.csv"))
    with pytest.raises(
        ValueError, match=r"no published table is named 'abnar2021_table9'; near names: abnar2021_table"
    ):
        table("abnar2021_table9")


def test_a_wrong_name_tells_near_ones():
    with pytest.raises(ValueError, match=r"^no data set is named 'zhai21'; near names: zhai2021, zhai2021_table1$"):
        load("zhai21")
    with pytest.raises(ValueError, match="timm_results"):
        load("timm")
    with pytest.raises(ValueError, match=f"there is {', '.join(list(DATASETS)[:3])}"):
        load("???")


def test_a_path_that_exists_wins_over_a_data_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(path_or_data_set("objectnet")) == 2
    (tmp_path / "objectnet").mkdir()
    assert path_or_data_set("objectnet") == "objectnet"
    with pytest.raises(ValueError, match=r"^no file, folder or data set is named 'objektnet'; near names: objectnet$"):
        path_or_data_set("objektnet")
    with pytest.raises(ValueError, match="scaling datasets lists"):
        path_or_data_set("runs/none.csv")


@pytest.mark.parametrize(
    ("printed", "name"),
    [("Oxford-IIIT Pets", "pets"), ("Oxford-IIIT-Pets", "pets"), ("dSpr-Loc", "dspr_loc"), ("CIFAR-10", "cifar10")],
)
def test_names_of_tasks(printed, name):
    assert task_name(printed) == name
