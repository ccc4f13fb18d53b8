import numpy as np
import pytest
import torch
from torchvision.transforms import v2

from sweeps.augment.mix import Mix, draw_mix, mix_batch


def images(num_images=4, height=4, width=6):
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.normal(size=(num_images, 3, height, width)).astype(np.float32))
    return values.contiguous(memory_format=torch.channels_last)


def test_mixup_by_hand():
    inputs = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(4, 1, 1, 1)
    mixed, targets = mix_batch(inputs.clone(), torch.tensor([0, 1, 2, 1]), Mix(0.75, None), 3)
    assert mixed.flatten().tolist() == [1.5, 2.5, 2.5, 3.5]
    assert targets.tolist() == [[0.75, 0, 0.25], [0, 1, 0], [0.25, 0, 0.75], [0, 1, 0]]


def test_cutmix_by_hand():
    inputs = torch.arange(1.0, 3).view(2, 1, 1, 1).expand(2, 1, 2, 4).clone()
    mixed, targets = mix_batch(inputs.clone(), torch.tensor([0, 1]), Mix(0.75, (0, 1, 2, 4)), 2)
    assert mixed[:, 0].tolist() == [[[1, 1, 2, 2], [1, 1, 1, 1]], [[2, 2, 1, 1], [2, 2, 2, 2]]]
    assert targets.tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mixup_is_torchvisions_with_the_same_share(share):
    """Of two images, since torchvision's partner is the next one and ours lies half a batch away."""
    inputs, labels = images(2), torch.tensor([2, 0])
    theirs = v2.MixUp(num_classes=3)
    mixed, targets = mix_batch(inputs.clone(), labels, Mix(share, None), 3)
    params = {"lam": share, "labels": labels, "batch_size": 2}
    # Products and sums of values up to about 3, rounded to float32.
    torch.testing.assert_close(mixed, theirs.transform(inputs, params), rtol=0, atol=1e-6)
    torch.testing.assert_close(targets, theirs.transform(labels, params), rtol=0, atol=1e-7)


def test_cutmix_is_torchvisions_with_the_same_box():
    inputs, labels = images(2), torch.tensor([2, 0])
    theirs = v2.CutMix(num_classes=3)
    mixed, targets = mix_batch(inputs.clone(), labels, Mix(1 - 6 / 24, (1, 3, 2, 5)), 3)
    params = {"box": (2, 1, 5, 3), "lam_adjusted": 0.75, "labels": labels, "batch_size": 2}
    assert torch.equal(mixed, theirs.transform(inputs, params))
    assert torch.equal(targets, theirs.transform(labels, params))


def test_the_area_of_a_box_is_the_partners_share_exactly():
    inputs = torch.cat([torch.zeros(1, 1, 9, 11), torch.ones(1, 1, 9, 11)])
    seen = set()
    for step in range(200):
        mix = draw_mix(0.0, 1.0, 9, 11, seed=0, step=step)
        mixed, targets = mix_batch(inputs.clone(), torch.tensor([0, 1]), mix, 2)
        partner = int(mixed[0].sum())
        assert targets[0].tolist() == [np.float32(1 - partner / 99), np.float32(1 - np.float64(1 - partner / 99))]
        seen.add(partner)
    assert min(seen) == 0
    assert max(seen) > 60
    assert len(seen) > 30


def test_a_repeated_image_is_not_mixed_with_itself():
    labels = torch.arange(4).repeat_interleave(3)
    _, targets = mix_batch(images(12), labels, Mix(0.5, None), 4)
    assert (targets.max(1).values == 0.5).all()


def draws(mixup, cutmix, num_steps=2000):
    return [draw_mix(mixup, cutmix, 64, 64, seed=1, step=step) for step in range(num_steps)]


def test_shares_have_the_moments_of_the_beta_distribution():
    shares = np.array([mix.share for mix in draws(0.2, 0.0)])
    # Beta(a, a): mean 1/2, variance 1 / (4 (2a + 1)); 4 standard errors of the 2,000 draws.
    assert shares.mean() == pytest.approx(0.5, abs=4 * 0.42 / np.sqrt(2000))
    assert shares.var() == pytest.approx(1 / (4 * 1.4), rel=0.05)


def test_both_on_is_each_half_the_time():
    cut = sum(mix.box is not None for mix in draws(0.8, 1.0))
    assert cut == pytest.approx(1000, abs=4 * np.sqrt(500))  # 4 standard deviations of 2,000 coins


def test_one_on_is_always_that_one():
    assert all(mix.box is None for mix in draws(0.8, 0.0, 50))
    assert all(mix.box is not None for mix in draws(0.0, 0.8, 50))
