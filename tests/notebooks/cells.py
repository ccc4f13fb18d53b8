"""Notebooks as tests see them: their code, whether it is only calls, and what running them gives."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbformat import NotebookNode

__all__ = [
    "LIVE", "NEEDS_DATA", "NOTEBOOKS", "WARNS", "code_cells", "executed", "faults", "hides_warnings", "logic",
    "outputs", "read", "texts", "words_and_numbers",
]  # fmt: skip

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

# Tags of cells.
NEEDS_DATA = "needs-SCALING_DATA_DIR"  # reads a data set that is fetched, or lies in that folder
WARNS = "warns"  # shows what a warning looks like
LIVE = "live"  # trains or measures here, or shows what came of it: other machines give other numbers

_SECONDS = 240  # of one cell
_LOGIC = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.If, ast.IfExp, ast.While, ast.Try, ast.Match,
    ast.comprehension,
)  # fmt: skip
_CELL_MAGIC = re.compile(r"%%(?!writefile \S+\.yaml$).*", re.MULTILINE)  # their code is not seen: only specs
_HIDES = re.compile(r"filterwarnings|simplefilter|catch_warnings|2>|%%capture")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w])")
_WARNING = re.compile(r"\w+Warning")
_NOT_SHOWN = re.compile(r"0x[0-9a-f]+|\x1b\[[0-9;]*m")  # addresses, colours
_CLOSE = 0.02  # relative: other processors and library versions change the last digits shown, not the second
# A command that fails is to fail the notebook.
_FAILING_COMMANDS = "--InteractiveShell.system_raise_on_error=True"


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
    """What a notebook leaves to the library: definitions, branches, comprehensions, and magics that may hold them.

    A `for` over axes is allowed.
    """
    if source.startswith("%%"):
        return _CELL_MAGIC.findall(source.splitlines()[0])
    tree = ast.parse(TransformerManager().transform_cell(source))
    return [type(node).__name__ for node in ast.walk(tree) if isinstance(node, _LOGIC)]


def hides_warnings(source: str) -> bool:
    return _HIDES.search(source) is not None


def texts(output: NotebookNode) -> list[str]:
    """Of an output all that is text."""
    shown = [text for kind, text in output.get("data", {}).items() if kind != "image/png"]
    return [output.get("text", ""), *map(str, shown), output.get("evalue", ""), *output.get("traceback", [])]


def faults(kept: NotebookNode, ran: NotebookNode) -> list[str]:
    """What is wrong with a notebook that was run: warnings where none are meant, none where they are, stale outputs.

    Of cells tagged `live` only the kinds of outputs are compared, and a fit may warn: the runs may have come out
    otherwise.

    Args:
        kept: with the outputs that it keeps.
        ran: the same, or a part of its cells, with those that it has now.
    """
    cells_kept = {cell.id: cell for cell in code_cells(kept)}
    return [fault for cell in code_cells(ran) for fault in _faults(cells_kept[cell.id], cell)]


def _faults(kept: NotebookNode, ran: NotebookNode) -> Iterator[str]:
    on_stderr = "".join(output.text for output in ran.outputs if output.get("name") == "stderr")
    is_of_live_fit = has_tag(ran, LIVE) and set(_WARNING.findall(on_stderr)) == {"FitWarning"}
    if bool(on_stderr) != has_tag(ran, WARNS) and not is_of_live_fit:
        yield f"to stderr went {on_stderr}, the tag {WARNS!r} says whether it may: {ran.source}"
    if _kinds(kept) != _kinds(ran):
        yield f"stale: it keeps {_kinds(kept)}, shows {_kinds(ran)}: {ran.source}"
    elif not has_tag(ran, LIVE) and not _are_alike(words_and_numbers(kept), words_and_numbers(ran)):
        yield f"stale: it keeps {words_and_numbers(kept)}, shows {words_and_numbers(ran)}: {ran.source}"


def _kinds(cell: NotebookNode) -> list[str]:
    """What a cell shows, in order: text, a figure, a table."""
    found = [min(output.get("data", {output.output_type: 0})) for output in cell.outputs]
    return [kind for i, kind in enumerate(found) if kind != "stream" or found[i - 1 : i] != ["stream"]]


def words_and_numbers(cell: NotebookNode) -> tuple[str, list[float]]:
    """Of a cell's texts the words, with # for each number, and the numbers; what went to standard error apart from
    what was printed, since the order in which a notebook receives the two is chance."""
    by_stream = sorted(cell.outputs, key=lambda output: output.get("name", ""))
    parts = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in by_stream]
    text = _NOT_SHOWN.sub("", "".join(parts))
    numbers = [float(found.replace(",", "")) for found in _NUMBER.findall(text)]
    return re.sub(r"[\s-]+", " ", _NUMBER.sub("#", text)).strip(), numbers


def _are_alike(kept: tuple[str, list[float]], ran: tuple[str, list[float]]) -> bool:
    return kept[0] == ran[0] and np.allclose(kept[1], ran[1], rtol=_CLOSE, atol=0)


def executed(path: Path, folder: Path) -> NotebookNode:
    """The notebook as a fresh kernel in `folder` leaves it, without the cells whose data are not there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised, or a command in it failed.
    """
    notebook = read(path)
    if "SCALING_DATA_DIR" not in os.environ:
        notebook.cells = [cell for cell in notebook.cells if not has_tag(cell, NEEDS_DATA)]
    client = NotebookClient(
        notebook, timeout=_SECONDS, kernel_name="python3", force_raise_errors=True,
        extra_arguments=[_FAILING_COMMANDS], resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    beside_python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # `sweeps`, `scaling`
    client.execute(env=os.environ | {"PATH": beside_python, "IPYKERNEL_CELL_NAME": "cell"})
    return notebook
