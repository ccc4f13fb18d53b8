import json

import pytest
import timm
import torch

import scaling as sc
from sweeps.data.training import load_training_data
from sweeps.evaluation.evaluate import Evaluator
from sweeps.models import TimmConfig, VitConfig
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk
from sweeps.specs.class_map import resolve_class_map
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.train import new_state

NAME = "test_resnet"  # of timm's own tests
CLASSES = 25
MAP = [3, 24, 5, 6, 7, 0, 9, 10, 11, 2]  # an output for each digit
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("timm") / "model.pth"
    torch.save(timm.create_model(NAME, num_classes=CLASSES).state_dict(), path)
    return str(path)


def plan_of(checkpoint, **evaluate):
    return make_plan(parse_spec({
        "name": "mapped", "upstream": {"dataset": "digits", "image_size": 32}, "steps": 0, "evaluate": evaluate,
        "model": {"timm": [{"name": NAME, "checkpoint": checkpoint}]},
    }))  # fmt: skip


def evaluated(config):
    data, state = load_training_data(config, CPU), new_state(config, CPU)
    Evaluator(config, data.seen, data.val, data.test, CPU).evaluate(state)
    return data, state.model.eval(), state.evaluations[0]["columns"]


def test_errors_are_over_all_outputs_of_the_model(checkpoint):
    config = plan_of(checkpoint, class_map=MAP, max_upstream=300).configs[0]
    data, model, columns = evaluated(config)
    plain = load_training_data(plan_of(checkpoint, max_upstream=300).configs[0], CPU).test.labels
    with torch.no_grad():
        logits = model(data.test.pixels.permute(0, 3, 1, 2) / 127.5 - 1)
    ranks = logits.argsort(1, descending=True).tolist()
    answers = [MAP[label] for label in plain.tolist()]
    top1 = sum(r[0] != a for r, a in zip(ranks, answers, strict=True)) / 300
    top5 = sum(a not in r[:5] for r, a in zip(ranks, answers, strict=True)) / 300
    assert columns["upstream_error"] == pytest.approx(top1, abs=1e-12)
    assert columns["upstream_top5_error"] == pytest.approx(top5, abs=1e-12)
    assert columns["upstream_loss"] == pytest.approx(
        torch.nn.functional.cross_entropy(logits, torch.tensor(answers)).item(), rel=1e-5
    )  # float32
    assert columns["train_error"] is not None


def test_without_a_map_there_are_no_upstream_errors(checkpoint):
    assert "upstream_error" not in evaluated(plan_of(checkpoint, max_upstream=50).configs[0])[2]


def test_a_map_is_known_by_what_it_says(checkpoint, tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(MAP))
    in_file, in_spec = (plan_of(checkpoint, class_map=m).configs[0] for m in (str(tmp_path / "map.json"), MAP))
    assert in_file == in_spec
    others = [plan_of(checkpoint, **e).configs[0].run_id for e in ({}, {"class_map": MAP[::-1]})]
    assert len({in_spec.run_id, *others}) == 3
    assert len(plan_of(checkpoint, class_map=[MAP, MAP[::-1]]).configs) == 2  # a list of lists is an axis


@pytest.mark.parametrize(
    ("class_map", "message"),
    [
        (MAP[:-1], r"evaluate\.class_map: must have an output for each of 10 classes, got 9"),
        ([*MAP[:-1], CLASSES], r"evaluate\.class_map: the model has the outputs 0 to 24, got 25"),
        ("nowhere.json", r"evaluate\.class_map: no file can be read: .* got 'nowhere\.json'"),
        ([1, -1], r"evaluate\.class_map: must be a list of numbers of the model's outputs"),
        ([1.5], r"evaluate\.class_map: must be a list of numbers"),
        ({"a": 1}, r"evaluate\.class_map"),
    ],
)
def test_a_map_that_cannot_be_is_told(checkpoint, class_map, message):
    with pytest.raises(ValueError, match=message):
        plan_of(checkpoint, class_map=class_map)


@pytest.mark.parametrize("text", ["[1,", '"x.json"', "null", "[true]"])
def test_a_file_that_is_no_map_is_told(tmp_path, text):
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(ValueError, match=r"evaluate\.class_map: .*map\.json"):
        resolve_class_map(str(tmp_path / "map.json"), TimmConfig(name=NAME), 32, 10)


def test_a_model_that_learns_the_classes_takes_none():
    with pytest.raises(ValueError, match=r"evaluate\.class_map: model\.vit learns the upstream set's own classes"):
        resolve_class_map((0, 1), VitConfig(width=16, depth=1, patch=4), 8, 2)


def test_a_checkpoint_is_measured_too_with_labels_that_number_its_outputs(checkpoint, tmp_path):
    spec = {
        "name": "mapped", "upstream": {"dataset": "digits", "image_size": 32}, "steps": 0,
        "evaluate": {"class_map": MAP}, "model": {"timm": [{"name": NAME, "checkpoint": checkpoint}]},
    }  # fmt: skip
    config = make_plan(parse_spec(spec)).configs[0]
    num_test = len(load_training_data(config, CPU).test.labels)
    (tmp_path / "sets.json").write_text(json.dumps([list(range(CLASSES))] * num_test))
    measure = {"names": "all", "label_sets": str(tmp_path / "sets.json"), "max_examples": 16}
    plan = make_plan(parse_spec(spec | {"measure": measure}))
    assert "attention_distance" not in plan.configs[0].measure.names
    run_trunk(plan.trunks[0], SweepPaths(tmp_path / "run"), "mapped", ("cpu",), lambda images, runs: None)
    records = sc.read_records(tmp_path / "run")
    assert records["failure"].isna().all()
    assert records["num_classes"].tolist() == [CLASSES]  # the errors are over these, and so is chance
    rows = sc.read_measurements(tmp_path / "run").set_index("name")
    assert rows.loc["multi_label_error", "value"] == 0  # every output is right
    assert {"cka", "feature_cosine_min"} <= set(rows.index)
    (tmp_path / "sets.json").write_text(json.dumps([[CLASSES]] * num_test))
    with pytest.raises(ValueError, match="must have a list of classes 0 to 24, got"):
        make_plan(parse_spec(spec | {"measure": measure}))
    with pytest.raises(ValueError, match=r"measure\.against: model\.timm is not trained here"):
        make_plan(parse_spec(spec | {"measure": {"names": "cka", "against": "init"}}))
