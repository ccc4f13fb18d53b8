"""Every recipe and every family through the trainer for a few steps: finite, repeated and resumed to the last bit."""

import copy
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import sweeps.training.train as train
from scaling import read_records, validate_records
from sweeps.data.images import load_images, normalise
from sweeps.data.training import load_training_data
from sweeps.models import FAMILIES
from sweeps.models.cost import count_cost
from sweeps.paths import SweepPaths, TrunkPaths
from sweeps.runner.cost import run_cost
from sweeps.runner.jobs import run_trunk
from sweeps.specs.grid import make_plan
from sweeps.specs.recipes import RECIPES
from sweeps.specs.spec import parse_spec
from sweeps.training.attacks import attack, step_size

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
SHAPES = {
    "vit": {"width": 16, "depth": 2, "patch": 4},
    "resnet": {"width": 4, "depth": [1, 1]},
    "bit": {"width": 8, "depth": [1, 1]},
    "mixer": {"width": 16, "depth": 2, "patch": 4},
    "convnext": {"width": 8, "depth": [1, 1], "patch": 2},
    "hybrid": {"stem_width": 8, "stem_depth": [1], "width": 16, "depth": 1},
    "modernised_resnet": {"variant": "depthwise", "width": 8, "depth": [1, 1], "stem_stride": 2},
}
# What the recipes are made for: 300 epochs of batches of 4,096 are too much for digits.
SMALL = {"batch_size": 12, "lr": 1e-3}
EXTRA = {
    "sam": {"sam_rho": 0.05},
    "sam_adversarial": {"sam_rho": 0.05, "attack_radius": 0.03, "attack_steps": 2, "ema_decay": 0.9, "drop_path": 0.2},
}
BOTH = {"ema_decay": 0.9, "drop_path": 0.2, "mixup": 0.5, "cutmix": 1.0, "erase": 0.5, "rand_augment_ops": 1}
CONTRAST = {"name": "supcon", "sam_rho": 0.1, "ema_decay": 0.9, "drop_path": 0.2, "repeats": 5}


def plan_for(family, shape, recipe, steps=6, **more):
    spec = {
        "name": "all", "upstream": {"dataset": "digits", "val_fraction": 0.1}, "model": {family: [shape]},
        "train_examples": 100, "steps": steps, "recipe": recipe, "evaluate": {"max_upstream": 50, "max_train": 50},
        "schedule": {"kind": "constant", "warmup": 2, "cooldown": 2}, **more,
    }  # fmt: skip
    return make_plan(parse_spec(spec))


def run(configs, folder, on_step=lambda n: None):
    data = load_training_data(configs[0], CPU)
    paths = TrunkPaths(folder)
    return [copy.copy(f) for f in train.train_trunk(configs, data, paths, CPU, on_step)]


def result(finished):
    columns = [
        {k: v for k, v in e["columns"].items() if "second" not in k and k != "energy_joules"}
        for e in finished.evaluations
    ]
    return json.dumps([columns, finished.log])


def interrupt_at(step):
    steps = iter(range(1000))

    def on_step(num_images):
        if next(steps) == step:
            raise KeyboardInterrupt

    return on_step


RECIPE_CASES = {name: {"name": name, **SMALL, **EXTRA.get(name, {})} for name in RECIPES}
RECIPE_CASES |= {
    "all augmentations, average and stochastic depth": {**SMALL, **BOTH},
    "sam with all": {**SMALL, **BOTH, "name": "sam", "sam_rho": 0.1},
    "supcon with sam and all": {**SMALL, **CONTRAST},
    "repeats that do not divide the batch": {**SMALL, "repeats": 5},
}


# Those that do with a BatchNorm what others do not; the rest is the same for a ViT.
OF_RESNET = ["small_scale", "bit", "sam_adversarial", *list(RECIPE_CASES)[len(RECIPES) : -1]]


