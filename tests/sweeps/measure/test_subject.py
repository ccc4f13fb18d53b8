"""Which images a model is measured on, and that a measurement changes nothing for the next."""

import numpy as np
import pytest
import torch

from sweeps.data.images import Images
from sweeps.measure import subject as subjects
from sweeps.measure import weight_norms
from sweeps.measure.subject import Subject, measure_model

from ..conftest import plan_of

CPU = torch.device("cpu")
LAYOUTS = {
    "class by class": np.repeat(np.arange(10), 80),
    "class after class": np.tile(np.arange(10), 80),
    "unequal classes": np.repeat([0, 1, 2, 3], [400, 200, 100, 100]),
}


def images_of(labels):
    return Images(torch.zeros(len(labels), 8, 8, 3, dtype=torch.uint8), torch.from_numpy(labels))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("most", [40, 16, 100])
def test_some_images_hold_each_class_by_its_share(layout, most):
    labels = LAYOUTS[layout]
    config = plan_of(measure={"names": "all", "max_examples": 2 * most, "robustness_examples": most}).configs[0]
    images = images_of(labels)
    subject = Subject(config, torch.nn.Identity(), images, images, CPU)
    for found in (subject.robustness_images(), subject.some(images, 2)):
        assert len(found.labels) == most
        wanted = np.bincount(labels) * most / len(labels)
        assert np.abs(np.bincount(found.labels, minlength=len(wanted)) - wanted).max() < 1


def test_no_image_is_taken_twice_and_few_are_all_taken():
    labels = np.array([3, 1, 2, 1, 0])
    for most in (3, 5, 9):
        images = images_of(labels)
        images.pixels[:, 0, 0, 0] = torch.arange(5)
        found = subjects._spread(images, most).pixels[:, 0, 0, 0].tolist()
        assert len(set(found)) == len(found) == min(most, 5)


def test_what_a_measurement_does_to_its_model_reaches_no_other(monkeypatch):
    config = plan_of(measure={"names": ["weight_norms", "half_precision"]}, downstream=None).configs[0]
    model, built = subjects.initial_model(config), []
    build = subjects.initial_model
    monkeypatch.setattr(subjects, "initial_model", lambda config: built.append(config) or build(config))
    images = Images(torch.randint(0, 255, (20, 8, 8, 3), dtype=torch.uint8), torch.arange(20) % 10)
    honest = measure_model(config, model, images, images, CPU)
    assert len(built) == 2  # the copy, and the untrained model that distances are from

    def spoil(subject):
        subject.model.requires_grad_(False).train()
        for parameter in subject.model.parameters():
            parameter.zero_()
        return iter([])

    monkeypatch.setattr(weight_norms, "measure", spoil)
    spoilt = measure_model(config, model, images, images, CPU)
    of_half = [row for row in honest.rows if row["name"].startswith("feature_cosine")]
    assert spoilt.rows == of_half != []
    assert not spoilt.faults
