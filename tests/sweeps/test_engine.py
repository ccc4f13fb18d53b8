"""The local engine, with real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine


def local(*devices):
    return make_engine("local", EngineOptions(Path("unused"), devices=devices))


def add(a, b, devices, on_step):
    on_step(a)
    return f"{a + b} on {devices[0]}"


def die(how, devices, on_step):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        os._exit(3)
    return how


def name_process(index, devices, on_step):
    time.sleep(0.05)
    return os.getpid()


def test_every_job_is_done_once_and_progress_is_passed_on():
    events = list(local("cpu", "cpu").run(add, [(i, 10) for i in range(5)]))
    assert {e.job: e.value for e in events if e.kind == "done"} == {i: f"{i + 10} on cpu" for i in range(5)}
    assert {e.job: e.value for e in events if e.kind == "progress"} == {i: (i,) for i in range(5)}


def test_workers_are_kept_alive():
    events = local("cpu", "cpu").run(name_process, [(i,) for i in range(8)])
    assert len({event.value for event in events if event.kind == "done"}) == 2


def test_a_worker_that_dies_ends_its_job_only():
    jobs = [("fine",), ("kill",), ("exit",), ("well",)]
    events = {e.job: e for e in local("cpu").run(die, jobs)}
    assert [events[i].kind for i in range(4)] == ["done", "died", "died", "done"]
    assert "exit code -9" in events[1].value
    assert "exit code 3" in events[2].value


def test_leaving_early_stops_the_workers():
    run = local("cpu", "cpu").run(name_process, [(i,) for i in range(50)])
    pid = next(e.value for e in run if e.kind == "done")
    run.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def outlive_parent(folder, devices, on_step):
    for step in range(200):
        on_step(step)
        time.sleep(0.05)
    Path(folder, "written").touch()


def is_alive(pid):
    try:
        return "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")
def test_a_worker_whose_parent_is_killed_stops_and_writes_nothing(tmp_path):
    code = (
        "from tests.sweeps.test_engine import local, outlive_parent\n"
        f"for event in local('cpu').run(outlive_parent, [({str(tmp_path)!r},)]): print('on', flush=True)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    parent.stdout.readline()
    workers = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    assert any(is_alive(worker) for worker in workers)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "written").exists()


def test_too_few_devices_for_a_run():
    options = EngineOptions(Path("unused"), resources=Resources(devices=2), devices=["cuda:0"])
    with pytest.raises(ValueError, match=r"devices_per_run: a run takes 2 devices, got \['cuda:0'\]"):
        make_engine("local", options)


def test_an_unknown_engine():
    with pytest.raises(ValueError, match=r"engine: must be one of .*'local'.*, got 'lokal'"):
        make_engine("lokal", EngineOptions(Path("unused")))
