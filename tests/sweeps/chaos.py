"""A small real sweep that is killed again and again, with files damaged between: `python -m tests.sweeps.chaos --help`.

Each blow is a function of its seed, but for what the machine's speed decides: what is being done when it falls.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import yaml
from filelock import FileLock

from scaling import read_evals, read_records
from sweeps.paths import SweepPaths
from sweeps.runner.status import FINISHED, run_status
from sweeps.specs.grid import Plan, make_plan
from sweeps.specs.spec import parse_spec

from .conftest import UNREPEATABLE, changed

__all__ = ["Chaos", "differences", "left_overs"]

# Trunks of two families, with branches long enough to be hit in the middle.
SPEC = changed(train_examples=[200], steps=[600, 1000], evaluate__every=250, recipe__ema_decay=0.99)
_CHECKPOINT_SECONDS = "0.2"  # a blow costs at most this much of training, so that there is progress between two
_EXIT_SECONDS = 60.0  # a bound on what ends in no time
_START_SECONDS = 300.0
_KINDS = ("group", "group", "runner", "worker", "start")


class Deck:
    """Cards drawn at random, each once before any comes again: few draws show every kind."""

    def __init__(self, cards: Sequence[str], rng: random.Random):
        self._cards, self._random, self._left = cards, rng, list[str]()

    def draw(self) -> str:
        if not self._left:
            self._left = self._random.sample(self._cards, len(self._cards))
        return self._left.pop()


@dataclass
class Chaos:
    """Blows on one sweep.

    Attributes:
        told: what was done, for the message of a failure.
    """

    folder: Path
    seed: int = 0
    told: list[str] = field(default_factory=list)
    _process: "subprocess.Popen[bytes] | None" = None
    _groups: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._random = random.Random(self.seed)
        self._kinds, self._damages = Deck(_KINDS, self._random), Deck(tuple(_DAMAGES), self._random)
        self.plan: Plan = make_plan(parse_spec(SPEC))
        self.paths = SweepPaths(self.folder / "sweep")
        self._spec = self.folder / "spec.yaml"
        self._spec.write_text(yaml.safe_dump(SPEC))

    def blow(self) -> str:
        """One blow, with damage before it where no runner is there; what was done."""
        if self._process is None or self._process.poll() is not None:
            if self._groups:  # at the first start there is nothing to damage
                self._damage()
            self._start()
        kind = self._kinds.draw()
        if kind == "start":
            time.sleep(self._random.uniform(0, 4))
        elif self._wait_for_training():
            time.sleep(self._random.uniform(0, 1))
        self._kill(kind)
        self.told.append(f"kill {kind}")
        return self.told[-1]

    def finish(self, most: int = 4) -> None:
        """Run to the end: a worker that died twice leaves failed runs, which the next runner tries again."""
        for _ in range(most):
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._process is not None
            code = self._process.wait(10 * _START_SECONDS)
            if code == 0:
                self._wait_for_groups()
                return
        raise AssertionError(f"exit code {code} after {most} runs: {self.told}\n{self.log}")

    def stop(self) -> None:
        """End all that still runs."""
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        if self._process is not None:
            self._process.wait(_EXIT_SECONDS)

    @property
    def log(self) -> str:
        return (self.folder / "log.txt").read_text()[-3000:]

    def _start(self) -> None:
        command = [sys.executable, "-m", "sweeps", "run", self._spec, "--out", self.paths.folder, "--slots", "2"]
        environment = os.environ | {"SWEEPS_CHECKPOINT_SECONDS": _CHECKPOINT_SECONDS}
        with open(self.folder / "log.txt", "ab") as log:
            self._process = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self._groups.append(self._process.pid)
        self._started = time.time()

    def _wait_for_training(self) -> bool:
        """Whether a trunk is begun by this runner; False where it ended first."""
        deadline = time.monotonic() + _START_SECONDS
        while self._process is not None and self._process.poll() is None:
            with suppress(OSError):
                if any(log.stat().st_mtime > self._started for log in self.paths.folder.glob("trunks/*/metrics.jsonl")):
                    return True
            assert time.monotonic() < deadline, f"no training: {self.told}\n{self.log}"
            time.sleep(0.02)
        assert self._process is None or self._process.returncode in (0, 1), f"refused: {self.told}\n{self.log}"
        return False

    def _kill(self, kind: str) -> None:
        assert self._process is not None
        if kind == "worker":
            if workers := _children(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(self._random.choice(workers), signal.SIGKILL)
            return
        with suppress(ProcessLookupError):
            (os.kill if kind == "runner" else os.killpg)(self._process.pid, signal.SIGKILL)
        self._process.wait(_EXIT_SECONDS)

    def _wait_for_groups(self) -> None:
        """Workers that outlived their runners notice it and leave."""
        deadline = time.monotonic() + _EXIT_SECONDS
        while any(map(_group_lives, self._groups)):
            assert time.monotonic() < deadline, "workers outlive their runner"
            time.sleep(0.05)

    # Damage ---------------------------------------------------------------------------------------------------

    def _damage(self) -> None:
        """One of the damages; and where all runs are finished, of one run's records too, so that there is work."""
        _DAMAGES[self._damages.draw()](self)
        if all(run_status(config, self.paths) in FINISHED for config in self.plan.configs):
            self._spoil_finished()

    def _cut_newest_checkpoint(self) -> None:
        found = sorted(_checkpoints(self.paths.folder), key=lambda path: path.stat().st_mtime)
        for path in found[-1:]:
            self._halve(path)

    def _cut_all_checkpoints(self) -> None:
        for path in _checkpoints(self.paths.folder):
            self._halve(path)

    def _halve_plan(self) -> None:
        if self.paths.plan.exists():
            self._halve(self.paths.plan)

    def _halve(self, path: Path) -> None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        self.told.append(f"halve {path.relative_to(self.paths.folder)}")

    def _spoil_finished(self) -> None:
        self._spoil([c.run_id for c in self.plan.configs if run_status(c, self.paths) in FINISHED])

    def _spoil_unfinished(self) -> None:
        self._spoil([c.run_id for c in self.plan.configs if run_status(c, self.paths) not in FINISHED])

    def _spoil(self, run_ids: Sequence[str]) -> None:
        """Tables of one of the runs, as a machine that went down leaves them."""
        if not run_ids:
            return
        run = self.paths.run(self._random.choice(run_ids))
        run.folder.mkdir(parents=True, exist_ok=True)
        for path in (run.records, run.evals):
            whole = path.read_bytes() if path.exists() else b"PAR1"
            path.write_bytes(self._random.choice([whole[: len(whole) // 2], b"", b"garbage" * 100]))
        self.told.append(f"spoil {run.folder.name}")

    def _leave_temporaries(self) -> None:
        """As writers that were killed leave them; no process has that number."""
        unfinished = [c.run_id for c in self.plan.configs if run_status(c, self.paths) not in FINISHED]
        left = [self.paths.run(run_id).records for run_id in unfinished] + [self.paths.plan]
        for path in left:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(f"{path.name}.99999999.tmp").write_bytes(b"half")
        self.told.append("leave temporaries")


_DAMAGES: dict[str, Callable[[Chaos], None]] = {
    "cut the newest checkpoint": Chaos._cut_newest_checkpoint,
    "cut all checkpoints": Chaos._cut_all_checkpoints,
    "spoil an unfinished run": Chaos._spoil_unfinished,
    "spoil a finished run": Chaos._spoil_finished,
    "leave temporaries": Chaos._leave_temporaries,
    "halve the plan": Chaos._halve_plan,
    "none": lambda chaos: None,
}


def _children(pid: int) -> list[int]:
    """Spawned workers among the children: the resource tracker is one of them too."""
    found: list[int] = []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return found
    for child in children:
        with suppress(OSError):
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                found.append(int(child))
    return found


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _checkpoints(folder: Path) -> list[Path]:
    return [path for place in ("trunks", "runs") for path in folder.glob(f"{place}/*/*.pt")]


# Comparison ---------------------------------------------------------------------------------------------------


def differences(folder: Path, undisturbed: Path, plan: Plan) -> Iterator[str]:
    """Where records, evals and logs differ from those of a sweep that nothing disturbed."""
    for name, table in {"records": _records, "evals": _evals}.items():
        try:
            pd.testing.assert_frame_equal(table(folder), table(undisturbed))
        except AssertionError as error:
            yield f"{name}: {error}"
    keys = _records(folder)["run_id"]
    if set(keys) != {config.run_id for config in plan.configs}:
        yield f"runs: {sorted(keys)}"
    for config in plan.configs:
        logs = [SweepPaths(of).run(config.run_id).metrics.read_text() for of in (folder, undisturbed)]
        if logs[0] != logs[1]:
            yield f"metrics of {config.run_id}"


def _records(folder: Path) -> pd.DataFrame:
    runs = read_records(folder, weights=None).drop(columns=UNREPEATABLE)
    return runs.sort_values(["run_id", "step", "weights"]).reset_index(drop=True)


def _evals(folder: Path) -> pd.DataFrame:
    rows = read_evals(folder)
    return rows.sort_values(list(rows.columns[rows.columns != "error"])).reset_index(drop=True)


def left_overs(folder: Path) -> list[str]:
    """Files that a finished sweep has no use for, and locks that are held."""
    found = [str(path.relative_to(folder)) for path in [*folder.rglob("*.tmp"), *_checkpoints(folder)]]
    found += [str(path.relative_to(folder)) for path in folder.glob("trunks/*/*.json")]
    for path in [folder / ".lock", *folder.glob("trunks/*.lock")]:
        with suppress(FileNotFoundError):
            FileLock(path, timeout=1).acquire().lock.release()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        undisturbed, chaos = Chaos(Path(place) / "undisturbed"), Chaos(Path(place) / "chaos", asked.seed)
        undisturbed.finish(1)
        started = time.monotonic()
        try:
            for number in range(asked.blows):
                print(number + 1, chaos.blow(), flush=True)
            chaos.finish()
        finally:
            chaos.stop()
        found = [*differences(chaos.paths.folder, undisturbed.paths.folder, chaos.plan)]
        found += left_overs(chaos.paths.folder)
        kinds = Counter(line.split()[0] + " " + line.split()[1].split("/")[0] for line in chaos.told)
        print(f"{asked.blows} blows in {time.monotonic() - started:.0f} s, {len(chaos._groups)} starts: {dict(kinds)}")
        print("\n".join(found) or "records, evals and logs are those of an undisturbed sweep; nothing is left over")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
