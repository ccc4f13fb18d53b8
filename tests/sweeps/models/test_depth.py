"""Counts of shallow models say those of deep ones to the last digit."""

import pytest

from sweeps.models import MixerConfig, VitConfig
from sweeps.models.cost import count_cost
from sweeps.models.depth import one_and_two
from sweeps.planning.memory import count_memory, training_memory
from sweeps.runner.cost import forget_counted, run_cost

from ..conftest import plan_of

MODELS = [
    VitConfig(width=32, depth=5, patch=4, heads=2),
    VitConfig(width=32, depth=3, patch=2, pooling="map", positions="sincos2d"),
    VitConfig(width=32, depth=4, patch=4, pooling="token", distilled=True),
    MixerConfig(width=32, depth=5, patch=4),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_deep_model_takes_what_counting_it_whole_says(model, checkpointed):
    (config, *_) = plan_of(steps=[20]).configs
    config, at = (
        config.model_copy(update={"model": model, "checkpoint_activations": checkpointed}),
        (config.image_size, config.num_classes),
    )
    assert one_and_two(model)
    forget_counted()
    assert run_cost(config).model == count_cost(model, *at)
    whole, told = count_memory(model, *at), training_memory(config)
    kept = whole.input_bytes + whole.block_bytes if checkpointed else whole.image_bytes
    assert told.activations == round(config.recipe.batch_size * kept)
    assert told.gradients == 4 * whole.num_params


def test_a_model_of_stages_is_counted_whole():
    (config, *_) = plan_of(model={"resnet": [{"width": 4, "depth": [3, 4]}]}, steps=[20]).configs
    assert one_and_two(config.model) is None
