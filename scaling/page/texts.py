"""Texts of any origin, made fit for a page: what cannot stand there is replaced, what is too long is cut."""

import re

__all__ = ["REPLACEMENT", "permitted", "prose", "readable", "shortened"]

_LONGEST_WORD = 200  # characters: a path may be as long
REPLACEMENT = "\ufffd"
# Neither HTML nor XML may hold these: control characters, lone halves of surrogate pairs, and what is no character.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# What turns the order of the letters after it, or is not seen: two names would look alike. U+200C and U+200D, which
# Persian and emoji need, stay.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def permitted(text: object) -> str:
    """As text, with line ends as newlines and U+FFFD for each character that a page may not hold.

    >>> permitted("a\\x00b"), permitted(0.5)
    ('a\ufffdb', '0.5')
    """
    lines = str(text).replace("\r\n", "\n").replace("\r", "\n")
    return _FORBIDDEN.sub(REPLACEMENT, lines)


def readable(text: object) -> str:
    """As `permitted`, with the code of each character that is not seen in its place.

    >>> readable("\\u202egnp.exe")
    'U+202Egnp.exe'
    """
    return _UNSEEN.sub(lambda mark: f"U+{ord(mark[0]):04X}", permitted(text))


def prose(text: object, most: int | None = None) -> str:
    """As `readable`, without the ends of words and texts that nobody reads: a name of 10,000 letters fills no page.

    >>> prose("run " + "w" * 10_000) == "run " + "w" * 199 + "…"
    True
    """
    words = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: shortened(word[0], _LONGEST_WORD), readable(text))
    return words if most is None else shortened(words, most)


def shortened(text: str, most: int) -> str:
    """At most this many characters, the last an ellipsis where some are left out.

    >>> shortened("ViT-B/16", 8), shortened("ViT-B/16 at 384", 8)
    ('ViT-B/16', 'ViT-B/1…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"
