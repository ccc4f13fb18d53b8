"""`scaling predict`: from compute to an error or a downstream accuracy, and back, with how sure that is."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import FitError
from ..selection.rules import check_selection
from .answer import Answer, draw_groups
from .base import groups_of, takes, warnings_of
from .fitted import decades_beyond, never_reached
from .predicted import PredictAsked, PredictionLaws
from .values import named_law

__all__ = ["predict"]

_COLUMNS = ("group", "given", "at", "quantity", "median", "low", "high", "decades_beyond", "probability_never")


@takes(PredictAsked)
def predict(asked: PredictAsked) -> Answer:
    """Predict an error, or with --task a downstream accuracy; find the compute."""
    _check(asked)
    rows, laws, reasons = [], {}, {}
    for name, runs in groups_of(asked.read(), asked.by).items():
        each = PredictionLaws(asked, runs)
        try:
            with warnings_of(name if asked.by else None):
                rows += [{"group": name, **row} for row in _rows(each)]
            laws[name] = each
        except FitError as error:
            if asked.by is None:
                raise
            reasons[name] = str(error)
    if not laws:
        name, why = next(iter(reasons.items()))
        raise FitError(f"none of {len(reasons)} groups has a law; of {name}: {why}")
    shown = [name for name in _COLUMNS if any(name in row for row in rows) and (name != "group" or asked.by)]
    return Answer(
        pd.DataFrame(rows, columns=shown),
        title=_title(asked),
        notes=_notes(asked, laws, reasons),
        values={
            "level": asked.level, "select": asked.select, "reasons": reasons,
            "laws": {name: each.written() for name, each in laws.items()},
        },
        draw=draw_groups({name: each.draw for name, each in laws.items()}),
        no=never_reached(rows, asked.x),
    )  # fmt: skip


def _check(asked: PredictAsked) -> None:
    """What can be told before anything is read."""
    check_selection(asked.select, "stochastic")
    named_law(asked.law)
    if not (asked.needs_compute or asked.upstream_accuracy):
        raise ValueError("nothing is asked: give --at, --target, --downstream-accuracy or --upstream-accuracy")
    if asked.downstream is None and (asked.downstream_accuracy or asked.upstream_accuracy):
        raise ValueError("--downstream-accuracy and --upstream-accuracy need --task, or --y with a downstream error")
    is_fraction = (asked.downstream or asked.upstream).endswith("_error")  # a loss in nats may lie above 1
    for option, values in (("--target", asked.target), ("--downstream-accuracy", asked.downstream_accuracy)):
        for value in values:
            if not 0 < value < (1 if is_fraction else np.inf):
                percent = " (is this percent? divide by 100)" if value >= 1 else ""
                raise ValueError(f"{option} must lie between 0 and 1, got {value:g}{percent}")
    for value in asked.upstream_accuracy:
        if not 0 <= value < 1:
            raise ValueError(f"--upstream-accuracy must lie in [0, 1), got {value:g}")
    for value in asked.at:
        if not 0 < value < np.inf:
            raise ValueError(f"--at must be positive and finite, got {value:g}")


# Rows ---------------------------------------------------------------------------------------------------------


def _rows(laws: PredictionLaws) -> list[dict[str, Any]]:
    asked = laws.asked
    rows = []
    if asked.at:
        rows += _bands(asked.x, asked.at, asked.upstream, laws.front.predict(asked.at, asked.level), laws.front.x)
    if asked.at and asked.downstream:
        rows += _bands(asked.x, asked.at, asked.accuracy, laws.both.predict(asked.at, asked.level), laws.front.x)
    if asked.upstream_accuracy:
        band, known = laws.trans.predict(asked.upstream_accuracy, asked.level), 1 - laws.trans.upstream
        given = asked.upstream.removesuffix("_error") + "_accuracy"
        found = _bands(given, asked.upstream_accuracy, asked.accuracy, band, known)
        for row in found:
            row["decades_beyond"] = decades_beyond(1 - row["at"], known)  # of the error
        rows += found
    if asked.downstream:
        return rows + [_downstream_target(laws, accuracy) for accuracy in asked.downstream_targets]
    return rows + [_upstream_target(laws, error) for error in asked.target]


def _bands(given: str, at: list[float], quantity: str, band: Any, known: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"given": given, "at": x, "quantity": quantity, "median": float(middle), "low": float(low),
         "high": float(high), "decades_beyond": decades_beyond(x, known)}
        for x, middle, low, high in zip(at, band.median, band.low, band.high, strict=True)
    ]  # fmt: skip


def _downstream_target(laws: PredictionLaws, accuracy: float) -> dict[str, Any]:
    target = laws.both.solve_for_compute(accuracy, laws.asked.level)
    return _target_row(
        laws, laws.asked.accuracy, accuracy, (target.compute, target.low, target.high), target.probability_never
    )


def _upstream_target(laws: PredictionLaws, error: float) -> dict[str, Any]:
    value, low, high = (float(end) for end in laws.front.solve_for_x(error, laws.asked.level))
    never = float(np.mean(laws.front.bootstrap.limits >= error))
    return _target_row(laws, laws.asked.upstream, error, (value, low, high), never)


def _target_row(laws: PredictionLaws, given: str, at: float, ends: tuple[float, ...], never: float) -> dict[str, Any]:
    value, low, high = ends
    return {
        "given": given, "at": at, "quantity": laws.asked.x, "median": value, "low": low, "high": high,
        "decades_beyond": decades_beyond(value, laws.front.x), "probability_never": never,
    }  # fmt: skip


# What is told beside them -------------------------------------------------------------------------------------


def _title(asked: PredictAsked) -> str:
    path = ([asked.x] if asked.needs_compute else []) + [asked.upstream]
    return " -> ".join([*path, *([asked.accuracy] if asked.downstream else [])]) + f", {asked.level:.0%} intervals"


def _notes(asked: PredictAsked, laws: Mapping[str, PredictionLaws], reasons: Mapping[str, str]) -> list[str]:
    notes = []
    for name, each in laws.items():
        head = f"{name}: " if asked.by else ""
        for column, law in each.fitted.items():
            params = ", ".join(f"{param} = {value:.4g}" for param, value in law.params.items())
            rule = f"{law.selection}, intervals: {law.intervals}"
            notes.append(f"{head}{column}: {law.fit.law.name} {law.fit.law.formula}, {params} ({rule})")
        notes += [f"{head}{line}" for line in each.saturations]
        notes += [f"{head}left out of {column}: {text}" for column, text in each.left_out.items()]
    return [*notes, *(f"{name}: {why}" for name, why in reasons.items())]
