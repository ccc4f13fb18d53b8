"""What every engine of the table does, with real processes: Ray on a local cluster, Slurm's jobs without Slurm."""

import os
import shutil
import signal
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import sweeps
from sweeps.engines import ENGINES, EngineOptions, Resources, make_engine
from sweeps.stopping import Interrupted, interrupted_by_signals

from . import functions

# On this machine such a worker is gone, and its traceback is on the terminal.
FAR = [name for name in ENGINES if name != "local"]


@pytest.fixture(params=ENGINES)
def name(request):
    return request.param


def test_every_job_is_done_once_and_progress_is_passed_on(make, name):
    engine = make(name)
    assert engine.num_slots == 2
    events = list(engine.run(functions.add, [(i, 10) for i in range(5)]))
    done = [(e.job, e.value) for e in events if e.kind == "done"]
    assert sorted(done) == [(i, f"{i + 10} on cpu") for i in range(5)]
    assert sorted((e.job, e.value) for e in events if e.kind == "progress") == [(i, (i,)) for i in range(5)]
    assert {e.kind for e in events} == {"done", "progress"}
    for job in range(5):  # what a job reports comes before its end
        assert [e.kind for e in events if e.job == job] == ["progress", "done"]


def test_an_engine_runs_again_and_takes_no_jobs(make, name):
    engine = make(name)
    assert list(engine.run(functions.add, [])) == []
    for _ in range(2):
        assert [e.kind for e in engine.run(functions.add, [(1, 2)])] == ["progress", "done"]


def test_a_worker_that_dies_ends_its_job_only(make, name):
    jobs = [("fine",), ("kill",), ("well",), ("kill",), ("good",), ("better",)]
    events = list(make(name, slots=1).run(functions.die, jobs))
    assert sorted(e.job for e in events) == list(range(6))
    kinds = {e.job: e.kind for e in events}
    assert [kinds[i] for i in range(6)] == ["done", "died", "done", "died", "done", "done"]
    died = [e.value for e in events if e.kind == "died"]
    assert len(set(died)) == 1  # the same fault reads the same, so that a sweep can stop for it
    assert "\n" not in died[0]
    assert len(died[0]) < 320


@pytest.mark.parametrize("name", FAR)
def test_an_exception_ends_its_job_only(make, name):
    events = list(make(name, slots=1).run(functions.die, [("raise",), ("well",)]))
    assert [(e.kind, e.value) for e in sorted(events, key=lambda e: e.job)] == [
        ("died", "ValueError: steps: must be positive, got 0"), ("done", "well")]  # fmt: skip


def test_a_worker_has_its_threads_and_devices_and_the_frozen_code(make, name, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # folders in a spec are relative to it
    code = tmp_path / "co de"
    shutil.copytree(Path(sweeps.__file__).parent, code / "sweeps", ignore=shutil.ignore_patterns("__pycache__"))
    engine = make(name, slots=None if name == "ray" else 1, resources=Resources(threads=1, devices=2), code=code)
    assert engine.num_slots == 1
    (event,) = engine.run(functions.describe_worker, [()])
    assert event.kind == "done", event
    assert event.value["devices"] == ["cpu", "cpu"]
    assert name == "local" or event.value["threads"] == "1"  # which shares the runner's environment
    assert event.value["folder"] == str(tmp_path / "here")
    assert all(Path(file).is_relative_to(code) for file in event.value["files"]), event.value


def test_told_to_stop_while_it_waits_it_lets_jobs_save_their_state(make, name, tmp_path):
    events = make(name).run(functions.save_when_told, [(str(tmp_path), i) for i in range(5)])
    told = set()
    while len(told) < 2:
        told.add(next(events).job)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    began = time.monotonic()
    with interrupted_by_signals(), closing(events), pytest.raises(Interrupted, match="SIGTERM"):
        list(events)
    assert time.monotonic() - began < 25  # not the whole grace of 30 s
    assert {path.name for path in tmp_path.glob("begun-*")} == {f"begun-{job}" for job in told}
    assert {path.name for path in tmp_path.glob("saved-*")} == {f"saved-{job}" for job in told}
    assert len(told) == 2
    assert not list(tmp_path.rglob("*.pkl"))


@pytest.mark.parametrize(("name", "module"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_package_that_is_missing(monkeypatch, tmp_path, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"^engine: {module} is not installed: pip install '\.\[{name}\]' in the folder you cloned$"
    with pytest.raises(ValueError, match=message):
        make_engine(name, EngineOptions(tmp_path))
