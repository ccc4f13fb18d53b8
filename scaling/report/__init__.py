"""A report of records as one page that stands alone."""

from .write import Written, write_report

__all__ = ["Written", "write_report"]
