"""How long `sweeps status` and `sweeps collect` take on a folder of thousands of runs, a cold start of Python included.

    python -m tests.benchmarks.sweep_folder_speed [--runs 5000]

Each run has records, 8 evals and 12 measurements. "Nothing collected" opens every file; "collected" is the folder of a
sweep that was collected before, with `--new` runs that have ended since.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sweeps.paths import SweepPaths
from tests.sweeps.folders import Kind, ids, write_sweep

__all__ = ["main", "seconds_of"]


def seconds_of(command: str, paths: SweepPaths) -> tuple[float, float]:
    """Wall and CPU seconds of a command in a process of its own."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "sweeps", command, str(paths.folder)], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--new", type=int, default=250)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_sweep(Path(folder) / "night", dict.fromkeys(ids(asked.runs), Kind()))
        for what, command in [("nothing collected", "status"), ("nothing collected", "collect")]:
            _print(what, command, paths)
        for command in ("status", "collect"):
            _print("collected", command, paths)
        write_sweep(paths.folder, dict.fromkeys(ids(asked.new, first=asked.runs), Kind()), ids(asked.runs + asked.new))
        for command in ("status", "collect"):
            _print(f"collected, {asked.new} new", command, paths)


def _print(what: str, command: str, paths: SweepPaths) -> None:
    wall, cpu = seconds_of(command, paths)
    print(f"{what:<24}{command:<10}{wall:6.1f} s wall {cpu:6.1f} s CPU", flush=True)


if __name__ == "__main__":
    main()
