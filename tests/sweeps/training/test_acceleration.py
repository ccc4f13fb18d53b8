import copy

import pytest
import torch

from sweeps.data.training import load_training_data, training_source
from sweeps.models import ResNetConfig, VitConfig
from sweeps.training.acceleration import accelerate, blocks_of, checkpoint_blocks, compile_blocks
from sweeps.training.step import TrainingStep
from sweeps.training.train import new_state

from ..conftest import plan_of

MODELS = [(VitConfig(width=16, depth=3, patch=4), 3), (ResNetConfig(width=4, depth=(1, 2)), 3)]
CPU = torch.device("cpu")
# Of torch's own tracing, which looks at the gradient of tensors that have none.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@pytest.mark.parametrize(("config", "num_blocks"), MODELS, ids=["vit", "resnet"])
def test_compiled_blocks_compute_the_same_under_the_same_names(config, num_blocks):
    model = config.build(8, 10).eval()
    names, x = list(model.state_dict()), torch.randn(2, 3, 8, 8)
    before = model(x)
    assert len(blocks_of(model)) == num_blocks
    assert compile_blocks(model, backend="eager") == num_blocks
    assert list(model.state_dict()) == names
    assert torch.equal(model(x), before)


def test_auto_compiles_nothing_on_the_cpu_and_a_cuda_graph_is_left_out():
    config = plan_of(cuda_graph=True).configs[0]
    model = accelerate(config.model.build(8, 10), config, CPU)
    assert not any(block._compiled_call_impl for block in blocks_of(model))


@pytest.mark.slow
@pytest.mark.parametrize(("config", "num_blocks"), MODELS, ids=["vit", "resnet"])
def test_inductor_computes_the_same_to_rounding(config, num_blocks, tmp_path, monkeypatch):
    """Needs a C++ compiler, and half a minute."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    model = config.build(8, 10).eval()
    x = torch.randn(2, 3, 8, 8)
    before = model(x)
    compile_blocks(model)
    # float32 rounding of sums in another order.
    assert torch.allclose(model(x), before, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize(("config", "num_blocks"), MODELS, ids=["vit", "resnet"])
def test_a_cuda_graph_leaves_no_trace_and_computes_the_same(config, num_blocks):
    device = torch.device("cuda")
    plain, graphed = (plan_of(cuda_graph=flag, compile="off").configs[0] for flag in (False, True))
    states = []
    for run in (plain, graphed):
        torch.manual_seed(0)
        model = accelerate(config.build(8, 10), run, device)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        x = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(1)).to(device)
        model.train()(x.to(memory_format=torch.channels_last)).sum().backward()
        states.append((before, [p.grad for p in model.parameters()]))
    assert all(torch.equal(a, b) for a, b in zip(states[0][0].values(), states[1][0].values(), strict=True))
    for a, b in zip(states[0][1], states[1][1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)  # other kernels may be chosen


def states_of(config, steps=2):
    """Gradient and model of two equal runs, one of which computes its blocks anew."""
    for flag in (False, True):
        run = plan_of(**config, checkpoint_activations=flag).configs[0]
        state = new_state(run, CPU)
        source = training_source(run, load_training_data(run, CPU), CPU)
        step = TrainingStep(run, CPU)
        losses = [step(state, source.batch(state.step)).item() for _ in range(steps)]
        yield losses, state


ANEW = {
    "vit": {"vit": [{"width": 16, "depth": 3, "patch": 4}]},
    "mixer": {"mixer": [{"width": 16, "depth": 3, "patch": 4}]},
    "convnext": {"convnext": [{"width": 8, "depth": [1, 1], "patch": 2}]},
    "bit": {"bit": [{"width": 8, "depth": [1, 1]}]},
}


@pytest.mark.parametrize("family", ANEW)
def test_blocks_that_are_computed_anew_train_bitwise_the_same_under_the_same_names(family, one_thread):
    config = {"model": ANEW[family], "recipe__drop_path": 0.5, "recipe__sam_rho": 0.1, "recipe__ema_decay": 0.5}
    (losses, plain), (again, anew) = states_of(config)
    assert losses == again
    assert list(plain.model.state_dict()) == list(anew.model.state_dict())
    for a, b in zip(plain.model.parameters(), anew.model.parameters(), strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a.grad, b.grad)
    for a, b in zip(plain.average.parameters(), anew.average.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_copy_of_a_model_computes_its_own_blocks_anew():
    model = VitConfig(width=16, depth=2, patch=4).build(8, 10).train()
    assert checkpoint_blocks(model) == 2
    copied, x = copy.deepcopy(model), torch.randn(2, 3, 8, 8)
    for block in blocks_of(model):
        block.forward = None  # would raise
    assert copied(x).requires_grad
    assert len(blocks_of(copied)) == 2


def kept_bytes(model, x):
    """Of all tensors that the backward pass finds: those that autograd saves and what the blocks took in."""
    found = {}

    def keep(tensor):
        found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    for block in blocks_of(model):
        block.register_forward_pre_hook(lambda block, inputs: (keep(inputs[0]),))
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model(x).sum()
    assert loss.requires_grad
    return sum(size for place, size in found.items() if place not in weights)


def test_a_deep_model_keeps_a_fraction_of_its_activations():
    """A ViT's block keeps its input and some 15 times as much (queries, keys, values, hidden units, norms)."""
    config, x = VitConfig(width=32, depth=8, patch=4), torch.randn(4, 3, 16, 16)
    plain, anew = config.build(16, 10).train(), config.build(16, 10).train()
    checkpoint_blocks(anew)
    share = kept_bytes(anew, x) / kept_bytes(plain, x)
    print(f"checkpoint_activations keeps {share:.3f} of the bytes")
    assert share < 0.2


def test_compiled_blocks_can_be_computed_anew(one_thread):
    """Compiled after, so that both are one graph."""
    config = VitConfig(width=16, depth=2, patch=4)
    torch.manual_seed(0)
    plain = config.build(8, 10).train()
    anew, x = copy.deepcopy(plain), torch.randn(2, 3, 8, 8)
    checkpoint_blocks(anew)
    compile_blocks(anew, backend="aot_eager")
    plain(x).sum().backward()
    anew(x).sum().backward()
    for a, b in zip(plain.parameters(), anew.parameters(), strict=True):
        # float32 rounding of sums in another order.
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)
