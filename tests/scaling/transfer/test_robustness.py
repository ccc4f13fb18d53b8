import warnings

import numpy as np
import pytest
from scipy.special import expit, logit

from scaling import FitError, FitWarning
from scaling.transfer import accuracy_difference, effective_robustness


def test_objectnet():
    """ViT-H/14, JFT: ImageNet 88.55 (Dosovitskiy et al. 2020, Table 2); ObjectNet 61.7 top-1, 82.1 top-5 (their
    appendix D); BiT-L 58.7 and 80.0 (Kolesnikov et al. 2020, arXiv 1912.11370)."""
    drop = accuracy_difference(0.8855, 0.617).difference
    assert drop.tolist() == pytest.approx([0.2685])
    gain = accuracy_difference([0.617, 0.821], [0.587, 0.800]).difference
    assert gain.tolist() == pytest.approx([0.030, 0.021])


def test_a_difference_has_the_variance_of_both_samples():
    table = accuracy_difference(0.7, 0.6, num_eval=1000, base_num_eval=4000, level=0.95)
    error = np.sqrt(0.7 * 0.3 / 1000 + 0.6 * 0.4 / 4000)
    # One answer right and one wrong are added: 1e-3 of the error here.
    assert table.standard_error[0] == pytest.approx(error, rel=2e-3)
    assert (table.high - table.low)[0] == pytest.approx(2 * 1.959964 * table.standard_error[0])
    assert accuracy_difference(1.0, 1.0, num_eval=10, base_num_eval=10).standard_error[0] > 0


def standard_models(n=30, seed=0):
    standard = np.linspace(0.5, 0.85, n)
    return standard, expit(1.2 * logit(standard) - 1)


def test_standard_models_on_a_line_are_not_robust_and_a_lifted_one_is():
    standard, shifted = standard_models()
    is_standard = np.append(np.ones(30, dtype=bool), False)
    lifted = expit(1.2 * logit(0.8) - 1) + 0.07
    robust = effective_robustness(
        np.append(standard, 0.8), np.append(shifted, lifted), is_standard=is_standard, names=[*"a" * 30, "clip"]
    )
    assert robust.effective[:30] == pytest.approx(0, abs=1e-9)
    assert robust.effective[30] == pytest.approx(0.07)
    assert robust.standard_error[30] == pytest.approx(0, abs=1e-9)
    best = robust.table.iloc[0]
    assert (best.model, bool(best.is_standard)) == ("clip", False)
    assert best["drop"] == pytest.approx(0.8 - lifted)
    assert best.predicted_accuracy == pytest.approx(lifted - 0.07)
    assert "most robust: clip, +0.0700" in robust.summary()
    assert "through 30 standard models" in robust.note


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # by what was put in
def test_all_models_are_standard_unless_said_and_a_note_says_so():
    standard, shifted = standard_models()
    shifted[-5:] += 0.05
    everybody = effective_robustness(standard, shifted)
    chosen = effective_robustness(standard, shifted, is_standard=np.arange(30) < 25)
    assert "robust ones among them lift the line" in everybody.note
    assert chosen.effective[-1] > everybody.effective[-1] + 0.01


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # on the identity
@pytest.mark.parametrize("scaling", ["identity", "logit", "probit"])
def test_the_standard_error_is_the_spread_of_samples_of_images(scaling):
    """A model's two accuracies drawn anew 2,000 times; the line's own part is added by hand: it is drawn once."""
    rng, num = np.random.default_rng(0), 500
    standard, shifted = standard_models(200)
    noisy = np.clip(shifted + 0.01 * rng.standard_normal(200), 0.01, 0.99)
    x, y = 0.75, expit(1.2 * logit(0.75) - 1)
    draws_x, draws_y = rng.binomial(num, x, 2000) / num, rng.binomial(num, y, 2000) / num
    mask = np.append(np.ones(200, dtype=bool), np.zeros(2000, dtype=bool))
    found = effective_robustness(
        np.append(standard, draws_x), np.append(noisy, draws_y), is_standard=mask, scaling=scaling,
        standard_num_eval=num, shifted_num_eval=num,
    )  # fmt: skip
    # Standard error of a standard deviation of 2,000 draws: 1.6 %; the linear formula is good to as much.
    assert np.std(found.effective[200:]) == pytest.approx(np.median(found.standard_error[200:]), rel=0.06)


