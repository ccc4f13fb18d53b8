import os
import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sweeps.specs.durations import parse_duration
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.rates import RateRule, with_rates
from sweeps.specs.spec import _StrictLoader, parse_spec, read_spec

from ..conftest import changed

RULE = {"base": 4e-3, "width": 64, "rule": "1/sqrt(width)"}


def fault(**changes):
    with pytest.raises(SpecError) as error:
        make_plan(parse_spec(changed(**changes)))
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"modle": 3},
            ["modle: unknown field, did you mean 'model'? valid:", "'train_examples'", "'seeds'", "'order'"],
        ),
        ({"lr": 1}, ["lr: unknown field, did you mean 'finetune.lr' or 'recipe.lr'? valid:"]),
        ({"zzz": 1}, ["zzz: unknown field; valid:"]),
        ({"evaluate__evry": 1}, ["evaluate.evry: unknown field, did you mean 'every'? valid:"]),
        ({"recipe__lrr": 1}, ["recipe.lrr: unknown field, did you mean 'lr'? valid:"]),
        ({"upstream__dataset": "cifar"}, ["upstream.dataset:", "'cifar'", "'fashion-mnist'"]),
        ({"downstream__tasks": ["shapes", "foo"]}, ["downstream.tasks.1:", "'foo'", "'textures'"]),
        ({"model": {"vitt": [{}]}}, ["unknown family 'vitt', did you mean 'vit'? valid: ['vit', 'resnet'"]),
        (
            {"model": {"vit": [{"width": 16, "depth": 1, "patch": 4, "lr": 1e-3}]}},
            ["model.vit.lr: unknown field, did you mean 'finetune.lr' or 'recipe.lr'? valid: ['depth',"],
        ),
        ({"model": {}}, ["model: must map a family of ['vit', 'resnet'"]),
        ({"model": {"vit": [True]}}, ["model.vit: each entry must be a mapping", "True"]),
        ({"model": {"vit": [7]}}, ["model.vit", "'7'"]),
        ({"model": {"vit": [{"width": 32, "depth": 2}]}}, ["model.vit.patch: missing"]),
        ({"model": {"vit": [{"width": "x", "depth": 2, "patch": 4}]}}, ["model.vit.width:", "'x'"]),
        ({"model": {"vit": [{"width": 16, "depth": 1, "patch": 3}]}}, ["must divide the image size 8", "got 3"]),
        ({"model": {"vit": [{"width": 16, "depth": 1, "patch": 4, "heads": 3}]}}, ["heads must divide width, got 3"]),
        ({"model": {"resnet": [{"width": 5, "depth": [1]}]}}, ["model.resnet.width:", "multiple of 2", "got 5"]),
        ({"model": {"resnet": [{"width": 4, "depth": [1, 0]}]}}, ["model.resnet.depth.1:", "got 0"]),
        ({"model": {"resnet": [{"width": 4, "depth": [1]}]}}, ["depth must hold at least two blocks, got [1]"]),
        ({"recipe__name": "foo"}, ["recipe must be one of ['"]),
        ({"recipe__lr": -1}, ["recipe.lr:", "greater than 0", "got -1"]),
        ({"recipe__lr": "fast"}, ["recipe.lr:", "valid number", "got 'fast'"]),
        ({"schedule__kind": "step"}, ["schedule.kind: must be one of", "'constant'", "got 'step'"]),
        ({"schedule__warmup": "10 minutes"}, ["schedule.warmup: must be a number with a unit", "'10 minutes'"]),
        (
            {"steps": [4]},
            ["schedule: warmup 5 steps and cooldown 20% are 5 and 1 steps, longer than the run of 4 steps"],
        ),
        ({"steps": []}, ["steps: an axis needs at least one value"]),
        ({"steps": "20%"}, ["steps: must be a number of steps"]),
        ({"epochs": 2}, ["give one of ('steps', 'epochs', 'examples'), got ['steps', 'epochs']"]),
        ({"train_examples": [2000]}, ["train_examples: 'digits' has 1000 training images, asked for 2000"]),
        ({"train_examples": "2 epochs"}, ["train_examples: must be a number of images or a percentage"]),
        ({"upstream__num_images": 5000}, ["upstream.num_images: 'digits' has 1000 images"]),
        ({"upstream__val_fraction": 0.9}, ["upstream.val_fraction:", "0.9"]),
        ({"seeds": [-1]}, ["seeds:", "got -1"]),
        ({"seed": 1}, ["seed: the field is called seeds"]),
        ({"name": "a/b"}, ["name: must be a text that can name a folder, got 'a/b'"]),
        ({"name": None}, ["name: must be a text", "got None"]),
        ({"name": ".."}, ["name: must be a text that can name a folder, got '..'"]),
        ({"schedule__kind": {"a": 1}}, ["schedule.kind: must be one of"]),
        ({"recipe__name": {"a": 1}}, ["recipe must be one of"]),
        ({"upstream__dataset": ["digits", {"a": 1}]}, ["upstream.dataset"]),
        ({"steps": "2 epochs"}, ["steps: must be a number of steps; epochs and examples have fields of their own"]),
        ({"steps": "1e400"}, ["steps: must be a number"]),
        ({"train_examples": "1e400"}, ["train_examples: must be a number"]),
        ({"recipe__lr": [float("inf"), 1e-3]}, ["recipe.lr:", "finite"]),
        ({"seeds": [10**20]}, ["seeds:", "less than or equal to 2147483647"]),
        ({"threads": True}, ["threads: must be a number"]),
        ({"model": {"vit": [{"width": 10**12, "depth": 1, "patch": 4}]}}, ["model.vit.width:", "less than or equal"]),
        ({"model": {"vit": [], "resnet": [{"width": 4, "depth": [1, 1]}]}}, ["model.vit: needs at least one shape"]),
        ({"downstream__tasks": ["shapes", "shapes"]}, ["downstream.tasks: must not repeat a value"]),
        ({"downstream__shots": [5, 5]}, ["downstream.shots: must not repeat a value"]),
        ({"order": "random"}, ["order: must be 'cheapest_first' or 'largest_first', got 'random'"]),
        ({"upstream": None}, ["upstream: missing"]),
        ({"downstream__shots": [0]}, ["downstream.shots.0:", "got 0"]),
        ({"threads": 0}, ["threads:", "got 0"]),
        ({"recipe__ema_decay": 1.0}, ["recipe.ema_decay:", "less than 1", "got 1.0"]),
        ({"recipe__head_lr_multiplier": 0}, ["recipe.head_lr_multiplier:", "greater than 0", "got 0"]),
        ({"recipe__teacher": "no/model.pt"}, ["recipe.teacher: no file no/model.pt"]),
        ({"evaluate__max_train": True}, ["evaluate.max_train: must be a number, got True"]),
        ({"recipe__rand_augment_ops": True}, ["recipe.rand_augment_ops: must be a number, got True"]),
        ({"recipe__head_bias": True}, ["recipe.head_bias: must be a number, got True"]),
        ({"upstream__val_fraction": False}, ["upstream.val_fraction: must be a number, got False"]),
        ({"steps": 0}, ["steps: a run has 1 to 2147483647 steps, got 0 steps"]),
        ({"steps": 1e12}, ["steps: a run has 1 to 2147483647 steps, got 1e+12 steps"]),
        ({"evaluate__every": 0}, ["evaluate.every: must be a step or more, got 0 steps"]),
        ({"evaluate__stop_after": 3}, ["evaluate.stop_after: counts evaluations on the way", "evaluate.every"]),
        (
            {"evaluate": {"every": 5, "stop_after": 3}, "upstream__val_fraction": 0},
            ["evaluate.stop_after: goes by the error on held-out", "holds out none of 1000"],
        ),
        ({"train_examples": "0%"}, ["train_examples: must be a number of images or a percentage", "got '0%'"]),
        ({"train_examples": "0.01%"}, ["train_examples: 'digits' has 1000 training images, asked for 0"]),
        ({"examples": 640}, ["give one of ('steps', 'epochs', 'examples'), got ['steps', 'examples']"]),
        ({"recipe__lr": {"base": 1e-3}}, ["recipe.lr.width: missing", "recipe.lr.rule: missing"]),
        ({"recipe__lr": RULE | {"rule": "width"}}, ["recipe.lr.rule: must be one of ['constant', '1/sqrt(width)'"]),
        ({"recipe__lr": RULE | {"base": 0}}, ["recipe.lr.base:", "greater than 0", "got 0"]),
        (
            {"recipe__lr": RULE | {"wdith": 0}},
            ["recipe.lr.wdith: unknown field, did you mean 'width'? valid: ['base',"],
        ),
        ({"recipe": "small_scale"}, ["recipe: must be a mapping of ['attack_radius',", "got 'small_scale'"]),
        ({"upstream": "digits"}, ["upstream: must be a mapping of ['dataset',", "got 'digits'"]),
        ({"seeds": []}, ["seeds: an axis needs at least one value"]),
        ({"steps": None, "epochs": True}, ["epochs: must be a number, got True"]),
        ({"steps": None, "epochs": 0}, ["epochs:", "greater than 0, got 0"]),
        ({"steps": None, "epochs": "10%"}, ["epochs:", "got '10%'"]),
        ({"schedule__warmup": -5}, ["schedule.warmup: must be a number with a unit", "got -5"]),
        (
            {"schedule__cooldown": "120%"},
            ["schedule: warmup 5 steps and cooldown 120% are 5 and 24 steps, longer than the run of 20 steps"],
        ),
        ({"precision": "float16"}, ["precision:", "'bfloat16'", "got 'float16'"]),
        ({"precision": "floot32"}, ["got 'floot32', did you mean 'float32'?"]),
        ({"measure": {"names": "curvatur"}}, ["measure.names.0: must be 'all' or of", "did you mean 'curvature'?"]),
        ({"measure": {"names": "sharpness"}}, ["; rows called 'sharpness' are of 'curvature', got 'sharpness'"]),
        ({"measure": {"max_examples": 9}}, ["measure: names: must be given with ['max_examples']"]),
        ({"measure": {"names": ["margins"], "attack_radii": [0.1]}}, ["measure.attack_radii: is read by adversarial,"]),
        ({"recipe__erase": 2}, ["recipe.erase:", "less than or equal to 1", "got 2"]),
        ({"recipe__beta1": RULE}, ["recipe.beta1:", "valid number"]),
    ],
)
def test_a_fault_names_the_field_the_value_and_what_is_valid(changes, parts):
    message = fault(**changes)
    for part in parts:
        assert part in message, message


