"""Speed of the training side: `make bench`. Without it each runs once, as a test that it runs."""

import pytest
import torch

from sweeps.augment import augment_batch
from sweeps.data.batches import ResidentSource
from sweeps.data.images import Images
from sweeps.data.procedural import generate
from sweeps.models import ResNetConfig, VitConfig
from sweeps.optimizers import build_optimizer
from sweeps.specs.config import RecipeConfig

MODELS = {
    "vit w32d2/8": VitConfig(width=32, depth=2, patch=8, heads=2),
    "resnet w4": ResNetConfig(width=4, depth=(1, 1, 1, 1)),
}
BATCH_SIZE = 32


pytestmark = pytest.mark.usefixtures("one_thread")


def test_1200_procedural_images(benchmark):
    benchmark(generate, "procedural", 1200)


def test_a_batch_cropped_and_flipped(benchmark):
    images = Images(torch.randint(0, 256, (5000, 32, 32, 3), dtype=torch.uint8), torch.zeros(5000, dtype=torch.int64))
    source, recipe = ResidentSource(images, seed=0, batch_size=BATCH_SIZE), RecipeConfig.model_validate({})
    benchmark(lambda: augment_batch(*source.batch(7), recipe, seed=0, step=7, num_classes=10))


@pytest.mark.parametrize("name", MODELS)
def test_a_bare_training_step(benchmark, name):
    """What a batch is measured against: forward, backward and optimizer alone."""
    config = MODELS[name]
    model = config.build(32, 120)
    images = torch.randn(BATCH_SIZE, 3, 32, 32)
    if config.channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = build_optimizer(model, RecipeConfig.model_validate({}))

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(images).sum().backward()
        optimizer.step()

    benchmark(step)
