"""How a better upstream accuracy goes with accuracies on many data sets, each on the logit scale and centred."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from ..frames import check_frame, column_of
from ..inputs import check_fractions, check_same_index
from ..prediction import check_level
from ..quantiles import normal_quantile
from .correlations import pearson
from .lines import AXIS_SCALINGS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["centred_logits", "correlate_centred_logits"]


def centred_logits(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Logit of each accuracy, less the mean of its data set over the models: data sets become comparable.

    Args:
        accuracies: a row a model, a column a data set, fractions between 0 and 1.

    Raises:
        ValueError: a value that is missing, or not strictly between 0 and 1: the data set and the row.

    Source: Kornblith et al. 2019 (arXiv 1805.08974), section 3.

    >>> import pandas as pd
    >>> centred_logits(pd.DataFrame({"pets": [0.5, 0.9], "cars": [0.5, 0.5]})).round(3).to_dict("list")
    {'pets': [-1.099, 1.099], 'cars': [0.0, 0.0]}
    """
    import pandas as pd

    check_frame(accuracies)
    columns = {name: _logit(str(name), column_of(accuracies, name)) for name in accuracies.columns}
    logits = pd.DataFrame(columns, index=accuracies.index)
    return logits - logits.mean()


def correlate_centred_logits(
    upstream_accuracy: ArrayLike, accuracies: pd.DataFrame, level: float = 0.95
) -> pd.DataFrame:
    """Pearson's correlation of logit upstream accuracy with centred logits of each data set and with their average.

    Args:
        upstream_accuracy: fractions strictly between 0 and 1, shape (num_models,).
        accuracies: a row a model, a column a data set.
        level: of the intervals (Fisher's z; models taken for independent, which those of one family are not).

    Returns:
        A row a data set, and "average of the data sets" (the figure of the paper): `correlation, low, high`.

    Raises:
        ValueError: as `centred_logits`; not one upstream accuracy a model.
        FitError: fewer than four models, or accuracies that are all equal.

    Source: Kornblith et al. 2019, section 3 and Figure 2.

    >>> import pandas as pd
    >>> tasks = pd.DataFrame({"pets": [0.5, 0.6, 0.8, 0.9], "cars": [0.2, 0.4, 0.3, 0.7]})
    >>> correlate_centred_logits([0.6, 0.7, 0.75, 0.8], tasks).correlation.round(3).to_dict()
    {'pets': 0.961, 'cars': 0.853, 'average of the data sets': 0.952}
    """
    import pandas as pd

    check_level(level)
    check_frame(accuracies)
    check_same_index(upstream_accuracy=upstream_accuracy, accuracies=accuracies.index.to_series())
    upstream = _logit("upstream_accuracy", check_fractions("upstream_accuracy", upstream_accuracy))
    centred = centred_logits(accuracies)
    if upstream.shape != (len(centred),):
        raise ValueError(
            f"upstream_accuracy must have one value a model, shape ({len(centred)},), got {upstream.shape}"
        )
    if upstream.size < 4:
        raise FitError(f"an interval of a correlation needs at least 4 models, got {upstream.size}")
    columns = {**centred, "average of the data sets": centred.mean(axis=1)}
    rows = {name: _correlation(str(name), upstream, np.asarray(values), level) for name, values in columns.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["correlation", "low", "high"])


def _correlation(name: str, x: np.ndarray, y: np.ndarray, level: float) -> tuple[float, float, float]:
    r = pearson(x, y)
    if np.isnan(r):
        raise FitError(f"all accuracies of {name} or of the upstream set are equal: no correlation")
    half = normal_quantile(level) / np.sqrt(x.size - 3)
    if abs(r) == 1:
        return r, r, r
    return r, float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def _logit(name: str, accuracy: np.ndarray) -> np.ndarray:
    check_fractions(name, accuracy)
    bad = np.flatnonzero((accuracy == 0) | (accuracy == 1))
    if bad.size:
        raise ValueError(f"{name} must lie strictly between 0 and 1 for a logit; row {bad[0]} is {accuracy[bad[0]]:g}")
    return AXIS_SCALINGS["logit"].forward(accuracy)
