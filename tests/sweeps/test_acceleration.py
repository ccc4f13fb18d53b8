import pytest
import torch

from sweeps.acceleration import accelerate, blocks_of, compile_blocks
from sweeps.models import ResNetConfig, VitConfig

from .conftest import plan_of

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
