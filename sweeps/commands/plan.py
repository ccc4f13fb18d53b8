"""`sweeps plan`."""

import json
import time
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..specs.faults import SpecError
from ..specs.grid import Plan
from ..stopping import interrupted_by_signals
from .base import MOST_SLOTS, SpecArgument, plan_of_spec, print_line, tell

if TYPE_CHECKING:
    from ..planning.estimate import Estimate

__all__ = ["plan"]

_MOST_DECODED = 2**30  # bytes of images that a plan decodes to measure on


def plan(
    spec: SpecArgument,
    as_json: Annotated[bool, typer.Option("--json", help="The facts as one JSON object, and nothing else.")] = False,
    measure: Annotated[bool, typer.Option(help="Measure a step of each shape, to tell the time.")] = True,
    max_hours: Annotated[float | None, typer.Option(min=0, help="Say what is left within so many hours.")] = None,
    max_flops: Annotated[float | None, typer.Option(min=0, help="Say what is left within so many FLOPs.")] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=MOST_SLOTS, help="Runs side by side on the CPU; default all cores.")
    ] = None,
) -> None:
    """Show the runs of a spec and what they cost, before anything is trained."""
    for name, value in (("max-hours", max_hours), ("max-flops", max_flops)):
        if value is not None and not isfinite(value):
            raise SpecError(f"--{name}: must be a finite number, got {value:g}")
    if max_hours is not None and not measure:
        raise SpecError("--max-hours: takes the time of a step, which --no-measure leaves out")
    asked = plan_of_spec(spec)
    # Counting FLOPs takes torch, which no other command needs.
    from ..planning.describe import describe_plan
    from ..planning.describe_costs import describe_costs
    from ..planning.estimate import plan_engine
    from ..planning.facts import plan_facts

    try:
        engine = plan_engine(asked, slots)
        if not as_json:
            print_line(describe_plan(asked) + "\n")
        estimate = _estimate(asked, slots) if measure else None
        facts = plan_facts(asked, engine.num_slots, Path("runs"), estimate, max_hours, max_flops)
    except ValueError as error:
        raise SpecError(str(error)) from error
    print(json.dumps(facts)) if as_json else print_line(describe_costs(facts))


def _estimate(asked: Plan, slots: int | None) -> "Estimate | None":
    """None where the data are not there or not decoded, which is told."""
    from ..data.prepare import missing_data, prepare_data, undecoded
    from ..planning.estimate import ABOUT_SECONDS, chosen_shapes, estimate_plan, plan_engine, plan_shapes

    if missing_data(asked.configs):
        tell("no step is measured: data are missing")
        return None
    if to_decode := sum(count * size * size * 3 for count, size in undecoded(asked.configs)):
        if to_decode > _MOST_DECODED:
            tell(f"no step is measured: {to_decode / 2**30:.3g} GiB of images are not decoded yet")
            return None
        started = time.monotonic()
        prepare_data(asked.configs)
        tell(f"decoded the images in {time.monotonic() - started:.0f} s; the sweep finds them decoded")
    engine, shapes = plan_engine(asked, slots), plan_shapes(asked)
    chosen = len(chosen_shapes(shapes))
    seconds = ABOUT_SECONDS * -(-chosen // engine.num_slots)
    tell(f"measuring {chosen} of {len(shapes)} shapes, about {seconds:.0f} s; --no-measure leaves it out")
    with interrupted_by_signals():  # the workers that measure are ended
        return estimate_plan(asked, engine, shapes, tell)
