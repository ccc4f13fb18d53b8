import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sweeps.durations import parse_duration
from sweeps.grid import make_plan
from sweeps.spec import SpecError, parse_spec, read_spec

from .conftest import changed


def fault(**changes):
    with pytest.raises(SpecError) as error:
        make_plan(parse_spec(changed(**changes)))
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"modle": 3}, ["modle: unknown field; valid:", "'train_examples'", "'seeds'", "'order'"]),
        ({"recipe__lrr": 1}, ["recipe.lrr: unknown field; valid:", "'lr'"]),
        ({"upstream__dataset": "cifar"}, ["upstream.dataset:", "'cifar'", "'fashion-mnist'"]),
        ({"downstream__tasks": ["shapes", "foo"]}, ["downstream.tasks.1:", "'foo'", "'textures'"]),
        ({"model": {"vitt": [{}]}}, ["unknown family 'vitt'; valid: ['vit', 'resnet'"]),
        ({"model": {}}, ["model: must map a family of ['vit', 'resnet'"]),
        ({"model": {"vit": [7]}}, ["model.vit: each entry must be a mapping", "7"]),
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
        ({"steps": [4]}, ["schedule: warm-up 5 and cooldown 1 are longer than the run of 4 steps"]),
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
    ],
)
def test_a_fault_names_the_field_the_value_and_what_is_valid(changes, parts):
    message = fault(**changes)
    for part in parts:
        assert part in message, message


def test_all_faults_are_told_at_once():
    assert len(fault(modle=3, recipe__lr=-1, threads=0).splitlines()) == 3


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
