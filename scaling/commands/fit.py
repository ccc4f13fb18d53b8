"""`scaling fit`."""

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from ..attempt import attempt
from ..fitting import fit_law
from .answer import Answer
from .base import Asked, groups_of, takes

__all__ = ["fit"]


@takes(Asked)
def fit(
    asked: Asked,
    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power",
) -> Answer:
    """Fit a law to all runs, or to those of each group."""
    usable, y = asked.usable(), asked.error_column
    rows, fits = [], {}
    for name, runs in groups_of(usable.frame, asked.by).items():
        result, kinds, reason = attempt(lambda runs=runs: fit_law(law, runs[asked.x], runs[y]))
        if result is not None:
            fits[name] = result
        params = {} if result is None else result.params
        rows.append({"group": name, "num_runs": len(runs), **params, "warnings": kinds, "reason": reason})
    table = pd.DataFrame(rows).replace({np.nan: None})
    return Answer(
        table, title=f"{law}: {y} against {asked.x}", notes=[str(each) for each in fits.values()], no=not fits
    )
