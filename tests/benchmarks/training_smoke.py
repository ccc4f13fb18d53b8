"""A few steps of every family and recipe, and the speed of three sizes, on the device given: run it where a GPU is.

    python -m tests.benchmarks.training_smoke --device cuda --out tests/benchmarks/results

Of a GPU it also tells the share of time that it was busy, and the step's launch floor: the kernels that a step launches
times the least time a launch takes. A step near its floor is bound by the CPU, and a CUDA graph would help it.
"""

import argparse
import datetime
import tempfile
import time
from pathlib import Path

import torch

from sweeps.data.training import load_training_data, training_source
from sweeps.models import FAMILIES
from sweeps.paths import TrunkPaths
from sweeps.specs.grid import make_plan
from sweeps.specs.recipes import RECIPES
from sweeps.specs.spec import parse_spec
from sweeps.training.step import TrainingStep
from sweeps.training.train import new_state, train_trunk

SHAPES = {
    "vit": {"width": 64, "depth": 2, "patch": 8},
    "resnet": {"width": 8, "depth": [1, 1, 1]},
    "bit": {"width": 16, "depth": [1, 1, 1]},
    "mixer": {"width": 64, "depth": 2, "patch": 8},
    "convnext": {"width": 16, "depth": [1, 1, 1], "patch": 2},
    "hybrid": {"stem_width": 16, "stem_depth": [1, 1], "width": 64, "depth": 1},
    "modernised_resnet": {"variant": "layer_norm", "width": 16, "depth": [1, 1, 1], "stem_stride": 2},
}
SIZES = {
    "cpu": [{"width": w, "depth": d, "patch": 8} for w, d in ((64, 2), (128, 4), (192, 6))],
    "cuda": ["S/16", "B/16", "L/16"],
}


def config_of(family, shape, recipe, image_size, **more):
    spec = {
        "name": "smoke", "upstream": {"dataset": "procedural", "num_images": 2000, "image_size": image_size},
        "model": {family: [shape]}, "steps": 3, "recipe": recipe, "schedule": {"kind": "constant"},
        "evaluate": {"max_upstream": 100, "max_train": 100}, **more,
    }  # fmt: skip
    return make_plan(parse_spec(spec)).configs[0]


def smoke(device: torch.device, family: str, recipe: str) -> str:
    """Three steps and an evaluation; a line that says how it went."""
    fields = {"name": recipe, "batch_size": 64, "lr": 1e-3, **dict.fromkeys(RECIPES[recipe].required, 0.05)}
    config = config_of(family, SHAPES[family], fields, 32)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (finished,) = train_trunk([config], load_training_data(config, device), TrunkPaths(Path(folder)), device)
    columns = finished.evaluations[-1]["columns"]
    loss = columns.get("train_loss", float("nan"))
    return f"{family:<18}{recipe:<14}{columns['status']:<10}loss {loss:8.4f}  {time.perf_counter() - started:6.1f} s"


def speed(device: torch.device, shape, batch_size: int, image_size: int, num_steps: int, **more) -> str:
    """Images a second of steps alone, data and augmentation included."""
    recipe = {"batch_size": batch_size, "augment": "inception_flip"}
    config = config_of("vit", shape, recipe, image_size, **more)
    state, data = new_state(config, device), load_training_data(config, device)
    source = training_source(config, data, device)
    step = TrainingStep(config, device, cropped=source.crops)

    def train(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            step(state, source.batch(state.step))
        _wait(device)
        return (time.perf_counter() - started) / count

    train(3)  # compiles, and finds its kernels
    seconds = sorted(train(num_steps) for _ in range(3))[1]
    source.close()
    line = f"vit {config.model.variant:<12}batch {batch_size:<5}{image_size} px  {batch_size / seconds:9.0f} images/s"
    if device.type != "cuda":
        return line + f"  {1e3 * seconds:8.1f} ms a step"
    busy, launches = _kernels(lambda: train(3))
    floor = launches / 3 * _launch_seconds(device)
    return line + f"  {1e3 * seconds:8.2f} ms a step, busy {busy:.0%}, launch floor {1e3 * floor:.2f} ms"


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _kernels(function) -> tuple[float, int]:
    """The share of time in which a kernel ran, and the number of kernels."""
    from torch.profiler import ProfilerActivity, profile

    started = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        function()
    seconds = time.perf_counter() - started
    kernels = [event for event in found.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return sum(event.device_time for event in kernels) / 1e6 / seconds, len(kernels)


def _launch_seconds(device: torch.device, count: int = 1000) -> float:
    one = torch.zeros(1, device=device)
    times = []
    for _ in range(5):
        _wait(device)
        started = time.perf_counter()
        for _ in range(count):
            one.add_(1)
        _wait(device)
        times.append((time.perf_counter() - started) / count)
    return min(times)


def report(device: torch.device, num_steps: int = 20):
    """The lines of the result file, one after the other as they are found."""
    yield f"# {torch.cuda.get_device_name(device) if device.type == 'cuda' else 'CPU'}, torch {torch.__version__}"
    families = [family for family, config in FAMILIES.items() if config.trainable]
    for family, recipe in [(f, "small_scale") for f in families] + [("vit", r) for r in RECIPES]:
        yield smoke(device, family, recipe)
    on_gpu = device.type == "cuda"
    for shape in SIZES[device.type]:
        yield speed(device, shape, 256 if on_gpu else 32, 224 if on_gpu else 32, num_steps)
        if on_gpu:
            yield "  the same as one CUDA graph: " + speed(device, shape, 256, 224, num_steps, cuda_graph=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for line in report(torch.device(options.device)):
        print(line, flush=True)
        lines.append(line)
    if options.out:
        today = datetime.datetime.now().date().isoformat()
        path = options.out / f"{today}-training-smoke-{options.device.split(':')[0]}.txt"
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
