"""Fine-tuning at a run's end: what it learns, what it leaves alone, how its learning rate is chosen."""

import contextlib
import copy
import json
import math

import numpy as np
import pytest
import timm
import torch
from PIL import Image

import scaling as sc
import sweeps.evaluation.finetune as finetune
import sweeps.training.train as train
from sweeps.data.image_folder import forget_folders
from sweeps.data.images import load_images
from sweeps.data.prepare import missing_data, prepare_data
from sweeps.data.training import load_training_data
from sweeps.evaluation.finetune import finetune_config, finetune_model, finetune_once
from sweeps.models.resize import transfer_model
from sweeps.paths import SweepPaths, TrunkPaths
from sweeps.runner.cost import finetune_cost
from sweeps.runner.jobs import run_trunk
from sweeps.training.initial import initial_model

from ..conftest import plan_of, write_photos
from ..models.test_contract import SMALL, fits

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
VIT = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
QUICK = {"tasks": ["digits"], "examples": 60, "steps": 6, "batch_size": 16, "lr": [0.01, 0.1]}


def plan(finetune=QUICK, **changes):
    fields = {"model": VIT, "train_examples": 200, "steps": 20, "downstream": None, **changes}
    return plan_of(**fields, **({"finetune": finetune} if finetune else {}))


def config_of(finetune=QUICK, **changes):
    (config,) = plan(finetune, **changes).configs
    return config


def trained(config, folder):
    """The model of a run, and its finished run."""
    (finished,) = map(
        copy.deepcopy, train.train_trunk([config], load_training_data(config, CPU), TrunkPaths(folder), CPU)
    )
    return finished


# What it learns ------------------------------------------------------------------------------------------------


def test_a_trained_model_is_fine_tuned_to_a_lower_error_than_an_untrained_one(tmp_path):
    recipe = {"name": "small_scale", "batch_size": 16, "lr": 5e-3, "augment": "none"}
    asked = {**QUICK, "steps": 10, "lr": 0.03, "batch_size": 60}
    config = config_of(asked, steps=150, train_examples=800, recipe=recipe)
    (row,) = trained(config, tmp_path).evaluations[-1]["evals"]
    (untrained,) = finetune_model(config, initial_model(config), CPU).rows
    # A guess errs on .9 and 797 images have a standard error of .02; .14 and .79 were found.
    assert row["error"] < untrained["error"] - 0.4
    assert row["error"] < 0.3


def test_a_row_says_what_was_done(tmp_path):
    (row,) = trained(config_of(), tmp_path).evaluations[-1]["evals"]
    assert row.pop("lr") in (0.01, 0.1)
    assert 0 <= row.pop("error") <= 1
    absent = dict.fromkeys(("probe", "num_shots", "layer", "l2", "l2_rule"))
    assert row == absent | {
        "task": "digits", "method": "finetune", "draw": 0, "num_train": 60, "num_eval": 797, "num_classes": 10
    }  # fmt: skip


@pytest.mark.parametrize(("examples", "num_train"), [(5, 5), (5000, 1000), ("all", 1000)])
def test_a_task_gives_the_images_that_it_has(examples, num_train):
    asked = {**QUICK, "examples": examples, "steps": 2}
    config = config_of(asked)
    (row,) = finetune_model(config, initial_model(config), CPU).rows
    assert row["num_train"] == num_train  # 5 are fewer than the 10 classes


@pytest.mark.parametrize("family", [family for family in SMALL if family != "timm"])
def test_every_family_is_fine_tuned(family):
    shape = SMALL[family][-1]
    size = 32 if fits(shape, 32) else 28
    config = finetune_config(config_of(upstream__image_size=28, model=VIT), 10)
    config = config.model_copy(update={
        "model": shape.fitted(size), "steps": 3, "upstream": config.upstream.model_copy(update={"image_size": size})
    })  # fmt: skip
    start = transfer_model(config.model, shape.fitted(size).build(size, 7), size, 10)
    before = copy.deepcopy(start.state_dict())
    data = load_images("digits", "train", size)
    few, test = data.take(np.arange(8)), data.take(np.arange(8, 40))
    assert 0 <= finetune_once(config, start, few, test, 0.1, CPU) <= 1
    assert all(torch.equal(value, before[name]) for name, value in start.state_dict().items())


