"""How a result shows itself at the end of a notebook's cell: formula, parameters, warnings and a small figure.

One rule: every result of the package has a text of a screen or less, which a terminal and `print` show; those a plot
draws by themselves are shown here as HTML, and the others in a notebook as that text.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

__all__ = ["NotebookView"]

_LEVEL = 0.95
_PLOTS = {
    "Fit": "plot_fit", "GroupLaw": "plot_fit", "EnsembleFit": "plot_fit", "FrontierFit": "plot_frontier",
    "TransferFit": "plot_transfer", "Chain": "plot_chain", "CostRatio": "plot_cost_ratio",
}  # fmt: skip
_INTERVALS = {
    "posterior": "posterior of the stochastic frontier",
    "simulated_world": "simulated runs above a known law, the selection's bias taken off",
    "case_bootstrap": "bootstrap of the runs",
}
_INCHES, _DOTS_PER_INCH = (4.5, 3.0), 160  # shown at half its pixels, so that it is sharp on a fine screen
_SHOWN_WIDTH = 360  # CSS pixels
_LONGEST = 300  # characters of a line that says why something is not there
# Colours are those around it, so that a dark theme's text stays light; a figure has its own background.
_STYLE = """<style>
.scaling-view {line-height: 1.4; max-width: 60em; color: var(--jp-ui-font-color1, inherit)}
.scaling-view table.scaling-params {border-collapse: collapse; margin: .3em 0; font-size: inherit; color: inherit}
.scaling-view .scaling-told {max-width: 32em}
.scaling-view table.scaling-params :is(td, th) {text-align: left; padding: .1em 1em .1em 0; background: none}
.scaling-view pre {margin: .3em 0; overflow-x: auto; background: none; color: inherit}
.scaling-view .scaling-parts {display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start}
.scaling-view .scaling-warn {border-left: 4px solid #e69f00; background: rgba(230, 159, 0, .15);
  padding: .3em .8em; margin: .4em 0}
