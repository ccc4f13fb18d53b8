"""Few-shot evaluation of every layer: from the spec's fields to the rows of evals."""

import numpy as np
import pandas as pd
import pytest
import torch

from scaling.records import read_evals
from sweeps.data.images import Images, load_images, normalise
from sweeps.evaluation.evaluate import evaluate_downstream
from sweeps.evaluation.features import extract_features
from sweeps.models import TimmConfig
from sweeps.models.layers import layer_outputs, pool
from sweeps.paths import SweepPaths
from sweeps.planning.describe import describe_plan
from sweeps.runner.jobs import run_trunk
from sweeps.specs.config import DownstreamConfig
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.acceleration import compile_blocks

from .conftest import changed, plan_of
from .models.test_layers import SHAPES, shape_of

NAMES = ("embedding", "block_1", "block_2", "block_3", "pre_logits")
VIT = {"vit": [{"width": 16, "depth": 2, "patch": 4}]}


def one_config(**changes):
    return plan_of(model=VIT, train_examples=200, steps=20, **changes).configs[0].downstream


# Fields -------------------------------------------------------------------------------------------------------


def test_all_layers_are_named_in_order_for_each_family():
    plan = plan_of(downstream__layers="all")
    layers = {config.model.family: config.downstream.layers for config in plan.configs}
    assert layers == {
        "vit": ("embedding", "block_1", "pre_logits"), "resnet": ("embedding", "block_1", "block_2", "pre_logits"),
    }  # fmt: skip
    listed = plan_of(model=VIT, downstream__layers=["block_2", "pre_logits", "embedding", "block_1"])
    written = plan_of(model=VIT, downstream__layers=["all"])
    assert [config.run_id for config in listed.configs] == [config.run_id for config in written.configs]


def test_defaults_are_as_before_and_leave_the_run_id_alone():
    plain = plan_of(model=VIT)
    given = plan_of(
        model=VIT,
        downstream__layers="pre_logits",
        downstream__probes=["whitened", "plain"],
        downstream__l2_rule="fixed",
    )
    assert [config.run_id for config in plain.configs] == [config.run_id for config in given.configs]
    other = plan_of(model=VIT, downstream__probes="whitened")
    assert not {config.run_id for config in plain.configs} & {config.run_id for config in other.configs}


