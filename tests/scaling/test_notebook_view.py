"""What Jupyter shows of a result, and what a terminal shows."""

import base64
import dataclasses
import importlib
import pickle
import pkgutil
import time
import warnings
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling
from scaling.frontier.equal_error import cost_ratio
from scaling.notebook_view import NotebookView, with_numbers

VOID = {"img", "br"}


class Page(HTMLParser):
    """Text, tags, and what stands open at the end."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.tags, self.images = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs)["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page_of(result):
    before = plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(result._repr_html_())
    assert page.open == []
    assert plt.get_fignums() == before
    return page


@pytest.fixture(scope="module")
def results():
    """One of each kind, of points off a law by a pattern that is no chance's."""
    x = np.geomspace(1e12, 1e16, 24)
    wave = np.exp(0.05 * np.sin(3.0 * np.arange(24)))
    y = (0.5 * (x / 1e12) ** -0.25 + 0.05) * wave
    labels = np.array(["vit", "<b>"] * 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = scaling.fit_law("saturating_power", x, y)
        front = scaling.fit_frontier(x, y, num_draws=60)
        trans = scaling.fit_transfer(1 - y, 0.9 - 0.8 * y**1.5, num_draws=60)
        joint = scaling.fit_law("power", x, y, groups=labels, shared=["b"])
        found = [
            fit, front, trans, scaling.chain(front, trans), scaling.fit_ensemble(x, y, ["power", "saturating_power"]),
            front.bootstrap, scaling.bootstrap_fit(fit, num_draws=60), joint, joint.of_group("<b>"),
            cost_ratio(x, y, labels, reference="vit", rival="<b>"),
        ]  # fmt: skip
    return {type(result).__name__: result for result in found}


NAMES = [
    "Fit", "FrontierFit", "TransferFit", "Chain", "EnsembleFit", "WorldDraws", "BootstrapFit", "GroupedFit", "GroupLaw",
    "CostRatio",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_is_shown_without_a_warning_an_open_tag_or_a_figure_left_open(results, name):
    page = page_of(pickle.loads(pickle.dumps(results[name])))
    assert name in page.words or name == "GroupedFit"
    assert "no table" not in page.words
    assert "no figure" not in page.words
    assert len(page.images) == (name not in ("WorldDraws", "BootstrapFit", "GroupedFit"))


@pytest.mark.parametrize("name", ["Fit", "FrontierFit", "TransferFit"])
def test_the_three_main_results_have_each_parameter_with_the_interval_of_their_own(results, name):
    result, words = results[name], page_of(results[name]).words
    assert "95% interval" in words
    for param, value in result.params.items():
        low, high = result.interval(param, 0.95)
        assert f"{param} {value:.5g} {low:.4g} to {high:.4g}" in words
    method = "delta method" if name == "Fit" else "simulated runs"
    assert method in words


def test_the_picture_is_a_png_of_twice_its_size(results):
    head, data = page_of(results["Fit"]).images[0].split(",")
    raw = base64.b64decode(data)
    width, height = (int.from_bytes(raw[at : at + 4], "big") for at in (16, 20))
    assert (head, raw[:4]) == ("data:image/png;base64", b"\x89PNG")
    assert (width, height) == (720, 480)


def test_warnings_are_seen(results):
    with pytest.warns(scaling.FitWarning, match="bound"):
        fit = scaling.fit_law("saturating_power", results["Fit"].x, results["Fit"].x ** -0.3)
    page = page_of(fit)
    assert "c 0 at its bound: profile_interval has one" in page.words
    assert f"Warning (at_bound): {fit.warnings[0]}" in page.words


def test_a_fixed_parameter_and_one_without_an_interval_say_so(results):
    fit = results["Fit"]
    assert "c 0.05 fixed" in page_of(scaling.fit_law("saturating_power", fit.x, fit.y, fixed={"c": 0.05})).words
    with pytest.warns(scaling.FitWarning, match="no error estimate"):
        few = scaling.fit_law("power", [1.0, 10.0], [1.0, 0.5])
    assert "none: no interval" in page_of(few).words


def test_a_figure_that_cannot_be_drawn_is_one_line(results):
    x = np.stack([results["Fit"].x, results["Fit"].x[::-1] / 7], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = scaling.fit_law("additive", x, results["Fit"].y)
    page = page_of(fit)
    assert page.images == []
    assert "no figure: plot_fit draws laws of one positive variable, got 'additive'" in page.words
    assert "alpha" in page.words


def test_the_users_style_is_kept_and_one_that_fails_is_one_line(results):
    plain = page_of(results["Fit"]).images
    with mpl.rc_context({"axes.facecolor": "red"}):
        assert page_of(results["Fit"]).images != plain
    with mpl.rc_context({"text.usetex": True, "text.latex.preamble": r"\nosuchcommand"}):
        page = page_of(results["Fit"])  # there is no TeX, or it refuses this
    assert "no figure: " in page.words
    assert "95% interval" in page.words


@given(name=st.text(min_size=1, max_size=12), kind=st.text(max_size=6))
def test_no_name_is_taken_for_html(name, kind):
    """Of a law, a parameter, a warning: what is shown is what is said, and no tag is of a name's making."""
    law = SimpleNamespace(name=name, formula=f"{name} x", params=(name,), num_inputs=2)

    class Odd(NotebookView):
        params, warnings, at_bound = {name: 0.5}, (name,), {}
        theta = np.zeros(3)

        def interval(self, name, level):
            return 0.0, 1.0

        def __repr__(self):
            return name

    Odd.law = law
    page = page_of(Odd())
    assert set(page.tags) <= {"style", "div", "b", "code", "table", "tr", "td", "th", "details", "summary", "pre"}
    kept = "".join(page.text).replace("\r\n", "\n").replace("\r", "\n")
    assert name.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd") in kept.replace("\0", "\ufffd")


class Broken(NotebookView):
    @property
    def warnings(self):
        raise RuntimeError("<no> warnings")

    def __repr__(self):
        raise RuntimeError("no text")


def test_what_cannot_be_shown_is_told_and_raises_nothing():
    words = page_of(Broken()).words
    assert "Broken (no text)" in words
    assert "no table and no figure: <no> warnings" in words


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_take_the_places_of_names_and_nothing_else(value):
    text = with_numbers("(E - c) / (e0 - E)^alpha = a x^-b", {"c": 0.5, "e0": 1.0, "alpha": 2.0, "a": 3.0, "b": value})
    number = f"{value:.4g}"
    assert text == f"(E - 0.5) / (1 - E)^2 = 3 x^-{f'({number})' if set(number) & set('-e') else number}"


def test_no_simulation_is_made_for_it(results, monkeypatch):
    def never(*_, **__):
        raise AssertionError("simulated")

    for name in (
        "scaling.intervals.bootstrap.bootstrap_fit",
        "scaling.intervals.bootstrap.solve_draws",
        "scaling.selection.worlds.solve_worlds",
    ):
        monkeypatch.setattr(name, never)
    for name in NAMES:
        assert "simulated</" not in results[name]._repr_html_()


def test_a_view_is_quick(results):
    """CPU seconds, which other work on the machine leaves alone; measured .15 to .31 s."""
    for name in ("Fit", "FrontierFit", "TransferFit"):
        results[name]._repr_html_()
        began = time.process_time()
        results[name]._repr_html_()
        assert time.process_time() - began < 1.0  # on a slow processor whose other core works too


def test_in_a_terminal_each_is_a_screen_at_most(results):
    told = [*results.values(), results["Fit"].predict(np.geomspace(1e12, 1e16, 1000), level=0.9)]
    told.append(results["Chain"].solve_for_compute(0.7))
    for result in told:
        lines = repr(result).splitlines()
        assert 1 <= len(lines) <= 24
        assert "array(" not in repr(result)


def test_a_prediction_is_a_line_an_x_and_of_many_the_first_and_the_last(results):
    fit = results["Fit"]
    short = repr(fit.predict([1e13, 1e14], level=0.9)).splitlines()
    assert short[0] == "90% confidence interval"
    assert short[1].split() == ["x", "median", "low", "high"]
    assert [line.split()[0] for line in short[2:]] == ["1e+13", "1e+14"]
    assert len(repr(fit.predict(1e13, level=0.9)).splitlines()) == 3
    assert len(repr(fit.predict(np.geomspace(1e12, 1e16, 11), level=0.9)).splitlines()) == 13
    assert len(repr(fit.predict(np.zeros(0) + 1, level=0.9)).splitlines()) == 2


def _public_results():
    """Frozen classes of arrays or tables that a namespace of the package names."""
    for space in ("", ".frontier", ".transfer", ".tables", ".tuning", ".published"):
        module = importlib.import_module(f"scaling{space}")
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if dataclasses.is_dataclass(found) and isinstance(found, type):
                yield found


def test_no_public_result_is_shown_as_a_dump_of_its_arrays():
    for each in {*_public_results()}:
        fields = " ".join(str(field.type) for field in dataclasses.fields(each))
        if "ndarray" in fields or "DataFrame" in fields:
            assert each.__repr__ is not object.__repr__, each
            assert not each.__dataclass_params__.repr, each


def test_the_packages_own_figures_have_a_plot_each():
    from scaling import plots
    from scaling.notebook_view import _PLOTS

    assert set(_PLOTS.values()) <= set(plots.__all__)
    classes = {
        name
        for info in pkgutil.walk_packages(scaling.__path__, "scaling.")
        if not info.name.endswith("__main__")
        for name in vars(importlib.import_module(info.name))
    }
    assert set(_PLOTS) <= classes
