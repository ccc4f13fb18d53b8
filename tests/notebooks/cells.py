"""Notebooks as tests see them: their code, whether it is only calls, and what running them gives."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode

__all__ = ["NEEDS_DATA", "NOTEBOOKS", "WARNS", "code_cells", "executed", "has_tag", "logic", "outputs", "read"]

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

# Tags of cells.
NEEDS_DATA = "needs-SCALING_DATA_DIR"  # reads a data set that is fetched, or lies in that folder
WARNS = "warns"  # shows what a warning looks like

_SECONDS = 240  # of one cell
_LOGIC = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.If, ast.While, ast.Try, ast.comprehension,
)  # fmt: skip


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def has_tag(cell: NotebookNode, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def outputs(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, NotebookNode]]:
    """Each output with its cell."""
    return ((cell, output) for cell in code_cells(notebook) for output in cell.outputs)


def logic(source: str) -> list[str]:
    """What a notebook leaves to the library: definitions, branches, comprehensions. A `for` over axes is allowed."""
    tree = ast.parse(TransformerManager().transform_cell(source))
    return [type(node).__name__ for node in ast.walk(tree) if isinstance(node, _LOGIC)]


def executed(path: Path, folder: Path) -> NotebookNode:
    """The notebook as a fresh kernel in `folder` leaves it, without the cells whose data are not there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised.
    """
    notebook = read(path)
    if "SCALING_DATA_DIR" not in os.environ:
        notebook.cells = [cell for cell in notebook.cells if not has_tag(cell, NEEDS_DATA)]
    NotebookClient(
        notebook, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook
