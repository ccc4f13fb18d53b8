"""What finished models are asked, beside their errors on the upstream set: tasks, fine-tuning, measurements."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..data.datasets import check_dataset_name
from ..data.suites import SUITES
from ..measure import MEASUREMENTS
from .fields import Amount, Count, Fraction, Radius, Section, no_repeats

__all__ = ["DownstreamConfig", "FinetuneConfig", "MeasureConfig"]

TaskName = Annotated[str, AfterValidator(lambda name: name if name in SUITES else check_dataset_name(name))]


def _measurement(name: Any) -> Any:
    if name not in (*MEASUREMENTS, "all"):
        of = [f"; rows called {name!r} are of {key!r}" for key, found in MEASUREMENTS.items() if name in found.rows]
        raise ValueError(f"must be 'all' or of {list(MEASUREMENTS)}{''.join(of)}")
    return name


_ONE_OR_MORE = BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)
ProbeName = Literal["plain", "whitened"]
_IN_ORDER = AfterValidator(lambda names: tuple(sorted(names)))  # the same probes have the same run id
MeasurementName = Annotated[str, BeforeValidator(_measurement)]


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("must be odd")
    return number


def _examples(value: Any) -> Any:
    if value != "all" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError("must be a number of images or 'all'")
    return value


_MOST_VAL = 5000  # images that a learning rate is chosen on: an error of .5 has a standard error of .007

LearningRates = Annotated[
    tuple[Annotated[Amount, Field(gt=0)], ...],
    BeforeValidator(lambda rates: (rates,) if isinstance(rates, int | float | str) else rates),
    Field(min_length=1),
    AfterValidator(no_repeats),
    AfterValidator(lambda rates: tuple(sorted(rates))),  # the order means nothing, and so does not enter the run id
]


def _needs(field: str) -> Any:
    """A validator: options of a section say nothing without this field of it."""

    def check(cls: type, values: Any) -> Any:
        if isinstance(values, Mapping) and values and field not in values:
            raise ValueError(f"{field}: must be given with {sorted(values)}")
        return values

    return model_validator(mode="before")(classmethod(check))  # pyright: ignore[reportArgumentType] as pydantic asks


class DownstreamConfig(Section):
    """Few-shot linear evaluation of frozen features.

    Attributes:
        tasks: data sets; of a spec also suites, which a run's config no longer holds.
        folder_versions: identities of those tasks that lie in folders, whose paths are of the machine.
        shots: images a class; a class with fewer gives what it has.
        layers: whose features, by the names of `sweeps.models.layers`; of a spec also "all".
        probes: keys of `sweeps.evaluation.fewshot.PROBES`.
        l2_rule: of the whitened probe: "fixed" is big_vision's 2^10, "held-out" is chosen on other training images, as
            the plain probe's always is.
    """

    tasks: Annotated[tuple[TaskName, ...], AfterValidator(no_repeats)] = ()
    folder_versions: tuple[str, ...] = ()
    shots: Annotated[tuple[Count, ...], AfterValidator(no_repeats)] = Field(default=(1, 5, 10), min_length=1)
    draws: Count = 3
    max_eval: Count | None = 1000
    layers: Annotated[tuple[str, ...], _ONE_OR_MORE, AfterValidator(no_repeats)] = Field(
        default=("pre_logits",), min_length=1
    )
    probes: Annotated[tuple[ProbeName, ...], _ONE_OR_MORE, AfterValidator(no_repeats), _IN_ORDER] = Field(
        default=("plain", "whitened"), min_length=1
    )
    l2_rule: Literal["fixed", "held-out"] = "fixed"

    @property
    def chooses_l2(self) -> bool:
        """Whether a probe's l2 is chosen on held-out images."""
        return "plain" in self.probes or self.l2_rule == "held-out"

    @model_validator(mode="after")
    def _rule_is_of_a_probe(self) -> "DownstreamConfig":
        if self.l2_rule != "fixed" and "whitened" not in self.probes:
            raise ValueError(f"l2_rule: is of the whitened probe, and probes has {list(self.probes)}")
        return self


