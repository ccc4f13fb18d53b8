"""Margins against the closed form of a linear classifier."""

import numpy as np
import pytest
import torch

from sweeps.data.images import load_images, normalise
from sweeps.evaluation.evaluate import task_images
from sweeps.evaluation.fewshot import fit_probe
from sweeps.measure.margins import margins, measure
from sweeps.models.layers import layer_outputs

from ..models.test_layers import shape_of


def random_head(model):
    generator = torch.Generator().manual_seed(0)
    for parameter in model.get_classifier().parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))


@pytest.fixture
def images():
    pixels, labels = load_images("digits", "train", 32)
    return normalise(pixels[:12]), labels[:12]


def kernels(model):
    """Rows (classes, width) of the classifier, those of two side by side as they enter the mean of the logits."""
    classifier = model.get_classifier()
    parts = list(classifier) if isinstance(classifier, torch.nn.ModuleList) else [classifier]
    return torch.cat([part.weight.flatten(1) for part in parts], 1) / len(parts)


FAMILIES = [("vit", {}), ("vit", {"pooling": "map"}), ("vit", {"distilled": True}), ("resnet", {}), ("bit", {})]


@pytest.mark.parametrize(("family", "fields"), FAMILIES)
def test_margins_of_a_linear_classifier(images, family, fields):
    torch.manual_seed(0)
    model = shape_of(family, **fields).build(32, 10).eval()
    with torch.no_grad():
        random_head(model)
        logits = model(images[0]).tolist()
    found = margins(model, *images)
    rows = kernels(model).double()
    for row, label, head, pre_logits in zip(logits, images[1].tolist(), *found, strict=True):
        other = max((score, place) for place, score in enumerate(row) if place != label)[1]
        assert head.item() == pytest.approx(row[label] - row[other], rel=1e-4, abs=1e-5)  # float32 logits
        distance = (row[label] - row[other]) / (rows[label] - rows[other]).norm().item()
        assert pre_logits.item() == pytest.approx(distance, rel=1e-4, abs=1e-5)
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_the_margin_is_the_distance_to_the_boundary(images):
    torch.manual_seed(0)
    model = shape_of("vit").build(32, 10).eval()
    with torch.no_grad():
        random_head(model)
    pre_logits = margins(model, *images)[1]
    with torch.no_grad():
        inputs = layer_outputs(model, images[0], ["pre_logits"])["pre_logits"]
        head = model.get_classifier()
        others = head(inputs).scatter(1, images[1][:, None], -torch.inf).argmax(1)
        across = head.weight[images[1]] - head.weight[others]
        moved = head(inputs - pre_logits[:, None] * across / across.norm(dim=1, keepdim=True))
    ends = (moved.gather(1, labels[:, None]) for labels in (images[1], others))
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-4)  # float32 logits of some units


def test_classes_that_tie_everywhere_have_no_margin(images):
    model = shape_of("vit").build(32, 10).eval()
    torch.nn.init.zeros_(model.head.weight)
    assert all(torch.equal(found, torch.zeros(12)) for found in margins(model, *images))


def test_rows_are_means_over_each_split(subject_of):
    subject = subject_of(
        num_images=150, change=random_head, measure={"names": ["margins"], "max_examples": 300}
    )  # two batches
    found = {(row["name"], row["split"]): row for row in measure(subject) if row["dataset"] == "digits"}
    assert set(found) == {(n, s) for n in ("head_margin", "pre_logits_margin") for s in ("train", "test")}
    for split, part in (("train", subject.train), ("test", subject.test)):
        wanted = margins(subject.model, normalise(part.pixels), part.labels)
        for name, values in zip(("head_margin", "pre_logits_margin"), wanted, strict=True):
            row = found[name, split]
            assert row["value"] == pytest.approx(values.double().mean().item(), rel=1e-4)  # float32, other batches
            assert (row["num_examples"], row["dataset"]) == (150, "digits")


def test_margins_of_a_fewshot_classifier(subject_of):
    subject = subject_of(upstream__image_size=32, model={"resnet": [{"width": 4, "depth": [1, 1]}]})
    found = {row["name"]: row for row in measure(subject) if row["dataset"] == "shapes"}
    train, _ = task_images("shapes", 32, subject.config.downstream)
    labels, rng = train.labels.numpy(), np.random.default_rng([0, 0])
    classes, rank = np.unique(labels), np.empty(len(labels), int)
    for label in classes:
        rank[rng.permutation(np.flatnonzero(labels == label))] = np.arange(np.sum(labels == label))
    images = train.take(np.flatnonzero(rank < 5))  # the most shots
    with torch.no_grad():
        x = layer_outputs(subject.model, normalise(images.pixels), ["pre_logits"])["pre_logits"].double()
    probe = fit_probe("whitened", (x, images.labels.numpy()), (x[:0], np.zeros(0, int)), len(classes))
    scores, kernel = (x @ probe.weights + probe.bias).numpy(), probe.weights.numpy()
    head, pre_logits = [], []
    for row, label in zip(scores, images.labels.tolist(), strict=True):
        other = max((score, place) for place, score in enumerate(row) if place != label)[1]
        head.append(row[label] - row[other])
        pre_logits.append(head[-1] / np.linalg.norm(kernel[:, label] - kernel[:, other]))
    for name, wanted in (("head_margin", head), ("pre_logits_margin", pre_logits)):
        assert found[name]["value"] == pytest.approx(np.mean(wanted), rel=1e-4)  # float32 features
        assert (found[name]["split"], found[name]["num_examples"]) == ("fewshot", len(images.labels))


def test_margins_tell_apart_an_upstream_set_that_is_a_task_too(subject_of):
    subject = subject_of(num_images=20, downstream__tasks=["digits"])
    rows = [(row["name"], row["dataset"], row["split"]) for row in measure(subject)]
    assert len(set(rows)) == len(rows) == 6
