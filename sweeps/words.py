"""Numbers and errors in words."""

__all__ = ["first_line", "one_line", "plural"]

_MAX_LINE = 300  # letters


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "run"), plural(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def first_line(error: BaseException) -> str:
    """What an error says first, or of one without a word its kind.

    >>> first_line(OSError()), first_line(ValueError("a\\nb"))
    ('OSError', 'a')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]


def one_line(error: BaseException) -> str:
    """An error's kind and message, cut off where it is long.

    >>> one_line(ValueError("steps: must be positive,\\n got 0"))
    'ValueError: steps: must be positive, got 0'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MAX_LINE]
