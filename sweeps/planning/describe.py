"""What a plan asks for, in words: trainings, what branching saves, models and their cost, what is tuned, what lacks."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..data.class_counts import fewest_in_class
from ..data.datasets import task_name
from ..models import ModelConfig
from ..specs.config import RecipeConfig, RunConfig
from ..specs.faults import SpecError
from ..specs.grid import Plan, Trunk

if TYPE_CHECKING:
    from ..runner.cost import RunCost

__all__ = ["describe_plan", "tuned_columns", "tuned_fields"]

_MOST_LINES = 4  # of kinds of trunks
_MOST_MODELS = 40
_NAME_WIDTH = 30
# Of recipe fields that are called otherwise in a record, or that another column follows.
_COLUMNS = {
    "name": ("recipe",), "weight_decay": ("weight_decay", "head_weight_decay"), "rand_augment_policy": ("augment",),
    **{name: (name, "augment") for name in (
        "rand_augment_ops", "rand_augment_magnitude", "mixup", "cutmix", "erase", "repeats"
    )},
}  # fmt: skip
_FEW_HELD_OUT = 100  # images; an error of .5 on so many has a standard error of .05, more than most choices are about


def describe_plan(plan: Plan) -> str:
    """Lines of at most 80 columns where names allow it. Imports torch, to count FLOPs on the meta device.

    Raises:
        SpecError: a model that cannot be built.
    """
    sections = (
        _counts(plan), _branching(plan), _models(plan), _finetuning(plan), _tuning(plan), _few_images(plan),
        _missing(plan),
    )  # fmt: skip
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section)))


def tuned_fields(configs: Sequence[RunConfig]) -> dict[str, list[int]]:
    """Recipe fields that take several values in runs alike in all else, with the number of values in each such cell.

    A head's weight decay that follows the body's is no field of its own; seeds and lengths are no tuning.
    """
    found = {}
    for field in RecipeConfig.model_fields:
        if len({getattr(config.recipe, field) for config in configs}) < 2:
            continue
        cells: defaultdict[RunConfig, set[object]] = defaultdict(set)
        for config in configs:
            cells[_without(config, field)].add(getattr(config.recipe, field))
        if sizes := [len(values) for values in cells.values() if len(values) > 1]:
            found[field] = sizes
    return found


def tuned_columns(configs: Sequence[RunConfig]) -> list[str]:
    """Columns of the records in which tuned runs differ: the tuned fields, and what follows from them.

    >>> tuned_columns([])
    []
    """
    columns = [name for field in tuned_fields(configs) for name in _COLUMNS.get(field, (field,))]
    return list(dict.fromkeys(columns))


def _without(config: RunConfig, field: str) -> RunConfig:
    recipe = config.recipe
    follows = field == "weight_decay" and recipe.head_weight_decay == recipe.weight_decay
    fields = {field: None} | ({"head_weight_decay": None} if follows else {})
    return config.model_copy(update={"recipe": recipe.model_copy(update=fields)})


# Sections -----------------------------------------------------------------------------------------------------


def _counts(plan: Plan) -> Iterator[str]:
    steps, alone = sum(t.num_steps for t in plan.trunks), sum(c.steps for c in plan.configs)
    ratio = f"  ({alone / steps:.2f} times as many)" if steps and alone > steps else ""
    for name, value in (
        ("trainings", f"{len(plan.trunks):,}"), ("models", f"{len(plan.configs):,}"), ("steps to train", f"{steps:,}"),
        ("if each ran alone", f"{alone:,}{ratio}"), ("duplicates dropped", f"{plan.num_duplicates:,}"),
    ):  # fmt: skip
        yield f"{name:<20}{value}"


def _branching(plan: Plan) -> Iterator[str]:
    """What trunks save, and why other runs are trained alone."""
    kinds = Counter(_saving(trunk) for trunk in plan.trunks if len(trunk.configs) > 1)
    for saving, count in kinds.most_common(_MOST_LINES):
        yield f"{count:,} training{'s' * (count > 1)} of {saving}"
    if len(kinds) > _MOST_LINES:
        yield f"and {sum(kinds.values()) - sum(n for _, n in kinds.most_common(_MOST_LINES))} more with branches"
    for reason, count in plan.alone:
        yield f"{count:,} models of several lengths are trained alone:\n  {reason}"


def _saving(trunk: Trunk) -> str:
    longest = max(config.steps for config in trunk.configs)
    alone = sum(config.steps for config in trunk.configs)
    return (
        f"{len(trunk.configs)} lengths: {trunk.num_steps / longest:.2g} of the longest instead of {alone / longest:.2g}"
    )


def _models(plan: Plan) -> Iterator[str]:
    """A row a model and image size: its cost, its runs, and what they take as they are trained."""
    groups: defaultdict[tuple[ModelConfig, int, int], list[Trunk]] = defaultdict(list)
    for trunk in plan.trunks:
        config = trunk.configs[0]
        groups[config.model, config.image_size, config.num_classes].append(trunk)
    costs = {trunk.trunk_id: _cost(trunk) for trunk in plan.trunks}
    yield f"{'model':<{_NAME_WIDTH}}{'params':>13}{'GFLOPs/image':>13}{'runs':>7}{'FLOPs in all':>14}"
    in_all = 0.0
    for place, ((model, *_), trunks) in enumerate(groups.items()):
        cost = costs[trunks[0].trunk_id].model
        in_all += (flops := sum(costs[trunk.trunk_id].training_flops * trunk.num_images for trunk in trunks))
        if place < _MOST_MODELS:
            name, runs = f"{model.family} {model.variant}", sum(len(trunk.configs) for trunk in trunks)
            per_image = cost.flops_per_image / 1e9
            yield f"{name:<{_NAME_WIDTH}}{cost.num_params:>13,}{per_image:>13.3g}{runs:>7,}{flops:>14.2e}"
    if len(groups) > _MOST_MODELS:
        yield f"and {len(groups) - _MOST_MODELS} more"
    yield f"{'in all':<{_NAME_WIDTH + 26}}{len(plan.configs):>7,}{in_all:>14.2e}"


def _cost(trunk: Trunk) -> "RunCost":
    from ..runner.cost import run_cost

    try:
        return run_cost(trunk.configs[0])
    except ValueError as error:
        raise SpecError(str(error)) from error


def _finetuning(plan: Plan) -> Iterator[str]:
    """What it adds to the training; at the paper's lengths it is the more expensive of the two."""
    from ..runner.cost import finetune_cost

    if added := [flops for config in plan.configs if (flops := finetune_cost(config).flops)]:
        training = sum(_cost(trunk).training_flops * trunk.num_images for trunk in plan.trunks)
        ratio = f", {sum(added) / training:.2g} times the training" if training else ""
        yield f"fine-tuning of {len(added):,} model{'s' * (len(added) > 1)} adds {sum(added):.2e} FLOPs{ratio}"


