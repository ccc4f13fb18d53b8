"""What the driver makes of the events of an engine, here one that does as it is told."""

import io
import signal

import pytest
from rich.console import Console

from sweeps.engines import Event, Resources
from sweeps.paths import SweepPaths
from sweeps.runner.driver import Driver
from sweeps.runner.failures import RepeatedFailures, masked
from sweeps.runner.jobs import write_failure
from sweeps.runner.progress import SweepProgress
from sweeps.runner.run_tables import read_run_tables
from sweeps.runner.status import sweep_status
from sweeps.stopping import Interrupted

from ..conftest import plan_of


class Scripted:
    """Ends each job as `ends` says, by its trunk's place and how often it was given: a status and an error, or how its
    worker died."""

    num_slots = 1

    def __init__(self, trunks, ends):
        self.trunks, self.ends, self.given = list(trunks), ends, []

    def run(self, function, jobs):
        for job, (trunk, paths, name) in enumerate(jobs):
            place = self.trunks.index(trunk)
            self.given.append(place)
            end = self.ends(place, self.given.count(place))
            if isinstance(end, str):
                yield Event("died", job, end)
                continue
            status, error = end
            for config in trunk.configs:
                write_failure(paths.run(config.run_id), config, name, status, error, "")
            yield Event("done", job, {status: len(trunk.configs)})


@pytest.fixture(scope="module")
def plan():
    return plan_of(seeds=list(range(12)), train_examples=[200], steps=[20])


def drive(plan, folder, ends, **options):
    """The driver, the engine, and what was printed."""
    trunks, out = plan.trunks, io.StringIO()
    engine = Scripted(trunks, ends)
    count, console = len(trunks), Console(file=out, width=200)
    progress = SweepProgress(trunks, [1.0] * count, [0] * count, 0, count, console)
    with progress:
        driver = Driver(SweepPaths(folder), "tiny", progress, **options)
        driver.train(trunks, {Resources(): engine})
    return driver, engine, out.getvalue().splitlines()


def test_a_training_whose_worker_died_is_given_once_more_and_then_fails(plan, tmp_path):
    died = "the worker process died with exit code 3"

    def ends(place, time):
        return died if place in (1, 2) and time <= place else ("ok", "")

    _, engine, lines = drive(plan, tmp_path, ends)
    assert engine.given == [*range(24), 1, 2]
    status = sweep_status([c.run_id for c in plan.configs], SweepPaths(tmp_path))
    assert (status.statuses, status.failures) == ({"ok": 23, "failed": 1}, {died: 1})
    assert lines[-1] == f"failed: vit w16d1/4, 200 images, 20 steps: {died}"


def test_five_trainings_with_the_same_error_stop_the_sweep(plan, tmp_path):
    def ends(place, time):
        return ("ok", "") if place % 2 else ("failed", f"ValueError: no /data/{place}.png of {place} images")

    driver, engine, lines = drive(plan, tmp_path, ends)
    assert engine.given == list(range(9))
    assert driver.stopped == "5 trainings failed with the same error: ValueError: no /data/8.png of 8 images"
    assert lines[-1] == f"stopping: {driver.stopped}"
    driver, engine, _ = drive(plan, tmp_path, ends, keep_going=True)
    assert (len(engine.given), driver.stopped) == (24, None)


def test_different_errors_do_not_stop_it_and_many_are_counted(plan, tmp_path):
    driver, engine, lines = drive(plan, tmp_path, lambda place, time: ("failed", "abcdefghijklmnopqrstuvwxyz"[place]))
    assert (len(engine.given), driver.stopped) == (24, None)
    assert sum(line.startswith("failed: ") for line in lines) == 20
    assert lines[-1] == "and 4 more that failed"


@pytest.mark.parametrize(("between", "num_given"), [("ok", 24), ("diverged", 24), ("failed", 6)])
def test_out_of_memory_stops_it_in_succession_only(plan, tmp_path, between, num_given):
    def ends(place, time):
        return (between, "a" * place) if place == 4 else ("oom", "OutOfMemoryError") if place < 9 else ("ok", "")

    _, engine, _ = drive(plan, tmp_path, ends)
    assert len(engine.given) == num_given


def test_each_kind_of_resources_has_its_engine_in_the_order_of_the_trunks(tmp_path):
    plan = plan_of(train_examples=[200], threads=[1, 2])
    engines = {Resources(n): Scripted(plan.trunks, lambda place, time: ("ok", "")) for n in (1, 2)}
    out = Console(file=io.StringIO())
    with SweepProgress(plan.trunks, [1.0] * 4, [0] * 4, 0, 8, out) as progress:
        Driver(SweepPaths(tmp_path), "tiny", progress).train(plan.trunks[::-1], engines)
    for threads, engine in engines.items():
        assert {plan.trunks[place].configs[0].threads for place in engine.given} == {threads.threads}
        assert engine.given == sorted(engine.given, reverse=True)


def test_errors_are_the_same_but_for_numbers_and_paths():
    assert masked("E: w16d1/4 at 0x7f") == masked("E: w32d2/8 at 0x1a")
    assert masked("E: /a/b.png is damaged") == masked("E: /c.png is damaged") != masked("E: /c.png is empty")
    failures = RepeatedFailures()
    assert [failures.add("failed", str(i)) for i in range(6)][:4] == [None] * 4


def test_workers_that_die_one_after_the_other_stop_the_sweep(plan, tmp_path):
    """Five and one for each slot, not all of them twice; those that died are told of."""
    died = "the worker process died with signal 11 (SIGSEGV)"
    driver, engine, _ = drive(plan, tmp_path, lambda place, time: died)
    assert engine.given == list(range(6))
    assert driver.stopped == f"the workers of 6 trainings in succession died: {died}"
    status = sweep_status([c.run_id for c in plan.configs], SweepPaths(tmp_path))
    assert (status.statuses, status.failures) == ({"waiting": 18, "failed": 6}, {died: 6})
    driver, engine, _ = drive(plan, tmp_path, lambda place, time: died if place % 5 else ("ok", ""))
    assert engine.given == [*range(24), 1, 2, 3, 4, 6]  # where others are done between them, each is given once more
    assert driver.stopped == f"5 trainings failed with the same error: {died}"


def test_the_tables_are_written_now_and_then_and_when_it_is_told_to_stop(plan, tmp_path, monkeypatch):
    collected = []
    monkeypatch.setattr("sweeps.runner.driver._COLLECT_RUNS", 10)
    monkeypatch.setattr(
        "sweeps.runner.driver.collect", lambda folder: collected.append(len(list(folder.glob("runs/*"))))
    )

    def ends(place, time):
        if place == 22:
            raise Interrupted(signal.SIGTERM)
        return "ok", ""

    with pytest.raises(Interrupted):
        drive(plan, tmp_path, ends)
    assert collected == [10, 20, 22]


def test_an_ending_is_told_without_reading_what_the_other_runs_left(plan, tmp_path, monkeypatch):
    """Thousands of runs: to look at all of them after each takes hours."""
    read = []

    def count(paths, table, folders, columns=None):
        folders = list(folders)
        read.extend(folders)
        return read_run_tables(paths, table, folders, columns)

    for module in ("driver", "status", "record_rows"):
        monkeypatch.setattr(f"sweeps.runner.{module}.read_run_tables", count)
    drive(plan, tmp_path, lambda place, time: ("ok", ""))
    assert sorted(read) == sorted(config.run_id for config in plan.configs)
