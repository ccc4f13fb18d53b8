"""Puts `scaling` and other public tools into the same situations: `python -m tests.benchmarks.situations`.

Two users of each general fitter: "as shipped" gives the data and the default start (1 for every parameter), as its
documentation's first example does; "careful" divides x by its geometric mean, fits log y, and bounds the parameters at
0. A rival that is not installed is named and left out. The recorded answers lie in `results/`.
"""

import platform
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import curve_fit
from scipy.spatial import ConvexHull, QhullError

import scaling as sc
from scaling.published import HOFFMANN_2022

from .rivals import additive, additive_points, chinchilla_fit, find, huber_sum

NUM_LAWS, NUM_SIMULATIONS = 200, 400
FOUND = 1e-3  # relative error of a noise-free prediction that counts as found: far above rounding, below any noise
FAR = 10.0  # times the largest x: where predictions are asked for
TRUTH = {"a": 0.5, "b": 0.25, "c": 0.1}  # of x = C / 1e18

Predict = Callable[[np.ndarray], np.ndarray]
Fitter = Callable[[np.ndarray, np.ndarray], Predict]


def main() -> None:
    for package in ("numpy", "scipy", "lmfit", "chinchilla", "paretoset"):
        print(package, version(package) if package == "numpy" or find(package) else "absent", end="; ")
    print("Python", platform.python_version())
    warnings.simplefilter("ignore")  # rivals warn at many fits; what they return is what is compared
    for situation in SITUATIONS:
        print(f"\n{situation.__doc__}")
        for name, answer in situation().items():
            print(f"  {name:38}{answer}")


# The fitters ----------------------------------------------------------------------------------------------------