def test_lists_of_lists_and_of_rules_are_axes():
    assert len(plan_of(model=VIT, downstream__layers=[["block_1"], ["pre_logits"], ["all"]]).configs) == 12
    assert len(plan_of(model=VIT, downstream__probes=["plain", "whitened"]).configs) == 4
    assert len(plan_of(model=VIT, downstream__l2_rule=["fixed", "held-out"]).configs) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"layers": ["block_1", "block_3"]},
            "downstream.layers: vit w16d2/4 has the layers embedding, block_1, block_2, pre_logits, got 'block_3'",
        ),
        ({"layers": []}, r"downstream.layers: needs at least one value, got \[\]"),
        ({"layers": ["block_1", "block_1"]}, "downstream.layers: must not repeat a value"),
        ({"layers": 3}, "downstream.layers: .*valid list, got 3|downstream.layers: .*list"),
        ({"layers": "block_9"}, "downstream.layers: .*got 'block_9'"),
        ({"probes": ["knn"]}, "downstream.probes.0: input should be 'plain' or 'whitened', got 'knn'"),
        ({"probes": []}, "downstream.probes: needs at least one value"),
        ({"l2_rule": "test"}, "downstream.l2_rule: input should be 'fixed' or 'held-out', got 'test'"),
        ({"l2_rule": "held-out", "probes": "plain"}, r"downstream: l2_rule: .*whitened probe, .*\['plain'\]"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_before_training(changes, message):
    with pytest.raises(SpecError, match=message):
        one_config(**{f"downstream__{field}": value for field, value in changes.items()})


def test_a_layer_that_some_models_lack_is_counted():
    with pytest.raises(SpecError, match=r"vit w16d1/4 has the layers .* got 'block_2' \(in 4 of 8 cells\)"):
        plan_of(downstream__layers=["block_2"])


def test_a_task_with_few_images_is_told_in_the_plan():
    few = {"tasks": ["digits"], "shots": [1, 84]}
    text = describe_plan(plan_of(model=VIT, downstream=few))
    assert "shots 84: digits leaves 2 images of some class to choose an l2 on,\n  which l2_rule records" in text
    assert "num_train" not in text
    text = describe_plan(plan_of(model=VIT, downstream=few | {"shots": [90], "probes": "whitened"}))
    assert "shots 90: digits has only 86 training images of some class,\n  which num_train records" in text
    assert "l2_rule" not in text
    assert "shots" not in describe_plan(plan_of(model=VIT, downstream__shots=[1, 5, 10, 25]))


# Features -----------------------------------------------------------------------------------------------------


def some_images(num_images=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (num_images, 32, 32, 3), generator=generator).byte()
    return Images(pixels, torch.arange(num_images) % 2)


@pytest.mark.parametrize("family", SHAPES)
def test_features_are_the_pooled_outputs_of_each_layer(family, monkeypatch):
    monkeypatch.setattr("sweeps.evaluation.features._BATCH", 4)
    model, images = shape_of(family).build(32, 10), some_images()
    features = extract_features(model, images, NAMES)
    assert list(features) == list(NAMES)
    with torch.inference_mode():
        outputs = layer_outputs(model, normalise(images.pixels), NAMES)
    for name, values in features.items():
        expected = pool(model, outputs[name])
        assert values.dtype == torch.float32
        assert values.shape == (6, expected.shape[1])
        # 1e-5: batches of 4 and of 6 add up in other orders
        torch.testing.assert_close(values, expected, rtol=1e-5, atol=1e-5 * expected.abs().max().item())


def test_nothing_but_the_pooled_vectors_is_held():
    model = shape_of("vit", pooling="token").build(32, 10)
    features = extract_features(model, some_images(3), NAMES)
    assert {name: values.untyped_storage().nbytes() for name, values in features.items()} == dict.fromkeys(
        NAMES, 3 * 16 * 4
    )


def test_class_token_and_mean_pooling():
    """The class token is the same for all images before the first block, which is the first to mix tokens."""
    token = extract_features(shape_of("vit", pooling="token").build(32, 10), some_images(), NAMES)
    assert (token["embedding"] == token["embedding"][:1]).all()
    assert (token["block_1"] != token["block_1"][:1]).any(1)[1:].all()
    mean = extract_features(shape_of("vit").build(32, 10), some_images(), NAMES)
    assert (mean["embedding"] != mean["embedding"][:1]).any(1)[1:].all()


@pytest.mark.slow
def test_compiled_blocks_give_the_same_features():
    model = shape_of("vit").build(32, 10)
    plain = extract_features(model, some_images(), NAMES)
    compile_blocks(model, backend="eager")
    with torch.inference_mode():
        model(normalise(some_images().pixels))  # compiled before anything is kept
    compiled = extract_features(model, some_images(), NAMES)
    assert all(torch.equal(plain[name], compiled[name]) for name in NAMES)


def test_features_that_are_not_finite_are_told():
    model = shape_of("vit").build(32, 10)
    with torch.no_grad():
        model.blocks[1].mlp.fc2.bias.fill_(torch.inf)
    with pytest.raises(ValueError, match="features of layer 'block_2' must be finite, got inf or nan"):
        extract_features(model, some_images(), NAMES)


# Rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SHAPES)
def test_rows_of_every_layer_of_every_family(family):
    config = DownstreamConfig(tasks=("colours",), shots=(1, 5), draws=2, max_eval=60, layers=NAMES)
    model = shape_of(family).build(32, 10)
    rows = pd.DataFrame(list(evaluate_downstream(model, config, 32)))
    assert rows.groupby("layer", sort=False).size().to_dict() == dict.fromkeys(NAMES, 2 * 2 * 2)
    assert set(rows.num_eval) == {60}
    assert rows.error.between(0, 1).all()
    alone = config.model_copy(update={"layers": ("pre_logits",)})
    last = rows[rows.layer == "pre_logits"].reset_index(drop=True)
    pd.testing.assert_frame_equal(last, pd.DataFrame(list(evaluate_downstream(model, alone, 32))))


def test_rows_of_one_probe_are_those_of_both():
    config = DownstreamConfig(tasks=("colours",), shots=(5,), draws=2, max_eval=60, l2_rule="held-out")
    model = shape_of("vit").build(32, 10)
    both = list(evaluate_downstream(model, config, 32))
    alone = list(evaluate_downstream(model, config.model_copy(update={"probes": ("whitened",)}), 32))
    assert alone == [row for row in both if row["probe"] == "whitened"]
    assert {row["l2_rule"] for row in both} == {"held-out 5 a class"}


def test_training_on_a_task_helps_its_last_layers_most():
    """Trained on colours themselves: the pre-logits tell them apart, and better than they did untrained."""
    torch.manual_seed(0)
    config = DownstreamConfig(
        tasks=("colours",), shots=(10,), draws=2, max_eval=300, layers=NAMES, probes=("whitened",)
    )
    model = shape_of("resnet").build(32, 10)
    before = mean_errors(model, config)
    images = load_images("colours", "train", 32)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    model.train()
    for step in range(60):
        batch = images.take(np.arange(step * 32, step * 32 + 32) % len(images.labels))
        loss = torch.nn.functional.cross_entropy(model(normalise(batch.pixels)), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    after = mean_errors(model, config)
    assert after["pre_logits"] < 0.7 * before["pre_logits"]
    assert after["pre_logits"] < after["embedding"]


def mean_errors(model, config):
    return pd.DataFrame(list(evaluate_downstream(model, config, 32))).groupby("layer").error.mean()


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        pytest.param(
            "vit_tiny_patch16_224",
            ("embedding", *(f"block_{k}" for k in range(1, 13)), "pre_logits"),
            marks=pytest.mark.slow,
        ),
        ("resnet18", ("embedding", *(f"block_{k}" for k in range(1, 9)), "pre_logits")),
    ],
)
def test_checkpoints_of_timm_are_probed_at_every_layer(name, layers, tmp_path):
    """The untrained weights of the shape stand for trained ones, which would have to be downloaded."""
    import timm
    from safetensors.torch import save_file

    torch.manual_seed(0)
    save_file(timm.create_model(name, num_classes=0).state_dict(), tmp_path / "model.safetensors")
    entry = {"name": name, "checkpoint": str(tmp_path / "model.safetensors")}
    downstream = {"tasks": ["colours"], "shots": [1, 5], "draws": 1, "max_eval": 20, "layers": "all"}
    plan = plan_of(
        upstream__image_size=32, model={"timm": [entry]}, train_examples=None, steps=0, downstream=downstream
    )
    (config,) = plan.configs
    assert config.downstream.layers == layers
    assert isinstance(config.model, TimmConfig)
    rows = pd.DataFrame(list(evaluate_downstream(config.model.build(32, 10), config.downstream, 32)))
    assert rows.groupby("layer", sort=False).size().to_dict() == dict.fromkeys(layers, 4)


def test_a_sweep_leaves_a_row_a_layer(tmp_path):
    spec = changed(model=VIT, train_examples=200, steps=20, downstream__layers="all", downstream__probes=["whitened"])
    (trunk,) = make_plan(parse_spec(spec)).trunks
    assert run_trunk(trunk, SweepPaths(tmp_path), "tiny", ("cpu",), lambda num_images, num_runs: None) == {"ok": 1}
    evals = read_evals(SweepPaths(tmp_path).run(trunk.configs[0].run_id).evals)
    assert evals.groupby("layer", sort=False).size().to_dict() == dict.fromkeys(
        ("embedding", "block_1", "block_2", "pre_logits"), 2 * 2
    )
    assert set(evals.probe) == {"whitened"}
    assert set(evals.l2_rule) == {"fixed"}
