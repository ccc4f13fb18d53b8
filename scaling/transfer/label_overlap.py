"""Downstream classes that are upstream classes under another spelling: what a transfer table must flag."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..frames import check_columns, check_single

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["flag_overlap", "label_overlap", "normalised_name"]


def normalised_name(name: str, generic: Iterable[str] = ()) -> str:
    """Case folded, form NFKC, each run of other than letters and digits one space, and no generic last word.

    >>> normalised_name("Soft-coated_wheaten terrier"), normalised_name("Persian cat", generic=["cat", "dog"])
    ('soft coated wheaten terrier', 'persian')
    """
    words = re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", str(name)).casefold()).split()
    if len(words) > 1 and words[-1] in list(generic):
        words = words[:-1]
    return " ".join(words)


def label_overlap(
    upstream: Iterable[str | Sequence[str]],
    downstream: Iterable[str],
    *,
    generic: Iterable[str] = (),
    synonyms: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Which downstream classes are upstream classes, by name.

    A name says no more than a name: "crane" the bird is "crane" the machine here, and a breed that the upstream set has
    under a wider class ("tabby") is none of its names.

    Args:
        upstream: a class an entry: its name, or all its names (the lemmas of a WordNet synset).
        downstream: names of the classes.
        generic: last words that do not tell classes apart, such as "cat" and "dog" among pets: "Persian cat" is
            "Persian".
        synonyms: downstream name -> upstream name, for what no rule finds, such as
            {"wheaten terrier": "soft-coated wheaten terrier"}; of a class that has no name in common.

    Returns:
        A row a downstream class: `downstream`; `upstream`, the first name of the upstream class, or None; `rule`:
        "name" (equal after `normalised_name`), "other_name" (equal to another name of the class), "generic" (equal
        without generic words), "synonym", or None where there is no such class.

    Raises:
        ValueError: no names, an empty or repeated downstream name, or a synonym that is no upstream name.

    >>> names = [["Siamese cat", "Siamese"], "Persian cat", "beagle", "soft-coated wheaten terrier"]
    >>> pets = ["beagle", "Siamese", "Persian", "wheaten_terrier", "Bengal"]
    >>> table = label_overlap(names, pets, generic=["cat"], synonyms={"wheaten terrier": names[3]})
    >>> table["rule"].tolist()
    ['name', 'other_name', 'generic', 'synonym', None]
    """
    import pandas as pd

    for argument, value in (("upstream", upstream), ("downstream", downstream), ("generic", generic)):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{argument} must be a list of names, got {value!r}")
    if not isinstance(synonyms, Mapping | None):
        raise ValueError(f"synonyms must be upstream names by downstream name, got {synonyms!r}")
    classes = [[names] if isinstance(names, str) or not isinstance(names, Iterable) else [*names] for names in upstream]
    asked = list(downstream)
    _check_names(classes, asked)
    rules = _rules(classes, generic, synonyms or {})
    rows = []
    for name in asked:
        found = ((rule, table.get(normalised_name(name, words))) for rule, words, table in rules)
        rule, place = next(((rule, place) for rule, place in found if place is not None), (None, None))
        rows.append((name, None if place is None else classes[place][0], rule))
    return pd.DataFrame(rows, columns=["downstream", "upstream", "rule"], dtype=object)


_Rule = tuple[str, Iterable[str], dict[str, int]]


def _rules(classes: list[list[str]], generic: Iterable[str], synonyms: Mapping[str, str]) -> list[_Rule]:
    """Each rule's name, generic words and table normalised name -> place of the class, the strictest first."""
    generic = tuple(generic)
    first = _places((names[:1] for names in classes), ())
    every = _places(classes, ())
    known = {}
    for name, other in synonyms.items():
        if normalised_name(other) not in every:
            raise ValueError(f"synonyms must name upstream classes; {other!r} (of {name!r}) is none")
        known[normalised_name(name)] = every[normalised_name(other)]
    return [
        ("name", (), first),
        ("other_name", (), every),
        ("generic", generic, _places(classes, generic)),
        ("synonym", (), known),
    ]


def _places(classes: Iterable[Sequence[str]], generic: Iterable[str]) -> dict[str, int]:
    """Normalised name -> place of the first class that has it."""
    places: dict[str, int] = {}
    for place, names in enumerate(classes):
        for name in names:
            places.setdefault(normalised_name(name, generic), place)
    return places


def _check_names(classes: list[list[str]], asked: list[str]) -> None:
    if not classes or not asked:
        raise ValueError(f"there must be class names, got {len(classes)} upstream and {len(asked)} downstream")
    for side, names in (("upstream", [n for each in classes for n in each or [""]]), ("downstream", asked)):
        empty = [row for row, name in enumerate(names) if not isinstance(name, str) or not normalised_name(name)]
        if empty:
            raise ValueError(
                f"{side} names must be text with letters or digits; entry {empty[0]} is {names[empty[0]]!r}"
            )
    if len(set(asked)) < len(asked):
        repeated = next(name for name, count in Counter(asked).items() if count > 1)
        raise ValueError(f"downstream names must not repeat, got {repeated!r} twice")


def flag_overlap(table: pd.DataFrame, overlaps: Mapping[str, pd.DataFrame], *, task: str = "task") -> pd.DataFrame:
    """A table of transfer results with what its tasks share with the upstream classes.

    Args:
        table: any table with a column of task names.
        overlaps: task -> result of `label_overlap` with the upstream set of the table.
        task: the column's name.

    Returns:
        The table with `shared_classes` (count), `shared_share` (fraction of the task's classes) and `shares_labels`
        (True or False); null for a task whose overlap is not given: not checked is not the same as none.

    Raises:
        ValueError: the table has no such column.

    >>> import pandas as pd
    >>> pets = label_overlap(["beagle", "tench"], ["beagle", "Bengal"])
    >>> flag_overlap(pd.DataFrame({"task": ["pets", "dtd"]}), {"pets": pets})["shares_labels"].tolist()
    [True, <NA>]
    """

    check_single(table, task)
    if not isinstance(overlaps, Mapping):
        raise ValueError(f"overlaps must be tables by task, got {overlaps!r}")
    for overlap in overlaps.values():
        check_columns(overlap, "rule")
    empty = [name for name, overlap in overlaps.items() if len(overlap) == 0]
    if empty:
        raise ValueError(f"overlaps must have a row a class; that of {empty[0]!r} has none")
    counts = {name: int(overlap["rule"].notna().sum()) for name, overlap in overlaps.items()}
    shares = {name: count / len(overlaps[name]) for name, count in counts.items()}
    shared = table[task].map(counts).astype("Int64")
    return table.assign(
        shared_classes=shared,
        shared_share=table[task].map(shares).astype("Float64"),
        shares_labels=(shared > 0).astype("boolean"),
    )
