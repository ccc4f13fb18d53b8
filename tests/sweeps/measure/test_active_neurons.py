"""Shares of active neurons that are set by hand."""

import pytest
import torch

from sweeps.measure.active_neurons import activations, measure

from ..models.test_layers import SHAPES, shape_of


def only_active(layer, share):
    """A layer that puts out 1 in the first channels, whatever goes in, and -1 in the others."""
    layer.weight.zero_()
    layer.bias.fill_(-1)
    layer.bias[: int(share * len(layer.bias))] = 1


def shares(subject):
    rows = list(measure(subject))
    assert all((row["name"], row["split"], row["num_examples"]) == ("active_share", "train", 20) for row in rows)
    assert not any(module._forward_hooks for module in subject.model.modules())
    return {(row["layer"], row.get("other")): row["value"] for row in rows}


def test_of_a_vit(subject_of):
    def change(model):
        only_active(model.blocks[0].mlp.fc1, 0.25)
        only_active(model.blocks[1].mlp.fc1, 0.75)

    subject = subject_of(change=change, model={"vit": [{"width": 16, "depth": 2, "patch": 4}]})
    assert shares(subject) == {("block_1", None): 0.25, ("block_2", None): 0.75}


def test_of_a_mixer_both_mlps(subject_of):
    def change(model):
        only_active(model.blocks[0].mlp_tokens.fc1, 0.5)
        only_active(model.blocks[0].mlp_channels.fc1, 0.25)

    model = {"mixer": [{"width": 16, "depth": 1, "patch": 4, "token_mlp_dim": 8, "channel_mlp_dim": 64}]}
    found = shares(subject_of(change=change, model=model))
    assert found["block_1", "mlp_tokens"] == 0.5
    assert found["block_1", "mlp_channels"] == 0.25
    numbers = (8 * 16, 64 * 4)  # 8 units a channel; 64 units a token, of which an image of 8 px has 4
    assert found["block_1", None] == pytest.approx((0.5 * numbers[0] + 0.25 * numbers[1]) / sum(numbers), rel=1e-12)


def test_of_a_resnet_whose_activations_write_in_place(subject_of):
    def change(model):
        only_active(model.layer1[0].bn1, 0.25)
        only_active(model.layer1[0].bn2, 0)
        model.layer1[0].bn2.bias.fill_(-1e6)  # below any shortcut

    subject = subject_of(change=change, model={"resnet": [{"width": 4, "depth": [1, 1]}]})
    assert all(part.inplace for part in activations(subject.model)["block_1"].values())
    found = shares(subject)
    wanted = {None: 0.125, "act1": 0.25, "act2": 0.0}
    assert {other: found["block_1", other] for other in wanted} == wanted
    assert found["block_2", None] == 0  # nothing comes in


@pytest.mark.parametrize("family", SHAPES)
def test_every_block_of_each_family_has_activations_that_are_positive_where_their_input_is(family):
    found = activations(shape_of(family).build(32, 10))
    assert list(found) == ["block_1", "block_2", "block_3"]
    x = torch.linspace(-3, 3, 101)
    for part in (part for parts in found.values() for part in parts.values()):
        assert torch.equal(part(x.clone()) > 0, x > 0)
