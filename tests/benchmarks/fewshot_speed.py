"""Seconds that few-shot evaluation takes of all layers of a ViT of width 384 and depth 12, and of the demo's models.

`python -m tests.benchmarks.fewshot_speed --help`. The weights are those of the initialisation, on which the time does
not depend. Process time of one thread, which other processes on the cores disturb less than the wall clock.
"""

import argparse
import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sweeps.data.datasets import find_dataset
from sweeps.data.images import Images, load_images
from sweeps.evaluation.evaluate import evaluate_downstream, task_images
from sweeps.evaluation.features import extract_features
from sweeps.evaluation.fewshot import evaluate_fewshot
from sweeps.models import FAMILIES, ModelConfig
from sweeps.models.layers import layer_names
from sweeps.specs.config import DownstreamConfig

RESULTS = Path(__file__).parent / "results"
IMAGE_SIZE = 32
TASKS = ("shapes", "textures", "colours", "position", "count", "digits")
LARGE = FAMILIES["vit"].model_validate({"width": 384, "depth": 12, "patch": 8, "heads": 6})
DEMO_MODELS = (
    FAMILIES["vit"].model_validate({"width": 32, "depth": 2, "patch": 8, "heads": 2}),
    FAMILIES["resnet"].model_validate({"width": 8, "depth": [1, 1, 1, 1]}),
)
DEMO = DownstreamConfig(tasks=(*TASKS, "shuffled_labels"), shots=(1, 5, 10), draws=3, max_eval=500)


@dataclass(frozen=True)
class TaskSeconds:
    """What one task takes: features of all layers, and each probe on all of them."""

    task: str
    num_classes: int
    num_train: int
    num_test: int
    features: float
    plain: float
    whitened: float


def config_of(layers: Sequence[str], tasks: Sequence[str] = TASKS) -> DownstreamConfig:
    return DownstreamConfig(tasks=tuple(tasks), shots=(1, 5, 10, 25), draws=3, layers=tuple(layers))


def time_tasks(shape: ModelConfig, tasks: Sequence[str] = TASKS) -> Iterator[TaskSeconds]:
    config = config_of(layer_names(shape, IMAGE_SIZE), tasks)  # pyright: ignore[reportArgumentType] frozen
    model = shape.build(IMAGE_SIZE, 10)
    for task in tasks:
        splits, num_classes = task_images(task, IMAGE_SIZE, config), find_dataset(task).num_classes
        start = time.process_time()
        features = [extract_features(model, images, config.layers) for images in splits]
        seconds = time.process_time() - start
        probes = {probe: probe_seconds(probe, features, splits, num_classes, config) for probe in config.probes}
        yield TaskSeconds(task, num_classes, *(len(images.labels) for images in splits), seconds, **probes)


def probe_seconds(
    probe: str,
    features: list[dict[str, torch.Tensor]],
    images: tuple[Images, Images],
    num_classes: int,
    config: DownstreamConfig,
) -> float:
    """Of every layer, number of shots and draw."""

    def run() -> None:
        for layer in config.layers:
            train, test = ((of[layer], split.labels.numpy()) for of, split in zip(features, images, strict=True))
            shots, draws = config.shots, config.draws
            list(evaluate_fewshot(
                train, test, num_classes=num_classes, shots=shots, num_draws=draws, probes=[probe],
            ))  # fmt: skip

    return timed(run)[1]


def demo_seconds(shape: ModelConfig, num_rounds: int = 3) -> float:
    """Of one evaluation as the demo's, the least of a few."""
    model = shape.build(IMAGE_SIZE, 10)
    return min(timed(lambda: list(evaluate_downstream(model, DEMO, IMAGE_SIZE)))[1] for _ in range(num_rounds))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return call(), time.process_time() - start


def table(rows: Sequence[TaskSeconds]) -> Iterator[str]:
    yield f"{'task':<12}{'classes':>8}{'train':>7}{'test':>7}{'features s':>12}{'plain s':>10}{'whitened s':>12}"
    for row in rows:
        counts = f"{row.num_classes:>8}{row.num_train:>7}{row.num_test:>7}"
        yield f"{row.task:<12}{counts}{row.features:>12.2f}{row.plain:>10.2f}{row.whitened:>12.2f}"
    features, probes = sum(row.features for row in rows), sum(row.plain + row.whitened for row in rows)
    yield f"probes alone {probes:.1f} s; with features {features + probes:.1f} s"


def report(seconds_of_demo: dict[str, float], rows: Sequence[TaskSeconds]) -> Iterator[str]:
    layers = len(layer_names(LARGE, IMAGE_SIZE))
    yield f"# Few-shot evaluation, {datetime.date.today()}: process seconds of one thread, torch {torch.__version__}"
    yield "# python -m tests.benchmarks.fewshot_speed"
    yield f"\nvit {LARGE.variant}, {IMAGE_SIZE} px: {len(rows)} tasks x shots 1, 5, 10, 25 x 3 draws x {layers} layers"
    yield from table(rows)
    yield f"\nthe demo's evaluation: {len(DEMO.tasks)} tasks x shots 1, 5, 10 x 3 draws x 2 probes, the last layer"
    yield from (f"{name:<20}{seconds:>8.2f} s" for name, seconds in seconds_of_demo.items())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is printed in results/")
    write = parser.parse_args(arguments).write
    torch.set_num_threads(1)
    for task in DEMO.tasks:
        _ = [load_images(task, split, IMAGE_SIZE) for split in ("train", "test")]  # decoding is no part of it
    demo = {f"{shape.family} {shape.variant}": demo_seconds(shape) for shape in DEMO_MODELS}
    text = "\n".join(report(demo, list(time_tasks(LARGE)))) + "\n"
    print(text, end="")
    if write:
        (RESULTS / f"{datetime.date.today()}-fewshot-speed.txt").write_text(text)


if __name__ == "__main__":
    main()