def test_bad_arguments():
    standard, shifted = standard_models()
    with pytest.raises(ValueError, match=r"is_standard must be booleans of shape \(30,\), got int of"):
        effective_robustness(standard, shifted, is_standard=np.arange(30))
    with pytest.raises(ValueError, match="shifted_accuracy must lie in"):
        effective_robustness(standard, 100 * shifted)
    with pytest.raises(ValueError, match="equally long"):
        effective_robustness(standard, shifted[1:])
    with pytest.raises(ValueError, match="names must have one label a model, 30, got 1"):
        effective_robustness(standard, shifted, names=["a"])
    with pytest.raises(FitError, match="at least 3 models, got 2"):
        effective_robustness(standard, shifted, is_standard=np.arange(30) < 2)
    with pytest.raises(ValueError, match=r"standard_accuracy of 0 or 1 has no place on the scale 'logit'; row 30 is 1"):
        effective_robustness(np.append(standard, 1.0), np.append(shifted, 0.9), is_standard=np.arange(31) < 30)
    with pytest.raises(ValueError, match=r"one shape, got accuracy \(3,\) and base_accuracy \(2,\)"):
        accuracy_difference([0.1, 0.2, 0.3], [0.1, 0.2])
    with pytest.raises(ValueError, match="an interval needs num_eval and base_num_eval"):
        accuracy_difference(0.5, 0.4, num_eval=10)


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # by the two put in
def test_with_numbers_of_images_0_and_1_have_a_place():
    standard, shifted = standard_models()
    standard[-1], shifted[0] = 1.0, 0.0
    mask = np.append(np.ones(30, dtype=bool), False)
    pair = np.append(standard, 1.0), np.append(shifted, 1.0)
    robust = effective_robustness(*pair, is_standard=mask, standard_num_eval=50_000, shifted_num_eval=1000)
    assert robust.line.names == tuple(f"row {i}" for i in range(30))
    assert robust.standard[30] == pytest.approx(50_000.5 / 50_001)
    expected = 1000.5 / 1001 - robust.line.predict([50_000.5 / 50_001])[0]
    assert robust.effective[30] == pytest.approx(expected)


def test_the_band_of_a_new_standard_model_tells_who_is_unusual():
    standard, shifted = standard_models()
    shifted = expit(logit(shifted) + 0.1 * np.random.default_rng(0).standard_normal(30))
    mask = np.append(np.ones(30, dtype=bool), [False, False])
    on_line = expit(1.2 * logit(0.8) - 1)
    robust = effective_robustness(np.append(standard, [0.8, 0.8]), np.append(shifted, [on_line, 0.9]), is_standard=mask)
    table = robust.table.set_index("model")
    assert table.outside_band["row 31"]
    assert not table.outside_band["row 30"]
    # Of 30 models 1.5 are meant to lie outside; 6 are beyond four standard errors.
    assert table.outside_band[table.is_standard].sum() < 6
    assert "outside the 95% band of a new standard model" in robust.summary()


@pytest.mark.filterwarnings("always")
def test_warnings_point_at_the_users_line():
    standard, shifted = standard_models()
    shifted[0] = 0.0
    with pytest.warns(FitWarning, match="1 models left out") as caught:
        effective_robustness(standard, shifted)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.slow
@pytest.mark.parametrize("num_standard", [3, 5, 8])
def test_intervals_cover_with_few_standard_models(num_standard):
    """Of a model that has the accuracy of the true line: two standard errors of 2,000 are .01, and the transformation
    to accuracy is linearised."""
    rng, inside = np.random.default_rng(num_standard), 0
    standard = np.append(np.linspace(0.5, 0.85, num_standard), 0.8)
    mask = np.arange(num_standard + 1) < num_standard
    for _ in range(2000):
        z = 1.2 * logit(standard) - 1 + 0.1 * rng.standard_normal(num_standard + 1) * mask
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # one in a thousand is called curved
            row = effective_robustness(standard, expit(z), is_standard=mask).table.set_index("is_standard").loc[False]
        inside += row.low <= 0 <= row.high
    print(num_standard, inside / 2000)
    assert inside / 2000 == pytest.approx(0.95, abs=0.02)
