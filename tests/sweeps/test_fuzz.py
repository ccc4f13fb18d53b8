"""Any spec is a plan, or sentences that name its faults; damaged folders are told of.

`FUZZ_EXAMPLES=2000 pytest tests/sweeps/test_fuzz.py` searches long.
"""

import contextlib
import copy
import datetime
import math
import shutil
import warnings

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from scaling import read_records
from sweeps.cli import app
from sweeps.runner.cost import run_cost
from sweeps.specs.durations import parse_duration
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec, read_spec

from ..fuzz import FUZZ
from .folders import Kind, ids, write_sweep

GOOD = {
    "name": "night",
    "upstream": {"dataset": "digits", "val_fraction": 0.05},
    "model": {
        "vit": [{"width": [16, 32], "depth": 1, "patch": 4, "heads": 2}],
        "resnet": [{"width": 4, "depth": [1, 1]}],
        "mixer": [{"width": 16, "depth": 1, "patch": 4}],
        "convnext": [{"width": 4, "depth": [1, 1], "patch": 2}],
    },
    "train_examples": [100, 500],
    "steps": [20, 40],
    "recipe": {"name": "small_scale", "lr": [1e-3, 3e-3], "batch_size": 16},
    "schedule": {"kind": "constant", "warmup": "5 steps", "cooldown": "20%"},
    "seeds": [0, 1],
    "evaluate": {"every": "10 steps", "max_upstream": 200},
    "downstream": {"tasks": ["digits", "shapes"], "shots": [1, 5], "draws": 2},
}
ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.integers(-3, 40), st.floats(), st.text(max_size=6),
    st.sampled_from([math.nan, math.inf, -0.0, 1e300, "x" * 5000, "..", "a/b", "10%", "5 epochs", "5%steps", "1e3"]),
    st.just(datetime.date(2026, 1, 1)), st.just(b"\x00"),
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def places(tree, path=()):
    """Paths of all that is in a tree of mappings and lists."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def damaged(draw):
    """The good spec after one to three of: a value changed, taken away, wrapped, put elsewhere, a field added."""
    spec = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(spec)) or [()]))
        if not path:
            break
        parent = spec
        for key in path[:-1]:
            parent = parent[key]
        match draw(st.sampled_from(["change", "change", "drop", "wrap", "move", "add", "rename"])):
            case "change":
                parent[path[-1]] = draw(VALUES)
            case "drop":
                del parent[path[-1]]
            case "wrap":
                parent[path[-1]] = [parent[path[-1]]]
            case "move":
                spec[draw(st.sampled_from(sorted(GOOD)))] = copy.deepcopy(parent[path[-1]])
            case "add" if isinstance(parent, dict):
                parent[draw(st.text(max_size=5))] = draw(VALUES)
            case "rename" if isinstance(parent, dict):
                parent[draw(st.text(max_size=5))] = parent.pop(path[-1])
    return spec


def plan_or_refusal(make):
    """The plan, or None where a SpecError says why in lines for a terminal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return make()
    except SpecError as error:
        lines = str(error).splitlines()
        assert lines
        assert all(0 < len(line) < 3000 for line in lines), lines
        return None


def small(spec):
    """Whether its grid can be planned in the time of an example."""
    return len(spec.cells) <= 64


@FUZZ
@given(damaged())
def test_a_spec_is_planned_or_its_faults_are_named(raw):
    before = copy.deepcopy(raw)
    spec = plan_or_refusal(lambda: parse_spec(raw))
    assert repr(raw) == repr(before)  # NaN is no equal of itself
    if spec is None or not small(spec):
        return
    plan = plan_or_refusal(lambda: make_plan(spec))
    if plan is None:
        return
    found = [config.run_id for config in plan.configs]
    assert len(set(found)) == len(found)
    assert all(0 < run_cost(config).training_flops < math.inf for config in plan.configs)
    turned = parse_spec({key: raw[key] for key in reversed(raw)})
    assert sorted(config.run_id for config in make_plan(turned).configs) == sorted(found)


@FUZZ
@given(damaged(), st.data())
def test_a_file_of_yaml_is_planned_or_its_faults_are_named(tmp_path_factory, raw, data):
    """With a few characters put in, among them those that mean something in YAML."""
    text = yaml.safe_dump(raw, allow_unicode=True)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(text)))
        put = st.sampled_from(
            ["\t", ": ", "- ", "&a ", "*a", "!!python/object:os.system ", "---\n", "{", "'", "#", "\x07", "<<: "]
        )
        text = text[:place] + data.draw(put) + text[place:]
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(text.encode("utf-8", errors="replace"))
    plan_or_refusal(lambda: read_spec(path))


@FUZZ
@given(st.binary(max_size=60))
def test_bytes_are_no_spec(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(data)
    plan_or_refusal(lambda: read_spec(path))


@FUZZ
@given(ATOMS)
def test_a_duration_is_read_or_refused(value):
    with contextlib.suppress(ValueError):
        parse_duration(value)


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nights") / "night"
    return write_sweep(
        folder, dict.fromkeys(ids(3), Kind()) | dict.fromkeys(ids(1, 3), Kind(status="failed", failure="x"))
    ).folder


RUNNER = CliRunner()


@FUZZ
@given(data=st.data(), command=st.sampled_from(["status", "collect", "retry"]))
def test_a_damaged_folder_is_told_of_and_nothing_is_lost(night, tmp_path_factory, data, command):
    """One file cut, changed or emptied: no traceback, and the runs whose files are whole are still read."""
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(night, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "code" not in path.parts)
    file = data.draw(st.sampled_from(files))
    good = file.read_bytes()
    place = data.draw(st.integers(0, max(len(good) - 1, 0)))
    file.write_bytes(
        data.draw(
            st.sampled_from(
                [good[:place], b"", good[:place] + b"\xff" + good[place:], data.draw(st.binary(max_size=20))]
            )
        )
    )
    done = RUNNER.invoke(app, [command, str(folder)])
    assert done.exception is None or isinstance(done.exception, SystemExit), (file, done.exception)
    assert done.exit_code in (0, 1, 2), done.output
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            left = read_records(folder)
        except ValueError as error:
            left, told = None, str(error)
    if left is None:
        assert file.name in told or "record" in told
        return
    damaged_run = file.parent.name
    assert set(ids(3)) - {damaged_run} <= set(left["run_id"])
