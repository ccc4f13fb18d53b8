"""The local engine, with real processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine
from sweeps.engines import local as local_engine
from sweeps.stopping import Interrupted, check_stop

from .engines.functions import add, die


def local(*devices):
    return make_engine("local", EngineOptions(Path("unused"), devices=devices))


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
    assert events[1].value.startswith("the worker process died with signal 9 (SIGKILL): killed from outside, or by")
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


def test_a_device_that_is_not_there_and_slots_of_the_cpu():
    with pytest.raises(ValueError, match=r"devices: must be of \['cpu'.*\], got 'cuda:99'"):
        local("cuda:99")
    options = EngineOptions(Path("unused"), resources=Resources(devices=2), devices=["cpu"], slots=3)
    assert make_engine("local", options).num_slots == 3


# Being told to stop -------------------------------------------------------------------------------------------


def work_until_told(folder, devices, on_step):
    """Says more than a pipe holds, and saves its state when it is told to stop."""
    try:
        while True:
            on_step("x" * 1000)
            check_stop()
    except Interrupted:
        for _ in range(200):
            on_step("x" * 1000)
        Path(folder, "saved").touch()
        raise


def heed_nothing(folder, devices, on_step):
    on_step(os.getpid())
    time.sleep(60)


def test_leaving_lets_a_busy_worker_save_its_state(tmp_path):
    run = local("cpu").run(work_until_told, [(str(tmp_path),)])
    next(run)
    run.close()
    assert (tmp_path / "saved").exists()


def test_a_worker_that_does_not_leave_in_time_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(local_engine, "_GRACE_SECONDS", 0.2)
    run = local("cpu").run(heed_nothing, [(str(tmp_path),)])
    (pid,) = next(run).value
    run.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_second_signal_kills_at_once(tmp_path, monkeypatch):
    """The grace would be 30 s; the second signal comes while it is waited for."""

    def told(*_):
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(local_engine, "_drain", told)
    run = local("cpu").run(heed_nothing, [(str(tmp_path),)])
    (pid,) = next(run).value
    with pytest.raises(Interrupted):
        run.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def wait_in_job_1(index, devices, on_step):
    if index:
        time.sleep(1)
    return os.getpid()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="sees in /proc that a worker has ended")
@pytest.mark.parametrize("blow", [signal.SIGTERM, signal.SIGHUP])
def test_an_idle_worker_leaves_when_told(blow):
    if signal.getsignal(blow) == signal.SIG_IGN:
        pytest.skip("it stays ignored, as under nohup")
    run = local("cpu", "cpu").run(wait_in_job_1, [(0,), (1,)])
    pid = next(run).value
    os.kill(pid, blow)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [event.kind for event in run] == ["done"]


def test_workers_import_from_the_folder_they_are_given(tmp_path, monkeypatch):
    """Also what they import in a job, after the other copy was changed."""
    for name in ("live", "frozen"):
        package = tmp_path / name / "package_of_two"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "late.py").write_text(f"PLACE = {name!r}")
        (package / "job.py").write_text("def where(devices, on_step):\n    from .late import PLACE\n    return PLACE")
    monkeypatch.syspath_prepend(tmp_path / "live")
    where = import_module("package_of_two.job").where
    (tmp_path / "live" / "package_of_two" / "late.py").write_text("PLACE = 'edited'")
    assert where((), None) == "edited"
    engine = make_engine("local", EngineOptions(Path("unused"), code=tmp_path / "frozen", devices=["cpu"]))
    before = list(sys.path)
    assert [event.value for event in engine.run(where, [(), ()])] == ["frozen", "frozen"]
    assert sys.path == before


def test_an_unknown_engine():
    with pytest.raises(ValueError, match=r"engine: must be one of .*'local'.*, got 'lokal'"):
        make_engine("lokal", EngineOptions(Path("unused")))


@pytest.mark.parametrize(("options", "fault"), [
    ({"address": "here:1"}, "address: is that of a Ray cluster, and the engine is 'local', got 'here:1'"),
    ({"job_options": {"partition": "gpu"}}, "job_options: are of Slurm's jobs, and the engine is 'local', got"),
])  # fmt: skip
def test_options_of_another_engine(options, fault):
    with pytest.raises(ValueError, match=fault):
        make_engine("local", EngineOptions(Path("unused"), **options))


def die_while_it_speaks(devices, on_step):
    """The pipe holds less than this, so that the message is cut."""
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
    on_step("x" * 50_000_000)


def test_a_worker_that_is_killed_in_the_middle_of_a_message(monkeypatch):
    monkeypatch.setattr(local_engine, "wait", lambda connections: time.sleep(2) or wait(connections))
    (event,) = local("cpu").run(die_while_it_speaks, [()])
    assert (event.kind, "signal 9" in event.value) == ("died", True)
