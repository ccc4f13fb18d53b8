"""Trends on photographs: Fashion-MNIST at 16 pixels, three seeds, small. The larger study is in docs/training.md."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from sweeps.data.fashion_mnist import DEBIAN_FOLDER
from sweeps.data.training import load_training_data
from sweeps.models.cost import count_cost
from sweeps.paths import TrunkPaths
from sweeps.specs.config import RunConfig
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.train import train_trunk

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not Path(DEBIAN_FOLDER).is_dir(), reason="dataset-fashion-mnist, a Debian package, is missing"),
]  # fmt: skip

MODELS = {
    "vit": {"width": 32, "depth": 4, "patch": 4, "heads": 2},
    "resnet": {"width": 8, "depth": [1, 1, 1]},
    "narrow resnet": {"width": 2, "depth": [1, 1]},
}
SEEDS = (0, 1, 2)
FEW = 100  # images


def config_of(name: str, train_examples: int, seed: int) -> RunConfig:
    spec = {
        "name": "trends", "upstream": {"dataset": "fashion-mnist", "image_size": 16},
        "model": {name.split()[-1]: [MODELS[name]]}, "train_examples": train_examples, "steps": 200, "seeds": seed,
        "recipe": {"lr": 8e-3, "batch_size": 32, "augment": "none"}, "evaluate": {"max_upstream": 2000},
        "schedule": {"kind": "constant", "warmup": "30 steps", "cooldown": "20%"},
    }  # fmt: skip
    return make_plan(parse_spec(spec)).configs[0]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Test errors of a model and subset, one a seed."""

    @cache
    def train(name: str, train_examples: int) -> np.ndarray:
        found = []
        for seed in SEEDS:
            config, cpu = config_of(name, train_examples, seed), torch.device("cpu")
            paths = TrunkPaths(tmp_path_factory.mktemp("trend"))
            (finished,) = train_trunk([config], load_training_data(config, cpu), paths, cpu)
            found.append(finished.evaluations[-1]["columns"]["upstream_error"])
        return np.array(found)

    return train


def standard_errors(worse: np.ndarray, better: np.ndarray) -> float:
    """The difference of two means, in standard errors over seeds."""
    return (worse.mean() - better.mean()) / np.sqrt((worse.var(ddof=1) + better.var(ddof=1)) / len(SEEDS))


# Smaller subsets than the study's, so that each difference is many standard errors in so short a run.
@pytest.mark.parametrize(("few", "many"), [(30, FEW), pytest.param(FEW, 60_000, marks=pytest.mark.slow)])
def test_error_falls_with_images(errors, few, many):
    assert standard_errors(errors("resnet", few), errors("resnet", many)) > 2


def test_error_falls_with_model_size(errors):
    assert standard_errors(errors("narrow resnet", 60_000), errors("resnet", 60_000)) > 2


def test_a_resnet_errs_less_than_a_vit_of_its_flops_where_images_are_few(errors):
    """As on CIFAR-10 (data/published/cifar10_from_scratch.csv)."""
    flops = [count_cost(config_of(name, FEW, 0).model, 16, 10).flops_per_image for name in ("vit", "resnet")]
    assert max(flops) < 1.1 * min(flops)
    assert standard_errors(errors("vit", FEW), errors("resnet", FEW)) > 2
