"""Figures straight from records: each kind is one analysis with its default call, and its plot."""

from .kinds import KINDS, Kind, draw, missing_of
from .source import Source

__all__ = ["KINDS", "Kind", "Source", "draw", "missing_of"]