class FinetuneConfig(Section):
    """Transfer by fine-tuning all weights, at a run's end; see `sweeps.evaluation.finetune`.

    Attributes:
        tasks: as in `DownstreamConfig`; none is no fine-tuning. The upstream set may be one of them: its held-out
            images are then learned too, when all that they choose is chosen, and the lr is chosen on images that the
            model has seen. A task's images are all taken, those that nearly repeat a test image too.
        folder_versions: as there.
        examples: training images of a task, drawn at random; "all", or more than it has, takes all of them.
        image_size: None is the upstream images'; another interpolates learned position embeddings.
        lr: peak learning rates, of which the best is chosen on a part of the training images. The default suits models
            of millions of parameters; those of 10,000, in 60 to 300 steps, want 0.1 to 1.
        steps, batch_size: a batch larger than the images is all of them.
        loss: cross-entropy over the classes, or a sigmoid for each.
        head_weight_decay: of the new classifier's kernel, added to its gradient.
        average: decay of a moving average of the weights (Polyak), which is then evaluated in place of the last ones.
        draws: of the images; the same for every run, so that errors compare.

    Source: Zhai et al. 2021 (arXiv 2106.04560), VTAB: 2,500 steps of 512 images, momentum 0.9, no weight decay; Abnar
    et al. 2021 (arXiv 2110.02095), appendix D.1: sigmoid cross-entropy.
    """

    tasks: Annotated[tuple[TaskName, ...], AfterValidator(no_repeats)] = ()
    folder_versions: tuple[str, ...] = ()
    examples: Annotated[int | Literal["all"], BeforeValidator(_examples)] = 1000
    image_size: Count | None = None
    lr: LearningRates = (0.001, 0.003, 0.01, 0.03)
    steps: Count = 2500
    batch_size: Count = 512
    momentum: Fraction = 0.9
    loss: Literal["sigmoid", "softmax"] = "sigmoid"
    head_weight_decay: Amount = Field(default=0.0, ge=0)
    average: Fraction | None = None
    draws: Count = 1

    _names_its_tasks = _needs("tasks")

    def num_images(self, num_train: int) -> int:
        """How many of a task's training images are fine-tuned on."""
        return num_train if self.examples == "all" else min(self.examples, num_train)

    def num_val(self, num_train: int) -> int:
        """How many of these the learning rate is chosen on, a fifth as in VTAB-1k; none where there is no choice."""
        return min(self.num_images(num_train) // 5, _MOST_VAL) if len(self.lr) > 1 else 0


class MeasureConfig(Section):
    """What the finished models are measured of beside their errors; see `sweeps.measure`.

    Attributes:
        names: keys of `sweeps.measure.MEASUREMENTS`; of a spec also "all", those that the model can give.
        max_examples: at most so many training images, and so many test images; what is dear takes a part of them.
        against: whose layers `cka` compares the model's with beside its own: the `model.safetensors` of another run, or
            "init", the untrained model.
        against_version: of that file its sha256, filled in; in place of its path it tells one run from another.
        label_sets: for `multi_label`, a JSON file of a list of valid labels for each test image of the upstream set.
        label_sets_version: as `against_version`.
        curvature_examples: of these, training images for `curvature`, which takes long; 16 cost as much as 5 to 15
            steps of 32 images.
        attack_radii: of "adversarial", greatest changes of a pixel, in units of pixels in [0, 1].
        attack_steps: of its projected gradient descent.
        robustness_examples: test images that "corruptions" and "adversarial" take, evenly of `max_examples`; the
            default costs a tiny model little and says little of it: an error of .5 is known to .10.
        landscape_points: of "loss_landscape", grid points a side; an odd number has the model itself in the middle.
        landscape_examples: training images that each point takes, of `max_examples` the first.
    """

    names: Annotated[
        tuple[MeasurementName, ...],
        _ONE_OR_MORE,
        AfterValidator(no_repeats),
    ] = ()
    max_examples: Count = 256
    against: str | None = None
    against_version: str | None = None
    label_sets: str | None = None
    label_sets_version: str | None = None
    curvature_examples: Count = 16
    attack_radii: Annotated[tuple[Radius, ...], AfterValidator(no_repeats)] = Field(default=(1 / 255,), min_length=1)
    attack_steps: Count = 10
    robustness_examples: Count = 24
    landscape_points: Annotated[Count, Field(ge=3), AfterValidator(_odd)] = 5
    landscape_examples: Count = 16

    _names_what_is_measured = _needs("names")
