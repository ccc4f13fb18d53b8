"""Share of 95 % intervals that contain the truth at ten times the largest compute: the README's figures."""

import numpy as np
import pytest

from scaling import bootstrap_fit, fit_law

TRUTH = 0.5 * 1e4**-0.25 + 0.1


def coverage(n, noise, num_simulations, methods):
    """Share of intervals that contain the truth, and their median width (of log E) over the delta method's."""
    x, rng = np.geomspace(1e18, 1e21, n), np.random.default_rng(0)
    covered, widths = ({name: [] for name in ("delta", *methods)} for _ in range(2))
    for _ in range(num_simulations):
        y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(noise * rng.standard_normal(n))
        fit = fit_law("saturating_power", x, y)
        bands = {"delta": fit.predict([1e22], level=0.95)}
        for method in methods:
            bands[method] = bootstrap_fit(fit, num_draws=400, method=method, rng=rng).predict([1e22], level=0.95)
        for name, band in bands.items():
            covered[name].append(bool(band.low[0] <= TRUTH <= band.high[0]))
            widths[name].append(float(np.log(band.high[0] / band.low[0])))
    shares = {name: float(np.mean(values)) for name, values in covered.items()}
    return shares, {name: float(np.median(values) / np.median(widths["delta"])) for name, values in widths.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
@pytest.mark.parametrize(("n", "noise"), [(8, 0.01), (8, 0.03), (20, 0.02)])
def test_the_default_intervals_cover(n, noise):
    """2,000 simulations: a standard error of .005. The case bootstrap is too wide at n = 8: reported, not asserted."""
    shares, widths = coverage(n, noise, 2000, ["residual"])
    print(f"n = {n}, noise {noise}: coverage {shares}, width over delta's {widths}")
    for name in shares:
        assert 0.93 <= shares[name] <= 0.97
        assert widths[name] <= 1.25


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_short_look_at_the_coverage():
    """100 simulations: three standard errors below .95 are .885."""
    shares, _ = coverage(8, 0.01, 100, [])
    assert shares["delta"] >= 0.885
