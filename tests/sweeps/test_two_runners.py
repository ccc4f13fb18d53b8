"""Two runners that are started at once on one folder: one trains every run once, the other says why it does not.

A round takes some 10 s, nearly all of it the start of processes with torch: so few in the default suite.
"""

import random
import subprocess
import sys
import time

import pytest
import yaml

from scaling import read_records
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from .conftest import changed
from .planted import Planted

SPEC = changed(train_examples=[100], steps=[2, 4], schedule__warmup="1 steps", downstream__tasks=[])
_DEADLINE_SECONDS = 180


@pytest.mark.parametrize("num_rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_of_two_runners_started_at_once_one_trains_every_run_once(tmp_path, num_rounds):
    spec, rng = tmp_path / "spec.yaml", random.Random(num_rounds)
    spec.write_text(yaml.safe_dump(SPEC))
    run_ids = {config.run_id for config in make_plan(parse_spec(SPEC)).configs}
    for number in range(num_rounds):
        planted, folder = Planted(tmp_path / f"planted{number}"), tmp_path / f"sweep{number}"
        command = [sys.executable, "-m", "sweeps", "run", str(spec), "--out", str(folder), "--slots", "1"]
        runners = []
        for _ in range(2):
            runners.append(
                subprocess.Popen(command, env=planted.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            )
            time.sleep(rng.choice([0, 0, 0.5]))
        ends = [
            (runner.returncode, errors.decode())
            for runner in runners
            for errors in [runner.communicate(timeout=_DEADLINE_SECONDS)[1]]
        ]
        codes = sorted(code for code, _ in ends)
        assert codes in ([0, 2], [0, 0]), ends  # 0 twice: the second found all done
        for code, errors in ends:
            if code == 2:
                assert "is being run by another process" in errors
                assert len(errors.strip().splitlines()) == 1
        assert planted.num_written == dict.fromkeys(run_ids, 1)
        assert set(read_records(folder)["run_id"]) == run_ids
