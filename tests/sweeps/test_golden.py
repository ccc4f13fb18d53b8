"""Golden curves: what a training computes, family by family, kept in `golden_losses.json`.

A change that is not numerical leaves them alone. One that is raises `NUMERICS_VERSION` and renews the file:
`python -m tests.sweeps.test_golden`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import sweeps.training.train as train
from sweeps.augment import streams
from sweeps.data import batches
from sweeps.data.batches import batch_indices
from sweeps.data.training import load_training_data
from sweeps.optimizers import build
from sweeps.paths import TrunkPaths
from sweeps.specs.config import NUMERICS_VERSION, RunConfig
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.schedules import learning_rate_factor

from .conftest import changed

pytestmark = pytest.mark.usefixtures("one_thread")

GOLDEN = Path(__file__).with_name("golden_losses.json")
# To add a family, add its row and renew the file.
FAMILIES = {
    "vit": {"width": 16, "depth": 2, "patch": 4, "heads": 2},
    "resnet": {"width": 4, "depth": [1, 1]},
    "mixer": {"width": 16, "depth": 2, "patch": 4},
}
NUM_STEPS = 30
LR = 1e-2
WEIGHT_DECAY = 0.5  # ten times the recipe's, so that in 30 steps it is seen which parameters decay
# Relative, of the loss of a step. Other processors and versions of torch round otherwise, and training amplifies it.
TOLERANCE = 1e-5


def config_of(family: str, **changes) -> RunConfig:
    recipe = {"recipe__lr": LR, "recipe__weight_decay": WEIGHT_DECAY}
    fields = {"train_examples": 800, "steps": NUM_STEPS, **recipe, **changes}
    spec = changed(model={family: [FAMILIES[family]]}, **fields)
    return make_plan(parse_spec(spec)).configs[0]


def losses_of(family: str, folder: Path, **changes) -> list[float]:
    """The loss of every step."""
    config = config_of(family, **changes)
    data = load_training_data(config, torch.device("cpu"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_LOG_EVERY_STEPS", 1)
        (finished,) = train.train_trunk([config], data, TrunkPaths(folder), torch.device("cpu"))
        return [line["loss"] for line in finished.log]


def order_of() -> list[list[int]]:
    """The images of steps 0 to 3, two epochs of ten images."""
    return [batch_indices(seed=0, step=step, batch_size=5, num_images=10).tolist() for step in range(4)]


def learning_rates() -> dict[str, list[float]]:
    """Of each kind of schedule."""
    kinds = ("constant", "cosine", "linear", "rsqrt")
    configs = {kind: config_of("vit", schedule__kind=kind) for kind in kinds}
    return {
        kind: [learning_rate_factor(config.schedule, step, NUM_STEPS) for step in range(NUM_STEPS)]
        for kind, config in configs.items()
    }


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


def test_the_golden_file_is_of_this_version_and_every_family(golden):
    assert golden["numerics_version"] == NUMERICS_VERSION
    assert set(golden["losses"]) == set(FAMILIES)


def test_the_order_of_the_images(golden):
    assert order_of() == golden["order"]


def test_learning_rates(golden):
    """To a unit in the last place or so: another C library may round a cosine otherwise."""
    for kind, factors in learning_rates().items():
        np.testing.assert_allclose(factors, golden["learning_rate_factors"][kind], rtol=1e-14)


@pytest.mark.parametrize("family", FAMILIES)
def test_golden_losses(golden, family, tmp_path):
    np.testing.assert_allclose(losses_of(family, tmp_path), golden["losses"][family], rtol=TOLERANCE)


def _other_stream(patch, family):
    patch.setitem(streams._STREAMS, "crop", 102)


def _other_order(patch, family):
    patch.setattr(batches, "ORDER_STREAM", 101)
    batches._epoch_order.cache_clear()


def _other_init(patch, family):
    """Weights larger by a hundredth."""
    config = type(config_of(family).model)
    build = config.build

    def scaled(*arguments, **options):
        model = build(*arguments, **options)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.01)
        return model

    patch.setattr(config, "build", scaled)


def _vectors_decay(patch, family):
    """Biases, norms and positions too."""
    of_kernels = build.decay_groups

    def of_all(model, recipe):
        return [group._replace(weight_decay=recipe.weight_decay) for group in of_kernels(model, recipe)]

    patch.setattr(build, "decay_groups", of_all)


# Each is a small change of what is computed, which the tolerance must not hide.
MUTATIONS = {
    "learning rate 1 % higher": lambda patch, family: {"recipe__lr": 1.01 * LR},
    "weight decay 10 % higher": lambda patch, family: {"recipe__weight_decay": 1.1 * WEIGHT_DECAY},
    "weight decay of vectors too": _vectors_decay,
    "another augmentation draw": _other_stream,
    "another order": _other_order,
    "weights 1 % larger at the start": _other_init,
    "warm-up a step longer": lambda patch, family: {"schedule__warmup": "6 steps"},
    "label smoothing .01": lambda patch, family: {"recipe__label_smoothing": 0.01},
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_small_change_shows_in_the_golden_losses(golden, family, mutation, tmp_path, monkeypatch):
    changes = MUTATIONS[mutation](monkeypatch, family) or {}
    losses = np.array(losses_of(family, tmp_path, **changes))
    batches._epoch_order.cache_clear()
    assert np.max(np.abs(losses / golden["losses"][family] - 1)) > 2 * TOLERANCE


def _renew() -> None:
    import tempfile

    torch.set_num_threads(1)
    losses = {}
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            losses[family] = losses_of(family, Path(folder))
    rates = learning_rates()
    golden = {
        "numerics_version": NUMERICS_VERSION, "order": order_of(), "learning_rate_factors": rates, "losses": losses,
    }  # fmt: skip
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    _renew()
