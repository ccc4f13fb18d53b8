"""Errors under corruptions and attacks, and the loss around the weights, of a model that has learned a little."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sweeps.data.images import load_images, normalise
from sweeps.evaluation.evaluate import evaluate_upstream
from sweeps.measure import adversarial, corruptions, loss_landscape
from sweeps.measure.subject import Subject
from sweeps.specs.faults import SpecError
from sweeps.training.train import new_state

from ..conftest import plan_of

CPU = torch.device("cpu")
MODELS = {
    "vit": {"vit": [{"width": 16, "depth": 1, "patch": 2}]},
    "resnet": {"resnet": [{"width": 4, "depth": [1, 1]}]},
}


@pytest.fixture(scope="module", params=MODELS)
def trained(request):
    """A subject maker: 60 steps of 16 digits, measured with options."""
    config = plan_of(model=MODELS[request.param], downstream=None).configs[0]
    model = new_state(config, CPU).model
    train, test = (load_images("digits", split, 8) for split in ("train", "test"))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model.train()
    for step in range(60):
        rows = torch.arange(16 * step, 16 * (step + 1))
        optimizer.zero_grad()
        F.cross_entropy(model(normalise(train.pixels[rows])), train.labels[rows]).backward()
        optimizer.step()

    def subject(num_images=300, **options):
        measure = config.measure.model_copy(update=options)
        rows = np.arange(num_images)
        changed = config.model_copy(update={"measure": measure})
        return Subject(changed, model.eval(), train.take(rows), test.take(rows), CPU)

    return subject


def by_name(rows):
    return {(row["name"], row.get("other")): row["value"] for row in rows}


def test_corrupted_errors_begin_at_the_clean_one_and_repeat(trained):
    subject = trained(num_images=100, robustness_examples=100)
    rows = list(corruptions.measure(subject))
    assert rows == list(corruptions.measure(subject))
    assert {(row["split"], row["num_examples"], row["dataset"]) for row in rows} == {("test", 100, "digits")}
    values = by_name(rows)
    clean = evaluate_upstream(subject.model, subject.test)["error"]
    assert values["corruption_error", "clean:0"] == pytest.approx(clean, abs=1e-12)
    assert len(rows) == 1 + 4 * 5 + 1
    single = [value for (name, other), value in values.items() if name == "corruption_error" and other != "clean:0"]
    assert values["corruption_error_mean", None] == pytest.approx(np.mean(single))
    assert np.mean(single) > clean


def test_by_default_few_images_are_corrupted_and_attacked(trained):
    assert next(corruptions.measure(trained()))["num_examples"] == 24
    assert next(adversarial.measure(trained()))["num_examples"] == 24
    assert next(corruptions.measure(trained(num_images=10)))["num_examples"] == 10


def test_several_steps_mislead_no_less_than_one_of_the_same_radius(trained):
    radii = (4 / 255, 16 / 255)
    subject = trained(attack_radii=radii, robustness_examples=300)
    values = by_name(adversarial.measure(subject))
    clean = evaluate_upstream(subject.model, subject.test)["error"]
    for radius in radii:
        one, several = (values[name, f"eps={radius:.4g}"] for name in ("fgsm_error", "pgd_error"))
        noise = (one * (1 - one) / 300) ** 0.5
        assert several >= one - 2 * noise
        assert one > clean
        assert several > clean


def test_a_radius_of_nothing_gives_the_clean_error(trained):
    subject = trained(num_images=100, attack_radii=(1e-9,), robustness_examples=100)
    clean = evaluate_upstream(subject.model, subject.test)["error"]
    assert [row["value"] for row in adversarial.measure(subject)] == pytest.approx([clean, clean], abs=1e-12)


def test_attacks_repeat_and_are_of_each_radius(trained):
    subject = trained(attack_radii=(0.01, 0.05))
    rows = list(adversarial.measure(subject))
    assert rows == list(adversarial.measure(subject))
    assert [row["other"] for row in rows] == ["eps=0.01"] * 2 + ["eps=0.05"] * 2


def test_the_middle_of_the_landscape_is_the_loss_and_all_around_is_higher(trained):
    subject = trained(landscape_examples=100)
    rows = list(loss_landscape.measure(subject))
    assert rows == list(loss_landscape.measure(subject))
    points = {tuple(map(float, row["other"].split(","))): row["value"] for row in rows}
    ticks = [-1, -0.5, 0, 0.5, 1]
    assert set(points) == {(x, y) for x in ticks for y in ticks}
    seen = subject.train.take(np.arange(100))
    assert points[0, 0] == pytest.approx(evaluate_upstream(subject.model, seen)["loss"], rel=1e-6)  # float32
    assert min(points[x, y] for x in (-1, 1) for y in (-1, 1)) > points[0, 0]
    before = [p.clone() for p in subject.model.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, subject.model.parameters(), strict=True))
    assert {(row["split"], row["num_examples"]) for row in rows} == {("train", 100)}


def test_a_direction_is_as_long_as_the_weights_filter_by_filter_and_spares_vectors():
    weights = {"kernel": torch.randn(4, 3, 2, 2), "bias": torch.randn(4), "dead.weight": torch.zeros(2, 5)}
    one, other = (loss_landscape.filter_normalised(weights, np.random.default_rng(seed)) for seed in (0, 1))
    assert set(one) == {"kernel", "dead.weight"}
    lengths = one["kernel"].flatten(1).norm(dim=1)
    assert lengths.numpy() == pytest.approx(weights["kernel"].flatten(1).norm(dim=1).numpy(), rel=1e-5)  # float32
    assert not one["dead.weight"].any()
    assert not torch.equal(one["kernel"], other["kernel"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"landscape_points": 4}, "measure.landscape_points: must be odd, got 4"),
        ({"attack_radii": [0.1, 0.1]}, "measure.attack_radii: must not repeat a value"),
        ({"attack_radii": [0.0]}, "measure.attack_radii.0: .*greater than 0"),
        ({"attack_radii": [8]}, "measure.attack_radii.0: .*less than or equal to 1"),
    ],
)
def test_a_bad_option_is_refused_by_name(options, message):
    with pytest.raises(SpecError, match=message):
        plan_of(measure={"names": ["adversarial", "loss_landscape"], **options})
