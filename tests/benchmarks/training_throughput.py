"""Images a second of the sweeps' training loop against a bare loop, and the share of the demo that evaluation takes.

`python -m tests.benchmarks.training_throughput --help`. The bare loop is what one writes by hand for one model: the
same timm model, optimizer and augmentation, images in memory, torch's own generator, nothing recorded but the loss.
Both loops run in this process, by turns of a few steps, so that a busy machine slows both alike. Times are process time
of one thread, which other processes on the cores disturb less than the wall clock.
"""

import argparse
import datetime
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F

import sweeps.training.train
from sweeps.data.images import Images
from sweeps.data.training import TrainingData, load_training_data
from sweeps.evaluation import evaluate
from sweeps.models import FAMILIES
from sweeps.paths import TrunkPaths
from sweeps.specs.config import RunConfig
from sweeps.specs.grid import Trunk, make_plan
from sweeps.specs.spec import parse_spec, read_spec

RESULTS = Path(__file__).parent / "results"
DEMO = Path(sweeps.__file__).parent / "configs" / "demo.yaml"
CPU = torch.device("cpu")
# Of the sizes that the shipped sweeps train: the smaller the model, the more the loop around it weighs.
MODELS: dict[str, dict[str, Any]] = {
    "vit w32d2/7": {"family": "vit", "width": 32, "depth": 2, "patch": 7, "heads": 2},
    "vit w64d4/7": {"family": "vit", "width": 64, "depth": 4, "patch": 7, "heads": 2},
    "resnet w8": {"family": "resnet", "width": 8, "depth": [1, 1, 1, 1]},
}
BATCH_SIZES = (32, 128)
ROUNDS = 7
WARM_UP_STEPS = 5
TURN_STEPS = 4  # a turn of some 50 ms: shorter than what a neighbour's burst lasts
NUM_CLASSES, IMAGE_SIZE, PADDING = 10, 28, 4


class _EnoughError(Exception):
    """Leaves the training when the last round is timed."""


@dataclass
class Rounds:
    """Seconds of each round of `num_steps` steps of either loop."""

    num_steps: int
    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Images a second of ours over those of the bare loop: the median over the rounds."""
        return statistics.median(bare / ours for ours, bare in zip(self.ours, self.bare, strict=True))


def run_config(model: dict[str, Any], batch_size: int, num_steps: int) -> RunConfig:
    family, shape = model["family"], {key: value for key, value in model.items() if key != "family"}
    spec = {
        "name": "throughput", "upstream": {"dataset": "fashion-mnist"}, "model": {family: [shape]},
        "train_examples": 10_000, "steps": num_steps, "recipe": {"batch_size": batch_size},
        "schedule": {"kind": "constant", "warmup": "0 steps"},
    }  # fmt: skip
    return make_plan(parse_spec(spec)).configs[0]


def random_data(num_images: int = 10_000) -> TrainingData:
    """Images of noise: the speed does not depend on what they show."""
    generator = torch.Generator().manual_seed(0)
    shape = (num_images, IMAGE_SIZE, IMAGE_SIZE, 3)
    pixels = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.randint(0, NUM_CLASSES, (num_images,), generator=generator))
    return TrainingData(images, *[Images(pixels[:100], images.labels[:100])] * 3)


def compare_loops(
    model: dict[str, Any], batch_size: int, seconds: float = 1.0, num_rounds: int = ROUNDS, clock=time.process_time
) -> Rounds:
    """Time `num_rounds` rounds of either loop, each about `seconds` long.

    Ours is `train_trunk` as a sweep calls it; where it tells of its progress the bare loop takes its turn.
    """
    data = random_data()
    config = run_config(model, batch_size, num_steps=1_000_000)
    bare = bare_loop(config, data.train)
    next(bare)
    started = clock()
    for _ in range(WARM_UP_STEPS):
        next(bare)
    num_turns = max(1, round(seconds * WARM_UP_STEPS / (clock() - started) / TURN_STEPS))
    rounds = Rounds(num_turns * TURN_STEPS)
    turns = _turns(rounds, bare, num_rounds, clock)
    next(turns)
    with tempfile.TemporaryDirectory() as folder:
        try:
            list(sweeps.training.train.train_trunk([config], data, TrunkPaths(Path(folder)), CPU, turns.send))
        except _EnoughError:
            return rounds
    raise AssertionError("the training ended before the last round")


def _turns(rounds: Rounds, bare: Iterator[None], num_rounds: int, clock: Callable[[], float]):
    """Told of each step of ours; after a turn of them it takes as many steps of the bare loop."""
    for _ in range(WARM_UP_STEPS):
        yield
    while len(rounds.ours) < num_rounds:
        ours = others = 0.0
        for _ in range(rounds.num_steps // TURN_STEPS):
            started = clock()
            for _ in range(TURN_STEPS):
                yield
            between = clock()
            for _ in range(TURN_STEPS):
                next(bare)
            ours, others = ours + between - started, others + clock() - between
        rounds.ours.append(ours)
        rounds.bare.append(others)
    raise _EnoughError


def bare_loop(config: RunConfig, images: Images) -> Iterator[None]:
    """A training by hand, a step at each `next`."""
    torch.manual_seed(0)
    shape = FAMILIES[config.model.family].model_validate(config.model.model_dump())
    model = shape.build(IMAGE_SIZE, NUM_CLASSES).train()
    if shape.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    kernels = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
    groups = [{"params": kernels, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    losses = []
    while True:
        for index in torch.randperm(len(images.labels)).split(config.recipe.batch_size):
            x = crop_flip(images.pixels.index_select(0, index)).float().div_(127.5).sub_(1).permute(0, 3, 1, 2)
            loss = F.cross_entropy(model(x), images.labels[index])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
            if len(losses) == 20:
                torch.stack(losses).mean().item()
                losses.clear()
            yield


def crop_flip(x: torch.Tensor) -> torch.Tensor:
    """Reflected at the border, a crop of the old size, mirrored half the time: uint8 (b, h, w, 3)."""
    b, h, w, _ = x.shape
    rows = reflect(torch.arange(h) + torch.randint(-PADDING, PADDING + 1, (b, 1)), h)
    columns = torch.arange(w) + torch.randint(-PADDING, PADDING + 1, (b, 1))
    columns = reflect(torch.where(torch.rand(b, 1) < 0.5, columns.flip(1), columns), w)
    place = (torch.arange(b)[:, None] * h + rows)[:, :, None] * w + columns[:, None, :]
    return x.view(-1, 3).index_select(0, place.view(-1)).view(x.shape)


def reflect(position: torch.Tensor, size: int) -> torch.Tensor:
    return size - 1 - (size - 1 - position.abs()).abs()


# Evaluation's share ---------------------------------------------------------------------------------------------


@dataclass
class Shares:
    """Process seconds of a part of a sweep, by what took them."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - started

    def of(self, name: str) -> float:
        return self.seconds[name] / sum(self.seconds.values())


