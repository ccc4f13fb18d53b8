"""What `sweeps status` tells of folders in every state."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.paths import SweepPaths
from sweeps.runner import run_tables
from sweeps.runner.collect import collect
from sweeps.runner.frozen_plan import read_frozen_plan
from sweeps.runner.locks import is_held
from sweeps.runner.record_rows import RecordRows
from sweeps.runner.run_tables import file_stamps
from sweeps.runner.status import sweep_status
from sweeps.watching.overview import overview
from sweeps.watching.overview_text import overview_json, overview_lines
from sweeps.watching.time_left import time_left

from ..folders import Kind, ids, trunk_of, write_sweep

OK = Kind()
DIVERGED = Kind(status="diverged", error=None, diverged_step=60)
LACKING = Kind(failure="no weight_norms: see traceback.txt")


def failed(message, **changes):
    return Kind(status="failed", failure=message, error=None, num_evals=0, num_measurements=0, **changes)


def text(found, width=80):
    return "\n".join(line for line, _ in overview_lines(found, width))


@pytest.fixture
def mixed(tmp_path):
    """4 ok, 1 that lacks something, 2 diverged, 3 failures of 2 kinds, 1 out of memory, 2 waiting, 1 damaged."""
    kinds = [OK] * 4 + [LACKING] + [DIVERGED] * 2
    kinds += [failed("CUDA error at 0x7f00"), failed("CUDA error at 0x7fff", variant="w32d1/4"), failed("no such file")]
    kinds += [Kind(status="oom", failure="tried to allocate 2.00 GiB", error=None), None, None, OK]
    paths = write_sweep(tmp_path / "night", dict(zip(ids(14), kinds, strict=True)))
    records = paths.run(ids(14)[13]).records
    records.write_bytes(records.read_bytes()[:-100])
    return paths


def test_every_run_is_counted_once_and_faults_that_differ_in_numbers_are_one(mixed):
    found = overview(mixed)
    assert found.statuses == {"ok": 5, "diverged": 2, "waiting": 3, "failed": 3, "oom": 1}
    assert [(f.error, len(f.run_ids)) for f in found.failures] == [
        ("CUDA error at 0x7f00", 2), ("no such file", 1), ("tried to allocate 2.00 GiB", 1)
    ]  # fmt: skip
    assert found.failures[0].models == {"vit w16d1/4": 1, "vit w32d1/4": 1}
    assert found.failures[0].traceback == str(mixed.run(ids(14)[7]).traceback)
    assert [(f.error, f.run_ids) for f in found.lacking] == [(LACKING.failure, (ids(14)[4],))]
    assert [(run.model, run.lr, run.step) for run in found.diverged] == [("vit w16d1/4", 0.003, 60)] * 2
    assert list(found.damaged) == [str(mixed.run(ids(14)[13]).records)]
    assert found.share == found.flops_share == pytest.approx(7 / 14)
    assert found.left is None  # nothing runs
    assert not found.all_finished


def test_collected_tables_change_nothing_of_it(mixed):
    before = overview(mixed)
    collect(mixed.folder)
    assert overview(mixed) == before
    assert sweep_status(ids(14), mixed).statuses == {"ok": 5, "diverged": 2, "failed": 3, "oom": 1, "waiting": 3}


def test_only_files_that_have_changed_are_opened(mixed, monkeypatch):
    from sweeps.runner import run_tables

    collect(mixed.folder)
    opened = []
    read = run_tables._read
    monkeypatch.setattr(run_tables, "_read", lambda file, columns: opened.append(file) or read(file, columns))
    records = RecordRows(mixed)
    assert opened == [mixed.table("records"), mixed.run(ids(14)[13]).records]  # the damaged one is in no table
    opened.clear()
    assert records.look() == []
    retried = mixed.run(ids(14)[9]).records
    retried.write_bytes(mixed.run(ids(14)[0]).records.read_bytes().replace(ids(1)[0].encode(), ids(14)[9].encode()))
    assert records.look() == [ids(14)[9]]
    assert opened == [retried]
    assert records.rows[ids(14)[9]][0]["status"] == "ok"
    retried.unlink()
    assert records.look() == [ids(14)[9]]
    assert ids(14)[9] not in records.rows


def test_a_file_that_is_older_than_the_table_is_read_again(mixed):
    """As where a backup was put back: another age is another file, also an earlier one."""
    collect(mixed.folder)
    records = mixed.run(ids(14)[0]).records
    records.write_bytes(mixed.run(ids(14)[5]).records.read_bytes().replace(ids(14)[5].encode(), ids(14)[0].encode()))
    os.utime(records, ns=(0, 0))
    assert overview(mixed).statuses["diverged"] == 3


@pytest.mark.parametrize("what", ["nothing", "bytes", "another table"])
def test_a_collected_table_that_is_none_costs_only_time(mixed, what):
    before = overview(mixed)
    table = mixed.table("records")
    table.write_bytes({"nothing": b"", "bytes": b"PAR1" * 9}.get(what, mixed.run(ids(14)[0]).evals.read_bytes()))
    assert overview(mixed) == before


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_words_fit_and_name_what_to_look_at(mixed, width):
    lines = text(overview(mixed), width).splitlines()
    long = [line for line in lines if len(line) > width and str(mixed.folder) not in line and "such as" not in line]
    assert not [line for line in long if len(line) > 80]  # a sentence of its own, a path: neither is broken
    joined = "\n".join(lines)
    assert re.search(r"failed +3 ", joined)
    assert re.search(r"out of memory +1 ", joined)
    assert "    2 x CUDA error at 0x7f00" in joined
    assert "of vit w16d1/4 (1), vit w32d1/4 (1)" in joined
    assert str(mixed.run(ids(14)[7]).traceback) in joined
    assert "2 x vit w16d1/4, lr 0.003 at step 60, such as" in joined
    assert "done       50.0% of the FLOPs of the plan" in joined
    assert "nothing runs" in joined


def test_long_lists_are_shortened_and_json_has_them_all(tmp_path):
    letters = "abcdefghijkl"
    kinds = {i: failed(f"fault {c} " + "word " * 200, variant=c) for i, c in zip(ids(12), letters, strict=True)}
    found = overview(write_sweep(tmp_path / "night", kinds))
    assert len(text(found).splitlines()) < 50
    assert "and 6 more kinds: `--json` lists all" in text(found)
    assert len(overview_json(found)["failures"]) == 12


def test_runs_that_were_asked_for_earlier_are_said(tmp_path):
    found = overview(write_sweep(tmp_path / "night", dict.fromkeys(ids(5), OK), asked=ids(3)))
    assert (found.num_runs, found.num_others, found.all_finished) == (3, 2, True)
    assert "2 runs of earlier plans" in text(found)


def test_json_and_exit_codes(mixed, tmp_path):
    result = CliRunner().invoke(app, ["status", str(mixed.folder), "--json"])
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert facts == json.loads(json.dumps(overview_json(overview(mixed))))
    assert facts["flops_share"] == pytest.approx(0.5)
    write_sweep(tmp_path / "done", dict.fromkeys(ids(2), OK))
    assert CliRunner().invoke(app, ["status", str(tmp_path / "done")]).exit_code == 0


def test_no_color_is_plain(mixed):
    environment = os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "sweeps", "status", str(mixed.folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", done.stdout)  # bold may stay, colours may not


# Running ------------------------------------------------------------------------------------------------------

HOLD = "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True); input()"


@pytest.fixture
def hold():
    """Makes another process hold a lock."""
    holders = []

    def start(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", HOLD, str(path)]
        holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert holders[-1].stdout.readline() == "held\n"
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


def test_a_lock_is_held_until_its_holder_is_dead_and_looking_takes_it_from_nobody(tmp_path, hold):
    import filelock

    path = tmp_path / "trunk.lock"
    assert not is_held(path)
    assert not path.exists()  # looking makes none
    holder = hold(path)
    assert is_held(path)
    with pytest.raises(filelock.Timeout):  # it is the holder's still
        filelock.FileLock(path, timeout=0).acquire()
    holder.kill()
    holder.wait()
    path.touch()
    assert not is_held(path)
    with filelock.FileLock(path, timeout=0):
        assert is_held(path)


def test_runs_of_a_trunk_that_is_held_are_running_and_time_left_is_honest(tmp_path, hold):
    """Of 6 equal runs 3 are done: one a minute since the start, two minutes ago."""
    paths = write_sweep(tmp_path / "night", dict(zip(ids(6), [OK] * 3 + [None] * 3, strict=True)))
    paths.trunk(trunk_of(ids(6)[3])).folder.mkdir(parents=True)
    hold(paths.trunk(trunk_of(ids(6)[3])).lock)
    now = time.time()
    os.utime(paths.plan, (now - 120, now - 120))
    for i, ago in enumerate([7200, 61, 1]):  # the first is of an earlier start
        os.utime(paths.run(ids(6)[i]).records, (now - ago, now - ago))
    found = overview(paths)
    assert found.statuses == {"ok": 3, "running": 1, "waiting": 2}
    assert found.running_trunks == (trunk_of(ids(6)[3]),)
    assert found.left is not None
    assert found.left.seconds == pytest.approx(180, rel=0.05)  # the clock goes on meanwhile
    assert "time left  about 3 min" in text(found)
    os.utime(paths.plan, (now, now))
    assert "cannot be told: 0 runs finished since it was started" in text(overview(paths))


def test_time_left_by_hand():
    work = {"a": 10.0, "b": 30.0, "c": 100.0}
    assert time_left(work, {"a": 110.0, "b": 140.0}, ["c"], 100.0, 150.0).seconds == pytest.approx(125)
    late = time_left(work, {"a": 110.0, "b": 140.0}, ["c"], 100.0, 100_000.0)
    assert (late.seconds, late.reason) == (None, "cannot be told: 0 runs finished in the last hour")


def test_a_folder_where_nothing_has_been_run(tmp_path):
    found = overview(write_sweep(tmp_path, dict.fromkeys(ids(2))))
    assert found.statuses == {"waiting": 2}
    assert file_stamps(SweepPaths(tmp_path), "records") == {}


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r'"run_id": "[^"]*"', '"run_id": null'), (r'"run_id": "', '"run_id": "../'),
        (r'"num_images": \d+', '"num_images": "a"'), (r'"training_flops": [^,]*', '"training_flops": "1e9"'),
        (r'"config": .*', '"config": {}}'), (r'"config": .*', '"config": []}'),
        (r'"batch_size":\d+', '"batch_size":null'),
    ],
)  # fmt: skip
def test_a_plan_that_no_version_has_written_is_damaged(tmp_path, pattern, value):
    paths = write_sweep(tmp_path, dict.fromkeys(ids(2)))
    text = paths.plan.read_text()
    spoilt = re.sub(pattern, value, text)
    assert spoilt != text
    paths.plan.write_text(spoilt)
    with pytest.raises(OSError, match=r"is damaged, or of another version"):
        read_frozen_plan(paths)


def test_a_folder_of_a_version_without_plans_says_what_to_do(tmp_path):
    paths = write_sweep(tmp_path, dict.fromkeys(ids(1), OK))
    paths.plan.unlink()
    with pytest.raises(FileNotFoundError, match=r"has no plan\.jsonl; `sweeps run` with its spec writes it"):
        read_frozen_plan(paths)


# Damage beside sound records -----------------------------------------------------------------------------------


@pytest.mark.parametrize("collected_before", [False, True])
@pytest.mark.parametrize("table", ["evals", "measurements"])
@pytest.mark.parametrize("spoil", [lambda data: b"", lambda data: data[:-40], lambda data: data[:200] + data[260:]])
def test_a_finished_run_whose_other_table_is_damaged_is_named(tmp_path, table, spoil, collected_before):
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(3), OK))
    if collected_before:
        collect(paths.folder)
    file = paths.run(ids(3)[1]).folder / f"{table}.parquet"
    file.write_bytes(spoil(file.read_bytes()))
    result = CliRunner().invoke(app, ["status", str(paths.folder)])
    assert "damaged: 1 file; their runs are done" in result.output
    assert f"  {file}: " in result.output
    assert list(collect(paths.folder).damaged) == [str(file)]
    assert list(overview(paths).damaged_others) == [str(file)]  # collecting does not hide it


def test_evals_that_are_damaged_of_a_run_that_waits_are_nothing_to_tell(tmp_path):
    """A worker killed between two files: the run is trained again, and they are written again."""
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(2), OK))
    paths.run(ids(2)[0]).records.unlink()
    paths.run(ids(2)[0]).evals.write_bytes(b"half")
    found = overview(paths)
    assert (found.statuses, found.damaged, found.damaged_others) == ({"ok": 1, "waiting": 1}, {}, {})


def test_the_status_of_a_few_runs_reads_their_files_only(tmp_path, monkeypatch):
    """The driver asks after each of thousands of trainings."""
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(40), OK))
    collect(paths.folder)
    opened = []
    monkeypatch.setattr(
        run_tables, "_read", lambda file, columns, read=run_tables._read: opened.append(file) or read(file, columns)
    )
    monkeypatch.setattr(run_tables.os, "listdir", lambda path: pytest.fail("it looked at all folders"))
    assert sweep_status(ids(2), paths).statuses == {"ok": 2}
    assert opened == [paths.run(run_id).records for run_id in ids(2)]


@pytest.mark.parametrize(("zone", "clock"), [("UTC", "06:30"), ("XST-5:30", "12:00")])
def test_times_are_local_and_name_their_zone(zone, clock, monkeypatch):
    """By hand: 1 January 2025 06:30 UTC, and twenty hours later, on the next day where the zone says so."""
    from sweeps.runner.progress import ending, local_time

    now = 1735713000.0
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        name = zone.split("-")[0]
        assert local_time(now, now) == f"{clock}:00 {name}"
        assert local_time(now - 86400, now) == f"2024-12-31 {clock}:00 {name}"
        assert ending(60, now) == f"ends about {clock[:4]}1 {name}"
        assert ending(86400, now) == f"ends about Thu {clock} {name}"
        assert re.fullmatch(rf"ends about \d{{4}}-\d\d-\d\d {clock} {name}", ending(7 * 86400, now))  # no second Wed
    finally:
        monkeypatch.undo()
        time.tzset()
