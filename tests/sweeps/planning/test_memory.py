"""The memory model against what torch and the optimizers really keep."""

import pytest
import torch
import torch.nn.functional as F

from sweeps.models import ConvNextConfig, MixerConfig, ResNetConfig, VitConfig
from sweeps.optimizers import OPTIMIZERS, build_optimizer
from sweeps.planning.memory import count_memory, optimizer_bytes, padded_tokens, training_memory
from sweeps.specs.config import RecipeConfig

from ..conftest import plan_of

SIZE, CLASSES = 32, 10
MODELS = {
    "vit": VitConfig(width=64, depth=2, patch=4),
    "vit map": VitConfig(width=64, depth=2, patch=4, pooling="map", positions="sincos2d"),
    "vit distilled": VitConfig(width=64, depth=2, patch=4, distilled=True),
    "resnet": ResNetConfig(width=16, depth=(2, 2, 2)),
    "convnext": ConvNextConfig(width=32, depth=(2, 2)),
    "mixer": MixerConfig(width=64, depth=2, patch=4),
}


def saved_bytes(model, batch, half):
    """Bytes of what a real forward pass on the CPU keeps for the backward pass, the weights apart."""
    torch.manual_seed(0)
    built = model.build(SIZE, CLASSES).train()
    own = {t.data_ptr() for t in (*built.parameters(), *built.buffers())}
    kept = {}

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=half),
    ):
        outputs = built(torch.randn(batch, 3, SIZE, SIZE))
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            F.cross_entropy(output, torch.zeros(batch, dtype=torch.long))
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("half", "within"), [(False, 0.01), (True, 0.125)])
def test_activations_are_those_that_a_cpu_keeps(name, half, within):
    """Within what the module states: labels and statistics in float32, one share for all families in bfloat16."""
    (config, *_) = plan_of(model={"vit": {"width": 16, "depth": 1, "patch": 4}}, steps=[20]).configs
    upstream = config.upstream.model_copy(update={"image_size": SIZE})
    recipe = config.recipe.model_copy(update={"batch_size": 8})
    config = config.model_copy(update={"model": MODELS[name], "upstream": upstream, "recipe": recipe})
    assert training_memory(config, half=half).activations == pytest.approx(
        saved_bytes(MODELS[name], 8, half), rel=within
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["vit map", "resnet"])
def test_parameters_and_state_are_exact(name, optimizer):
    built = MODELS[name].build(SIZE, CLASSES)
    steps = build_optimizer(built, RecipeConfig.model_validate({"optimizer": optimizer}))
    for parameter in built.parameters():
        parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
    steps.step()
    tensors = [t for state in steps.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
    counted = count_memory(MODELS[name], SIZE, CLASSES)
    assert optimizer_bytes(counted.shapes, optimizer) == sum(t.numel() * t.element_size() for t in tensors)
    assert counted.num_params == sum(p.numel() for p in built.parameters() if p.requires_grad)
    fixed = [*built.buffers(), *(p for p in built.parameters() if not p.requires_grad)]
    assert counted.buffer_bytes == sum(t.numel() * t.element_size() for t in fixed)


def test_what_takes_more_and_what_takes_less():
    (config, *_) = plan_of(model={"vit": {"width": 64, "depth": 4, "patch": 2}}, steps=[20]).configs

    def use(**changes):
        recipe = config.recipe.model_copy(update=changes.pop("recipe", {}))
        return training_memory(config.model_copy(update={"recipe": recipe, **changes}))

    plain = use()
    assert use(micro_batches=4).activations == pytest.approx(plain.activations / 4)
    assert use(devices_per_run=2).activations == pytest.approx(plain.activations / 2)
    assert use(checkpoint_activations=True).activations < plain.activations / 2  # of four blocks one, and inputs
    assert use(recipe={"ema_decay": 0.9}).weights == 2 * plain.weights
    assert plain.total == plain.weights + plain.gradients + plain.optimizer + plain.activations


def test_tokens_are_padded_on_an_accelerator():
    """257 tokens with a class token become 384, 256 stay as they are: Zhai et al. 2021, section 3.2."""
    assert padded_tokens(VitConfig(variant="B/14", pooling="map"), 224) == 1
    assert 257 * padded_tokens(VitConfig(variant="B/14", pooling="token"), 224) == pytest.approx(384)
    assert padded_tokens(MODELS["resnet"], 224) == 1
