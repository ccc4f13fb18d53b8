"""What every published estimator shares: checks, units, results."""

import dataclasses
import json

import numpy as np
import pytest

from scaling import FitError
from scaling.published import (
    PUBLISHED_ESTIMATORS,
    PublishedFit,
    alabdulmohsin2022_m1,
    hoffmann2022,
)

from .points import CURVES, FAST, LOSSES, PAIRS, X, Y, points


@pytest.mark.parametrize("name", PUBLISHED_ESTIMATORS)
def test_an_estimator_gives_a_frozen_result_of_plain_values(name):
    x, y = points(name)
    fit = PUBLISHED_ESTIMATORS[name](x, y, **FAST.get(name, {}))
    assert isinstance(fit, PublishedFit)
    assert fit.estimator == name
    assert json.loads(json.dumps(dict(fit.params))) == fit.params
    assert all(type(value) is float for value in fit.params.values())
    assert fit.predict(x).shape == y.shape
    assert np.all(np.isfinite(fit.predict(x)))
    assert fit.note
    assert "arXiv" in fit.source
    assert name in repr(fit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.converged = True


@pytest.mark.parametrize("name", PUBLISHED_ESTIMATORS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda x, y: (x, np.where(y == y[3], np.nan, y)), ValueError, r"y must be positive and finite; row 3 is nan"),
        (lambda x, y: (np.where(x == x[5], np.nan, x), y), ValueError, r"x must be positive and.*; row 5 is .*nan"),
        (lambda x, y: (x, -y), ValueError, "y must be positive and finite; row 0"),
        (lambda x, y: (x[:1], y[:1]), FitError, r"needs at least \d points, got 1"),
        (lambda x, y: (x, y[:-1]), ValueError, "got"),
        (lambda x, y: (np.broadcast_to(x[0], x.shape), y), FitError, "are equal|num_edges|at least"),
    ],
    ids=["nan y", "nan x", "negative", "one point", "lengths", "equal x"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of rows that share an x
def test_bad_input_is_one_line_that_names_the_row_or_the_rule(name, change, error, message):
    with pytest.raises(error, match=message) as caught:
        PUBLISHED_ESTIMATORS[name](*change(*points(name)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CURVES)
def test_the_order_of_the_rows_changes_nothing(name):
    order = np.random.default_rng(1).permutation(X.size)
    one, other = (PUBLISHED_ESTIMATORS[name](x, y, **FAST.get(name, {})) for x, y in ((X, Y), (X[order], Y[order])))
    # Sums in another order differ in their last bits, which a search magnifies.
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-6)


def test_prediction_refuses_an_x_of_another_law():
    with pytest.raises(ValueError, match=r"shape \(..., 2\) = N, D"):
        hoffmann2022(PAIRS, LOSSES, num_starts=1).predict([1e9, 1e10, 1e11])
    with pytest.raises(ValueError, match="x must be positive and finite; row 1 is 0"):
        alabdulmohsin2022_m1(X, Y).predict([1.0, 0.0])