def law(x: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    return a * x**-b + c


def log_law(x: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    return np.log(law(x, a, b, c))


def ours(x: np.ndarray, y: np.ndarray) -> Predict:
    return sc.fit_law("saturating_power", x, y).predict


def ours_robust(x: np.ndarray, y: np.ndarray) -> Predict:
    return sc.fit_law("saturating_power", x, y, objective="log_huber").predict


def curve_fit_shipped(x: np.ndarray, y: np.ndarray) -> Predict:
    found = curve_fit(law, x, y)[0]
    return lambda new: law(new, *found)


def curve_fit_careful(x: np.ndarray, y: np.ndarray, **options: Any) -> Predict:
    unit = np.exp(np.mean(np.log(x)))
    found = curve_fit(log_law, x / unit, np.log(y), p0=(1, 1, 1), bounds=(0, np.inf), **options)[0]
    return lambda new: law(new / unit, *found)


def curve_fit_robust(x: np.ndarray, y: np.ndarray) -> Predict:
    return curve_fit_careful(x, y, loss="huber", f_scale=1e-3)


def lmfit_shipped(x: np.ndarray, y: np.ndarray) -> Predict:
    result = find("lmfit").Model(law).fit(y, x=x, a=1, b=1, c=1)
    return lambda new: result.eval(x=new)


def lmfit_careful(x: np.ndarray, y: np.ndarray) -> Predict:
    unit, result = _lmfit_log(x, y, (1, 1, 1))
    return lambda new: np.exp(result.eval(x=new / unit))


def _lmfit_log(x: np.ndarray, y: np.ndarray, start: tuple[float, ...]) -> tuple[float, Any]:
    unit, model = float(np.exp(np.mean(np.log(x)))), find("lmfit").Model(log_law)
    params = model.make_params(**{name: {"value": v, "min": 0} for name, v in zip("abc", start, strict=True)})
    return unit, model.fit(np.log(y), params, x=x / unit)


def fitters() -> dict[str, Fitter]:
    found: dict[str, Fitter] = {
        "scaling.fit_law": ours,
        "curve_fit, as shipped": curve_fit_shipped,
        "curve_fit, careful": curve_fit_careful,
    }
    if find("lmfit"):
        found |= {"lmfit, as shipped": lmfit_shipped, "lmfit, careful": lmfit_careful}
    return found


def said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def answers_of_all(ask: Callable[[str, Fitter], str]) -> dict[str, str]:
    """What `ask` (name, fitter) finds of each fitter, or the error that the fitter raises."""
    answers = {}
    for name, fitter in fitters().items():
        try:
            answers[name] = ask(name, fitter)
        except (ValueError, TypeError, RuntimeError, AttributeError) as error:
            answers[name] = said(error)
    return answers


def predict_one(fitter: Fitter, x: np.ndarray, y: np.ndarray, at: float) -> float:
    return float(np.squeeze(fitter(x, y)(np.array([at]))))


def relative_error(fitter: Fitter, x: np.ndarray, y: np.ndarray, at: float, truth: float) -> float:
    """Of the prediction, inf where there is none."""
    try:
        predicted = predict_one(fitter, x, y, at)
    except (ValueError, TypeError, RuntimeError):
        return np.inf
    return abs(predicted / truth - 1) if np.isfinite(predicted) else np.inf


# The situations -------------------------------------------------------------------------------------------------


def starts() -> dict[str, str]:
    """No starting values: share of 200 noise-free laws a x^-b + c found (prediction at 10 x within .001)."""
    rng = np.random.default_rng(0)
    errors: dict[str, list[float]] = {name: [] for name in fitters()}
    for _ in range(NUM_LAWS):
        x = np.geomspace(1e18, 1e18 * 10 ** rng.uniform(2, 4), 12)
        truth = (rng.uniform(0.2, 1.0), rng.uniform(0.1, 0.6), rng.uniform(0.02, 0.3))
        for name, fitter in fitters().items():
            y, far = law(x / 1e18, *truth), law(np.array([FAR * x[-1] / 1e18]), *truth)[0]
            errors[name].append(relative_error(fitter, x, y, FAR * x[-1], far))
    return {
        name: f"{np.mean(np.array(each) < FOUND):.3f} found, {np.mean(np.isinf(each)):.3f} with an error, "
        f"{np.mean((np.array(each) >= FOUND) & np.isfinite(each)):.3f} wrong without one"
        for name, each in errors.items()
    }


def eight_points(rng: np.random.Generator | None = None, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    x = np.geomspace(1e18, 1e21, 8)
    return x, law(x / 1e18, **TRUTH) * np.exp(noise * rng.standard_normal(8) if rng is not None else 0)


def units() -> dict[str, str]:
    """FLOPs or units of 1e18 FLOPs: largest relative change of a prediction between the two; 8 points, 1 % noise."""
    x, y = eight_points(np.random.default_rng(1), 0.01)
    new = np.geomspace(1e18, 1e22, 9)

    def change(name: str, fitter: Fitter) -> str:
        raw, scaled = fitter(x, y)(new), fitter(x / 1e18, y)(new / 1e18)
        return f"{np.max(np.abs(raw / scaled - 1)):.1e}"

    return answers_of_all(change)


def large_integers() -> dict[str, str]:
    """Compute as Python integers above 2^64: relative error of the prediction at 1e22; 8 noise-free points."""
    _, y = eight_points()
    x: Any = [10**18 * 10 ** (3 * i // 7) for i in range(8)]
    y = law(np.array([each / 10**18 for each in x]), **TRUTH)
    far = law(np.array([1e4]), **TRUTH)[0]

    def error(name: str, fitter: Fitter) -> str:
        given = x if name.startswith("scaling") else np.array(x)
        return f"{abs(predict_one(fitter, given, y, 1e22) / far - 1):.1e}"

    return answers_of_all(error)


def missing_value() -> dict[str, str]:
    """A NaN in row 3 of y: what is said."""
    x, y = eight_points()
    y[3] = np.nan
    return answers_of_all(lambda _, fitter: f"a fit, which predicts {predict_one(fitter, x, y, 1e22):.3g}")


def outlier() -> dict[str, str]:
    """One of 8 points too high by .1: largest error of the prediction at 10 x, over which point it is."""
    x, y = eight_points()
    far = law(np.array([FAR * x[-1] / 1e18]), **TRUTH)[0]
    robust: dict[str, Fitter] = {
        "scaling.fit_law, log_huber": ours_robust,
        "curve_fit, careful, huber 1e-3": curve_fit_robust,
    }
    return {
        name: f"{max(relative_error(fitter, x, y + 0.1 * (np.arange(8) == i), FAR * x[-1], far) for i in range(8)):.2g}"
        for name, fitter in {**robust, **fitters()}.items()
    }


def all_runs() -> dict[str, str]:
    """200 runs scattered above their frontier: median error at 10 x of 20 data sets, all runs given to each."""
    answers: dict[str, list[float]] = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = 10 ** rng.uniform(18, 21, 200)
        y = law(x / 1e18, **TRUTH) * np.exp(rng.exponential(0.2, 200))
        far = law(np.array([FAR * 1e3]), **TRUTH)[0]
        edge: dict[str, Fitter] = {
            "scaling.fit_frontier, stochastic": lambda x, y: sc.fit_frontier(x, y, selection="stochastic").predict,
            "scaling.fit_frontier, pareto": lambda x, y: sc.fit_frontier(x, y).predict,
        }
        for name, fitter in {**edge, **fitters()}.items():
            answers.setdefault(name, []).append(relative_error(fitter, x, y, FAR * 1e21, far))
    return {name: f"{np.median(each):.2g}" for name, each in answers.items()}


def coverage() -> dict[str, str]:
    """95 % intervals at 10 x: share with the truth; 8 points, 1 % noise, 400 simulations; rivals start at the truth."""
    rng = np.random.default_rng(0)
    inside: dict[str, list[bool]] = {}
    for _ in range(NUM_SIMULATIONS):
        x, y = eight_points(rng, 0.01)
        truth = law(np.array([1e4]), **TRUTH)[0]
        for name, ends in intervals(x, y).items():
            inside.setdefault(name, []).append(bool(ends[0] <= truth <= ends[1]))
    return {name: f"{np.mean(each):.3f}" for name, each in inside.items()}


def intervals(x: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    far = np.array([FAR * x[-1]])
    band = sc.fit_law("saturating_power", x, y).predict(far, level=0.95)
    found = {"scaling.fit_law": (float(band.low[0]), float(band.high[0]))}
    unit = float(np.exp(np.mean(np.log(x))))
    start = (TRUTH["a"] * (unit / 1e18) ** -TRUTH["b"], TRUTH["b"], TRUTH["c"])
    best, covariance = curve_fit(log_law, x / unit, np.log(y), p0=start)
    power = (far[0] / unit) ** -best[1]
    slope = np.array([power, -best[0] * power * np.log(far[0] / unit), 1.0]) / (best[0] * power + best[2])
    half = stats.norm.ppf(0.975) * np.sqrt(slope @ covariance @ slope)  # as curve_fit's documentation: one std, normal
    middle = np.log(best[0] * power + best[2])
    found["curve_fit, pcov, 1.96"] = (np.exp(middle - half), np.exp(middle + half))
    if find("lmfit"):
        unit, result = _lmfit_log(x, y, start)
        half, middle = result.eval_uncertainty(x=far / unit, sigma=0.95)[0], result.eval(x=far / unit)[0]
        found["lmfit, eval_uncertainty"] = (np.exp(middle - half), np.exp(middle + half))
    return found


def ties() -> dict[str, str]:
    """The frontier of cost 1 1 2 2 4 8 and error .5 .6 .4 .4 .3 .35: indices (0, one or both of 2 and 3, and 4)."""
    cost, error = np.array([1, 1, 2, 2, 4, 8.0]), np.array([0.5, 0.6, 0.4, 0.4, 0.3, 0.35])
    answers = {"scaling.pareto_frontier": str([int(i) for i in sc.pareto_frontier(cost, error)])}
    hull = ConvexHull(np.stack([cost, error], axis=1)).vertices
    answers["scipy ConvexHull, all sides"] = str(sorted(int(i) for i in hull))
    paretoset = find("paretoset")
    if paretoset:
        points = np.stack([cost, error], axis=1)
        for distinct in (True, False):
            kept = np.flatnonzero(paretoset.paretoset(points, sense=["min", "min"], distinct=distinct))
            answers[f"paretoset, distinct={distinct}"] = str([int(i) for i in kept])
    return answers


def collinear() -> dict[str, str]:
    """The lower hull of an exact power law in log-log, 7 points on one line: how many are kept for a fit."""
    x = np.geomspace(1e18, 1e21, 7)
    logs = np.stack([np.log10(x), np.log10(x**-0.25)], axis=1)
    kept = sc.convex_hull(logs[:, 0], logs[:, 1], side="lower", tolerance=1e-9)
    try:
        scipy_said = f"{len(ConvexHull(logs).vertices)} points"
    except QhullError as error:
        scipy_said = said(error)
    return {"scaling.convex_hull": f"{len(kept)} points", "scipy ConvexHull": scipy_said}


def bound() -> dict[str, str]:
    """Data that bend below a power law, so that c ends at its bound 0 (1 % noise): what is said of c."""
    x = np.geomspace(1e18, 1e21, 12)
    y = ((x / 1e18) ** -0.25 - 0.02) * np.exp(0.01 * np.random.default_rng(7).standard_normal(12))
    fit = sc.fit_law("saturating_power", x, y)
    kinds = ", ".join(sorted({each.kind for each in fit.warnings}))
    low, high = sc.profile_interval(fit, "c")
    answers = {"scaling.fit_law": f"c {fit.params['c']:.3g} [{low:.3g}, {high:.3g}]; warns {kinds or 'nothing'}"}
    unit = np.exp(np.mean(np.log(x)))
    best, covariance = curve_fit(log_law, x / unit, np.log(y), p0=(1, 1, 1), bounds=(0, np.inf))
    answers["curve_fit, careful"] = f"c {best[2]:.2g}, standard deviation {np.sqrt(covariance[2, 2]):.2g}; no warning"
    if find("lmfit"):
        result = _lmfit_log(x, y, (1, 1, 1))[1]
        answers["lmfit, careful"] = f"c {result.params['c'].value:.2g}, stderr {result.params['c'].stderr}"
    return answers


def shared_axis() -> dict[str, str]:
    """Loss of 5 models that share one D: E, B and beta cannot be told apart. Then the Chinchilla points."""
    x = np.stack([np.geomspace(1e7, 1e9, 5), np.full(5, 1e10)], axis=1)
    y = additive(HOFFMANN_2022, x)
    try:
        fit = sc.fit_law("additive", x, y, objective="log_huber")
        answers = {"scaling.fit_law": "; ".join(str(each) for each in fit.warnings)}
    except sc.FitError as error:
        answers = {"scaling.fit_law": said(error)}
    chinchilla = find("chinchilla")
    if chinchilla:
        found = chinchilla_fit(chinchilla, x, y, 1.0, False)
        answers["chinchilla, 32 starts"] = "a fit: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items())
    x, y, source = additive_points()
    ours_found = sc.fit_law("additive", x, y, objective="log_huber").params
    answers[f"scaling.fit_law, {y.size} points"] = f"objective {huber_sum(ours_found, x, y):.6g} ({source})"
    if chinchilla:
        found = chinchilla_fit(chinchilla, x, y, 1.0, False)
        answers[f"chinchilla, {y.size} points, as shipped"] = f"objective {huber_sum(found, x, y):.6g} ({source})"
    return answers


SITUATIONS = (
    starts, units, large_integers, missing_value, outlier, all_runs, coverage, ties, collinear, bound, shared_axis,
)  # fmt: skip

if __name__ == "__main__":
    main()