@pytest.mark.parametrize(
    ("name", "family"), [(name, "vit") for name in RECIPE_CASES] + [(name, "resnet") for name in OF_RESNET]
)
def test_a_recipe_repeats_branches_and_resumes_to_the_last_bit(name, family, tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    plan = plan_for(family, SHAPES[family], RECIPE_CASES[name], steps=[5, 7])
    (trunk,) = plan.trunks
    whole = run(trunk.configs, tmp_path / "whole")
    for finished in whole:
        columns = finished.evaluations[-1]["columns"]
        assert columns["status"] == "ok"
        assert 0 < columns["train_loss"] < 100
    torch.rand(5)  # what else draws from torch's generator must not matter
    for i, config in enumerate(trunk.configs):
        assert result(run([config], tmp_path / f"alone{i}")[0]) == result(whole[i])
    with pytest.raises(KeyboardInterrupt):
        run(trunk.configs[1:], tmp_path / "cut", interrupt_at(3))
    assert result(run(trunk.configs[1:], tmp_path / "cut")[0]) == result(whole[1])


@pytest.mark.parametrize("family", [family for family, config in FAMILIES.items() if config.trainable])
def test_a_family_trains_and_its_record_is_whole(family, tmp_path):
    plan = plan_for(family, SHAPES[family], SMALL, downstream={"tasks": ["shapes"], "shots": [1], "max_eval": 20})
    sweep = SweepPaths(tmp_path)
    statuses = run_trunk(plan.trunks[0], sweep, "all", ("cpu",), lambda images, runs: None)
    assert statuses == {"ok": 1}, sweep.run(plan.configs[0].run_id).traceback.read_text()
    records = read_records(tmp_path)
    validate_records(records)
    row = records.iloc[0]
    assert row["model_family"] == family
    assert row["compute_flops"] == 3 * row["flops_per_image"] * 6 * 12
    assert row["train_error"] > 0
    assert 0 <= row["shapes_1shot_error"] <= 1


def test_sharpness_aware_compute_is_twice_and_a_teacher_adds_its_forward_pass(tmp_path):
    teacher = plan_for("resnet", SHAPES["resnet"], SMALL, keep_model=True)
    run_trunk(teacher.trunks[0], SweepPaths(tmp_path / "teacher"), "teacher", ("cpu",), lambda images, runs: None)
    path = SweepPaths(tmp_path / "teacher").run(teacher.configs[0].run_id).model
    theirs = count_cost(teacher.configs[0].model, 8, 10).flops_per_image
    recipe = {**SMALL, "name": "sam", "sam_rho": 0.05, "teacher": str(path)}
    student = plan_for("vit", SHAPES["vit"], recipe)
    run_trunk(student.trunks[0], SweepPaths(tmp_path / "student"), "student", ("cpu",), lambda images, runs: None)
    row = read_records(tmp_path / "student").iloc[0]
    ours = count_cost(student.configs[0].model, 8, 10).flops_per_image
    assert row["compute_flops"] == (6 * ours + theirs) * 6 * 12
    assert row["flops_rule"].endswith("training = 6x + teacher's forward")
    assert row["sam_rho"] == 0.05


def last_loss(recipe, folder, family):
    return run(plan_for(family, SHAPES[family], {**SMALL, **recipe}).configs, folder)[0].log[-1]["loss"]


@pytest.mark.parametrize("family", ["vit", "resnet"])
def test_sharpness_aware_adversarial_training_has_its_limits(family, tmp_path):
    sam = {"name": "sam", "sam_rho": 0.05}
    adversarial = {**sam, "name": "sam_adversarial", "attack_radius": 0.03}
    none = 1e-30  # in float32 lost in the sum with any weight or pixel that is not 0, which no pixel becomes
    plain = last_loss(sam, tmp_path / "sam", family)
    assert last_loss({**adversarial, "attack_radius": none}, tmp_path / "no attack", family) == plain
    assert last_loss(adversarial, tmp_path / "both", family) > plain
    one_step = last_loss({"attack_radius": 0.03}, tmp_path / "one", family)
    assert last_loss({"attack_radius": 0.03, "attack_steps": 3}, tmp_path / "three", family) != one_step


def test_adversarial_training_lowers_the_error_under_attack(tmp_path):
    radius = 0.1
    recipe = {"batch_size": 32, "lr": 1e-2, "augment": "none"}
    test = load_images("digits", "test", 8)
    inputs, labels = normalise(test.pixels[:300]), test.labels[:300]
    errors = []
    for name, more in {"plain": {}, "adversarial": {"attack_radius": radius}}.items():
        spec = {"train_examples": 1000, "upstream": {"dataset": "digits"}}
        (config,) = plan_for("vit", SHAPES["vit"], {**recipe, **more}, steps=80, **spec).configs
        model = run([config], tmp_path / name)[0].model.eval()
        start = {"num_steps": 10, "step": step_size(radius, 10), "rng": np.random.default_rng(0)}
        attacked = attack(inputs, lambda x, m=model: F.cross_entropy(m(x), labels), radius=radius, **start)
        errors.append((model(attacked).argmax(1) != labels).float().mean().item())
    plain, adversarial = errors
    assert adversarial < plain - 0.05  # .81 and .96 here; of 300 images .03 is one standard error at most


@pytest.mark.parametrize(
    ("recipe", "passes"),
    [
        ({"attack_radius": 0.1}, 3 + 2),
        ({"name": "sam_adversarial", "sam_rho": 0.1, "attack_radius": 0.1, "attack_steps": 3}, 2 * 3 + 3 * 2),
        ({"attack_steps": 3}, 3),
        ({"name": "supcon"}, 3),  # its two views are two images of the batch
    ],
)
def test_each_step_of_an_attack_costs_a_forward_pass_and_half_a_backward_one(recipe, passes):
    (config,) = plan_for("vit", SHAPES["vit"], {**SMALL, **recipe}).configs
    cost = run_cost(config)
    assert cost.training_flops == passes * count_cost(config.model, 8, 10).flops_per_image
    assert cost.rule.endswith(f"training = {passes}x")


def test_a_distilled_vit_learns_from_its_teacher(tmp_path):
    teacher = plan_for("resnet", SHAPES["resnet"], {"batch_size": 20, "lr": 1e-2}, steps=60, keep_model=True)
    run_trunk(teacher.trunks[0], SweepPaths(tmp_path / "t"), "t", ("cpu",), lambda images, runs: None)
    path = str(SweepPaths(tmp_path / "t").run(teacher.configs[0].run_id).model)
    shape = {**SHAPES["vit"], "distilled": True}
    with pytest.raises(ValueError, match=r"recipe\.teacher: model\.vit\.distilled learns from one"):
        plan_for("vit", shape, SMALL)
    plan = plan_for("vit", shape, {**SMALL, "teacher": path})
    first, again = (run(plan.configs, tmp_path / name)[0] for name in "ab")
    assert result(first) == result(again)
    plain = run(plan_for("vit", SHAPES["vit"], {**SMALL, "teacher": path}).configs, tmp_path / "c")[0]
    without = run(plan_for("vit", SHAPES["vit"], SMALL).configs, tmp_path / "d")[0]
    assert plain.log != without.log  # a model without the token learns from it too
