"""What all measurements cost, beside the training of the models that they are asked of.

    python -m tests.benchmarks.measurement_cost [--trunks 5]

Trains runs of the demo in one process and measures each at its end with `measure: {names: all}` at its defaults.
Training is its steps alone; measuring is all that it takes, with `copies` of the model. Both are CPU seconds of one
thread, so that other work on the machine hardly enters.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pandas as pd
import torch

import sweeps
from sweeps.data.training import load_training_data
from sweeps.measure import MEASUREMENTS
from sweeps.paths import TrunkPaths
from sweeps.specs.grid import Plan, Trunk, make_plan
from sweeps.specs.spec import SweepSpec, read_spec
from sweeps.training import finish, train

__all__ = ["DEMO", "cost_table", "main", "measured_plan"]

DEMO = Path(sweeps.__file__).parent / "configs" / "demo.yaml"


def cost_table(trunks: Sequence[Trunk]) -> pd.DataFrame:
    """A row a trunk: its model, runs and steps, CPU seconds of its steps, of all measuring and of each measurement."""
    return pd.DataFrame([_cost(trunk) for trunk in trunks])


def _cost(trunk: Trunk) -> dict[str, object]:
    spent: defaultdict[str, float] = defaultdict(float)
    device = torch.device("cpu")
    data = load_training_data(trunk.configs[0], device)
    with tempfile.TemporaryDirectory() as folder, _timed(spent):
        runs = list(train.train_trunk(trunk.configs, data, TrunkPaths(Path(folder)), device))
    faults = {name: trace for run in runs for name, trace in run.evaluations[-1].get("faults", {}).items()}
    if faults:
        raise RuntimeError(f"measurements failed: {faults}")
    model = trunk.configs[0].model
    spent["copies"] = spent["measured"] - sum(spent[name] for name in MEASUREMENTS)
    parts = {name: spent[name] for name in ("training", "measured", *MEASUREMENTS, "copies")}
    return {
        "model": f"{model.family} {model.variant}", "runs": len(runs), "steps": trunk.num_steps, **parts,
    }  # fmt: skip


@contextmanager
def _timed(spent: dict[str, float]) -> Iterator[None]:
    """Adds up the CPU seconds of training steps and of each measurement."""
    modules = {name: import_module(f"sweeps.measure.{name}") for name in MEASUREMENTS}
    places = [(train.TrainingStep, "__call__", "training"), (finish, "measure_model", "measured")]
    places += [(module, "measure", name) for name, module in modules.items()]
    before = [(place, name, getattr(place, name)) for place, name, _ in places]
    for (place, name, of), (_, _, function) in zip(places, before, strict=True):
        setattr(place, name, _adding(function, spent, of))
    try:
        yield
    finally:
        for place, name, function in before:
            setattr(place, name, function)


def _adding(function, spent: dict[str, float], name: str):
    def timed(*args):
        started = time.process_time()
        found = function(*args)
        found = list(found) if isinstance(found, Iterator) else found
        spent[name] += time.process_time() - started
        return found

    return timed


def measured_plan(spec: SweepSpec) -> Plan:
    """The plan of a spec whose runs are asked every measurement."""
    asked = [
        cell.model_copy(update={"measure": cell.measure.model_copy(update={"names": ("all",)})}) for cell in spec.cells
    ]
    return make_plan(SweepSpec(spec.name, spec.order, tuple(asked)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trunks", type=int, help="only so many of the demo's, evenly chosen")
    trunks = measured_plan(read_spec(DEMO)).trunks
    wanted = parser.parse_args().trunks or len(trunks)
    torch.set_num_threads(1)
    table = cost_table(trunks[:: max(1, len(trunks) // wanted)])
    by_model = table.groupby("model").sum()
    by_model.loc["in all"] = by_model.sum()
    by_model["share"] = by_model["measured"] / by_model["training"]
    print(by_model.round(3).T.to_string())


if __name__ == "__main__":
    main()
