import sys
from types import SimpleNamespace

import pytest
import torch

from sweeps import energy, train
from sweeps.data.training import load_training_data
from sweeps.energy import EnergyMeter, PackageCounter, gpu_counter
from sweeps.evaluate import Evaluator
from sweeps.paths import TrunkPaths

from .conftest import plan_of

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


def test_it_is_read_now_and_then(meter, monkeypatch):
    now = iter([0.0, 1.0, 61.0, 61.0, 62.0])
    monkeypatch.setattr(energy.time, "monotonic", now.__next__)
    trained, counted = state(), meter(1.0, 4.0)
    counted.tick(trained)
    assert trained.energy_joules == 0
    counted.tick(trained)
    assert trained.energy_joules == 3
    counted.tick(trained)  # the counter has no third reading to give


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
    monkeypatch.setattr(train, "_CHECKPOINT_EVERY_SECONDS", 0.0)
    spec = {"train_examples": [200], "steps": [20, 40], "downstream": None, "evaluate__every": "5 steps"}
    configs = plan_of(**spec).trunks[0].configs
    expected = {2.0 * step: step for step in range(5, 41, 5)}
    assert finished_runs(configs, tmp_path / "whole", steps_done) == expected
    with pytest.raises(KeyboardInterrupt):
        finished_runs(configs[1:], tmp_path / "cut", steps_done, stop=23)
    assert finished_runs(configs[1:], tmp_path / "cut", steps_done) == expected


def test_a_model_that_is_not_trained_has_none():
    state = train.new_state(config := plan_of(steps=[20]).configs[0], CPU)
    data = load_training_data(config, CPU)
    Evaluator(config, data.seen, data.val, data.test, CPU).evaluate(state)
    assert state.evaluations[0]["columns"]["energy_joules"] is None


# Processors ---------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path):
    """A folder as Linux has it, of two packages, one's cores and the whole platform."""
    for place, name in {
        "intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:0:0": "core", "intel-rapl:2": "psys",
    }.items():  # fmt: skip
        (tmp_path / place).mkdir()
        (tmp_path / place / "name").write_text(f"{name}\n")
        (tmp_path / place / "max_energy_range_uj").write_text("1000000000\n")
    return tmp_path


def set_energy(machine, *microjoules):
    for package, value in enumerate(microjoules):
        (machine / f"intel-rapl:{package}" / "energy_uj").write_text(f"{value}\n")


def files(machine):
    return [machine / f"intel-rapl:{package}" / "energy_uj" for package in (0, 1)]


def test_packages_add_up_and_a_counter_that_wraps_around_goes_on(machine):
    set_energy(machine, 999_000_000, 5)
    counter = PackageCounter(files(machine), lambda: 1.0, lambda: 1.0)
    set_energy(machine, 3_000_000, 1_000_005)  # 1 J to the end of the range, and 3; 1 J
    assert counter() == pytest.approx(5)
    set_energy(machine, 4_000_000, 1_000_005)
    assert counter() == pytest.approx(6)


def test_of_a_machine_the_packages_are_counted_alone(machine, monkeypatch):
    set_energy(machine, 10, 20)
    monkeypatch.setattr(energy, "_busy_seconds", lambda: 0.0)
    counter = PackageCounter.of_machine(machine)
    assert counter is not None
    set_energy(machine, 1_000_010, 2_000_020)
    assert counter() == pytest.approx(3)


def test_a_machine_that_others_use_tells_nothing_from_then_on(machine):
    set_energy(machine, 0, 0)
    times = iter([(0.0, 0.0), (10.0, 9.9), (20.0, 18.0), (30.0, 28.0)])  # busy and own: 9.9 of 10, then 8.1 of 10

    now = {}

    def busy():
        now["busy"], now["own"] = next(times)
        return now["busy"]

    counter = PackageCounter(files(machine), busy, lambda: now["own"])
    assert counter() == 0
    assert counter() is None
    assert counter() is None  # alone again, and what came before is unknown


def test_a_machine_without_counters_or_that_does_not_show_them_tells_nothing(machine, tmp_path):
    assert PackageCounter.of_machine(tmp_path / "nowhere") is None
    assert PackageCounter.of_machine(machine) is None  # no file to read
    set_energy(machine, 1, 2)
    counter = PackageCounter(files(machine), lambda: 0.0, lambda: 0.0)
    files(machine)[1].unlink()
    assert counter() is None


@pytest.mark.skipif(not energy._BUSY.exists(), reason="Linux")
def test_busy_time_rises_with_this_process():
    import time

    before, started = energy._busy_seconds(), time.process_time()
    while time.process_time() < started + 0.1:
        pass
    assert energy._busy_seconds() - before >= 0.1 - energy._CLOCK_SECONDS


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
