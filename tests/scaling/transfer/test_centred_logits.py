import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from scaling import FitError
from scaling.transfer import centred_logits, correlate_centred_logits


def models(n=16, seed=0):
    rng = np.random.default_rng(seed)
    skill = rng.normal(1, 0.5, n)
    tasks = {name: expit(skill + hard + 0.3 * rng.standard_normal(n)) for name, hard in (("pets", 2.0), ("cars", -1.0))}
    return expit(skill), pd.DataFrame(tasks)


def test_each_data_set_is_centred_and_its_hardness_does_not_count():
    upstream, tasks = models()
    assert centred_logits(tasks).mean().to_numpy() == pytest.approx(0, abs=1e-12)
    harder = tasks.assign(cars=expit(logit(tasks.cars) - 1.5))
    assert centred_logits(harder).to_numpy() == pytest.approx(centred_logits(tasks).to_numpy())
    pd.testing.assert_frame_equal(correlate_centred_logits(upstream, harder), correlate_centred_logits(upstream, tasks))


def test_correlations_and_intervals_are_pearsons():
    upstream, tasks = models()
    table = correlate_centred_logits(upstream, tasks, level=0.9)
    known = stats.pearsonr(logit(upstream), logit(tasks.pets))
    low, high = known.confidence_interval(0.9)
    assert table.loc["pets"].tolist() == pytest.approx([known.statistic, low, high])
    average = logit(tasks.to_numpy()).mean(axis=1)
    assert table.correlation.iloc[-1] == pytest.approx(np.corrcoef(logit(upstream), average)[0, 1])
    # Averaging takes noise of single data sets away.
    assert table.correlation.iloc[-1] > table.correlation.iloc[:-1].mean()


def test_bad_input():
    upstream, tasks = models(6)
    with pytest.raises(ValueError, match="cars must lie strictly between 0 and 1 for a logit; row 2 is 1"):
        centred_logits(tasks.assign(cars=[0.1, 0.2, 1.0, 0.3, 0.4, 0.5]))
    with pytest.raises(ValueError, match="column 'cars' must hold finite numbers; row 0"):
        centred_logits(tasks.assign(cars=np.nan))
    with pytest.raises(ValueError, match=r"upstream_accuracy must have one value a model, shape \(6,\)"):
        correlate_centred_logits(upstream[:5], tasks)
    with pytest.raises(FitError, match="needs at least 4 models, got 3"):
        correlate_centred_logits(upstream[:3], tasks.iloc[:3])
    with pytest.raises(FitError, match="all accuracies of cars or of the upstream set are equal"):
        correlate_centred_logits(upstream, tasks.assign(cars=0.5))


def test_names_of_data_sets_may_be_numbers():
    assert centred_logits(pd.DataFrame({1: [0.5, 0.9]})).columns.tolist() == [1]
