"""The Slurm engine: its jobs without Slurm, and what it would ask of Slurm."""

import sys

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine
from sweeps.engines.event_files import EventReader, EventWriter, has_ended
from sweeps.engines.slurm import _POLL_SECONDS

from . import functions

pytest.importorskip("submitit")


def test_jobs_after_one_that_kills_its_task_are_not_lost_with_it(make, tmp_path):
    """One task has them all; the runner gives the first once more, and the others have been done by then."""
    events = list(make("slurm", slots=1).run(functions.die_once, [(str(tmp_path), i) for i in range(4)]))
    assert [(e.kind, e.job) for e in events] == [("died", 0), ("done", 1), ("done", 2), ("done", 3)]
    assert "see its log in slurm/" in events[0].value


def test_a_task_that_is_preempted_saves_its_state_and_goes_on(make, tmp_path):
    engine = make("slurm", slots=1)
    events = engine.run(functions.preempted, [(str(tmp_path), i) for i in range(3)])
    assert [(e.kind, e.job, e.value) for e in events] == [("done", 0, 1), ("done", 1, 2), ("done", 2, 1)]
    assert (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitoin": "gpu"}, r"^job_options: Slurm's jobs take account, .*, wckey; got partitoin$"),
        ({"cpus_per_task": "3"}, r"got cpus_per_task$"),
        ({"cluster": "local", "gpus_per_node": "two"}, r"job_options: gpus_per_node must be a whole number, got 'two'"),
        ({"cluster": "pbs"}, r"job_options: cluster must be one of \['slurm', 'local'\], got 'pbs'"),
        ({"cluster": "slurm"}, r"job_options: time must be given, a whole number of minutes, got None"),
        ({"time": "2:00:00"}, r"job_options: time must be given, a whole number of minutes, got '2:00:00'"),
    ],
)
def test_wrong_options(make, options, message):
    with pytest.raises(ValueError, match=message):
        make("slurm", job_options=options)


def test_without_slurm(make, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ValueError, match="engine: no srun on this machine"):
        make("slurm", job_options={"time": "60"})


# Slurm's commands, as far as submitit uses them, for a machine without Slurm: an array's tasks are groups of processes.
COMMANDS = {
    "sbatch": """
import os, re, subprocess, sys
text = open(sys.argv[-1]).read()
array = re.search(r"--array=0-(\\d+)", text)
job = str(len(os.listdir(HERE)) + 100)
for task in range(int(array[1]) + 1) if array else [None]:
    name = job if task is None else f"{job}_{task}"
    env = os.environ | {"SLURM_JOB_ID": job, "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
                        "SLURM_NODEID": "0", "SLURM_JOB_NODELIST": "localhost", "SLURM_JOB_NUM_NODES": "1"}
    if task is not None:
        env |= {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": str(task)}
    started = subprocess.Popen(["bash", sys.argv[-1]], env=env, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    open(os.path.join(HERE, name), "w").write(str(started.pid))
print("Submitted batch job", job)
""",
    "srun": """
import os, sys
command = sys.argv[sys.argv.index("env"):]
os.execvp(command[0], command)
""",
    "sacct": """
import os
def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
print("JobID|State|NodeList")
for name in os.listdir(HERE):
    print(name, "RUNNING" if alive(int(open(os.path.join(HERE, name)).read())) else "FAILED", "localhost", sep="|")
""",
    "scancel": """
import os, signal, sys
try:
    os.killpg(int(open(os.path.join(HERE, sys.argv[1])).read()), signal.SIGTERM)
except ProcessLookupError:
    pass
""",
}


@pytest.fixture
def commands(tmp_path, monkeypatch):
    folder, jobs = tmp_path / "bin", tmp_path / "jobs"
    folder.mkdir()
    jobs.mkdir()
    for name, text in COMMANDS.items():
        (folder / name).write_text(f"#!{sys.executable} -S\nHERE = {str(jobs)!r}\n{text.lstrip()}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setitem(_POLL_SECONDS, "slurm", 0.5)


def test_an_array_of_slurm(commands, make, tmp_path):
    engine = make("slurm", job_options={"time": "60"})
    events = list(engine.run(functions.die, [("well",), ("kill",), ("good",)]))
    assert sorted((e.kind, e.job) for e in events) == [("died", 1), ("done", 0), ("done", 2)]
    assert "its Slurm job ended as FAILED" in next(e.value for e in events if e.kind == "died")


def test_leaving_cancels_the_jobs_of_slurm(commands, make, tmp_path):
    events = make("slurm", job_options={"time": "60"}).run(
        functions.save_when_told, [(str(tmp_path), i) for i in (0, 1)]
    )
    while len(list(tmp_path.glob("begun-*"))) < 2:
        next(events)
    events.close()
    assert len(list(tmp_path.glob("saved-*"))) == 2


def test_what_is_asked_of_slurm(commands, tmp_path):
    given = {"time": "90", "partition": "gpu", "gpus_per_node": "2", "additional_parameters": '{"nice": 100}'}
    options = EngineOptions(tmp_path / "my sweep", tmp_path / "code", Resources(3, 2), slots=7, job_options=given)
    engine = make_engine("slurm", options)
    assert engine.num_slots == 7
    executor = engine._executor(tmp_path)._executor
    text = executor._make_submission_file_text("true", "uid")
    asked = ("partition=gpu", "time=90", "cpus-per-task=6", "gpus-per-node=2", "nice=100", "signal=USR2@90", "nodes=1")
    for line in asked:
        assert f"#SBATCH --{line}\n" in text, text
    assert executor.parameters["array_parallelism"] == 7
    assert f"PYTHONPATH={tmp_path / 'code'}" in executor.python
    assert executor.max_num_timeout > 100


def test_event_files(tmp_path):
    writer, reader = EventWriter(tmp_path, 3, every_seconds=100), EventReader(tmp_path)
    writer.report(1, 2)
    assert list(reader.new()) == []
    assert not has_ended(tmp_path, 3)
    writer._write()
    assert [(e.kind, e.job, e.value) for e in reader.new()] == [("progress", 3, (1, 2))]
    assert not has_ended(tmp_path, 3)
    with open(tmp_path / "3.jsonl", "a") as file:
        file.write('["progress", [1')  # a full disk
    assert list(reader.new()) == []
    with open(tmp_path / "3.jsonl", "a") as file:
        file.write("\n")
    writer.end("done", {"ok": 1})
    assert [(e.kind, e.value) for e in reader.new()] == [("done", {"ok": 1})]
    assert list(reader.new()) == []
    assert has_ended(tmp_path, 3)


def test_a_full_disk_ends_no_job(tmp_path):
    writer = EventWriter(tmp_path / "none", 0, every_seconds=0)
    writer.report(1)
    writer.end("done", None)
