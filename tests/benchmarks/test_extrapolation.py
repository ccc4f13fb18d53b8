"""The recorded score of the ensemble on real curves: results/2026-11-30-extrapolation.txt."""

import time

import numpy as np
import pytest

from scaling.ensemble.weighted import fit_ensemble

from . import extrapolation

pytestmark = [
    pytest.mark.slow,  # 36 curves of 28 fits and an ensemble: minutes
    pytest.mark.usefixtures("data_folder"),
    pytest.mark.filterwarnings("ignore::scaling.FitWarning"),
]

# Recorded to four digits; members stop before their last digit, and a change of the solver moves some of them.
RELATIVE = 0.02


def test_score_of_the_ensemble():
    scores, pairs = extrapolation.ensemble_scores()
    assert len(pairs) == 36
    assert scores.mean() == pytest.approx(0.01692, rel=RELATIVE)
    assert np.median(scores) == pytest.approx(0.01503, rel=RELATIVE)


def test_the_ensemble_beats_the_plain_mean_and_every_law_alone():
    scores, _ = extrapolation.ensemble_scores()
    others = extrapolation.reference_scores()
    assert others["reference"].mean() == pytest.approx(0.02018, rel=RELATIVE)
    _, _, high = extrapolation.paired_interval(scores, others["reference"])
    assert high < 0
    assert all(scores.mean() < np.nanmean(others[law]) for law in extrapolation.LAWS)


def test_intervals_hold_at_least_their_level():
    _, pairs = extrapolation.ensemble_scores()
    over, _, half_width = extrapolation.coverage(pairs, "prediction")
    assert over >= extrapolation.LEVEL
    assert half_width < 0.1  # and say something: 10 % of the error rate


def test_a_curve_takes_seconds():
    curve = extrapolation.vision_curves()[0]
    start = time.process_time()
    fit_ensemble(curve.x, curve.y)
    assert time.process_time() - start < 5
