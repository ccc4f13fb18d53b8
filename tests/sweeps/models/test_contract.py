"""What every family must do; one without a line in SMALL is tried by its example."""

import pytest
import torch
from timm.layers import DropPath
from torch import nn

from sweeps.models import (
    FAMILIES,
    BitConfig,
    ConvNextConfig,
    HybridConfig,
    MixerConfig,
    ModernisedResNetConfig,
    ResNetConfig,
    TimmConfig,
    VitConfig,
)
from sweeps.models.cost import count_cost

from .conftest import TINY, TINY_VIT

SMALL = {  # the first of each fits every size; the last has several blocks, for stochastic depth
    "vit": [
        VitConfig(width=16, depth=1, patch=4),
        VitConfig(width=16, depth=1, patch=7, pooling="map"),
        VitConfig(width=16, depth=1, num_tokens=16, positions="sincos2d"),
        VitConfig(width=16, depth=2, patch=4, pooling="token", positions="sincos2d"),
        VitConfig(width=16, depth=1, patch=4, distilled=True, positions="sincos2d"),
        VitConfig(width=16, depth=1, patch=4, distilled=True),
        VitConfig(width=32, depth=2, patch=8, heads=4, mlp_dim=48, pooling="token"),
    ],
    "resnet": [
        ResNetConfig(width=4, depth=(2,)),
        ResNetConfig(width=6, depth=(1, 1, 1, 1)),
        ResNetConfig(width=4, depth=(1, 1), block="bottleneck", stem="imagenet"),
        ResNetConfig(width=8, depth=(1, 2, 1)),
    ],
    "bit": [
        BitConfig(width=8, depth=(1,)),
        BitConfig(width=16, depth=(1, 1), groups=4, stem="imagenet"),
        BitConfig(width=8, depth=(1, 1, 1, 1)),
    ],
    "mixer": [
        MixerConfig(width=16, depth=1, patch=4),
        MixerConfig(width=17, depth=2, patch=7, token_mlp_dim=5, channel_mlp_dim=31),
    ],
    "convnext": [
        ConvNextConfig(width=8, depth=(1, 1), patch=2),
        ConvNextConfig(width=8, depth=(1,), patch=1, layer_scale=0),
        ConvNextConfig(width=8, depth=(2,), patch=4, isotropic=True),
        ConvNextConfig(width=8, depth=(1, 1, 2), patch=4, kernel_size=3),
    ],
    "hybrid": [
        HybridConfig(stem_width=8, stem_depth=(1, 1), width=16, depth=1),
        HybridConfig(stem_width=16, stem_depth=(1,), stem="imagenet", width=16, depth=1, pooling="map"),
        HybridConfig(stem_width=8, stem_depth=(1, 1, 1), width=16, depth=2, heads=2, pooling="token"),
    ],
    "modernised_resnet": [
        ModernisedResNetConfig(width=8, depth=(1, 1)),
        ModernisedResNetConfig(variant="separate_downsampling", width=8, depth=(1, 1, 1), stem_stride=2),
        ModernisedResNetConfig(variant="depthwise", width=8, depth=(1, 2), stem_stride=1),
    ],
    "timm": [TimmConfig(name=TINY), TimmConfig(name=TINY_VIT)],
}
SIZES = [28, 32, 56, 64]
SMALL |= {name: [family.model_validate(dict(family.example))] for name, family in FAMILIES.items() if name not in SMALL}
CASES = [(family, index) for family in FAMILIES for index in range(len(SMALL[family]))]
TRAINABLE = [(family, index) for family, index in CASES if FAMILIES[family].trainable]


@pytest.fixture
def config(request, tiny_checkpoints):
    family, index = request.param
    return with_weights(SMALL[family][index], tiny_checkpoints)


def with_weights(config, checkpoints):
    if config.family != "timm":
        return config
    return config.model_copy(update={"checkpoint": str(checkpoints[config.name])})


def fits(config, image_size):
    try:
        return bool(config.fitted(image_size))
    except ValueError:
        return False


def built(config, image_size=32, drop_path=0.0, seed=0):
    torch.manual_seed(seed)
    return config.fitted(image_size).build(image_size, 7, drop_path)


def largest_size(config):
    return next(size for size in (32, 56, 28) if fits(config, size))