def _tuning(plan: Plan) -> Iterator[str]:
    fields = tuned_fields(plan.configs)
    for name, sizes in fields.items():
        span = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        yield f"recipe.{name}: {span} values in each of {len(sizes):,} cells"
    if not fields:
        return
    for dataset, num_val in dict.fromkeys((c.upstream.dataset, c.upstream.num_val) for c in plan.configs):
        if num_val >= _FEW_HELD_OUT:
            yield f"the best is chosen on {num_val:,} held-out training images of {dataset!r}"
        else:
            yield (
                f"warning: upstream.val_fraction holds out {num_val} images of {dataset!r};\n"
                f"  {_FEW_HELD_OUT} or more are needed to choose the best of a cell by"
            )


def _few_images(plan: Plan) -> Iterator[str]:
    """Tasks with fewer training images of some class than the shots take, and the choice of an l2 on others."""
    downstreams = dict.fromkeys(config.downstream for config in plan.configs)
    asked = dict.fromkeys((task, max(d.shots), d.chooses_l2) for d in downstreams for task in d.tasks)
    for task, shots, chooses_l2 in asked:
        yield from _few_images_of(task, shots, chooses_l2)


def _few_images_of(task: str, shots: int, chooses_l2: bool) -> Iterator[str]:
    from ..evaluation.fewshot import CHOICE_PER_CLASS

    wanted, name = shots + (CHOICE_PER_CLASS if chooses_l2 else 0), task_name(task)
    fewest = fewest_in_class(task, wanted)
    if fewest is not None and fewest < shots:
        yield f"shots {shots}: {name} has only {fewest} training images of some class,\n  which num_train records"
    if fewest is not None and chooses_l2 and fewest < wanted:
        left = max(0, fewest - shots)
        yield f"shots {shots}: {name} leaves {left} images of some class to choose an l2 on,\n  which l2_rule records"


def _missing(plan: Plan) -> Iterator[str]:
    """Data that are not there. A run refuses those that it was told to take, and does without a suite's."""
    from ..data.prepare import missing_data

    try:
        lacking = missing_data(plan.configs)
    except ValueError as error:
        lacking = [str(error)]
    yield from (f"warning: {line}" for line in lacking)
    yield from (f"left out: {line}" for line in plan.missing)
