"""The live view, its plot and its speed."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from sweeps.paths import SweepPaths
from sweeps.watching.frontier_plot import PlotPoint, frontier_plot
from sweeps.watching.training_speed import TrainingSpeed
from sweeps.watching.watch import Watcher, watch

from ..folders import Kind, ids, write_sweep
from ..runner.test_status import failed


def screen(folder, width=80):
    console = Console(file=io.StringIO(), width=width, no_color=True)
    watch(folder, 1.0, once=True, console=console)
    return console.file.getvalue()


@pytest.fixture
def night(tmp_path):
    kinds = [Kind(error=0.8, compute=1e12), Kind(error=0.4, compute=1e13), Kind(error=0.9, compute=1e13)]
    kinds += [Kind(model="resnet", error=0.2, compute=1e14), failed("no such file"), None]
    return write_sweep(tmp_path / "night", dict(zip(ids(6), kinds, strict=True)))


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_snapshot(night, width):
    text = screen(night.folder, width)
    assert "4 of 6 runs done, 1 waiting, 1 failed" in text
    assert "nothing runs" in text
    assert "3 of 4 models on the frontier" in text
    assert "V vit  R resnet  · not on it" in text
    assert f"{ids(6)[4]} no such file" in text
    assert all(len(line) <= width for line in text.splitlines() if str(night.folder) not in line)


def test_damaged_files_are_counted(night):
    night.run(ids(2)[0]).records.write_bytes(b"")
    night.run(ids(2)[1]).evals.write_bytes(b"")
    assert "2 damaged files: `sweeps status` names them" in screen(night.folder, 60)


def test_nothing_is_finished(tmp_path):
    text = screen(write_sweep(tmp_path / "night", dict.fromkeys(ids(2))).folder)
    assert "0 of 2 runs done, 2 waiting" in text
    assert "no finished run has an upstream error" in text


def test_watching_writes_nothing(night):
    before = {path: path.stat().st_mtime_ns for path in night.folder.rglob("*")}
    screen(night.folder)
    assert {path: path.stat().st_mtime_ns for path in night.folder.rglob("*")} == before


def test_a_look_takes_in_what_is_new_also_a_new_plan(night):
    watcher = Watcher(night)
    assert watcher.look(time.time())[0].statuses == {"ok": 4, "waiting": 1, "failed": 1}
    write_sweep(night.folder, dict.fromkeys(ids(2, first=6), Kind()), asked=ids(8))
    assert watcher.look(time.time())[0].statuses == {"ok": 6, "waiting": 1, "failed": 1}
    assert len(watcher.points()) == 6


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_and_without_a_traceback(night, signum):
    command = [sys.executable, "-m", "sweeps", "watch", str(night.folder), "--every", "0.2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(str(night.folder))  # it is under way
    process.send_signal(signum)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + signum, "stopped\n")


def test_a_terminal_is_redrawn_in_place(night, monkeypatch):
    console = Console(file=io.StringIO(), width=80, height=40, force_terminal=True)
    looks = []
    monkeypatch.setattr(time, "sleep", lambda seconds: looks.append(seconds) or (len(looks) > 2 and interrupt()))
    with pytest.raises(KeyboardInterrupt):
        watch(night.folder, 7.0, once=False, console=console)
    assert looks == [7.0] * 3
    assert "\x1b[1A" in console.file.getvalue()  # type: ignore[attr-defined]  # the cursor goes up


def interrupt():
    raise KeyboardInterrupt


# The plot -----------------------------------------------------------------------------------------------------


def test_marks_stand_where_the_logarithms_are():
    """Ends, and a point in the middle of both axes."""
    points = [PlotPoint(1e10, 1.0, "vit"), PlotPoint(1e12, 0.1, "resnet"), PlotPoint(1e14, 0.01, "vit")]
    points += [PlotPoint(1e14, 1.0, "vit")]
    lines = frontier_plot(points, width=52, height=11)
    plot = [line[10:] for line in lines[1:12]]
    assert (plot[0][0], plot[5][20], plot[10][40]) == ("V", "R", "V")
    assert plot[0][40] == "·"
    assert sum(line.count("V") + line.count("R") + line.count("·") for line in plot) == 4
    assert lines[1].split()[0] == "1"
    assert lines[11].split()[0] == "0.01"
    assert lines[13].split() == ["1.0e+10", "1.0e+12", "1.0e+14"]


def test_one_point_and_points_without_a_logarithm():
    lines = frontier_plot([PlotPoint(1e10, 0.5, "vit"), PlotPoint(0.0, 0.5, "vit"), PlotPoint(1e10, 0.0, "vit")])
    assert "1 of 1 models on the frontier" in lines[0]
    assert lines[-1] == "2 of error or compute 0 are not shown"


def test_families_of_one_letter_have_marks_of_their_own():
    points = [PlotPoint(10.0**i, 1 / (i + 1), family) for i, family in enumerate(["vit", "vgg", "vv", "v"])]
    assert "V vit  G vgg  * vv" in frontier_plot(points)[-1]


# Speed --------------------------------------------------------------------------------------------------------


def test_images_a_second_from_what_is_new_in_the_metrics(tmp_path):
    path = tmp_path / "metrics.jsonl"

    def write(*steps, end="\n"):
        with open(path, "a") as file:
            file.write("".join(json.dumps({"step": step}) + "\n" for step in steps)[: -1 or None] + end)

    speed = TrainingSpeed()
    write(20, 40)
    assert speed.look({"t": path}, {"t": 32}, 100.0) is None  # when these were trained nobody knows
    write(60, 80)
    assert speed.look({"t": path}, {"t": 32}, 110.0) == pytest.approx(40 * 32 / 10)
    write(100, end="")  # half a line
    assert speed.look({"t": path}, {"t": 32}, 120.0) == pytest.approx(40 * 32 / 20)
    write(60, 80)  # a branch goes back: "}\n" first ends the line above
    path.unlink()
    assert speed.look({}, {}, 121.0) == pytest.approx(40 * 32 / 21)


def test_a_speed_is_that_of_the_last_minute(tmp_path):
    path, speed = tmp_path / "metrics.jsonl", TrainingSpeed()
    for i in range(30):
        path.write_text("".join(json.dumps({"step": 20 * j}) + "\n" for j in range(min(i, 10) + 1)))
        found = speed.look({"t": path}, {"t": 32}, 10.0 * i)
    assert found is None  # nothing new for longer than a minute


def test_a_clock_that_is_set_back_begins_the_speed_anew(tmp_path):
    path, speed = tmp_path / "metrics.jsonl", TrainingSpeed()
    for i, now in enumerate((90_000.0, 90_010.0, 10.0, 20.0)):
        path.write_text("".join(json.dumps({"step": 20 * j}) + "\n" for j in range(i + 2)))
        found = speed.look({"t": path}, {"t": 32}, now)
    assert found == pytest.approx(20 * 32 / 10)


def test_runs_that_end_in_the_future_are_no_speed(night):
    """As after a clock that was set back."""
    _, speed = Watcher(night).look(time.time() - 86400)
    assert speed is None


@pytest.mark.parametrize("step", ["Infinity", "NaN", "null", "[]", '"a"'])
def test_a_step_that_is_no_number_is_passed_over(tmp_path, step):
    path, speed = tmp_path / "metrics.jsonl", TrainingSpeed()
    path.write_text(f'{{"step": 20}}\n{{"step": {step}}}\n')
    assert speed.look({"t": path}, {"t": 1}, 0.0) is None


def test_metrics_that_are_begun_anew(tmp_path):
    path, speed = tmp_path / "metrics.jsonl", TrainingSpeed()
    path.write_text('{"step": 20}\n{"step": 40}\n')
    speed.look({"t": path}, {"t": 1}, 0.0)
    path.write_text('{"step": 20}\n')
    assert speed.look({"t": path}, {"t": 1}, 1.0) is None
    path.write_text('{"step": 20}\n{"step": 40}\n{"step": 60}\n')
    assert speed.look({"t": path}, {"t": 1}, 10.0) == pytest.approx(40 / 10)


def test_what_is_not_a_sweep_is_one_line_and_exit_2(tmp_path):
    command = [sys.executable, "-m", "sweeps", "watch", str(tmp_path), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "80"})
    assert done.returncode == 2
    assert "is not a sweep's folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert not SweepPaths(tmp_path).runs.exists()
