"""A trained model taken over for other images and classes: what stays, what is interpolated, what cannot be."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from timm.models.vision_transformer import VisionTransformer

from sweeps.models import HybridConfig, MixerConfig, VitConfig
from sweeps.models.resize import check_resizable, resize_positions, transfer_model

from .test_contract import CASES, SMALL, TRAINABLE, built, fits, images, largest_size, with_weights

LEARNED = [config for config in SMALL["vit"] if config.positions == "learned"] + SMALL["hybrid"]
NAMES = [f"{config.family}-{config.pooling}-{getattr(config, 'distilled', '')}" for config in LEARNED]


def head_names(model):
    head = {id(p) for p in model.get_classifier().parameters()}
    return {name for name, p in model.named_parameters() if id(p) in head}


def features(model, inputs):
    with torch.no_grad():
        return model.eval().forward_features(inputs)


@pytest.fixture
def config(request, tiny_checkpoints):
    family, index = request.param
    return with_weights(SMALL[family][index], tiny_checkpoints)


@pytest.mark.parametrize("config", CASES, indirect=True)
def test_at_equal_size_the_body_is_the_same_to_the_last_bit_and_the_classifier_is_new(config):
    size = largest_size(config)
    trained = built(config, size)
    before = copy.deepcopy(trained.state_dict())
    model = transfer_model(config.fitted(size), trained, size, num_classes=5, head_bias=-2.0)
    own, head = model.state_dict(), head_names(model)
    assert head
    assert all(torch.equal(value, own[name]) for name, value in before.items() if name not in head)
    assert torch.equal(features(model, images(size)), features(trained, images(size)))
    logits = model.eval()(images(size))
    assert torch.equal(logits, torch.full((2, 5), -2.0))
    assert all(torch.equal(value, before[name]) for name, value in trained.state_dict().items())
    in_training = model.train()(images(size))
    assert isinstance(in_training, torch.Tensor)  # of a distilled model too


@pytest.mark.parametrize("config", TRAINABLE, indirect=True)
def test_a_model_for_larger_images_keeps_all_but_its_positions(config):
    size = 28 if fits(config, 28) else 32
    if not fits(config, 2 * size) or config.family == "mixer":
        pytest.skip("tied to one size, or of an odd number of stages")
    config = config.fitted(size)
    check_resizable(config, size, 2 * size, "image_size")
    trained = built(config, size)
    model = transfer_model(config, trained, 2 * size, num_classes=5)
    assert model.eval()(images(2 * size)).shape == (2, 5)
    own, head = model.state_dict(), head_names(model)
    for name, value in trained.state_dict().items():
        if name not in head | {"pos_embed"}:
            assert torch.equal(value, own[name]), name
    if config.family not in ("vit", "hybrid"):
        assert torch.equal(features(model, images(2 * size)), features(trained, images(2 * size)))


@pytest.mark.parametrize("new", [16, 40, 64])
@pytest.mark.parametrize("config", LEARNED, ids=NAMES)
def test_positions_are_those_of_torchs_bicubic_interpolation_with_the_extra_tokens_kept_apart(config, new):
    if not (fits(config, 32) and fits(config, new)):
        pytest.skip("the shape does not fit both sizes")
    trained = built(config, 32)
    with torch.no_grad():
        trained.pos_embed.normal_(generator=torch.Generator().manual_seed(2))
    found = transfer_model(config.fitted(32), trained, new, 5).pos_embed
    extra = trained.num_prefix_tokens
    grid = trained.pos_embed[:, extra:].reshape(1, *trained.patch_embed.grid_size, -1).permute(0, 3, 1, 2)
    side = trained.patch_embed.grid_size[0] * new // 32
    wanted = F.interpolate(grid, size=(side, side), mode="bicubic", align_corners=False, antialias=True)
    assert torch.equal(found[:, :extra], trained.pos_embed[:, :extra])
    assert torch.equal(found[:, extra:], wanted.permute(0, 2, 3, 1).reshape(1, side * side, -1))


def test_it_is_what_timms_own_models_do_when_they_are_resized():
    trained = built(VitConfig(width=16, depth=1, patch=4, pooling="token"), 32)
    resized = copy.deepcopy(trained)
    assert isinstance(resized, VisionTransformer)
    resized.set_input_size(img_size=48)
    model = transfer_model(VitConfig(width=16, depth=1, patch=4, pooling="token"), trained, 48, 7)
    assert torch.equal(features(model, images(48)), features(resized, images(48)))


@pytest.mark.parametrize("side", [2, 5, 8, 24])
def test_interpolation_keeps_what_is_the_same_everywhere_and_a_plane_away_from_the_border(side):
    flat = torch.full((1, 65, 3), 0.25)
    resized = resize_positions(flat, (side, side), 1)
    torch.testing.assert_close(resized, torch.full((1, side**2 + 1, 3), 0.25), rtol=1e-6, atol=0)  # float32 weights
    rows = torch.arange(8.0)[:, None].expand(8, 8).reshape(1, 64, 1)
    found = resize_positions(rows, (side, side), 0).reshape(side, side)
    centres = (torch.arange(side) + 0.5) * 8 / side - 0.5
    inner = (centres >= max(2, 16 / side)) & (centres <= 7 - max(2, 16 / side))  # the cubic reaches two patches
    assert side < 8 or inner.any()
    torch.testing.assert_close(found[inner, 0], centres[inner], rtol=1e-5, atol=0)  # float32


def test_at_the_same_grid_positions_are_the_same_tensor():
    positions = torch.randn(1, 17, 8)
    assert resize_positions(positions, (4, 4), 1) is positions


def test_sincos_positions_are_those_of_the_larger_grid():
    config = VitConfig(width=16, depth=1, patch=4, positions="sincos2d", pooling="token")
    model = transfer_model(config, built(config, 32), 48, 5)
    assert torch.equal(model.pos_embed, built(config, 48).pos_embed)
    assert not isinstance(model.pos_embed, torch.nn.Parameter)


@pytest.mark.parametrize(
    ("config", "new", "message"),
    [
        (MixerConfig(width=16, depth=1, patch=4), 64,
         r"field: mixer w16d1/4 is tied to images of 32 px by its blocks.0.mlp_tokens.fc1.weight, whose .*got 64"),
        (VitConfig(width=16, depth=1, patch=8), 36, r"field: vit w16d1/8 cannot take images of 36 px: model.vit.patch"),
        (HybridConfig(stem_width=8, stem_depth=(1, 1), width=16, depth=1), 33, r"field: hybrid .* of 33 px: model.hyb"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_without_building_it(config, new, message):
    with pytest.raises(ValueError, match=message):
        check_resizable(config, 32, new, "field")


def test_torchs_generator_is_left_as_it_was():
    config = VitConfig(width=16, depth=1, patch=4)
    trained = built(config, 32)
    before = torch.get_rng_state()
    transfer_model(config, trained, 48, 5, head_bias=math.log(0.25))
    assert torch.equal(torch.get_rng_state(), before)
