"""`sweeps plan`."""

from .base import SpecArgument, plan_of_spec, print_line

__all__ = ["plan"]


def plan(spec: SpecArgument) -> None:
    """Show the runs of a spec, before anything is trained."""
    from ..describe import describe_plan  # counting FLOPs takes torch, which no other command needs

    print_line(describe_plan(plan_of_spec(spec)))
