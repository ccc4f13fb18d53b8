import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.data.prepare import prepare_data, undecoded
from sweeps.planning.cuts import cut_plan, run_shares
from sweeps.planning.describe_costs import describe_costs
from sweeps.planning.disk import checkpoint_bytes, disk_use
from sweeps.planning.estimate import make_estimate, plan_shapes
from sweeps.planning.facts import plan_facts
from sweeps.planning.identified import compute_spreads, unidentified
from sweeps.planning.timing import ShapeTimes
from sweeps.runner.cost import run_cost
from sweeps.training.checkpoints import Checkpoints
from sweeps.training.train import new_state

from .conftest import plan_of

ONE = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
WIDE = {"steps": [20, 40, 80, 160, 320, 640], "train_examples": 800}


def warnings_of(**changes):
    return list(unidentified(compute_spreads(plan_of(model=ONE, **changes))))


def test_a_grid_that_tells_a_law_is_not_warned_of():
    assert warnings_of(**WIDE) == []


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([20, 40, 80, 160, 320], "has 5 distinct computes"),
        ([20, 30, 40, 50, 60, 70], "spans a factor of 3.5 of compute"),
        ([20], "has 1 distinct computes and spans a factor of 1 of compute"),
    ],
)
def test_a_grid_that_does_not_tell_a_law_is_warned_of(steps, said):
    (line,) = warnings_of(steps=steps, train_examples=800)
    assert line == f"vit {said}; a law takes 6 and a factor of 10"


def test_seeds_are_no_further_computes_and_each_subset_counts_alone():
    (line,) = warnings_of(steps=[20], train_examples=800, seeds=[0, 1, 2, 3, 4, 5])
    assert line.startswith("vit has 1 distinct computes")
    (line,) = warnings_of(**WIDE | {"train_examples": [200, 800]}, recipe__batch_size=8, evaluate__every=None) or [""]
    assert line == ""
    models = {"vit": [{**ONE["vit"][0], "train_examples": n, "steps": s} for n, s in ((200, 20), (800, WIDE["steps"]))]}
    (line,) = unidentified(compute_spreads(plan_of(model=models)))
    assert line.startswith("vit: of 2 subsets 1 (200 images) have fewer than 6 distinct computes")


def test_shares_add_up_to_the_plan():
    plan = plan_of()
    shares = run_shares(plan, {trunk.trunk_id: 10.0 for trunk in plan.trunks})
    training = sum(run_cost(trunk.configs[0]).training_flops * trunk.num_images for trunk in plan.trunks)
    assert sum(share.flops for share in shares) == pytest.approx(training)
    assert sum(share.seconds for share in shares) == pytest.approx(10 * len(plan.trunks))
    assert [share.alone for share in shares] == sorted(share.alone for share in shares)


def test_a_cap_keeps_the_cheapest_runs():
    plan = plan_of()
    shares = run_shares(plan)
    in_all = sum(share.flops for share in shares)
    assert cut_plan(shares, max_flops=in_all * 1.001).num_cut == 0
    assert cut_plan(shares, max_flops=0).num_kept == 0
    cut = cut_plan(shares, max_flops=sum(share.flops for share in shares[:4]) * 1.001)
    assert (cut.num_kept, cut.num_cut) == (4, 4)
    kept = {share.config.run_id for share in shares[:4]}
    assert all(share.alone <= min(s.alone for s in shares[4:]) for share in shares if share.config.run_id in kept)
    timed = run_shares(plan, {trunk.trunk_id: 10.0 for trunk in plan.trunks})
    assert cut_plan(timed, max_seconds=0).num_kept == 0
    with pytest.raises(ValueError, match="the time of the runs is not known"):
        cut_plan(shares, max_seconds=1)


def test_a_cap_says_which_lengths_and_models_go():
    one_length = cut_plan(run_shares(plan := plan_of(model=ONE, train_examples=200)), max_flops=_flops(plan, 25))
    assert (one_length.num_kept, one_length.lengths, one_length.models) == (1, (40,), ())
    timed = run_shares(plan, {plan.trunks[0].trunk_id: 30.0})
    assert cut_plan(timed, max_seconds=29.0).num_kept == 1
    assert cut_plan(timed, max_seconds=31.0).num_kept == 2
    cheap = cut_plan(run_shares(plan_of(steps=[20])), max_flops=_flops(plan_of(model=ONE), 20) * 2.001)
    assert cheap.models == ("resnet w4d1-1",)