def test_all_weights_learn():
    config = finetune_config(config_of(), 10)
    start = transfer_model(config.model, config.model.build(8, 7), 8, 10)
    kept = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            finetune,
            "evaluate_upstream",
            lambda model, test: kept.update(model.state_dict()) or {"error": 0.0, "loss": 0.0},
        )
        images = load_images("digits", "train", 8).take(np.arange(40))
        finetune_once(config, start, images, images, 0.1, CPU)
    before = start.state_dict()
    still = [name for name, parameter in start.named_parameters() if torch.equal(before[name], kept[name])]
    assert still == []


def test_a_new_classifier_starts_from_one_over_the_number_of_classes():
    config = config_of()
    for num_classes in (2, 10, 1000):
        bias = finetune_config(config, num_classes).recipe.head_bias
        assert torch.sigmoid(torch.tensor(bias)).item() == pytest.approx(1 / num_classes, rel=1e-5)  # float32
    assert finetune_config(config_of({**QUICK, "loss": "softmax"}), 10).recipe.head_bias == 0


# The learning rate ---------------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch):
    """Errors by learning rate in place of fine-tuning; the calls with their images are kept."""
    made = []

    def use(errors):
        def once(config, start, train, test, lr, device, on_step):
            made.append((lr, train.pixels, test.pixels))
            return errors[lr]

        monkeypatch.setattr(finetune, "finetune_once", once)
        return made

    return use


def as_rows(*pixels):
    return {row.numpy().tobytes() for part in pixels for row in part}


def test_the_rate_is_chosen_on_a_fifth_of_the_training_images_and_never_on_test_images(calls):
    config = config_of({**QUICK, "examples": 100, "lr": [0.3, 0.01, 0.1, 0.03]})
    made = calls({0.01: 0.4, 0.03: 0.2, 0.1: 0.2, 0.3: math.inf})
    (row,) = finetune_model(config, initial_model(config), CPU).rows
    assert [call[0] for call in made] == [0.01, 0.03, 0.1, 0.3, 0.03]  # of equals the smaller
    assert (row["lr"], row["error"], row["num_train"]) == (0.03, 0.2, 100)
    *choices, (_, final_train, final_test) = made
    for _, fit, val in choices:
        assert (len(fit), len(val)) == (80, 20)
        assert as_rows(fit, val) == as_rows(final_train)
    assert len(final_train) == 100
    assert torch.equal(final_test, load_images("digits", "test", 8).pixels)
    training = as_rows(load_images("digits", "train", 8).pixels)
    assert all(as_rows(fit, val) <= training for _, fit, val in made[:-1])


def test_each_step_is_told():
    config = config_of({**QUICK, "examples": 20, "lr": [0.01, 0.1], "steps": 2})
    told = []
    finetune_model(config, initial_model(config), CPU, told.append)
    assert told == [16] * 6
    assert sum(told) == finetune_cost(config).num_images


def test_one_rate_is_not_chosen(calls):
    config = config_of({**QUICK, "lr": 0.1})
    made = calls({0.1: 0.5})
    (row,) = finetune_model(config, initial_model(config), CPU).rows
    assert (len(made), row["lr"]) == (1, 0.1)


def test_draws_are_the_same_images_for_every_run_and_seed(calls):
    made = calls({0.1: 0.5})
    for changes in ({}, {"seeds": [7]}, {"recipe__lr": 1e-4}):
        config = config_of({**QUICK, "lr": 0.1, "draws": 2}, **changes)
        rows = finetune_model(config, initial_model(config), CPU).rows
        assert [row["draw"] for row in rows] == [0, 1]
    images = [as_rows(train) for _, train, _ in made]
    assert images[0] == images[2] == images[4]
    assert images[1] == images[3] == images[5] != images[0]


