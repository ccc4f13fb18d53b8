"""Probes of a wide model are cheap beside its features; recorded figures are in results/, of `fewshot_speed`."""

import numpy as np
import pytest
import torch

from sweeps.evaluation.evaluate import evaluate_downstream
from sweeps.evaluation.fewshot import evaluate_fewshot
from sweeps.models.layers import layer_names

from .fewshot_speed import DEMO_MODELS, IMAGE_SIZE, config_of, table, time_tasks, timed

pytestmark = pytest.mark.usefixtures("one_thread")


def test_probes_of_a_layer_of_width_384():
    """Recorded .13 s, of which 6 tasks x 14 layers make 11; here 1 s, since a first call is slower and cores shared."""
    rng = np.random.default_rng(0)

    def draw(num_images):
        return torch.from_numpy(rng.standard_normal((num_images, 384), np.float32)), np.arange(num_images) % 10

    train, test = draw(300), draw(1000)
    asked = {"num_classes": 10, "shots": (1, 5, 10, 25), "num_draws": 3}
    results, seconds = timed(lambda: list(evaluate_fewshot(train, test, **asked)))
    assert len(results) == 24
    assert seconds < 1


def test_the_table_times_what_an_evaluation_does():
    shape = DEMO_MODELS[0]
    (row,) = rows = list(time_tasks(shape, tasks=["position"]))
    assert min(row.features, row.plain, row.whitened) > 0
    assert len(list(table(rows))) == 3
    config = config_of(layer_names(shape, IMAGE_SIZE), ["position"])  # pyright: ignore[reportArgumentType] frozen
    evals = list(evaluate_downstream(shape.build(IMAGE_SIZE, 10), config, IMAGE_SIZE))
    assert len(evals) == 4 * 4 * 3 * 2  # layers, shots, draws, probes
    assert {e["num_eval"] for e in evals} == {row.num_test}
    assert max(e["num_train"] for e in evals) == 25 * row.num_classes < row.num_train
