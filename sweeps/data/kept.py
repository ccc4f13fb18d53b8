"""Which images of an upstream training set a run may train on: all but the near-duplicates, when they are to go."""

import numpy as np

from ..specs.config import UpstreamConfig
from .datasets import find_dataset
from .duplicates import upstream_duplicates

__all__ = ["kept_rows"]


def kept_rows(upstream: UpstreamConfig, tasks: tuple[str, ...]) -> np.ndarray:
    """Rows of the training set, ascending; subsets and the held-out part are drawn from these.

    Raises:
        ValueError: the data are not those that the run was planned with.
    """
    dataset = find_dataset(upstream.dataset, upstream.folder)
    if dataset.version != upstream.version:
        raise ValueError(
            f"upstream: the data of {upstream.dataset!r} have changed since this run was planned"
            f" (version {dataset.version}, was {upstream.version}); plan it anew"
        )
    rows = np.arange(upstream.num_train)
    if not upstream.remove_duplicates:
        return rows
    found = upstream_duplicates(upstream.dataset, upstream.folder, upstream.num_train, tasks)
    if len(found.rows) != upstream.num_duplicates:
        raise ValueError(
            f"upstream.remove_duplicates: {len(found.rows)} images repeat test images, where the run was planned with"
            f" {upstream.num_duplicates}; plan it anew"
        )
    return np.delete(rows, found.rows)
