"""What `sweeps plan` says a sweep takes, and what it takes.

    python -m tests.benchmarks.plan_estimate [spec.yaml] [--slots 2] [--repeats 3] [--write]

Plans the spec with measuring, runs it into a temporary folder, and prints both times and their ratio for each repeat,
then the median. Training and fits count; the decoding of images is done before. Both are wall times: on a machine that
does other work the ratio says how that work changed in between. `--write` keeps the lines in
`results/<date>-plan-estimate.txt`.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import sweeps
from sweeps.data.prepare import prepare_data
from sweeps.planning.estimate import estimate_plan, plan_engine, plan_shapes
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import read_spec

__all__ = ["DEMO", "compare", "main"]

RESULTS = Path(__file__).parent / "results"
DEMO = Path(sweeps.__file__).parent / "configs" / "demo.yaml"


def compare(spec: Path, slots: int | None) -> tuple[float, float]:
    """Seconds that the plan estimates and that `sweeps run` takes."""
    plan = make_plan(read_spec(spec))
    prepare_data(plan.configs)
    estimated = estimate_plan(plan, plan_engine(plan, slots), plan_shapes(plan)).wall_seconds
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sweeps", "run", str(spec), "--out", f"{folder}/out"]
        started = time.monotonic()
        subprocess.run([*command, *(["--slots", str(slots)] if slots else [])], check=True, stdout=subprocess.DEVNULL)
        return estimated, time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", type=Path, nargs="?", default=DEMO)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = [f"{asked.spec.name}, {os.cpu_count()} cores, {asked.slots or 'all'} slots"]
    print(lines[0], flush=True)
    ratios = []
    for _ in range(asked.repeats):
        before = os.getloadavg()[0]
        estimated, real = compare(asked.spec, asked.slots)
        ratios.append(estimated / real)
        load = f"load before {before:.1f}, after {os.getloadavg()[0]:.1f}"
        lines.append(f"estimated {estimated:.0f} s, real {real:.0f} s, ratio {ratios[-1]:.2f}; {load}")
        print(lines[-1], flush=True)
    lines.append(f"median ratio {statistics.median(ratios):.2f}")
    print(lines[-1])
    if asked.write:
        (RESULTS / f"{date.today()}-plan-estimate.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