# What it leaves alone ------------------------------------------------------------------------------------------


def test_the_model_is_left_as_it_was_and_the_rows_repeat():
    config = config_of()
    model = initial_model(config).train()
    before = copy.deepcopy(model.state_dict())
    first, again = (finetune_model(config, model, CPU) for _ in range(2))
    assert first == again
    assert first.faults == {}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def timeless(finished):
    return json.dumps([
        [{**e, "columns": {k: v for k, v in e["columns"].items() if "second" not in k}} for e in finished.evaluations],
        finished.log,
    ])  # fmt: skip


RESNET = {"resnet": [{"width": 4, "depth": [1, 1]}]}


@pytest.mark.parametrize(
    ("model", "killed_after", "num_finished"),
    [(RESNET, 8, 0), (VIT, 12, 1)],  # in fine-tuning of the first run; in the trunk of the second
    ids=["resnet-in-fine-tuning", "vit-in-the-trunk"],
)
def test_branches_and_resumed_runs_are_those_trained_alone(tmp_path, monkeypatch, model, killed_after, num_finished):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    changes = {"steps": [5, 10], "schedule__warmup": "2 steps", "evaluate": {"max_upstream": 50, "max_train": 0}}
    (trunk,) = plan({**QUICK, "steps": 2}, model=model, **changes).trunks
    data = load_training_data(trunk.configs[0], CPU)

    def run(configs, name, on_step=lambda n: None):
        return map(copy.deepcopy, train.train_trunk(configs, data, TrunkPaths(tmp_path / name), CPU, on_step))

    whole = list(run(trunk.configs, "whole"))
    alone = [next(run([config], f"alone{i}")) for i, config in enumerate(trunk.configs)]
    steps = iter(range(100))

    def kill(num_images):
        if next(steps) == killed_after:
            raise KeyboardInterrupt

    resumed = []
    with contextlib.suppress(KeyboardInterrupt):
        resumed.extend(run(trunk.configs, "cut", kill))
    assert len(resumed) == num_finished
    resumed += run(trunk.configs[num_finished:], "cut")
    assert [*map(timeless, whole)] == [*map(timeless, alone)] == [*map(timeless, resumed)]
    assert all(finished.evaluations[-1]["evals"] for finished in whole)


def test_training_is_the_same_with_and_without(tmp_path):
    with_it, without = (trained(config_of(asked), tmp_path / str(bool(asked))) for asked in (QUICK, None))
    assert with_it.log == without.log
    assert without.evaluations[-1]["evals"] == []
    errors = [finished.evaluations[-1]["columns"]["upstream_loss"] for finished in (with_it, without)]
    assert errors[0] == errors[1]


# In records ----------------------------------------------------------------------------------------------------


def records_of(folder, **changes):
    asked = plan(**changes)
    for trunk in asked.trunks:
        run_trunk(trunk, SweepPaths(folder), asked.name, ("cpu",), lambda images, runs: None)
    return sc.read_records(folder, weights=None)


def test_each_of_the_last_models_has_its_error_and_a_higher_resolution_of_the_upstream_set_too(tmp_path):
    asked = {**QUICK, "image_size": 16, "tasks": ["digits"], "draws": 2}
    records = records_of(tmp_path, finetune=asked, recipe__ema_decay=0.5, evaluate__every="10 steps")
    at_end = records["step"] == 20
    assert set(records.loc[at_end, "weights"]) >= {"last", "ema"}
    assert records.loc[at_end, "digits_finetune_error"].notna().all()
    assert records.loc[~at_end & (records["weights"] != "best"), "digits_finetune_error"].isna().all()
    assert records["failure"].isna().all()
    evals = sc.read_evals(tmp_path)
    assert set(evals["method"]) == {"finetune"}
    assert len(evals[evals["weights"] == "ema"]) == 2
    last = evals[evals["weights"] == "last"]["error"].mean()
    assert records.loc[records["weights"] == "last", "digits_finetune_error"].max() == pytest.approx(last)


