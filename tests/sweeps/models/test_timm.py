import shutil

import pytest
import timm
import torch

from sweeps.models import TimmConfig
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from .conftest import TINY, TINY_VIT


@pytest.fixture
def checkpoint(tiny_checkpoints):
    return str(tiny_checkpoints[TINY])


def spec(model, **fields):
    return {"name": "tiny", "upstream": {"dataset": "digits"}, "model": {"timm": [model]}, "steps": 0} | fields


def test_it_is_timms_model_seen_through_its_own_normalisation(checkpoint):
    model = TimmConfig(name=TINY, checkpoint=checkpoint).build(32, 10).eval()
    direct = timm.create_model(TINY, num_classes=7)
    direct.load_state_dict(torch.load(checkpoint))
    pixels = torch.rand(2, 3, 32, 32)
    mean, std = (torch.tensor(direct.pretrained_cfg[key]).view(3, 1, 1) for key in ("mean", "std"))
    with torch.no_grad():
        wanted = direct.eval()((pixels - mean) / std)
        torch.testing.assert_close(model(2 * pixels - 1), wanted, rtol=1e-4, atol=1e-5)  # float32
    assert model.num_classes == 7


def test_weights_without_a_classifier_give_features(tmp_path):
    file = tmp_path / "features.pth"
    torch.save(timm.create_model(TINY, num_classes=0).state_dict(), file)
    model = TimmConfig(name=TINY, checkpoint=str(file)).build(32, 10).eval()
    assert model.num_classes == 0
    assert model(torch.zeros(1, 3, 32, 32)).shape == (1, model.model.num_features)


def test_the_hash_tells_files_apart_and_the_path_does_not(checkpoint, tmp_path):
    copy, other = tmp_path / "copy.pth", tmp_path / "other.pth"
    shutil.copy(checkpoint, copy)
    torch.save(timm.create_model(TINY, num_classes=7).state_dict(), other)
    first, same, different = (
        TimmConfig(name=TINY, checkpoint=str(path)).fitted(32).checkpoint_sha256 for path in (checkpoint, copy, other)
    )
    assert first == same
    assert first != different


def test_a_spec_may_be_a_name(checkpoint):
    (cell,) = parse_spec(spec({"variant": TINY, "checkpoint": checkpoint})).cells
    assert cell.model == TimmConfig(name=TINY, checkpoint=checkpoint)
    assert cell.model.variant == TINY


def test_it_runs_no_steps_whatever_the_schedule(checkpoint):
    model = {"name": TINY, "checkpoint": checkpoint}
    fields = {"schedule": {"kind": "cosine", "warmup": 100}, "evaluate": {"every": "10%"}}
    (config,) = make_plan(parse_spec(spec(model, **fields))).configs
    assert (config.steps, config.branch_step, config.evaluate.every_steps) == (0, 0, None)
    assert config.model.checkpoint_sha256


@pytest.mark.parametrize("length", [{"steps": 10}, {"steps": None}])
def test_training_it_is_refused(checkpoint, length):
    with pytest.raises(SpecError, match=r"steps: model\.timm is only evaluated, which takes steps: 0, got \d+"):
        make_plan(parse_spec(spec({"name": TINY, "checkpoint": checkpoint}, **length)))


def test_a_trained_family_needs_a_step():
    raw = spec({}) | {"model": {"vit": [{"width": 16, "depth": 1, "patch": 2}]}}
    with pytest.raises(SpecError, match=r"steps: a run has 1 to .* steps, got 0 steps"):
        make_plan(parse_spec(raw))


@pytest.mark.parametrize(
    ("fields", "size", "message"),
    [
        ({"name": "resnet_of_none"}, 32, r"model\.timm\.name: no model of timm has that name \(near it: .*resnet"),
        (
            {"name": "vit_base_patch16_224.none", "checkpoint": None},
            32,
            r"\.checkpoint: timm has no weights of",
        ),
        ({"checkpoint": "nowhere.pth"}, 32, r"model\.timm\.checkpoint: no file can be read: .*'nowhere.pth'"),
        ({"checkpoint_sha256": "ab"}, 32, r"model\.timm\.checkpoint_sha256: test_resnet.pth has .* got ab"),
        ({"name": TINY_VIT}, 28, r"model\.timm\.name: 'test_vit' cannot take images of 28 px"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(checkpoint, fields, size, message):
    with pytest.raises(ValueError, match=message):
        TimmConfig.model_validate({"name": TINY, "checkpoint": checkpoint} | fields).fitted(size)


def test_weights_of_another_model_are_refused(checkpoint):
    with pytest.raises(ValueError, match=r"model\.timm\.checkpoint: must hold the weights of test_vit, got"):
        TimmConfig(name=TINY_VIT, checkpoint=checkpoint).build(32, 10)