def measure_shares(trunks: list[Trunk]) -> Shares:
    """Train the trunks in this process; "training" is all that is neither loading nor evaluation."""
    shares, total = Shares(), Shares()

    def upstream(*arguments: Any, **options: Any) -> Any:
        with shares.timed("upstream evaluation"):
            return evaluate_upstream(*arguments, **options)

    def downstream(*arguments: Any, **options: Any) -> Any:
        with shares.timed("downstream evaluation"):
            return list(evaluate_downstream(*arguments, **options))

    evaluate_upstream, evaluate_downstream = evaluate.evaluate_upstream, evaluate.evaluate_downstream
    with (
        mock.patch.object(evaluate, "evaluate_upstream", upstream),
        mock.patch.object(evaluate, "evaluate_downstream", downstream),
        total.timed("all"),
    ):
        for trunk in trunks:
            with shares.timed("loading"):
                data = load_training_data(trunk.configs[0], CPU)
            with tempfile.TemporaryDirectory() as folder:
                list(sweeps.training.train.train_trunk(trunk.configs, data, TrunkPaths(Path(folder)), CPU))
    shares.seconds["training"] = total.seconds["all"] - sum(shares.seconds.values())
    return shares


def throughput_report(arguments: argparse.Namespace) -> str:
    lines = [f"{'model':12} {'batch':>5} {'ours/s':>8} {'bare/s':>8} {'ratio':>6} {'lowest':>6} {'highest':>7}"]
    for name, model in MODELS.items():
        for batch_size in BATCH_SIZES:
            rounds = compare_loops(model, batch_size, arguments.seconds, arguments.rounds)
            ours, bare = (
                batch_size * rounds.num_steps / statistics.median(times) for times in (rounds.ours, rounds.bare)
            )
            ratios = sorted(b / o for o, b in zip(rounds.ours, rounds.bare, strict=True))
            head = f"{name:12} {batch_size:>5} {ours:>8.0f} {bare:>8.0f}"
            lines.append(f"{head} {rounds.ratio:>6.3f} {ratios[0]:>6.3f} {ratios[-1]:>7.3f}")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def shares_report(arguments: argparse.Namespace) -> str:
    plan = make_plan(read_spec(DEMO))
    trunks = list(plan.trunks[:: arguments.every_trunk])
    shares = measure_shares(trunks)
    runs = sum(len(trunk.configs) for trunk in trunks)
    lines = [f"{DEMO.name}: {len(trunks)} of {len(plan.trunks)} trainings, {runs} of {len(plan.configs)} models"]
    lines += [f"{name:22} {seconds:>7.1f} s {shares.of(name):>6.1%}" for name, seconds in shares.seconds.items()]
    return "\n".join(lines)


REPORTS = {"throughput": throughput_report, "shares": shares_report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=list(REPORTS), choices=list(REPORTS))
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round of either loop")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of either loop; the median is reported")
    parser.add_argument("--every-trunk", type=int, default=3, help="of the demo only each such training")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    head = f"One thread of a shared CPU, process time; torch {torch.__version__}; {datetime.date.today()}."
    for part in arguments.parts:
        text = f"{head}\n{REPORTS[part](arguments)}\n"
        print(text)
        (RESULTS / f"{datetime.date.today()}-training-{part}.txt").write_text(text)


if __name__ == "__main__":
    main()