def _flops(plan, steps):
    return float(run_cost(plan.configs[0]).training_flops) * 16 * steps


def test_a_checkpoint_is_as_large_as_told(tmp_path):
    """Of tensors: what pickle adds to a file, some kilobytes, is not counted."""
    import torch

    plan = plan_of(model={"vit": [{"width": 192, "depth": 4, "patch": 4}]}, train_examples=200, steps=20)
    state = new_state(plan.configs[0], torch.device("cpu"))
    for parameter in state.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    state.optimizer.step()
    Checkpoints(tmp_path, plan.trunks[0].trunk_id).save(state.parts(), 0)
    written = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.suffix == ".pt")
    # Two are kept, of the trunk and of a branch.
    assert checkpoint_bytes(plan.trunks, 1) / 4 == pytest.approx(written, rel=0.02)


def test_disk_names_what_is_not_decoded_and_what_is_lacking(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path))
    plan = plan_of(model=ONE, downstream=None)
    assert undecoded(plan.configs) == [(1000, 8), (797, 8)]
    use = disk_use(plan, 2, tmp_path / "none" / "yet")
    assert use.cache == 192 * (1000 + 797)
    assert use.lacking == []
    prepare_data(plan.configs)
    assert disk_use(plan, 2, tmp_path).cache == 0
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    assert disk_use(plan, 2, tmp_path).lacking == [
        f"the sweep's folder takes {use.folder / 2**30:.3g} GiB, and 9.31e-09 GiB are free"
    ]


def facts_of(plan, **options):
    shapes = plan_shapes(plan)
    times = {shape.config: ShapeTimes(1.0, 0.01, 1e-4, 0.1) for shape in shapes}
    return plan_facts(plan, 2, Path("."), make_estimate(plan, shapes, times, 2, 3.0), **options)


def test_facts_are_json_and_are_told_in_80_columns():
    facts = facts_of(plan_of(seeds=[0, 0]), max_hours=1e-4, max_flops=1e9)
    assert json.loads(json.dumps(facts)) == json.loads(json.dumps(facts, allow_nan=False))
    assert (facts["num_cells"], facts["num_runs"], facts["num_duplicates"]) == (16, 8, 8)
    assert (facts["num_trunks"], facts["num_branches"]) == (4, 4)
    assert facts["time"]["wall_seconds"] > facts["time"]["slot_seconds"] / 2
    assert facts["caps"]["num_kept"] + facts["caps"]["num_cut"] == 8
    text = describe_costs(facts)
    assert max(map(len, text.splitlines())) <= 80
    assert "on 2 slots" in text
    assert "within 0.0001 hours and 1.00e+09 FLOPs, the cheapest first: " in text
    assert "warning: resnet has 2 distinct computes" in text


def test_a_model_that_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr("sweeps.planning.facts.device_memory", lambda num_slots: ("cpu", 2**29 + 165_000))
    (line,) = (line for line in facts_of(plan_of())["warnings"] if "fit" in line)
    assert line.startswith("resnet w4d1-1 at 8 px in batches of 16 takes about ")
    assert line.endswith("4 run(s) will not fit")


def call(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_json_is_all_that_is_printed(write_spec):
    result = call(write_spec(), "--json", "--no-measure")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["time"] is None
    assert facts["flops"]["total"] == facts["flops"]["training"] > 0


def test_hours_take_a_measured_step(write_spec):
    result = call(write_spec(), "--no-measure", "--max-hours", 1)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.strip() == "error: --max-hours: takes the time of a step, which --no-measure leaves out"


def test_a_cap_without_end_is_refused(write_spec):
    """It is no number of JSON."""
    result = call(write_spec(), "--no-measure", "--max-flops", "inf")
    assert (result.exit_code, result.stderr.strip()) == (2, "error: --max-flops: must be a finite number, got inf")


def test_what_measuring_takes_is_told_before_it_begins(write_spec, monkeypatch):
    """Here of an engine that measures nothing."""
    from .planning.test_estimate import TwoSlots

    monkeypatch.setattr("sweeps.planning.estimate.plan_engine", lambda plan, slots: TwoSlots())
    result = call(write_spec(), "--max-hours", 100)
    assert result.exit_code == 0, result.output
    assert "measuring 2 of 2 shapes, about 6 s; --no-measure leaves it out" in result.stderr
    assert "within 100 hours, the cheapest first: 8 of 8 runs" in result.stdout
