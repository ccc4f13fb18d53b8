"""Whether a grid can tell a law: how far its computes reach, and how many there are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..runner.cost import run_cost
from ..specs.config import RunConfig
from ..specs.grid import Plan

__all__ = ["LEAST_COMPUTES", "LEAST_SPAN", "Spread", "compute_spreads", "unidentified"]

LEAST_SPAN = 10.0  # greatest over smallest compute: over less, an exponent and a plateau look alike
LEAST_COMPUTES = 6  # distinct ones: a law has three or four parameters, and its fit wants some to check it by


@dataclass(frozen=True)
class Spread:
    """The computes of a family's runs, or of those on so many training images.

    Attributes:
        train_examples: None is all of them.
        span: the greatest compute over the smallest.
    """

    family: str
    train_examples: int | None
    num_computes: int
    span: float

    @property
    def faults(self) -> list[str]:
        few = [f"has {self.num_computes} distinct computes"] if self.num_computes < LEAST_COMPUTES else []
        return few + ([f"spans a factor of {self.span:.2g} of compute"] if self.span < LEAST_SPAN else [])


def compute_spreads(plan: Plan) -> list[Spread]:
    """Of each family, and where its numbers of training images vary, of each number."""
    computes: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for config in plan.configs:
        if config.steps:
            computes[config.model.family][config.train_examples].append(_compute(config))
    return [spread for family, subsets in computes.items() for spread in _of_family(family, subsets)]


def unidentified(spreads: Iterable[Spread]) -> Iterator[str]:
    """A sentence for each family whose law its runs cannot tell, or some of whose subsets cannot alone."""
    subsets: defaultdict[str, list[Spread]] = defaultdict(list)
    for spread in spreads:
        if spread.train_examples is not None:
            subsets[spread.family].append(spread)
        elif spread.faults:
            wanted = f"a law takes {LEAST_COMPUTES} and a factor of {LEAST_SPAN:g}"
            yield f"{spread.family} {' and '.join(spread.faults)}; {wanted}"
    for family, found in subsets.items():
        if short := [f"{spread.train_examples:,}" for spread in found if spread.faults]:
            shown = ", ".join(short[:4]) + (", ..." if len(short) > 4 else "")
            yield (
                f"{family}: of {len(found)} subsets {len(short)} ({shown} images) have fewer than {LEAST_COMPUTES}"
                f" distinct computes or span less than a factor of {LEAST_SPAN:g}: no law of each alone"
            )


def _of_family(family: str, subsets: dict[int, list[float]]) -> Iterator[Spread]:
    yield _spread(family, None, [compute for found in subsets.values() for compute in found])
    if len(subsets) > 1:
        yield from (_spread(family, images, subsets[images]) for images in sorted(subsets))


def _spread(family: str, images: int | None, computes: list[float]) -> Spread:
    return Spread(family, images, len({f"{compute:.3g}" for compute in computes}), max(computes) / min(computes))


def _compute(config: RunConfig) -> float:
    return float(run_cost(config).training_flops) * config.steps * config.recipe.batch_size
