import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.commands.shapes import read_bytes
from sweeps.models.cost import count_cost
from sweeps.planning.memory import count_memory
from sweeps.planning.shape_speed import Measured, fit_speed, measure_speed
from sweeps.planning.shapes import AXES, OUT_OF_MEMORY, columns_of, cost_at, find_shapes, memory_at, regime_of
from sweeps.planning.shapes_figure import shapes_figure
from sweeps.specs.faults import SpecError

OPTIMIZERS = ("adamw", "adamw_bf16", "adafactor")
SIZE = 32


@pytest.fixture(scope="module")
def found():
    columns = columns_of("vit", 8, SIZE)[:4]
    return find_shapes(
        columns, image_size=SIZE, batch_size=8, memory=2**30, optimizers=OPTIMIZERS, on_accelerator=False
    )


@pytest.mark.parametrize("family", AXES)
def test_what_a_shape_takes_is_linear_in_its_depth(family):
    """Counted at one and two units, the same as counted at three."""
    column = columns_of(family, 8, 64)[0]
    model, told = column.make(3), memory_at(column, 3, 64)
    counted = count_memory(model, 64, 1000)
    assert sorted(told.shapes) == sorted(counted.shapes)
    assert told.image_bytes == pytest.approx(counted.image_bytes)
    assert told.buffer_bytes == counted.buffer_bytes
    assert cost_at(column, 3, 64) == count_cost(model, 64, 1000)


def test_the_three_regimes_are_nested(found):
    """A shape that fits with an optimizer fits with each that keeps less."""
    for shape in found:
        assert shape.bytes["adamw"] > shape.bytes["adamw_bf16"] > shape.bytes["adafactor"]
        fits = [shape.fits[name] for name in OPTIMIZERS]
        assert fits == sorted(fits)
        assert regime_of(shape) == next((n for n, f in shape.fits.items() if f), OUT_OF_MEMORY)
    assert {regime_of(shape) for shape in found} == {*OPTIMIZERS, OUT_OF_MEMORY}


def test_the_speed_law_finds_the_coefficients_that_made_the_times():
    rng = np.random.default_rng(0)
    truth = np.array([2e-11, 3e-10, 1e-9])
    points = []
    for _ in range(8):
        one = Measured(*(10 ** rng.uniform((8, 5, 5), (10, 8, 8))), images=4, seconds=1.0)
        points.append(Measured(one.flops, one.image_bytes, one.num_params, 4, 4 * float(truth @ one.terms)))
    law = fit_speed(points)
    assert law.coefficients == pytest.approx(truth, rel=1e-6)  # of exact times
    assert law.error < 1e-6


def test_speeds_are_measured_and_fall_with_depth(found):
    columns = columns_of("vit", 8, SIZE)[:2]
    law = measure_speed(columns, image_size=SIZE, batch_size=2, optimizer="adamw", device=torch.device("cpu"))
    assert len(law.measured) == 2
    assert min(m.seconds for m in law.measured) > 0
    by_depth = sorted((s for s in found if s.width == 192 and s.mlp_dim == 576), key=lambda shape: shape.depth)
    speeds = [law.images_per_second(shape, 8) for shape in by_depth]
    assert len(speeds) == 8
    assert speeds == sorted(speeds, reverse=True)


def test_every_shape_is_drawn_in_its_regime(found):
    figure = shapes_figure(found, np.linspace(1, 2, len(found)), "title")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert [label.split(" (")[0] for label in labels] == [
        "adamw", "only from adamw_bf16 on", "only from adafactor on", OUT_OF_MEMORY,
    ]  # fmt: skip
    assert sum(len(marks.get_offsets()) for marks in figure.axes[0].collections) == len(found)


def test_the_command(monkeypatch, tmp_path):
    monkeypatch.setitem(AXES, "vit", lambda patch, vit=AXES["vit"]: list(vit(patch))[:2])
    options = ["--memory", "1GiB", "--image-size", "32", "--patch", "8", "--batch-size", "2"]
    result = CliRunner().invoke(app, ["shapes", "vit", *options, "--json", "--out", str(tmp_path / "new" / "a.png")])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["num_measured"] == 2
    assert max(row["relative_speed"] for row in facts["shapes"]) == 1
    assert (tmp_path / "new" / "a.png").stat().st_size > 0
    text = CliRunner().invoke(app, ["shapes", "vit", *options]).stdout
    assert max(map(len, text.splitlines())) <= 80
    nothing = CliRunner().invoke(app, ["shapes", "vit", *options[2:], "--memory", "1MiB"]).stdout
    assert nothing.splitlines()[-1].startswith("none fits")
    assert "16 shapes; of these fit into 1 GiB: adamw" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["timm"], "family: shapes are enumerated of ['vit', 'mixer', 'resnet', 'convnext'], got 'timm'"),
        (["vit", "--patch", "15"], "patch: must divide the image size 224"),
        (["vit", "--memory", "lots"], "memory: must be a number of bytes with a unit, such as 16GiB, got 'lots'"),
        (["vit", "--optimizers", "adam"], "optimizers: must be of"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, said):
    result = CliRunner().invoke(app, ["shapes", *arguments])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("text", ["", "-1GiB", "1.2.3GiB", "0", "GiB"])
def test_no_number_of_bytes(text):
    with pytest.raises(SpecError, match="memory: must be a number"):
        read_bytes(text)
