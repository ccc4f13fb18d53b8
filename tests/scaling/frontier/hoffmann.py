"""Exact losses of the law of Hoffmann et al. 2022 (arXiv 2203.15556), Eq. 10, and its optimum, Eq. 4."""

import numpy as np
import pandas as pd

E, A, B, ALPHA, BETA = 1.69, 406.4, 410.7, 0.34, 0.28
EXPONENT = BETA / (ALPHA + BETA)
BUDGETS = np.geomspace(6e18, 3e21, 9)  # the least, the largest and the number of the paper's


def optimum(compute, k=6.0):
    scale = (ALPHA * A / (BETA * B)) ** (1 / (ALPHA + BETA))
    return scale * (np.asarray(compute) / k) ** EXPONENT


def runs_at(compute, num_params, k=6.0, noise=0.0, seed=0):
    """A row for each pair of compute and size."""
    compute, num_params = (values.astype(float) for values in np.broadcast_arrays(compute, num_params))
    images = compute / (k * num_params)
    loss = E + A * num_params**-ALPHA + B * images**-BETA
    loss = loss * np.exp(noise * np.random.default_rng(seed).standard_normal(loss.shape))
    columns = {"num_params": num_params, "images_seen": images, "compute_flops": compute, "upstream_loss": loss}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


def isoflop_runs(num_sizes=9, decades=1.4, centre=1.0, **options):
    """Sizes around the optimum of each budget."""
    ratio = centre * 10 ** np.linspace(-decades / 2, decades / 2, num_sizes)
    return runs_at(BUDGETS[:, None], optimum(BUDGETS, options.get("k", 6.0))[:, None] * ratio, **options)


def curve_runs(num_sizes, num_rows=60, **options):
    """A training curve of each size, one run each."""
    sizes, compute = np.geomspace(10**7.5, 1e11, num_sizes), np.geomspace(1e17, 1e23, num_rows)
    frame = runs_at(compute, sizes[:, None], **options)
    return frame.assign(run_id=np.repeat([f"run{i}" for i in range(num_sizes)], num_rows))