def test_of_a_list_without_a_valid_value_the_values_alone_are_told():
    assert fault(downstream__probes="plane").endswith("got 'plane', did you mean 'plain'?")
    assert len(fault(downstream__probes="plane").splitlines()) == 1


def test_all_faults_are_told_at_once():
    assert len(fault(modle=3, recipe__lr=-1, threads=0).splitlines()) == 3


def test_faults_of_some_cells_say_of_how_many():
    assert fault(recipe__lr=[1e-3, -1, 1e-2, 1e-1]).endswith("got -1 (in 8 of 32 cells)")
    assert fault(train_examples=[200, 2000]).endswith("asked for 2000 (in 4 of 8 cells)")  # found when it is planned
    assert "cells" not in fault(train_examples=2000)


def test_of_many_faults_the_first_are_told():
    lines = fault(train_examples=[2000 + i for i in range(20)]).splitlines()
    assert len(lines) == 9
    assert lines[-1] == "and 12 more"


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2", "", "\x00"])
def test_a_file_that_is_no_spec(tmp_path, text):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=r"spec.yaml"):
        read_spec(path)


def test_a_binary_file_is_no_spec(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(SpecError, match="is not YAML"):
        read_spec(path)


@pytest.mark.parametrize(
    "text", ["name: a\nname: b", "name: a\nmodel: {vit: [1], vit: [2]}", "name: a\nsteps: &a [*a]"]
)
def test_a_field_that_stands_twice_or_holds_itself(tmp_path, text):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=r"stands twice|holds itself|must map"):
        read_spec(path)


