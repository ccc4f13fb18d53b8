"""The Slurm engine: its jobs without Slurm, and what it would ask of Slurm."""

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine
from sweeps.engines.event_files import EventReader, EventWriter, has_ended

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


def test_what_is_asked_of_slurm(tmp_path, monkeypatch):
    """With commands of Slurm's names that keep what they are given and answer nothing useful."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("srun", "sbatch", "sacct", "scancel"):
        (commands / name).write_text("#!/bin/sh\nexit 1\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    given = {"time": "90", "partition": "gpu", "gpus_per_node": "2", "additional_parameters": '{"nice": 100}'}
    options = EngineOptions(tmp_path / "my sweep", tmp_path / "code", Resources(3, 2), slots=7, job_options=given)
    engine = make_engine("slurm", options)
    assert engine.num_slots == 7
    executor = engine._executor(tmp_path)._executor
    text = executor._make_submission_file_text("true", "uid")
    for line in (
        "partition=gpu",
        "time=90",
        "cpus-per-task=6",
        "gpus-per-node=2",
        "nice=100",
        "signal=USR2@90",
        "nodes=1",
    ):
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
