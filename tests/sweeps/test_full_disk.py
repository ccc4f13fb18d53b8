"""A full disk pauses and loses nothing: by errors planted in the writes, and on a real small one."""

import contextlib
import errno
import os
import subprocess
import threading
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from sweeps import full_disk, paths
from sweeps.paths import append_text, write_text
from sweeps.runner import jobs
from sweeps.stopping import Interrupted
from sweeps.training.checkpoints import Checkpoints
from sweeps.training.saved_model import save_model

from .conftest import plan_of

CPU = torch.device("cpu")
CODES = [errno.ENOSPC, errno.EDQUOT]


@pytest.fixture
def no_waiting(monkeypatch):
    waits = []
    monkeypatch.setattr(full_disk, "_wait", lambda: waits.append(None))
    return waits


def full(code):
    return OSError(code, os.strerror(code))


def failing(times, error, then):
    """A function that raises so many times before it does what it should."""
    left = [times]

    def function(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            raise error
        return then(*args, **kwargs)

    return function


@pytest.mark.parametrize("code", CODES)
def test_a_write_waits_for_room_and_says_so_once(tmp_path, monkeypatch, no_waiting, capfd, code):
    monkeypatch.setattr(paths.os, "fsync", failing(3, full(code), os.fsync))
    write_text(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"
    assert len(no_waiting) == 3
    assert capfd.readouterr().err == f"paused: {tmp_path}: no space left on disk; goes on when there is room\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_it_is_said_again_after_some_minutes(tmp_path, monkeypatch, capfd):
    now = [0.0]
    monkeypatch.setattr(full_disk.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(full_disk.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    full_disk.when_there_is_room(tmp_path, failing(121, full(errno.ENOSPC), lambda: None))  # of 5 s each
    assert capfd.readouterr().err.count("paused: ") == 3


def test_other_errors_are_raised_at_once(tmp_path, monkeypatch, no_waiting):
    monkeypatch.setattr(paths.os, "fsync", failing(1, full(errno.EIO), os.fsync))
    with pytest.raises(OSError, match="Input/output error"):
        write_text(tmp_path / "a", "text")
    monkeypatch.setattr(paths.os, "fsync", failing(1, full(errno.ENOSPC), os.fsync))
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "a", "text", waits=False)
    assert not no_waiting
    assert not list(tmp_path.iterdir())


def test_told_to_stop_while_it_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(paths.os, "fsync", failing(10**9, full(errno.ENOSPC), os.fsync))
    monkeypatch.setattr("sweeps.stopping._noted", [15])
    with pytest.raises(Interrupted):
        write_text(tmp_path / "a", "text")
    assert not list(tmp_path.iterdir())


def run_one(folder):
    changes = {"train_examples": [200], "steps": [3, 5], "schedule__warmup": "1 steps", "schedule__cooldown": "1 steps"}
    plan = plan_of(**changes, keep_model=True, measure={"names": ["weight_norms"]})
    trunk, sweep = plan.trunks[0], paths.SweepPaths(folder)
    return trunk, sweep, jobs.run_trunk(trunk, sweep, "tiny", ("cpu",), lambda images, runs: None)


def test_a_run_on_a_disk_that_is_full_at_every_write_is_whole(tmp_path, monkeypatch, no_waiting, one_thread):
    """Each replacing of a file in the sweep's folder fails twice; so do the tables, which `scaling` writes."""
    fails = {}

    def replace(source, target):
        if not str(target).startswith(str(tmp_path)):  # decoded images, which the runner prepares
            return os_replace(source, target)
        fails[str(target)] = fails.get(str(target), 0) + 1
        if fails[str(target)] < 3:
            raise full(errno.ENOSPC)
        return os_replace(source, target)

    os_replace = os.replace
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    trunk, sweep, statuses = run_one(tmp_path)
    assert statuses == {"ok": 2}
    for config in trunk.configs:
        run = sweep.run(config.run_id)
        whole = ["config.json", "evals.parquet", "measurements.parquet", "metrics.jsonl", "model.safetensors"]
        assert sorted(path.name for path in run.folder.iterdir()) == [*whole, "records.parquet"]
        assert pq.read_table(run.records)["status"].to_pylist() == ["ok"]
    assert len(no_waiting) == 2 * len(fails) > 20


# A real one ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Leaves less than a page."""
    with open(folder / "full", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def write_table(folder):
    frame = pd.DataFrame(
        {"run_id": "a", "step": range(4000), "weights": "last", "upstream_error": np.random.default_rng(0).random(4000)}
    )
    jobs._write_table(frame.to_dict("records"), folder / "records.parquet", "records")


def write_model(folder):
    config = plan_of().configs[0]
    save_model(folder / "model.safetensors", torch.nn.Linear(100, 100), config)


def write_checkpoint(folder):
    Checkpoints(folder, "a").save({"step": 1, "weights": torch.ones(10_000)}, 1)


def append_line(folder):
    append_text(folder / "metrics.jsonl", "x" * 5000 + "\n")


WRITES = [write_table, write_model, write_checkpoint, append_line, lambda folder: write_text(folder / "a", "x" * 5000)]


@pytest.mark.parametrize("write", WRITES, ids=["table", "model", "checkpoint", "line", "text"])
def test_on_a_full_disk_a_write_waits_and_goes_on_when_there_is_room(small_disk, monkeypatch, capfd, write):
    monkeypatch.setattr(full_disk, "_WAIT_SECONDS", 0.02)
    if write is append_line:
        write(small_disk)
    fill(small_disk)
    before = {path.name: path.read_bytes() for path in small_disk.iterdir()}
    done = threading.Thread(target=write, args=(small_disk,))
    done.start()
    deadline = time.monotonic() + 60
    while "paused" not in (said := capfd.readouterr().err):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert said == f"paused: {small_disk}: no space left on disk; goes on when there is room\n"
    assert done.is_alive()
    whole = {path.name: path.read_bytes() for path in small_disk.iterdir() if not path.name.endswith(".tmp")}
    assert whole.keys() == before.keys()
    (small_disk / "full").unlink()
    done.join(60)
    assert not done.is_alive()
    found = {path.name: path.stat().st_size for path in small_disk.iterdir()}
    assert not any(name.endswith(".tmp") for name in found)
    if write is append_line:
        assert found == {"metrics.jsonl": 2 * 5001}
    if write is write_checkpoint:
        assert Checkpoints(small_disk, "a").load(1)["weights"].sum() == 10_000
    assert found