@pytest.mark.parametrize("number", ["010", "-0_7", "12:30", "1:30.5"])
def test_a_number_that_yaml_reads_as_another_is_refused(tmp_path, number):
    """Of base 8 and of base 60: `warmup: 010` would be 8 steps."""
    path = tmp_path / "spec.yaml"
    path.write_text(f"steps: {number}")
    with pytest.raises(SpecError, match=f"{number!r} is no decimal number"):
        read_spec(path)


def test_numbers_of_other_forms_are_what_they_say():
    text = "[0, -3, 1_000, 0x10, 0b11, 0.5, 01.5, 1e+3, .inf, '010']"
    assert yaml.load(text, Loader=_StrictLoader) == [0, -3, 1000, 16, 3, 0.5, 1.5, "1e+3", float("inf"), "010"]


@pytest.mark.parametrize("name", [" ", "a\nb", "a\tb", "\ud800", "x" * 256, "ß" * 128])
def test_a_name_that_no_folder_can_have_or_none_should(name):
    assert fault(name=name).startswith("name: must be a text that can name a folder")


def test_a_name_may_be_of_any_script():
    assert parse_spec(changed(name="日本 é %s")).name == "日本 é %s"


def test_a_spec_is_utf8_wherever_it_is_read(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text("name: größe\nmodel: {nope: 1}", encoding="utf-8")
    code = f"from sweeps.specs.spec import read_spec; read_spec({str(path)!r})"
    env = dict(os.environ) | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "is not YAML" not in done.stderr
    assert "model: unknown family 'nope'" in done.stderr


def test_more_than_all_images_are_refused():
    assert "at most 100%" in fault(train_examples="101%")


def test_a_folder_is_no_spec(tmp_path):
    with pytest.raises(SpecError, match=r"no spec can be read at .*: Is a directory"):
        read_spec(tmp_path)


# The grid -----------------------------------------------------------------------------------------------------


def test_a_list_anywhere_is_an_axis():
    base = len(parse_spec(changed()).cells)
    assert base == 2 * 2 * 2  # models, subsets, steps
    assert len(parse_spec(changed(recipe__lr=[1e-3, 3e-3, 1e-2])).cells) == 3 * base
    assert len(parse_spec(changed(seeds=[0, 1])).cells) == 2 * base
    assert len(parse_spec(changed(schedule__cooldown=["10%", "20%"])).cells) == 2 * base
    assert len(parse_spec(changed(model={"vit": [{"width": [16, 32], "depth": [1, 2], "patch": 4}]})).cells) == 4 * 4


def test_a_list_that_is_a_value_is_no_axis():
    cells = parse_spec(changed()).cells
    assert {cell.downstream.shots for cell in cells} == {(1, 5)}
    depths = parse_spec(changed(model={"resnet": [{"width": 4, "depth": [[1, 1], [2, 2]]}]})).cells
    assert {cell.model.depth for cell in depths} == {(1, 1), (2, 2)}


def test_a_model_may_replace_fields_for_itself():
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4, "train_examples": 800, "recipe": {"lr": 0.1}, "epochs": 2}]}
    (config,) = make_plan(parse_spec(changed(model=models))).configs
    assert (config.train_examples, config.recipe.lr, config.recipe.batch_size, config.steps) == (800, 0.1, 16, 100)


