import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.measure import attention_distance
from sweeps.measure.attention_distance import mean_distances, patch_distances

from ..conftest import plan_of

HYBRID = {"stem_width": 8, "stem_depth": [1, 1], "width": 16, "depth": 1}


def by_hand(side, patch):
    """Mean distance of all pairs of cells of a square grid, each with itself among them."""
    cells = [(i, j) for i in range(side) for j in range(side)]
    return sum(math.dist(a, b) for a in cells for b in cells) / len(cells) ** 2 * patch


@pytest.mark.parametrize(("side", "patch"), [(2, 4), (3, 1), (4, 16)])
def test_attention_to_all_alike_is_the_mean_distance_of_the_grid(side, patch):
    tokens = side**2
    weights = torch.full((3, tokens, tokens), 1 / tokens)
    found = mean_distances(weights, patch_distances(side, side, patch))
    assert found.tolist() == pytest.approx([by_hand(side, patch)] * 3, rel=1e-6)  # float32 weights
    if side == 2:  # of four cells two are a patch away and one the diagonal
        assert found[0].item() == pytest.approx(patch * (2 + math.sqrt(2)) / 4, rel=1e-6)


def test_attention_to_itself_is_0_and_to_the_right_neighbour_the_patch():
    side, distances = 3, patch_distances(3, 3, patch=8)
    itself = torch.eye(side**2)[None]
    assert mean_distances(itself, distances).item() == 0
    right = torch.zeros(1, side**2, side**2)
    for row in range(side):
        for column in range(side):
            right[0, row * side + column, row * side + min(column + 1, side - 1)] = 1
    assert mean_distances(right, distances).item() == pytest.approx(8 * 2 / 3)  # the last column looks at itself


def test_what_goes_to_the_class_token_counts_as_0_and_its_own_attention_not_at_all():
    weights = torch.zeros(1, 5, 5)
    weights[0, 0, 4] = 1  # of the class token to the farthest patch
    weights[0, 1:, 0] = 0.75
    weights[0, 1:, 1:] = 0.25 * torch.eye(4).flip(1)  # to the opposite corner
    assert mean_distances(weights, patch_distances(2, 2, 4)).item() == pytest.approx(0.25 * 4 * math.sqrt(2))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.floats(0.5, 32))
def test_distances_are_those_between_the_places(height, width, patch):
    found = patch_distances(height, width, patch)
    cells = [(i * patch, j * patch) for i in range(height) for j in range(width)]
    expected = [[math.dist(a, b) for b in cells] for a in cells]
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # float64 both


def attend_to_all(model):
    """Queries and keys of 0: every weight is the same."""
    for block in model.blocks:
        block.attn.qkv.weight.zero_()
        block.attn.qkv.bias.zero_()


@pytest.mark.parametrize(
    ("model", "patch"),
    [
        ({"vit": [{"width": 16, "depth": 2, "patch": 4, "heads": 2}]}, 4),
        ({"vit": [{"width": 16, "depth": 2, "patch": 2, "pooling": "map"}]}, 2),
        ({"hybrid": [HYBRID]}, 2),
    ],
    ids=["vit", "map", "hybrid"],
)
def test_a_model_without_queries_and_keys_attends_to_all_alike(subject_of, model, patch):
    subject = subject_of(model=model, change=attend_to_all)
    rows = list(attention_distance.measure(subject))
    shape = subject.config.model
    assert [(row["layer"], row["head"]) for row in rows] == [
        (f"block_{block}", str(head)) for block in range(1, shape.depth + 1) for head in range(1, shape.heads + 1)
    ]
    expected = by_hand(8 // patch, patch)
    assert [row["value"] for row in rows] == pytest.approx([expected] * len(rows), rel=1e-5)  # float32
    assert {row["num_examples"] for row in rows} == {20}


def test_of_a_class_token_model_the_share_of_the_class_token_is_missing(subject_of):
    model = {"vit": [{"width": 16, "depth": 1, "patch": 4, "pooling": "token"}]}
    (row,) = attention_distance.measure(subject_of(model=model, change=attend_to_all))
    assert row["value"] == pytest.approx(by_hand(2, 4) * 4 / 5, rel=1e-5)  # a fifth of the weight


def test_it_is_the_mean_over_images_of_what_the_softmax_gives(subject_of):
    model = {"vit": [{"width": 16, "depth": 1, "patch": 4, "heads": 2}]}
    subject = subject_of(model=model, num_images=40, measure={"names": "all", "max_examples": 80})
    rows = list(attention_distance.measure(subject))
    ((images, _),) = subject.batches(subject.test)
    with torch.no_grad():
        tokens = subject.model.patch_embed(images) + subject.model.pos_embed
        attn = subject.model.blocks[0].attn
        q, k, _ = attn.qkv(subject.model.blocks[0].norm1(tokens)).reshape(40, 4, 3, 2, 8).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(2, 3) / math.sqrt(8)).softmax(-1).double()
    expected = (weights * patch_distances(2, 2, 4)).sum(-1).mean((0, 2))
    assert [row["value"] for row in rows] == pytest.approx(expected.tolist(), rel=1e-5)  # float32


@pytest.mark.parametrize(
    "model",
    [
        {"resnet": [{"width": 4, "depth": [1, 1]}]},
        {"bit": [{"width": 8, "depth": [1, 1]}]},
        {"mixer": [{"width": 16, "depth": 1, "patch": 4}]},
        {"convnext": [{"width": 8, "depth": [1, 1], "patch": 2}]},
    ],
    ids=lambda model: next(iter(model)),
)
def test_a_model_without_attention_is_told_before_training(model):
    with pytest.raises(ValueError, match=r"measure\.names: .* has no attention_distance: none of its blocks attends"):
        plan_of(model=model, measure={"names": ["attention_distance"]})
    assert "attention_distance" not in plan_of(model=model, measure={"names": "all"}).configs[0].measure.names


@pytest.mark.parametrize(
    ("name", "has_it"),
    [("deit_tiny_patch16_224", True), ("swin_tiny_patch4_window7_224", False), ("resnet18", False)],
)
def test_of_timms_models_those_that_attend_to_all_patches(name, has_it):
    """Swin attends within windows."""
    from sweeps.models import TimmConfig

    config = plan_of().configs[0]
    upstream = config.upstream.model_copy(update={"image_size": 224})
    config = config.model_copy(update={"model": TimmConfig(name=name), "upstream": upstream})
    assert (attention_distance.why_not(config) is None) == has_it
