"""Engines run jobs somewhere: here on this machine's slots."""

from .local import LocalEngine

__all__ = ["LocalEngine"]
