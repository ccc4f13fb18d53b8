import sys
from types import SimpleNamespace

import pytest
import torch

from sweeps.data.training import load_training_data
from sweeps.evaluation.evaluate import Evaluator
from sweeps.paths import TrunkPaths
from sweeps.training import energy, train
from sweeps.training.energy import EnergyMeter, gpu_counter

from ..conftest import plan_of

CPU = torch.device("cpu")


def state(joules=0.0):
    return SimpleNamespace(energy_joules=joules)


@pytest.fixture
def meter(monkeypatch):
    """A meter whose counter reads the given joules, one each time."""

    def make(*readings):
        monkeypatch.setattr(energy, "_counter", lambda device: iter(readings).__next__)
        return EnergyMeter(CPU)

    return make


def test_what_is_used_in_a_pause_is_not_counted(meter):
    trained, counted = state(5.0), meter(100.0, 110.0, 150.0, 151.5)
    with counted.paused(trained):
        assert trained.energy_joules == 15
    counted.add_to(trained)
    assert trained.energy_joules == 16.5


@pytest.mark.parametrize("readings", [(None, 2.0, 3.0), (1.0, None, 3.0), (1.0, 2.0, None)])
def test_what_could_not_be_told_once_stays_unknown(meter, readings):
    trained, counted = state(), meter(*readings)
    counted.add_to(trained)
    counted.add_to(trained)
    assert trained.energy_joules is None


@pytest.fixture
def steps_done(monkeypatch):
    """A device that uses 2 J a step and 50 J an evaluation; how often a step was done."""
    done, evaluate = [], Evaluator.evaluate

    def dear(self, state):
        evaluate(self, state)
        done.extend([None] * 25)

    monkeypatch.setattr(Evaluator, "evaluate", dear)
    monkeypatch.setattr(energy, "_counter", lambda device: lambda: 2.0 * len(done))
    return done


def finished_runs(configs, folder, steps_done, stop=None):
    def on_step(num_images):
        steps_done.append(None)
        if stop is not None and on_step.left == 0:
            raise KeyboardInterrupt
        on_step.left -= 1

    on_step.left = stop or 0
    data = load_training_data(configs[0], CPU)
    return {
        evaluation["columns"]["energy_joules"]: evaluation["step"]
        for run in train.train_trunk(configs, data, TrunkPaths(folder), CPU, on_step)
        for evaluation in run.evaluations
    }


def test_a_run_has_the_energy_of_its_own_steps(tmp_path, steps_done, monkeypatch):
    """Whatever was evaluated on the way, whichever runs share its trunk, and wherever it was killed."""
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    spec = {"train_examples": [200], "steps": [10, 20], "downstream": None, "evaluate__every": "5 steps"}
    configs = plan_of(**spec, schedule__warmup="2 steps").trunks[0].configs
    expected = {2.0 * step: step for step in range(5, 21, 5)}
    assert finished_runs(configs, tmp_path / "whole", steps_done) == expected
    with pytest.raises(KeyboardInterrupt):
        finished_runs(configs[1:], tmp_path / "cut", steps_done, stop=12)
    assert finished_runs(configs[1:], tmp_path / "cut", steps_done) == expected


def test_a_processor_tells_nothing_and_an_untrained_model_has_none():
    config = plan_of(steps=[20], downstream=None).configs[0]
    state, data = train.new_state(config, CPU), load_training_data(config, CPU)
    Evaluator(config, data.seen, data.val, data.test, CPU).evaluate(state)
    assert state.energy_joules == 0
    assert state.evaluations[0]["columns"]["energy_joules"] is None
    EnergyMeter(CPU).add_to(state)
    assert state.energy_joules is None


# GPUs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def nvml(monkeypatch):
    """NVML with one GPU, as `nvidia-ml-py` shows it."""

    class NVMLError(Exception):
        pass

    class Fake:
        millijoules, processes = 5_000_000, 1

        def __init__(self):
            self.NVMLError = NVMLError

        def nvmlInit(self):
            pass

        def nvmlDeviceGetHandleByUUID(self, uuid):
            if uuid != "GPU-1":
                raise NVMLError("not found")
            return uuid

        def nvmlDeviceGetTotalEnergyConsumption(self, gpu):
            if self.millijoules is None:
                raise NVMLError("not supported")
            return self.millijoules

        def nvmlDeviceGetComputeRunningProcesses(self, gpu):
            return list(range(self.processes))

    fake = Fake()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_a_gpu_is_read_in_joules(nvml):
    counter = gpu_counter("GPU-1")
    nvml.millijoules += 1500
    assert counter() == 5001.5


def test_a_gpu_with_two_processes_tells_nothing_of_one(nvml):
    counter = gpu_counter("GPU-1")
    nvml.processes = 2
    assert counter() is None


def test_a_gpu_that_is_not_there_or_does_not_count_has_no_counter(nvml, monkeypatch):
    assert gpu_counter("GPU-2") is None
    nvml.millijoules = None
    assert gpu_counter("GPU-1") is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_counter("GPU-1") is None


@pytest.mark.parametrize(
    "missing",
    ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetComputeRunningProcesses"],
)
def test_a_library_of_another_age_stops_no_run(nvml, monkeypatch, missing):
    monkeypatch.delattr(type(nvml), missing)
    assert gpu_counter("GPU-1") is None
