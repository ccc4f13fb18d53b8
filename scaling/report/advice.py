"""What a reader can do about each kind of warning."""

from collections.abc import Iterable

from .noted import Note

__all__ = ["ADVICE", "told_warnings"]

_MOST_PLACES = 5

ADVICE = {
    "at_bound": "Report the parameter as one-sided; runs at more compute may free it.",
    "not_identified": "Do not quote this parameter; add runs over a wider range, or fix it to a known value.",
    "under_one_decade": "Add runs until the range is ten times or more before the law is extrapolated.",
    "ridge": "Read predictions inside the runs only; runs over more decades tell a power from a logarithm.",
    "few_points": "Add runs: no error can be estimated from these.",
    "extrapolation": "Take the prediction for a guess; train a run nearer to it.",
    "repeated_optimum": "Do not extrapolate; more runs, or a law with fewer parameters, decide between the optima.",
    "hidden_curvature": "Do not read a saturation; use selection='stochastic' or a line in logits.",
    "few_effective_draws": "Take the ends of the interval for rough.",
    "poor_fit": "Do not extrapolate this law; fit another (compare the laws in the checklist), or the groups apart.",
    "noisy_upstream": "Evaluate upstream on more images before an effect is claimed.",
    "dropped_points": "Look at the rows that were left out.",
    "repeated_x": "Ask for all rows to count.",
    "failed_draws": "Take the interval for rough: many draws have no fit.",
    "refused_budget": "Train more model sizes at that budget.",
    "uneven_compute": "Check how compute was counted in these runs.",
    "approaches_disagree": "Report both, and what they assume.",
    "below_limit": "Fit the families apart: --by.",
    "no_law": "Add runs to that group, or leave it out.",
    "unreached": "Train runs that span the error asked for.",
    "edge_of_range": "Try values beyond the end of the range.",
    "one_value": "Try more than one value before the cell is called tuned.",
    "unfinished_runs": "Compare finished runs only: --where cooled_down.",
    "note": "Read it before the numbers are used.",
}


def told_warnings(notes: Iterable[Note]) -> tuple[tuple[str, str], ...]:
    """(kind, text) of each warning once, with the places where it was met and what to do."""
    places: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        known = places.setdefault((note.kind, note.text), [])
        if note.place not in known:
            known.append(note.place)
    return tuple((kind, f"{_named(where)}: {text}. {ADVICE[kind]}") for (kind, text), where in places.items())


def _named(places: list[str]) -> str:
    more = len(places) - _MOST_PLACES
    return ", ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