def images(size, number=2):
    return torch.randn(number, 3, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("config", CASES, indirect=True)
@pytest.mark.parametrize("image_size", SIZES)
def test_it_runs_at_small_sizes(config, image_size):
    if not fits(config, image_size):
        pytest.skip("the shape does not fit the image")
    model = built(config, image_size).eval()
    with torch.no_grad():
        assert model(images(image_size)).shape == (2, 7)
        features = model.forward_head(model.forward_features(images(image_size)), pre_logits=True)
    kernels = [layer.weight for layer in model.get_classifier().modules() if hasattr(layer, "weight")]
    assert features.shape == (2, kernels[0].shape[1])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("image_size", SIZES)
def test_a_shape_of_every_family_fits_every_small_size(family, image_size, tiny_checkpoints):
    assert fits(with_weights(SMALL[family][0], tiny_checkpoints), image_size)


@pytest.mark.parametrize("config", CASES, indirect=True)
def test_cost_counts_body_and_classifier_apart(config):
    size = largest_size(config)
    config = config.fitted(size)
    cost = count_cost(config, size, 7)
    model = config.build(size, 7)
    assert cost.num_params + cost.head_params == sum(p.numel() for p in model.parameters())
    kernels = [layer.weight for layer in model.get_classifier().modules() if hasattr(layer, "weight")]
    assert cost.head_params == sum(kernel.numel() + 7 for kernel in kernels)
    assert cost.head_flops_per_image == 2 * sum(kernel.numel() for kernel in kernels)
    if config.trainable:
        wider = count_cost(config, size, 14)
        assert wider.num_params == cost.num_params
        assert wider.flops_per_image - cost.flops_per_image == cost.head_flops_per_image


@pytest.mark.parametrize("config", CASES, indirect=True)
def test_nothing_is_allocated_on_the_meta_device(config):
    size = largest_size(config)
    with torch.device("meta"):
        model = config.fitted(size).build(size, 7)
    assert all(tensor.is_meta for tensor in [*model.parameters(), *model.buffers()])


@pytest.mark.parametrize("config", TRAINABLE, indirect=True)
def test_the_seed_alone_sets_the_weights(config):
    size = largest_size(config)
    first, again, other = built(config, size), built(config, size), built(config, size, seed=1)
    pairs = list(zip(first.parameters(), again.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(one, two) for one, two, _ in pairs)
    assert any(not torch.equal(one, three) for one, _, three in pairs)


@pytest.mark.parametrize("config", TRAINABLE, indirect=True)
def test_every_parameter_gets_a_finite_gradient(config):
    size = largest_size(config)
    model = built(config, size).train()
    outputs = model(images(size, number=4))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum(nn.functional.cross_entropy(logits, torch.arange(4)) for logits in outputs).backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    assert [name for name, gradient in gradients.items() if gradient is None or not gradient.isfinite().all()] == []


@pytest.mark.parametrize("family", [family for family in FAMILIES if FAMILIES[family].trainable])
def test_stochastic_depth_reaches_its_rate_in_the_last_block_and_leaves_the_weights(family):
    config = SMALL[family][-1]
    size = largest_size(config)
    plain, dropping = built(config, size), built(config, size, drop_path=0.25)
    assert not any(isinstance(layer, DropPath) for layer in plain.modules())
    rates = [layer.drop_prob for layer in dropping.modules() if isinstance(layer, DropPath)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(0.25)
    weights = dropping.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in plain.state_dict().items())


@pytest.mark.parametrize("config", CASES, indirect=True)
def test_channels_last_changes_no_number(config):
    size = largest_size(config)
    model, x = built(config, size).eval(), images(size)
    with torch.no_grad():
        before = model.forward_head(model.forward_features(x), pre_logits=True)
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
        after = model.forward_head(model.forward_features(x), pre_logits=True)
    torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4)  # sums of float32 in another order


@pytest.mark.parametrize("config", TRAINABLE, indirect=True)
def test_the_columns_name_the_shape(config):
    size = largest_size(config)
    columns = config.fitted(size).shape_columns(size)
    assert columns["width"] == config.width
    assert columns["depth"] == (config.depth if isinstance(config.depth, int) else sum(config.depth))
    assert columns["pooling"] in ("avg", "token", "map")
    assert set(columns) <= {"width", "depth", "num_heads", "mlp_dim", "patch_size", "num_tokens", "pooling"}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unknown_name_is_refused(family):
    if family == "timm":
        config = TimmConfig(variant="Q/16")
        with pytest.raises(ValueError, match=r"model\.timm\.name: no model of timm .*'Q/16'"):
            config.fitted(32)
    else:
        with pytest.raises(ValueError, match=r"variant: must be .*'Q(/16)?'"):
            FAMILIES[family].model_validate({"variant": "Q/16"})


def test_counting_leaves_fused_attention_on():
    from timm.layers.config import use_fused_attn

    count_cost(SMALL["vit"][0], 8, 10)
    assert use_fused_attn()