.scaling-view .scaling-note {opacity: .75; font-size: 90%}
</style>"""


class NotebookView:
    """A result that Jupyter shows as HTML. It never raises, warns or simulates: what takes long is left to be asked."""

    def _repr_html_(self) -> str:
        import numpy as np

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                body = _body(self)
            except Exception as error:  # a result that cannot be shown must not end a cell of an hour with a traceback
                body = _pre(_text(self)) + _note(f"no table and no figure: {_reason(error)}")
        return f'{_STYLE}<div class="scaling-view">{body}</div>'


def _body(result: Any) -> str:
    parts = [_heading(result), *_laws(result)]
    rows = _rows(result)
    text = _table(rows) + _note(_method(result)) if rows else _pre(_text(result))
    told = ' class="scaling-told"' if rows else ""
    parts.append(f'<div class="scaling-parts"><div{told}>{text}</div><div>{_figure(result)}</div></div>')
    parts.append(_warnings(getattr(result, "warnings", ())))
    if rows:
        parts.append(f"<details><summary>as text</summary>{_pre(_text(result))}</details>")
    return "".join(parts)


def _heading(result: Any) -> str:
    heads: dict[str, Callable[[], str]] = {
        "Fit": lambda: f"law fitted to {result.num_points:g} points, {result.objective.name}",
        "GroupLaw": lambda: f"law of the group {result.label} in a joint fit",
        "BootstrapFit": lambda: f"bootstrap of a fit, {len(result.theta)} draws",
        "FrontierFit": lambda: f"law of the frontier of {result.x.size} runs, {_selection(result)}",
        "TransferFit": lambda: f"downstream against upstream of {result.upstream.size} models, {_selection(result)}",
        "Chain": lambda: f"compute to downstream accuracy, {len(result.front_draws.theta)} draws of both laws",
    }
    name = type(result).__name__
    return f"<div><b>{escape(name)}</b>{': ' + escape(heads[name]()) if name in heads else ''}</div>"


def _selection(result: Any) -> str:
    if result.stochastic is not None:
        return "stochastic frontier"
    return f"{result.selection}, {result.selected.size} of them selected"


def _laws(result: Any) -> list[str]:
    """Each formula, and with its numbers."""
    if type(result).__name__ == "Chain":
        front = result.front if hasattr(result.front, "law") else result.front.fit
        return [_law("upstream error", front), _law("downstream error", result.trans.fit)]
    fit = result if hasattr(result, "law") else getattr(result, "fit", None)
    return [_law("", fit)] if _has_values(fit) else []


def _has_values(fit: Any) -> bool:
    """Whether it is one law with a value for each parameter, which the joint fit of groups is not."""
    return hasattr(fit, "law") and set(fit.law.params) <= set(fit.params)


def _law(title: str, fit: Any) -> str:
    formula, numbers = fit.law.formula, with_numbers(fit.law.formula, fit.params)
    head = f"{title}: " if title else ""
    same = f" = <code>{escape(numbers)}</code>" if numbers != formula else ""
    return f"<div>{head}{escape(fit.law.name)}: <code>{escape(formula)}</code>{same}</div>"


def with_numbers(formula: str, params: Mapping[str, float]) -> str:
    """A formula with four digits of each parameter in the place of its name.

    >>> with_numbers("a x^-b + c", {"a": 2.0, "b": -0.5, "c": 0.0312345})
    '2 x^-(-0.5) + 0.03123'
    """
    if not params:
        return formula
    names = "|".join(re.escape(name) for name in sorted(params, key=len, reverse=True))

    def number(found: re.Match[str]) -> str:
        text = f"{params[found[0]]:.4g}"
        return f"({text})" if text.startswith("-") or "e" in text else text

    return re.sub(rf"(?<![\w])({names})(?![\w])", number, formula)


def _rows(result: Any) -> list[tuple[str, str, str]]:
    """Name, value and interval of what the result says; empty where its own text says it better."""
    if type(result).__name__ == "Chain":
        return _chain_rows(result)
    fit = getattr(result, "fit", result)
    if not _has_values(fit):
        return []
    rows = [(name, f"{fit.params[name]:.5g}", _interval(result, name)) for name in fit.law.params]
    return rows + (_saturation_rows(result) if type(result).__name__ == "TransferFit" else [])


def _interval(result: Any, name: str) -> str:
    from .errors import FitError

    if name in getattr(result, "at_bound", {}):
        low, high = result.bounds[name]
        return "fixed" if low == high else "at its bound: profile_interval has one"
    try:
        return _ends(*result.interval(name, _LEVEL))
    except FitError as error:
        return f"none: {_reason(error)}"


def _saturation_rows(trans: Any) -> list[tuple[str, str, str]]:
    if trans.stochastic is not None and any(warning.kind == "poor_fit" for warning in trans.warnings):
        return [("saturation", "not to be read", "the models contradict the law")]
    return [("saturation", f"{trans.saturation:.5g}", _ends(*trans.saturation_interval(_LEVEL)))]


def _chain_rows(chain: Any) -> list[tuple[str, str, str]]:
    largest = float(chain.compute.max())
    rows = []
    for factor, told in ((1, "the largest compute"), (10, "ten times that")):
        band = chain.predict(factor * largest, _LEVEL)
        name = f"accuracy at {told}, {factor * largest:.3g}"
        rows.append((name, f"{float(band.median):.4g}", _ends(float(band.low), float(band.high))))
    return [*rows, ("saturation", f"{chain.saturation:.4g}", _ends(*chain.saturation_interval(_LEVEL)))]


def _ends(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"


def _method(result: Any) -> str:
    name = type(result).__name__
    if name in ("Fit", "GroupLaw"):
        how = "delta method with Student's t; bootstrap_fit and profile_interval simulate or search"
    elif name == "Chain":
        how = "from the draws of both laws, taken for independent"
    else:
        draws = getattr(result, "bootstrap", result)
        how = f"{_INTERVALS.get(getattr(result, 'intervals', ''), 'quantiles')}, {len(draws.theta)} draws"
    return f"{_LEVEL:.0%} intervals: {how}"


def _table(rows: Iterable[tuple[str, str, str]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    head = f"<tr><th></th><th>value</th><th>{_LEVEL:.0%} interval</th></tr>"
    return f'<table class="scaling-params">{head}{lines}</table>'


def _warnings(found: Iterable[Any]) -> str:
    told = list(dict.fromkeys((getattr(warning, "kind", "note"), str(warning)) for warning in found))
    if not told:
        return ""
    lines = "".join(f"<div><b>Warning</b> ({escape(kind)}): {escape(text)}</div>" for kind, text in told)
    return f'<div class="scaling-warn">{lines}</div>'


def _figure(result: Any) -> str:
    """A picture inside the text, or one line why there is none; nothing of a result that no plot draws."""
    plot = _PLOTS.get(type(result).__name__)
    if plot is None:
        return ""
    try:
        image = base64.b64encode(_png(result, plot)).decode()
    except Exception as error:  # fonts, TeX or styles of the user's, a law of two inputs: the text is shown
        return _note(f"no figure: {_reason(error)}")
    source = f"data:image/png;base64,{image}"
    words = f"{plot}: points, law (dashed beyond them) and {_LEVEL:.0%} band"
    style = "max-width: 100%; background: white"
    return f'<img width="{_SHOWN_WIDTH}" style="{style}" alt="{words}" title="{words}" src="{source}">'


def _png(result: Any, plot: str) -> bytes:
    """In a figure of its own that pyplot does not know, so that it is neither shown twice nor left open."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from . import plots

    file = io.BytesIO()
    with mpl.rc_context({"savefig.bbox": None}):
        figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
        FigureCanvasAgg(figure)
        ax = getattr(plots, plot)(result, ax=figure.subplots())
        if ax.get_legend() is not None:  # as large as the figure; the text beside it says the same
            ax.get_legend().remove()
        figure.set_size_inches(_INCHES)
        figure.savefig(file, format="png", dpi=_DOTS_PER_INCH, transparent=False)
    return file.getvalue()


def _text(result: Any) -> str:
    try:
        return repr(result)
    except Exception as error:  # as above
        return f"{type(result).__name__} ({_reason(error)})"


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _note(text: str) -> str:
    return f'<div class="scaling-note">{escape(text)}</div>'


def _reason(error: Exception) -> str:
    told = " ".join(str(error).split()) or type(error).__name__
    return told if len(told) <= _LONGEST else told[: _LONGEST - 3] + "..."