def test_a_task_on_which_every_rate_diverges_costs_neither_the_run_nor_the_others(tmp_path):
    records = records_of(tmp_path, finetune={**QUICK, "lr": [1e30, 1e35], "head_weight_decay": 1e9})
    assert records["status"].tolist() == ["ok"]
    assert records["failure"].tolist() == ["no finetune on digits: see traceback.txt"]
    trace = next(tmp_path.glob("runs/*/traceback.txt")).read_text()
    assert "finetune.lr: fine-tuning on 'digits' diverges at 1e+30" in trace


def test_a_rate_that_diverges_is_not_chosen():
    config = config_of({**QUICK, "lr": [0.01, 1e35]})
    (row,) = finetune_model(config, initial_model(config), CPU).rows
    assert row["lr"] == 0.01


def test_a_checkpoint_that_is_only_evaluated_is_fine_tuned(tmp_path):
    file = tmp_path / "test_resnet.pth"
    torch.save(timm.create_model("test_resnet", num_classes=7).state_dict(), file)
    model = {"timm": [{"name": "test_resnet", "checkpoint": str(file)}]}
    records = records_of(
        tmp_path / "sweep", model=model, steps=0, upstream__image_size=32,
        finetune={**QUICK, "image_size": 48, "steps": 1, "lr": 0.1},
    )  # fmt: skip
    assert records["digits_finetune_error"].notna().all()


# The average ---------------------------------------------------------------------------------------------------


def test_the_average_forgets_where_it_started():
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 100.0)
    average = finetune._Average(model, decay=0.2)
    wanted = 0.0
    for n, value in enumerate([1.0, 2.0, 4.0, 3.0]):
        torch.nn.init.constant_(model.weight, value)
        average.update(model)
        decay = min(0.2, n / (n + 10))
        wanted = decay * wanted + (1 - decay) * value
        assert average.module.weight.item() == pytest.approx(wanted, rel=1e-6)  # float32


def test_the_averaged_weights_are_evaluated_where_they_are_asked_for():
    errors = []
    for average in (None, 0.0, 0.999):
        config = config_of({**QUICK, "lr": 0.3, "average": average, "steps": 12})
        (row,) = finetune_model(config, initial_model(config), CPU).rows
        errors.append(row["error"])
    assert errors[0] == errors[1] != errors[2]  # a decay of 0 is the last weights


# Told before training ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "changes", "message"),
    [
        ({"examples": 100}, {}, r"finetune: tasks: must be given with \['examples'\]"),
        ({**QUICK, "tasks": ["foo"]}, {}, r"finetune.tasks.0: data set must be one of"),
        ({**QUICK, "tasks": ["image-folder:/nowhere"]}, {}, r"^finetune.tasks: no folder /nowhere"),
        ({**QUICK, "examples": 0}, {}, r"finetune.examples: must be a number of images or 'all', got 0"),
        ({**QUICK, "examples": "most"}, {}, r"finetune.examples: must be a number of images or 'all', got 'most'"),
        ({**QUICK, "lr": []}, {}, r"finetune.lr: needs at least one value"),
        ({**QUICK, "lr": [0.1, -1]}, {}, r"finetune.lr.\d: input should be greater than 0, got -1"),
        ({**QUICK, "lr": [0.1, 0.1]}, {}, r"finetune.lr: must not repeat a value"),
        ({**QUICK, "examples": 4}, {}, r"finetune.examples: a fifth of the images chooses the lr, and 4 of 'digits'"),
        ({**QUICK, "loss": "hinge"}, {}, r"finetune.loss: "),
        ({**QUICK, "image_size": 18}, {}, r"finetune.image_size: vit w16d1/4 cannot take images of 18 px: model.vit.p"),
        ({**QUICK, "image_size": 16}, {"model": {"mixer": [{"width": 16, "depth": 1, "patch": 4}]}},
         r"finetune.image_size: mixer w16d1/4 is tied to images of 8 px"),
        ({**QUICK, "batch_size": 1}, {"model": {"resnet": [{"width": 4, "depth": [1, 1, 1, 1]}]}},
         r"finetune.batch_size: BatchNorm on a map of one pixel needs at least 2 images a step, got 1 of 'digits'"),
        ({**QUICK, "examples": 1, "lr": 0.1}, {"model": {"resnet": [{"width": 4, "depth": [1, 1, 1, 1]}]}},
         r"finetune.examples: BatchNorm on a map of one pixel needs at least 2 images a step, got 1 of 'digits'"),
    ],
)  # fmt: skip
def test_faults_name_the_field(asked, changes, message):
    with pytest.raises(ValueError, match=message):
        plan(asked, **changes)


