import json

import numpy as np
import pytest
import torch

import scaling as sc
from sweeps.data.datasets import find_dataset
from sweeps.data.training import load_training_data
from sweeps.measure import multi_label
from sweeps.measure.multi_label import multi_label_error
from sweeps.measure.subject import Subject
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk

from ..conftest import plan_of

NUM_TEST = find_dataset("digits").num_test
TINY = {"model": {"vit": [{"width": 16, "depth": 1, "patch": 4}]}, "train_examples": 200, "steps": 20}


@pytest.fixture
def label_sets(tmp_path):
    """Write lists of labels, and what a spec says of them."""

    def write(sets, name="real.json"):
        (tmp_path / name).write_text(sets if isinstance(sets, str) else json.dumps(sets))
        return {"names": ["multi_label"], "label_sets": str(tmp_path / name)}

    return write


def plain_sets():
    """The one label that each test image has."""
    config = plan_of(**TINY, evaluate__max_upstream=None).configs[0]
    return [[int(label)] for label in load_training_data(config, torch.device("cpu")).test.labels]


def rows_of(folder, measure, **changes):
    plan = plan_of(**{**TINY, **changes}, downstream=None, measure=measure)
    run_trunk(plan.trunks[0], SweepPaths(folder), plan.name, ("cpu",), lambda images, runs: None)
    records = sc.read_records(folder, weights=None)
    assert records["failure"].isna().all()
    return records, sc.read_measurements(folder).set_index("name")


@pytest.mark.parametrize("max_upstream", [None, 300, 100])
def test_with_the_one_label_of_each_image_it_is_the_upstream_error(tmp_path, label_sets, max_upstream):
    """On all the test images that are asked for, not on `measure.max_examples` of them."""
    measure = label_sets(plain_sets()) | {"max_examples": 10}
    records, rows = rows_of(tmp_path / "run", measure, evaluate__max_upstream=max_upstream)
    assert rows.loc["multi_label_error", "value"] == pytest.approx(records["upstream_error"].item(), abs=1e-12)
    assert rows.loc["multi_label_error", "num_examples"] == min(max_upstream or NUM_TEST, NUM_TEST)
    assert rows.loc["multi_label_left_out", "value"] == 0


def test_images_without_a_label_are_left_out_and_counted(tmp_path, label_sets):
    sets = [[] if row % 3 == 0 else list(range(10)) for row in range(NUM_TEST)]
    _, rows = rows_of(tmp_path / "run", label_sets(sets), evaluate__max_upstream=None)
    assert rows.loc["multi_label_error", "value"] == 0  # every class is right
    assert rows.loc["multi_label_left_out", "value"] == sum(not labels for labels in sets)
    assert rows.loc["multi_label_error", "num_examples"] == sum(bool(labels) for labels in sets)


def test_by_hand():
    assert multi_label_error(np.array([0, 1, 2, 3]), [[0, 5], [2], [], [1, 2, 3]]) == (pytest.approx(1 / 3), 3)


def test_the_sets_are_known_by_their_content_not_by_their_place(label_sets):
    sets = plain_sets()
    first, copy, other = (
        plan_of(**TINY, measure=label_sets(s, name)).configs[0].run_id
        for s, name in ((sets, "a"), (sets, "b"), ([*sets[:-1], [0, 1]], "c"))
    )
    assert first == copy != other


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ("[[1], ", r"measure\.label_sets: .* is not JSON"),
        (
            [[1], [2]],
            rf"measure\.label_sets: must have a list for each of the {NUM_TEST} test images .*, got 2",
        ),
        ([[1], [10]], r"measure\.label_sets: image 1 must have a list of classes 0 to 9, got \[10\]"),
        ([[1], 3], r"measure\.label_sets: image 1 must have a list of classes 0 to 9, got 3"),
        ([[], []], r"measure\.label_sets: must be a list of lists of classes, not all empty"),
        ({"0": [1]}, r"measure\.label_sets: must be a list of lists of classes"),
    ],
)
def test_sets_that_cannot_be_are_told_before_training(label_sets, sets, message):
    with pytest.raises(ValueError, match=message):
        plan_of(**TINY, measure=label_sets(sets))


def test_without_sets_it_is_told_and_of_all_it_is_left_out(tmp_path):
    with pytest.raises(ValueError, match=r"has no multi_label: measure\.label_sets gives no valid labels"):
        plan_of(**TINY, measure={"names": ["multi_label"]})
    assert "multi_label" not in plan_of(**TINY, measure={"names": "all"}).configs[0].measure.names
    with pytest.raises(ValueError, match=r"measure\.label_sets: no file can be read: .*nowhere"):
        plan_of(**TINY, measure={"names": "all", "label_sets": str(tmp_path / "nowhere")})


def test_of_a_generated_set_there_are_as_many_as_are_asked_for(label_sets):
    changes = TINY | {"upstream": {"dataset": "procedural", "num_images": 500}, "evaluate__max_upstream": 30}
    assert plan_of(**changes, measure=label_sets([[1]] * 30)).configs
    with pytest.raises(ValueError, match="each of the 30 test images of 'procedural', got 31"):
        plan_of(**changes, measure=label_sets([[1]] * 31))


def test_sets_that_change_after_the_plan_are_no_silent_wrong_answer(label_sets, subject_of):
    measure = label_sets(plain_sets())
    config = plan_of(**TINY, measure=measure).configs[0]
    label_sets([[1]] * NUM_TEST)
    subject = subject_of()
    with pytest.raises(ValueError, match="has changed since the run was planned"):
        list(multi_label.measure(Subject(config, subject.model, subject.train, subject.test, subject.device)))
