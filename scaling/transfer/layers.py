"""Linear probes at every layer: which layer is best for a task, and whether depth acts as upstream accuracy does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_columns, check_names, check_single, column_of, positive_column
from ..inputs import check_accuracies, check_fractions
from ..layers import layer_order
from ..selection.hulls import convex_hull
from .eval_images import sampling_variance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LayerOverlay", "best_layers", "layer_accuracies", "overlay_layers"]

_MODEL = ("run_id", "step", "weights")
_PROBE = (*_MODEL, "task", "method", "probe", "num_shots")  # one probe of one model


def best_layers(
    evals: pd.DataFrame,
    *,
    by: Sequence[str] | None = None,
    layers: Sequence[str] | None = None,
    within_standard_error: bool = False,
) -> pd.DataFrame:
    """The best layer for each task: the earliest of those with the highest accuracy.

    Accuracies are means over what is not in `by`: draws of the few shots, say.

    Args:
        evals: as `read_evals` returns: a row a model, task, shots, layer and draw. Rows of fine-tuning, which has no
            layer, are left out.
        by: columns that tell one probe from another; None: those of run, task, method, probe and shots that there are.
            With `by=["task", "num_shots"]` the layers of all models are averaged, which must have the same ones.
        layers: names from the input to the output; None: "embedding" first, then by the last number in each name,
            "pre_logits" last.
        within_standard_error: take the earliest layer within one standard error of the highest accuracy: that of the
            mean of its draws, of a single one the binomial of its `num_eval` images.

    Returns:
        A row a probe: the columns of `by`, `best_layer`, `position` (0 at the first layer, 1 at the last), `accuracy`
        there, `last_accuracy`, `gain` over the last layer (which the maximum of many layers makes positive by chance),
        `num_layers`.

    Raises:
        ValueError: a missing column, an error that is no fraction, fewer than two layers, layers without an order, or
            no `num_eval` for a standard error.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 8 and 33.

    >>> import pandas as pd
    >>> evals = pd.DataFrame({"task": "pets", "layer": ["block_1", "block_2", "block_3", "pre_logits"]})
    >>> best_layers(evals.assign(error=[0.5, 0.2, 0.2, 0.3]))[["task", "best_layer", "gain"]].round(3).values.tolist()
    [['pets', 'block_2', 0.1]]
    """
    import pandas as pd

    keys, curves = _layer_curves(evals, by, layers, within_standard_error)
    rows = []
    for key, curve in curves.groupby(keys, sort=False, dropna=False):
        accuracy, error = curve["accuracy"].to_numpy(), curve["standard_error"].to_numpy()
        highest = int(np.argmax(accuracy))
        margin = error[highest] if within_standard_error else 0.0
        best = int(np.argmax(accuracy >= accuracy[highest] - margin))
        if len(curve) < 2:
            probe = dict(zip(keys, key, strict=True))
            raise ValueError(
                f"a best layer needs evals of two layers or more, a value of column 'layer' each; {probe} has only"
                f" {curve['layer'].iloc[0]!r}"
            )
        rows.append(
            {
                **dict(zip(keys, key, strict=True)), "best_layer": curve["layer"].iloc[best],
                "position": best / (len(curve) - 1), "accuracy": accuracy[best], "last_accuracy": accuracy[-1],
                "gain": accuracy[best] - accuracy[-1], "num_layers": len(curve),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def layer_accuracies(
    evals: pd.DataFrame, *, by: Sequence[str] | None = None, layers: Sequence[str] | None = None
) -> pd.DataFrame:
    """The accuracy of each probe at each of its layers, from the input to the output.

    Args, Raises: as in `best_layers`.

    Returns:
        A row a probe and layer: the columns of `by`, `layer`, `position` (0 at the first layer, 1 at the last),
        `accuracy`, `standard_error` (of the mean of its draws, null where there is one).

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figure 8; Raghu et al. 2021 (arXiv 2108.08810), Figure 13.

    >>> import pandas as pd
    >>> evals = pd.DataFrame({"task": "pets", "layer": ["embedding", "pre_logits", "block_1"]})
    >>> layer_accuracies(evals.assign(error=[0.75, 0.25, 0.5]))[["layer", "position", "accuracy"]].values.tolist()
    [['embedding', 0.0, 0.25], ['block_1', 0.5, 0.5], ['pre_logits', 1.0, 0.75]]
    """
    keys, curves = _layer_curves(evals, by, layers, needs_error=False)
    probe = curves.groupby(keys, sort=False, dropna=False)
    position = probe.cumcount() / (probe["layer"].transform("size") - 1).clip(lower=1)
    curves = curves.assign(position=position, standard_error=curves["std"] / np.sqrt(curves["size"]), of=probe.ngroup())
    columns = [*keys, "layer", "position", "accuracy", "standard_error"]
    return curves.sort_values("of", kind="stable")[columns].reset_index(drop=True)


def _layer_curves(
    evals: pd.DataFrame, by: Sequence[str] | None, layers: Sequence[str] | None, needs_error: bool
) -> tuple[list[str], pd.DataFrame]:
    """The columns of a probe, and its accuracy at each layer with a standard error, layers in order."""
    check_columns(evals, "layer", "error")
    check_single(evals, *(name for name in (*_PROBE, "layer") if name in evals))
    if by is None:
        check_columns(evals, "task")
        keys = [name for name in _PROBE if name in evals]
    else:
        keys = check_names("by", [by] if isinstance(by, str) else by, evals)
    if "method" in evals:
        evals = evals[evals["method"].isin(["fewshot"]) | evals["layer"].notna()]
    if evals.empty or evals["layer"].isna().any():
        raise ValueError("evals must have rows, each with a layer")
    accuracy = 1 - check_fractions("column 'error'", column_of(evals, "error"))
    names = evals["layer"].astype(str)  # numbers and categories too: by what they are called
    order = layer_order(
        names.unique().tolist(), None if layers is None else [str(name) for name in check_names("layers", layers)]
    )
    frame = evals[[*keys]].assign(layer=names, accuracy=accuracy, place=names.map(order))
    if needs_error:
        variance = sampling_variance("column 'num_eval'", accuracy, positive_column(evals, "num_eval"))
        frame = frame.assign(binomial=np.sqrt(variance))
    groups = frame.groupby([*keys, "place", "layer"], sort=False, dropna=False)
    curves = groups["accuracy"].agg(["mean", "std", "size"]).reset_index().rename(columns={"mean": "accuracy"})
    uneven = curves.groupby(keys, sort=False, dropna=False)["size"].nunique() > 1
    if uneven.any():
        raise ValueError(f"each layer of a probe must have equally many rows; not so for {keys} = {uneven.idxmax()}")
    curves["standard_error"] = 0.0
    if needs_error:
        single = groups["binomial"].mean().to_numpy()
        curves["standard_error"] = np.where(curves["size"] > 1, curves["std"] / np.sqrt(curves["size"]), single)
    _check_same_layers(keys, names, evals)
    return keys, curves.sort_values("place", kind="stable")


def _check_same_layers(keys: list[str], names: pd.Series, evals: pd.DataFrame) -> None:
    """Averaged models must have the same layers: a mean over others at each layer is no curve."""
    model = [name for name in _MODEL if name in evals and name not in keys]
    if not model:
        return
    numbers = evals.groupby(model, dropna=False).ngroup()
    pairs = evals[keys].assign(layer=names, model=numbers).drop_duplicates().groupby(keys, sort=False, dropna=False)
    uneven = pairs.size() < pairs["layer"].nunique() * pairs["model"].nunique()
    if uneven.any():
        raise ValueError(f"models that are averaged must have the same layers; not so for {keys} = {uneven.idxmax()}")


@dataclass(frozen=True, repr=False, eq=False)
class LayerOverlay:
    """Accuracy against depth laid over accuracy against upstream accuracy. Made by `overlay_layers`.

    Attributes:
        depth: of each layer, 0 at the first to 1 at the last; layer_accuracy: downstream accuracy there.
        upstream: of each model, rescaled to 0 at the least and 1 at the highest upstream accuracy; model_accuracy:
            downstream accuracy of the model.
        hull: the upper hull of the models at each layer's depth.
        gaps: layer_accuracy - hull, shape (number of layers,).
    """

    depth: np.ndarray
    layer_accuracy: np.ndarray
    upstream: np.ndarray
    model_accuracy: np.ndarray
    hull: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        return self.layer_accuracy - self.hull

    @property
    def mean_gap(self) -> float:
        """Mean absolute gap, in accuracy."""
        return float(np.mean(np.abs(self.gaps)))

    def summary(self) -> str:
        worst = int(np.argmax(np.abs(self.gaps)))
        return (
            f"{self.depth.size} layers over {self.upstream.size} models: mean gap {self.mean_gap:.3f} in accuracy,"
            f" largest {self.gaps[worst]:+.3f} at depth {self.depth[worst]:.2f}"
        )

    def __repr__(self) -> str:
        return self.summary()


def overlay_layers(
    layer_accuracy: ArrayLike, upstream_accuracy: ArrayLike, downstream_accuracy: ArrayLike
) -> LayerOverlay:
    """Lay one model's accuracy by layer over all models' downstream accuracy by upstream accuracy.

    Both x axes are rescaled to [0, 1]; the models' curve is their upper hull, at its best beyond the best model.

    Args:
        layer_accuracy: downstream accuracy of a probe at each layer, the first layer first, shape (m,), m >= 2.
        upstream_accuracy, downstream_accuracy: of the models, shape (n,).

    Raises:
        ValueError: bad input, or all upstream accuracies are equal.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figure 34.

    >>> overlay = overlay_layers([0.2, 0.4, 0.6], [0.3, 0.5, 0.7], [0.2, 0.5, 0.6])
    >>> overlay.gaps.round(3).tolist()
    [0.0, -0.1, 0.0]
    """
    layer = check_fractions("layer_accuracy", layer_accuracy)
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy, below_one=False)
    if layer.ndim != 1 or layer.size < 2:
        raise ValueError(f"layer_accuracy must be of two layers or more, got shape {layer.shape}")
    span = np.ptp(upstream)
    if upstream.size < 2 or span == 0:
        raise ValueError(f"the models must differ in upstream accuracy, got {upstream.size} of one value")
    scaled, depth = (upstream - upstream.min()) / span, np.linspace(0, 1, layer.size)
    vertices = convex_hull(scaled, downstream)
    hull = np.interp(depth, scaled[vertices], np.maximum.accumulate(downstream[vertices]))
    return LayerOverlay(depth, layer, scaled, downstream, hull)
