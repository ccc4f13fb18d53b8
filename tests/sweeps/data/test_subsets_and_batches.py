import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sweeps.augment import augment_batch
from sweeps.augment.crops import shift_and_mirror
from sweeps.data.batches import ResidentSource, batch_indices
from sweeps.data.images import Images, normalise
from sweeps.data.subsets import class_balanced_order, split_train_val
from sweeps.specs.config import RecipeConfig

LABELS = np.random.default_rng(0).integers(0, 7, 1000)


@given(seed=st.integers(0, 50), n=st.integers(1, 600))
def test_every_prefix_is_balanced(seed, n):
    counts = np.bincount(LABELS[class_balanced_order(LABELS, seed)[:n]], minlength=7)
    assert np.ptp(counts) <= 1


def test_order_is_a_permutation_that_the_seed_decides():
    orders = [class_balanced_order(LABELS, seed).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(1000))


def test_a_class_that_runs_out_leaves_the_others_balanced():
    labels = np.array([0] * 50 + [1] * 3 + [2] * 50)
    assert np.bincount(labels[class_balanced_order(labels, 0)[:23]]).tolist() == [10, 3, 10]


@pytest.mark.parametrize("seed", [0, 1])
def test_subsets_are_nested_and_never_hold_the_held_out_images(seed):
    small, val = split_train_val(LABELS, num_val=100, num_train=70, seed=seed)
    large, same_val = split_train_val(LABELS, num_val=100, num_train=500, seed=seed)
    assert set(small) <= set(large)
    assert val.tolist() == same_val.tolist() == split_train_val(LABELS, 100, 70, seed=9)[1].tolist()
    assert not set(large) & set(val)
    assert (len(small), len(large), len(val)) == (70, 500, 100)
    everything, _ = split_train_val(LABELS, num_val=100, num_train=900, seed=seed)
    assert set(everything) | set(val) == set(range(1000))


def test_the_only_image_of_a_class_is_held_out_last():
    labels = np.array([0] * 20 + [1, 2] + [3] * 20)
    train, val = split_train_val(labels, num_val=8, num_train=34, seed=0)
    assert np.bincount(labels[val], minlength=4).tolist() == [4, 0, 0, 4]
    assert sorted([*train, *val]) == list(range(42))
    train, val = split_train_val(labels, num_val=41, num_train=1, seed=0)
    assert sorted([*train, *val]) == list(range(42))


def test_the_order_of_many_classes_is_that_of_few():
    """More than 16 bits tell apart are sorted otherwise."""
    labels = np.random.default_rng(0).integers(0, 50, 3000)
    assert class_balanced_order(labels, 3).tolist() == class_balanced_order(labels * 2000, 3).tolist()


# Batches ------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 5), batch_size=st.integers(1, 40), n=st.integers(1, 100))
def test_every_epoch_sees_every_image_once(seed, batch_size, n):
    num_epochs = 3
    steps = -(-num_epochs * n // batch_size)
    seen = np.concatenate([batch_indices(seed, step, batch_size, n) for step in range(steps)])
    epochs = seen[: num_epochs * n].reshape(num_epochs, n)
    assert np.all(np.sort(epochs, axis=1) == np.arange(n))


def test_epochs_have_orders_of_their_own_and_steps_are_pure():
    first, second = (np.concatenate([batch_indices(3, s, 10, 50) for s in range(e, e + 5)]) for e in (0, 5))
    assert first.tolist() != second.tolist()
    assert batch_indices(3, 7, 10, 50).tolist() == batch_indices(3, 7, 10, 50).tolist()
    assert batch_indices(3, 7, 10, 50).tolist() != batch_indices(4, 7, 10, 50).tolist()


def naive_crop_flip(image, down, right, flip):
    padded = np.pad(image, ((4, 4), (4, 4), (0, 0)), mode="reflect")
    moved = padded[4 - down : 4 - down + image.shape[0], 4 - right : 4 - right + image.shape[1]]
    return moved[:, ::-1] if flip else moved


def test_crop_and_flip_are_those_of_numpy_one_by_one():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (30, 12, 10, 3), dtype=np.uint8)
    shift, flip = rng.integers(-4, 5, (2, 30, 1)), rng.random((30, 1)) < 0.5
    ours = shift_and_mirror(torch.from_numpy(pixels), shift, flip).numpy()
    for i in range(30):
        expected = naive_crop_flip(pixels[i], shift[0, i, 0], shift[1, i, 0], flip[i, 0])
        assert np.array_equal(ours[i], expected)


def test_a_training_batch_is_a_pure_function_of_seed_and_step():
    images = Images(torch.randint(0, 256, (50, 8, 8, 3), dtype=torch.uint8), torch.arange(50))

    def batch(seed, step, augment):
        recipe = RecipeConfig.model_validate({"batch_size": 16, "augment": augment})
        source = ResidentSource(images, seed=seed, batch_size=16)
        return augment_batch(*source.batch(step), recipe, seed=seed, step=step, num_classes=50)

    batches = [batch(seed, step, "crop_flip") for seed, step in ((0, 3), (0, 3), (0, 4), (1, 3))]
    assert torch.equal(batches[0][0], batches[1][0])
    assert not torch.equal(batches[0][0], batches[2][0])
    assert not torch.equal(batches[0][0], batches[3][0])
    plain, labels = batch(0, 3, "none")
    assert torch.equal(plain, normalise(images.pixels[labels]))
    assert plain.shape == (16, 3, 8, 8)
    assert plain.min() >= -1
    assert plain.max() <= 1


def test_repeated_images_stand_in_a_row_and_go_on_in_the_next_batch():
    order = np.concatenate([batch_indices(0, step, 8, 12, repeats=3) for step in range(9)])
    assert (order.reshape(-1, 3) == order[::3, None]).all()  # 72 places: 24 images three times
    assert sorted(order[:36:3]) == list(range(12))
    assert (order[::3] == np.concatenate([batch_indices(0, step, 8, 12) for step in range(3)])).all()
