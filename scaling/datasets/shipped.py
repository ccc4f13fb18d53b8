"""Files that come with this package."""

from pathlib import Path

__all__ = ["shipped"]

# In an installed package the first; in a checkout it is a link to the second, which not every system can follow.
_PLACES = (Path(__file__).parents[1] / "data", Path(__file__).parents[2] / "data")


def shipped(path: str) -> Path:
    """Where a file or folder below `data/` lies.

    Raises:
        FileNotFoundError: it is in none of the places.

    >>> shipped("published/objectnet.csv").name
    'objectnet.csv'
    """
    for place in _PLACES:
        if (place / path).exists():
            return place / path
    raise FileNotFoundError(f"{path} is not shipped with this package: it was looked for in {_PLACES[0]}")
