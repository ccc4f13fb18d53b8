"""What every measurement keeps to, whatever the family: it is told before training that it cannot be, or it is."""

from importlib import import_module
from math import isfinite

import pytest
import timm
import torch

from scaling.schema import MEASUREMENTS as COLUMNS
from sweeps.measure import MEASUREMENTS
from sweeps.measure.subject import Subject, measure_model
from sweeps.models.layers import layer_names
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from ..conftest import plan_of
from ..models.test_layers import SHAPES

CHECKPOINT = "test_resnet"  # of timm's own tests


def some_head(model):
    """As if trained: the initial kernel of some families is zero."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.get_classifier().parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_family_gives_what_it_does_not_decline(subject_of, name, family):
    fields = {"model": {family: [SHAPES[family]]}, "upstream__image_size": 32}
    if name not in plan_of(measure={"names": "all"}, **fields).configs[0].measure.names:
        with pytest.raises(ValueError, match=rf"measure.names: {family} .* has no {name}: \w+"):
            plan_of(measure={"names": [name]}, **fields)
        return
    subject = subject_of(num_images=8, change=some_head, measure={"names": [name]}, **fields)
    rows = list(import_module(f"sweeps.measure.{name}").measure(subject))
    assert {row["name"] for row in rows} <= set(MEASUREMENTS[name].rows)
    assert all(isfinite(row["value"]) and set(row) <= set(COLUMNS) for row in rows)
    assert rows
    keys = [tuple(sorted((k, v) for k, v in row.items() if k != "value" and v is not None)) for row in rows]
    assert len(set(keys)) == len(keys)


@pytest.fixture
def checkpoint_of(tmp_path):
    """The config of a checkpoint of timm with so many classes, and the measurements asked."""

    def make(num_classes, names="all", name=CHECKPOINT):
        torch.manual_seed(0)
        file = tmp_path / f"{num_classes}.pth"
        torch.save(timm.create_model(name, num_classes=num_classes).state_dict(), file)
        model = {"timm": [{"name": name, "checkpoint": str(file)}]}
        spec = {"name": "tiny", "upstream": {"dataset": "digits", "image_size": 32}, "model": model, "steps": 0}
        return make_plan(parse_spec(spec | {"measure": {"names": names}})).configs[0]

    return make


@pytest.mark.parametrize("name", ["margins", "curvature"])
def test_a_checkpoint_of_other_classes_is_told_before_it_runs(checkpoint_of, name):
    assert name in checkpoint_of(10).measure.names
    names = checkpoint_of(7).measure.names
    assert name not in names
    assert {"weight_norms", "active_neurons"} <= set(names)
    with pytest.raises(SpecError, match=rf"has no {name}: it tells 7 classes apart, and 'digits' has 10"):
        checkpoint_of(7, [name])


def test_a_checkpoint_gives_all_but_distances(checkpoint_of, subject_of):
    config = checkpoint_of(10)
    other = subject_of(upstream__image_size=32, num_images=4)
    for name in ("weight_norms", "active_neurons", "margins", "curvature"):
        model = config.model.build(32, 10).eval()
        subject = Subject(config, model, other.train, other.test, other.device)
        found = {row["name"] for row in import_module(f"sweeps.measure.{name}").measure(subject)}
        assert found == set(MEASUREMENTS[name].rows) - {"distance_to_init"}


def test_a_checkpoint_without_known_blocks_has_one_layer_and_the_rest(checkpoint_of, subject_of):
    config = checkpoint_of(10, name="test_efficientnet")
    assert layer_names(config.model, 32) == ("pre_logits",)
    with pytest.raises(SpecError, match=r"has no cka: its class has no blocks that are known, .* is pre_logits"):
        checkpoint_of(10, ["cka"], "test_efficientnet")
    other = subject_of(upstream__image_size=32, num_images=4)
    measured = measure_model(config, config.model.build(32, 10), other.train, other.test, other.device)
    assert not measured.faults
    assert {row["name"] for row in measured.rows} >= {"weight_norm", "head_margin", "hessian_top_eigenvalue"}
