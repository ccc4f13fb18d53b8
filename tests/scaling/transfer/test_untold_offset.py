"""A saturation that the models do not tell is warned of, whatever the stream of draws; one that they tell is not."""

import numpy as np
import pytest

import scaling as sc

from .worlds import TASKS, cloud, hull_law

QUIET = pytest.mark.filterwarnings("ignore::scaling.FitWarning")


def models(law, seed, ends=(0.36, 0.88), num_models=300, noise=0.02):
    k, alpha, e_ir = law
    rng = np.random.default_rng(seed)
    us = rng.uniform(*ends, num_models)
    excess = rng.exponential(0.1, num_models) + noise * rng.standard_normal(num_models)
    return us, 1 - np.minimum((k * (1 - us) ** alpha + e_ir) * np.exp(excess), 0.999)


def untold(fit):
    return [str(each) for each in fit.warnings if each.kind == "not_identified" and "do not tell e_ir" in str(each)]


@QUIET
def test_a_law_that_is_nearly_a_logarithm_has_no_saturation_to_be_read():
    """The truth saturates at .95; its interval ends below .5, for the draws are of one end of a ridge."""
    us, ds = models((0.9, 0.1, 0.05), 2)
    for stream in (0, 1):
        fit = sc.fit_transfer(us, ds, selection="stochastic", num_draws=300, rng=np.random.default_rng(stream))
        assert fit.saturation_interval()[1] < 0.5
        assert untold(fit) == [
            f"these points do not tell e_ir: laws with e_ir = 0 and with {(1 - ds.max()) / 2:.3g} fit them as well;"
            " its interval and the saturation's may be far too narrow"
        ]


@QUIET
def test_a_table_of_tasks_names_it():
    runs = sc.datasets.load("vit_against_resnet")
    tasks = ["digits_10shot_error", "count_10shot_error", "count_25shot_error"]
    table = sc.transfer.fit_tasks(runs, tasks=tasks, selection="stochastic", num_draws=300).set_index("task")
    assert table["warnings"].str.contains("not_identified").to_list() == [task != "digits" for task in table.index]


@pytest.mark.parametrize("task", TASKS)
def test_what_a_published_hull_shows_is_told(task, published):
    us, ds = cloud(hull_law(published, task), 0, num_models=200)
    assert untold(sc.fit_transfer(us, ds, selection="stochastic", num_draws=300)) == []


@pytest.mark.parametrize("law", [(0.9, 1.0, 0.0), (0.8, 1.2, 0.15)])
def test_models_that_come_near_the_end_tell_it(law):
    """Of a task without an irreducible error too: 0 is likely then, but half the best model's error is not."""
    us, ds = models(law, 0, (0.3, 0.95))
    assert untold(sc.fit_transfer(us, ds, selection="stochastic", num_draws=300)) == []
