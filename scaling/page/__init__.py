"""A page that stands alone: sections with text, sortable tables and figures whose points say what they are.

It knows nothing of runs and laws, and loads nothing: one file, to be sent by mail and opened from a disk.
"""

from .parts import Picture, Points, Section, TableView
from .picture import picture_of
from .write import write_page

__all__ = ["Picture", "Points", "Section", "TableView", "picture_of", "write_page"]
