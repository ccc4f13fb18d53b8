"""`sweeps shapes`."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..specs.faults import SpecError
from .base import print_line, tell

if TYPE_CHECKING:
    from ..planning.shape_speed import SpeedLaw
    from ..planning.shapes import Found

__all__ = ["shapes"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_MOST_ROWS = 40


def shapes(
    family: Annotated[str, typer.Argument(help="A family of models: vit, mixer, resnet or convnext.")],
    memory: Annotated[str | None, typer.Option(help="Of an accelerator, such as 16GiB; default: here.")] = None,
    image_size: Annotated[int, typer.Option(min=1, help="Side of the images in pixels.")] = 224,
    patch: Annotated[int, typer.Option(min=1, help="Of transformers and mixers, in pixels.")] = 14,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a step and device.")] = 32,
    optimizers: Annotated[str, typer.Option(help="The one that takes most memory first.")] = (
        "adamw,adamw_bf16,adafactor"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="All shapes as one JSON object, and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Draw the regimes into this file.")] = None,
) -> None:
    """Find the shapes of a family that fit into a device's memory, and how fast they train."""
    import torch

    from ..optimizers import OPTIMIZERS
    from ..planning.facts import device_memory
    from ..planning.shape_speed import measure_speed
    from ..planning.shapes import columns_of, find_shapes

    names = optimizers.split(",")
    for name in names:
        if name not in OPTIMIZERS:
            raise SpecError(f"optimizers: must be of {list(OPTIMIZERS)}, got {name!r}")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    num_bytes = device_memory(1)[1] if memory is None else read_bytes(memory)
    on_accelerator = memory is not None or device.type == "cuda"
    try:
        columns = columns_of(family, patch, image_size)
        speed = measure_speed(
            columns, image_size=image_size, batch_size=batch_size, optimizer=names[0], device=device, tell=tell
        )
        found = find_shapes(
            columns, image_size=image_size, batch_size=batch_size, memory=num_bytes, optimizers=names,
            on_accelerator=on_accelerator,
        )  # fmt: skip
    except ValueError as error:
        raise SpecError(str(error)) from error
    facts = _facts(found, speed, batch_size, num_bytes, on_accelerator, device.type)
    if out:
        _draw(found, facts, f"{family}, {image_size} px, batches of {batch_size}, {num_bytes / 2**30:.3g} GiB", out)
    print(json.dumps(facts)) if as_json else print_line("\n".join(_lines(facts)))


def read_bytes(text: str) -> int:
    """
    >>> read_bytes("16GiB"), read_bytes("500 MB")
    (17179869184, 500000000)
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*(?:([KMGT])(i?)B?|B)?\s*", text)
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if not match or not number > 0:
        raise SpecError(f"memory: must be a number of bytes with a unit, such as 16GiB, got {text!r}")
    unit = _UNITS[match[2] or ""]
    return round(number * (unit if match[3] or not match[2] else 1000 ** list(_UNITS).index(match[2])))


def _facts(
    found: "list[Found]", speed: "SpeedLaw", batch_size: int, memory: int, on_accelerator: bool, device: str
) -> dict[str, Any]:
    from ..planning.shapes import regime_of

    speeds = [speed.images_per_second(shape, batch_size) for shape in found]
    rows = [
        {
            "variant": shape.model.variant, "width": shape.width, "depth": shape.depth, "heads": shape.heads,
            "mlp_dim": shape.mlp_dim, "num_params": shape.num_params, "flops_per_image": shape.flops_per_image,
            "bytes": shape.bytes, "fits": shape.fits, "regime": regime_of(shape),
            "images_per_second": images, "relative_speed": images / max(speeds),
        }
        for shape, images in zip(found, speeds, strict=True)
    ]  # fmt: skip
    return {
        "memory_bytes": memory, "batch_size": batch_size, "accelerator": on_accelerator, "speed_device": device,
        "speed_error": speed.error, "num_measured": len(speed.measured), "shapes": rows,
    }  # fmt: skip


def _lines(facts: dict[str, Any]) -> list[str]:
    """Those that fit at all, the largest first."""
    rows, names = facts["shapes"], list(facts["shapes"][0]["fits"])
    counts = ", ".join(f"{name} {sum(row['fits'][name] for row in rows)}" for name in names)
    number_format = "tokens padded to 128, bfloat16" if facts["accelerator"] else "float32"
    fastest = max(row["images_per_second"] for row in rows)
    lines = [
        f"{len(rows)} shapes; of these fit into {facts['memory_bytes'] / 2**30:.3g} GiB: {counts}",
        "memory in GiB: weights, gradients, state, activations, and 0.5 for the process;",
        f"  {number_format}, batches of {facts['batch_size']}",
        f"speed: images/s over the fastest's {fastest:.3g}, on this {facts['speed_device']};"
        f" {facts['num_measured']} measured,",
        f"  the others by a law that errs by {facts['speed_error']:.0%}",
        "",
        f"{'width':>5}{'depth':>6}{'heads':>6}{'mlp':>6}{'M params':>9}{'GFLOPs':>8}"
        + "".join(f"{name:>11}" for name in names)
        + f"{'speed':>7}",
    ]
    fitting = [row for row in rows if any(row["fits"].values())]
    for row in fitting[:_MOST_ROWS]:
        sizes = [f"{row['bytes'][name] / 2**30:.2f}" if row["fits"][name] else "out" for name in names]
        lines.append(
            f"{row['width']:>5}{row['depth']:>6}{row['heads'] or '':>6}{row['mlp_dim'] or '':>6}"
            f"{row['num_params'] / 1e6:>9,.1f}{row['flops_per_image'] / 1e9:>8.3g}"
            + "".join(f"{size:>11}" for size in sizes)
            + f"{row['relative_speed']:>7.3f}"
        )
    if not fitting:
        return [*lines[:-1], "none fits: take smaller batches, smaller images or larger patches"]
    if len(fitting) > _MOST_ROWS:
        lines.append(f"and {len(fitting) - _MOST_ROWS} smaller ones; --json gives all")
    return lines


def _draw(found: "list[Found]", facts: dict[str, Any], title: str, path: Path) -> None:
    from ..planning.shapes_figure import shapes_figure

    speeds = [row["images_per_second"] for row in facts["shapes"]]
    path.parent.mkdir(parents=True, exist_ok=True)
    shapes_figure(found, speeds, title).savefig(path, dpi=150)