def test_data_that_are_missing_or_named_twice_are_told_with_the_field():
    (sentence,) = missing_data(plan({**QUICK, "tasks": ["pets"]}).configs)
    assert sentence.startswith("finetune.tasks: data set 'pets' is not there")
    with pytest.raises(ValueError, match=r"finetune.tasks: 'x' names two tasks"):
        plan({**QUICK, "tasks": ["arrays:/a/x.npz", "image-folder:/b/x"]})


def test_tasks_are_decoded_ahead_at_their_size_and_must_not_change(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    forget_folders()
    load_images.cache_clear()
    write_photos(tmp_path / "bugs")
    config = config_of({**QUICK, "tasks": [f"image-folder:{tmp_path / 'bugs'}"], "image_size": 16})
    assert len(config.finetune.folder_versions) == 1
    prepare_data([config])
    found = {f"{path.parent.name.split('-')[0]}/{path.name}" for path in (tmp_path / "cache").rglob("*px.npy")}
    assert {"bugs/train-16px.npy", "bugs/test-16px.npy"} <= found
    Image.new("RGB", (9, 9), (9, 9, 9)).save(tmp_path / "bugs" / "train" / "ant" / "new.png")
    forget_folders()
    with pytest.raises(ValueError, match=r"finetune.tasks: data of .*bugs.* have changed since this run was planned"):
        load_training_data(config, CPU)


# Run ids and specs ---------------------------------------------------------------------------------------------


def test_run_ids_know_what_is_asked_for_and_not_how_it_is_written():
    without = config_of(None).run_id
    ids = {name: config_of(asked).run_id for name, asked in {
        "quick": QUICK,
        "other order": {**QUICK, "lr": [0.1, 0.01]},
        "own size": {**QUICK, "image_size": 8},
        "longer": {**QUICK, "steps": 7},
        "no tasks": {**QUICK, "tasks": []},
    }.items()}  # fmt: skip
    assert ids["quick"] == ids["other order"] == ids["own size"] != ids["longer"]
    assert ids["no tasks"] == without
    assert without not in (ids["quick"], ids["longer"])


def test_tasks_and_rates_are_choices_and_other_fields_axes():
    assert len(plan({**QUICK, "tasks": ["digits", "shapes"]}).configs) == 1
    assert len(plan({**QUICK, "examples": [50, "all"], "lr": [[0.1], [0.01, 0.1]]}).configs) == 4


def test_a_suite_gives_the_tasks_that_are_there_and_says_what_is_left_out():
    found = plan({**QUICK, "tasks": ["vtab-like"]})
    (config,) = found.configs
    assert {"digits", "shapes"} <= set(config.finetune.tasks)
    assert any(line.startswith("vtab-like: no pets") for line in found.missing)
    assert config.tasks == config.finetune.tasks
