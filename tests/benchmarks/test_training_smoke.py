"""The smoke of families and recipes is run by hand where a GPU is; that it runs is tested on the CPU."""

import pytest
import torch

from .training_smoke import SIZES, smoke, speed

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")


def test_a_line_of_the_smoke_and_of_the_speed():
    assert " ok " in smoke(CPU, "mixer", "sam")
    assert "images/s" in speed(CPU, SIZES["cpu"][0], 8, 32, num_steps=1)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", [False, True])
def test_the_speed_of_a_small_model_on_a_gpu(graph):
    line = speed(torch.device("cuda"), SIZES["cpu"][0], 32, 32, num_steps=3, cuda_graph=graph)
    assert "launch floor" in line