def test_a_model_may_replace_fields_of_each_of_several_recipes():
    recipes = [{"name": "small_scale", "batch_size": 16, "mixup": mixup} for mixup in (0, 0.2)]
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4, "recipe": {"lr": 0.1}}]}
    configs = make_plan(parse_spec(changed(model=models, recipe=recipes))).configs
    assert {(c.recipe.lr, c.recipe.batch_size, c.recipe.mixup) for c in configs} == {(0.1, 16, 0), (0.1, 16, 0.2)}


def learning_rates(**changes):
    return {(c.model.width, c.recipe.lr) for c in make_plan(parse_spec(changed(**changes))).configs}


def test_a_model_may_have_a_list_of_rates_for_itself():
    small, large = ({"width": width, "depth": 1, "patch": 4} for width in (16, 32))
    models = {"vit": [small | {"recipe": {"lr": [0.1, 0.2]}}, large | {"recipe": {"lr": [0.01, 0.02, 0.04]}}]}
    assert learning_rates(model=models) == {(16, 0.1), (16, 0.2), (32, 0.01), (32, 0.02), (32, 0.04)}


@pytest.mark.parametrize(
    ("rule", "factors"), [("constant", (1, 1)), ("1/sqrt(width)", (2, 0.5)), ("1/width", (4, 0.25))]
)
def test_rates_by_rule(rule, factors):
    """At a quarter and at four times the reference width, by hand."""
    models = {"vit": [{"width": [16, 256], "depth": 1, "patch": 4}]}
    found = learning_rates(model=models, recipe__lr=RULE | {"rule": rule})
    assert found == {(16, 4e-3 * factors[0]), (256, 4e-3 * factors[1])}


