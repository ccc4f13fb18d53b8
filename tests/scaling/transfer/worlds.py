"""Models below the hulls that could be read off Figure 1 of Abnar et al. 2021 (arXiv 2110.02095; JFT, 25 shots)."""

import numpy as np

TASKS = ("pets", "cifar100", "imagenet")


def hull_law(published, task):
    """k, alpha, e_IR."""
    row = published("abnar2021_fig1_hull_laws_digitised.csv").set_index("task").loc[task]
    return float(row["k_refit"]), float(row["alpha_refit"]), float(row["e_ir_hull"])


def cloud(law, num_on_hull, num_models=2000, seed=0, scale=0.1):
    """Upstream and downstream accuracies: some exactly on the law, the rest below by an exponential excess of log e_DS.

    Those on the law stand equally spaced from .05 to .6 of upstream accuracy, so that the leftmost model is one of
    them; the rest are uniform there.
    """
    k, alpha, e_ir = law
    rng = np.random.default_rng(seed)
    us = np.concatenate([np.linspace(0.05, 0.6, num_on_hull), rng.uniform(0.05, 0.6, num_models)])
    excess = np.concatenate([np.zeros(num_on_hull), rng.exponential(scale, num_models)])
    return us, 1 - np.minimum((k * (1 - us) ** alpha + e_ir) * np.exp(excess), 0.999)
