"""What the runner costs beside the training: seconds a run, memory over the sweep, seconds of `status` and `collect`.

`python -m tests.benchmarks.runner_overhead --help`. A run is one step of a tiny ViT on digits, so that nearly all of it
is the runner's: reading its job, choosing its images, building its model, and writing its folder. Bare training is the
same models, steps and evaluations in a loop of one process, without files and without choosing images anew. The
overhead is the difference, in seconds of a slot: of wall clock, and of processor time, which other processes disturb
less. Needs Linux, whose /proc tells the memory.
"""

import argparse
import datetime
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml

from sweeps.data.training import load_training_data, training_source
from sweeps.evaluation.evaluate import Evaluator
from sweeps.paths import SweepPaths
from sweeps.runner.run import run_sweep
from sweeps.specs.grid import Plan, make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.step import TrainingStep
from sweeps.training.train import new_state

RESULTS = Path(__file__).parent / "results"
_NUM_BARE = 300  # runs that the bare training is timed on
_NUM_RATES = 10
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Overhead:
    """Of one sweep. Seconds are of one run; `cpu` ones of all processes, with their start."""

    num_runs: int
    num_slots: int
    sweep_wall: float
    sweep_cpu: float
    bare_wall: float
    bare_cpu: float
    status_seconds: float
    collect_seconds: float
    early: "Memory"
    late: "Memory"

    @property
    def wall(self) -> float:
        return self.sweep_wall * self.num_slots - self.bare_wall

    @property
    def cpu(self) -> float:
        return self.sweep_cpu - self.bare_cpu


@dataclass(frozen=True)
class Memory:
    """Bytes that lie in memory when so many runs are there; of the largest worker."""

    num_runs: int = 0
    driver: int = 0
    worker: int = 0


def spec_of(num_runs: int) -> dict[str, Any]:
    """Trivial runs of which no two share a step."""
    return {
        "name": "trivial",
        "upstream": {"dataset": "digits", "val_fraction": 0.1},
        "model": {"vit": [{"width": 8, "depth": 1, "patch": 4}]},
        "train_examples": 100,
        "steps": 1,
        "recipe": {"batch_size": 8, "lr": [1e-3 * (1 + i) for i in range(_NUM_RATES)]},
        "schedule": {"kind": "constant"},
        "seeds": list(range(max(1, num_runs // _NUM_RATES))),
        "evaluate": {"max_upstream": 50, "max_train": 50},
        "downstream": {"tasks": []},
    }


def measure(num_runs: int, num_slots: int, folder: Path) -> Overhead:
    spec = spec_of(num_runs)
    plan = make_plan(parse_spec(spec))
    with watched(folder) as seen:
        statuses, wall, cpu = timed(lambda: _sweep(plan, yaml.safe_dump(spec), folder, num_slots))
    count = len(plan.configs)
    assert statuses == {"ok": count}, statuses
    bare_wall, bare_cpu = bare_seconds(plan)
    return Overhead(
        count, num_slots, wall / count, cpu / count, bare_wall, bare_cpu, command_seconds("status", folder),
        command_seconds("collect", folder), next(m for m in seen if m.num_runs >= count / 10), seen[-1],
    )  # fmt: skip


def _sweep(plan: Plan, text: str, folder: Path, num_slots: int) -> dict[str, int]:
    return run_sweep(plan, text, folder, devices=["cpu"] * num_slots).statuses


def bare_seconds(plan: Plan) -> tuple[float, float]:
    """Wall clock and processor time of one run."""
    device, configs = torch.device("cpu"), plan.configs[:_NUM_BARE]
    data = load_training_data(configs[0], device)

    def train() -> None:
        for config in configs:
            state, step = new_state(config, device), TrainingStep(config, device)
            source = training_source(config, data, device)
            while state.step < config.steps:
                state.losses.append(step(state, source.batch(state.step)))
            Evaluator(config, data.seen, data.val, data.test, device).evaluate(state)

    train()  # what is remembered from run to run
    _, wall, cpu = timed(train)
    return wall / len(configs), cpu / len(configs)


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """The answer, and seconds of wall clock and of processors, with those of processes that ended meanwhile."""
    before, started = _cpu_seconds(), time.perf_counter()
    return call(), time.perf_counter() - started, _cpu_seconds() - before


def _cpu_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def command_seconds(name: str, folder: Path) -> float:
    """With the start of Python."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sweeps", name, str(folder)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


@dataclass
class watched:
    """Within it, looks at the memory of this process and its workers every so often."""

    folder: Path
    seen: list[Memory] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> list[Memory]:
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self.seen

    def __exit__(self, *error: Any) -> None:
        self.over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self.over.wait(_LOOK_SECONDS):
            workers = [resident_bytes(child.pid) for child in multiprocessing.active_children()]
            if workers and all(workers) and (runs := SweepPaths(self.folder).run("x").folder.parent).exists():
                self.seen.append(Memory(len(os.listdir(runs)), resident_bytes(os.getpid()), max(workers)))


def resident_bytes(pid: int | None) -> int:
    """0 of a process that is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def report(found: Overhead) -> Iterator[str]:
    yield f"# The runner's overhead, {datetime.date.today()}: torch {torch.__version__}, {os.cpu_count()} cores"
    yield f"# python -m tests.benchmarks.runner_overhead --runs {found.num_runs} --slots {found.num_slots}"
    yield f"\n{found.num_runs} runs, {found.num_slots} side by side; milliseconds a run"
    yield f"{'':<24}{'wall clock x slots':>20}{'processor':>12}"
    yield f"{'the sweep':<24}{1e3 * found.sweep_wall * found.num_slots:>20.1f}{1e3 * found.sweep_cpu:>12.1f}"
    yield f"{'bare training':<24}{1e3 * found.bare_wall:>20.1f}{1e3 * found.bare_cpu:>12.1f}"
    yield f"{'overhead':<24}{1e3 * found.wall:>20.1f}{1e3 * found.cpu:>12.1f}"
    yield f"\nMB in memory {'runner':>12}{'worker':>10}"
    for memory in (found.early, found.late):
        yield f"at {memory.num_runs:>5} runs {memory.driver / 1e6:>12.0f}{memory.worker / 1e6:>10.0f}"
    yield f"\nstatus {found.status_seconds:.1f} s, collect {found.collect_seconds:.1f} s, with the start of Python"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep what is printed in results/")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp())
    try:
        text = "\n".join(report(measure(asked.runs, asked.slots, folder / "sweep"))) + "\n"
    finally:
        shutil.rmtree(folder)
    print(text, end="")
    if asked.write:
        (RESULTS / f"{datetime.date.today()}-runner-overhead.txt").write_text(text)


if __name__ == "__main__":
    main()
