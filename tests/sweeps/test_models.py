import pytest
import torch

from sweeps.models import FAMILIES, ResNetConfig, VitConfig
from sweeps.models.cost import count_cost

SMALL = {
    "vit": [
        VitConfig(width=16, depth=1, patch=4),
        VitConfig(width=32, depth=2, patch=8, heads=4, mlp_dim=48, pooling="token"),
        VitConfig(width=16, depth=1, patch=7, pooling="map"),
    ],
    "resnet": [
        ResNetConfig(width=4, depth=(2,)),
        ResNetConfig(width=8, depth=(1, 2, 1)),
        ResNetConfig(width=6, depth=(1, 1, 1, 1)),
    ],
}
CASES = [(family, config) for family in FAMILIES for config in SMALL[family]]


@pytest.mark.parametrize(("family", "config"), CASES)
@pytest.mark.parametrize("image_size", [28, 32, 56])
def test_every_family_runs_at_small_sizes(family, config, image_size):
    if family == "vit" and image_size % config.patch:
        pytest.skip("the patch does not divide the image")
    model = config.build(image_size, num_classes=7)
    images = torch.randn(2, 3, image_size, image_size)
    assert model(images).shape == (2, 7)
    features = model.forward_head(model.forward_features(images), pre_logits=True)
    assert features.ndim == 2
    columns = config.shape_columns(image_size)
    assert columns["width"] == config.width
    assert columns["pooling"]


@pytest.mark.parametrize(("family", "config"), CASES)
def test_cost_counts_body_and_classifier_apart(family, config):
    cost = count_cost(config, 56, 10)
    model = config.build(56, 10)
    assert cost.num_params + cost.head_params == sum(p.numel() for p in model.parameters())
    assert cost.head_params == model.get_classifier().weight.numel() + 10
    assert cost.head_flops_per_image == 2 * model.get_classifier().weight.numel()
    wider = count_cost(config, 56, 20)
    assert wider.num_params == cost.num_params
    assert wider.flops_per_image - cost.flops_per_image == cost.head_flops_per_image


@pytest.mark.parametrize(
    ("name", "width", "depth", "heads", "patch", "mlp", "gflops", "mparams"),
    [
        ("Ti/16", 192, 12, 3, 16, 768, 2.5, 5.5),
        ("S/32", 384, 12, 6, 32, 1536, 2.3, 22),
        ("S/16", 384, 12, 6, 16, 1536, 9.2, 22),
        ("B/32", 768, 12, 12, 32, 3072, 8.7, 87),
        ("B/16", 768, 12, 12, 16, 3072, 35.1, 86),
        ("L/16", 1024, 24, 16, 16, 4096, 122.9, 303),
    ],
)
def test_flops_and_parameters_of_zhai_table_2(name, width, depth, heads, patch, mlp, gflops, mparams):
    """Zhai et al. 2021, Table 2: multiply and add counted apart; parameters without the heads."""
    config = VitConfig(width=width, depth=depth, heads=heads, patch=patch, mlp_dim=mlp)
    cost = count_cost(config, 224, 1000)
    # Their numbers have a MAP head, ours here the mean of the tokens; and two or three printed digits.
    assert cost.flops_per_image / 1e9 == pytest.approx(gflops, rel=0.03)
    assert cost.num_params / 1e6 == pytest.approx(mparams, rel=0.025)


def test_a_resnet_block_by_hand():
    """A 3x3 convolution from 3 to 4 channels and four of 4, over 8x8 pixels, then a classifier of 4 x 10."""
    cost = count_cost(ResNetConfig(width=4, depth=(2,)), 8, 10)
    assert cost.flops_per_image == 2 * 64 * 9 * (3 * 4 + 4 * (4 * 4)) + 2 * 40


def test_counting_leaves_fused_attention_on():
    from timm.layers.config import use_fused_attn

    count_cost(SMALL["vit"][0], 8, 10)
    assert use_fused_attn()


@pytest.mark.parametrize(("width", "mlp_dim"), [(7, 61), (56, 488), (56, 920), (32, 128), (48, 49)])
def test_the_mlp_is_as_wide_as_the_config_says(width, mlp_dim):
    """timm takes a ratio and cuts its product with the width off."""
    model = VitConfig(width=width, depth=1, patch=4, heads=1, mlp_dim=mlp_dim).build(8, 10)
    assert model.blocks[0].mlp.fc1.out_features == mlp_dim