def test_the_width_of_a_resnet_is_its_first_stages():
    models = {"resnet": [{"width": 16, "depth": [1, 1]}]}
    assert learning_rates(model=models, recipe__lr=RULE | {"rule": "1/width"}) == {(16, 0.016)}


def test_rules_and_their_fields_may_be_axes_beside_numbers():
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    rules = [RULE | {"base": [1e-3, 2e-3]}, RULE | {"rule": ["constant", "1/width"]}, 0.5]
    found = learning_rates(model=models, recipe__lr=rules)
    assert found == {(16, lr) for lr in (2e-3, 4e-3, 4e-3, 16e-3, 0.5)}


def test_a_rule_and_its_number_are_one_run():
    models = {"vit": [{"width": 48, "depth": 1, "patch": 4, "heads": 1}]}
    ids = [
        [c.run_id for c in make_plan(parse_spec(changed(model=models, recipe__lr=lr))).configs]
        for lr in ({"base": 3e-3, "width": 16, "rule": "1/width"}, 1e-3)
    ]
    assert ids[0] == ids[1]


def test_a_weight_decay_by_rule_is_the_heads_too():
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    (cell, *_) = parse_spec(changed(model=models, recipe__weight_decay=RULE)).cells
    assert (cell.recipe.weight_decay, cell.recipe.head_weight_decay) == (8e-3, 8e-3)


@given(st.floats(1e-6, 10), st.integers(1, 4096), st.integers(1, 4096))
def test_rules_are_powers_of_the_width(base, reference, width):
    ratio = reference / width
    for rule, power in (("constant", 0), ("1/sqrt(width)", 0.5), ("1/width", 1)):
        lr = RateRule(base=base, width=reference, rule=rule).at(width)
        assert lr == pytest.approx(base * ratio**power, rel=1e-11)  # rounded to 12 digits


def test_a_rule_needs_a_width():
    with pytest.raises(ValueError, match="lr cannot follow the width of a model that has none"):
        with_rates({"lr": RULE}, width=None)


def test_a_faulty_model_is_told_without_a_fault_of_its_rule():
    models = {"vit": [{"width": "x", "depth": 1, "patch": 4}]}
    assert fault(model=models, recipe__lr=RULE).splitlines()[0].startswith("model.vit.width:")
    assert "recipe" not in fault(model={"vit": [{"width": 16, "depth": 1, "patch": 3}]}, recipe__lr=RULE)


def test_numbers_that_yaml_reads_as_text():
    """YAML 1.1 takes 3e-4 for a text."""
    spec = yaml.safe_load("lr: 3e-4")
    assert spec["lr"] == "3e-4"
    assert parse_spec(changed(recipe__lr="3e-4")).cells[0].recipe.lr == 3e-4


def test_recipe_gives_schedule_and_length_where_the_spec_has_none():
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    spec = parse_spec(changed(steps=None, schedule=None, train_examples=800, model=models))
    (config,) = make_plan(spec).configs
    assert (config.steps, config.schedule.kind, config.schedule.warmup_steps) == (2500, "cosine", 250)


@pytest.mark.parametrize(
    ("text", "steps"),
    [("30 steps", 30), (30, 30), ("1 step", 1), ("2 epochs", 20), ("640 examples", 10), ("10%", 40), ("1e3", 1000)],
)
def test_durations(text, steps):
    assert parse_duration(text).in_steps(batch_size=64, train_examples=640, total_steps=400) == steps


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_clear_error(text):
    try:
        value = parse_duration(text).value
    except ValueError as error:
        assert "must be a number with a unit" in str(error)  # noqa: PT017 either outcome is right
    else:
        assert value >= 0


@pytest.mark.parametrize("place", ["name", "upstream", "seeds"])
def test_a_long_value_does_not_fill_the_terminal(place):
    raw = {"name": "tiny", "upstream": {"dataset": "digits"}, "model": {"vit": {"width": 16, "depth": 1, "patch": 2}}}
    with pytest.raises(SpecError) as told:
        parse_spec(raw | {"train_examples": 100, "steps": 10, place: ["x" * 100_000]})
    assert str(told.value).startswith(place)
    assert len(str(told.value)) < 1500
