"""The pages of the documentation: their blocks of Python, run in order, and the outputs that they show.

A `text` block right after a `python` block is what that block prints. `python -m tests.docs.pages` runs every page and
writes it there; a reviewer then sees in the diff what changed.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib
import matplotlib.pyplot as plt

import scaling as sc

__all__ = ["PAGES", "PYTHON_PAGES", "ROOT", "Block", "blocks", "run_page", "same_text", "write_folder"]

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "notebooks" not in path.parts),
]
PYTHON_PAGES = [path for path in PAGES if "```python" in path.read_text()]

_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n?```text\n(.*?)```)?", flags=re.DOTALL)
_WORD = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[^\s\d]+")


class Block(NamedTuple):
    code: str
    printed: str
    shown: str | None  # None: the page shows no output


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), flags=re.DOTALL)


def write_folder(folder: Path) -> None:
    """What the pages read beside their own files: a finished sweep under two names, a table of another tool."""
    for name in ("demo", "night1"):
        shutil.copytree(ROOT / "data" / "sweeps" / "demo", folder / "runs" / name)
    (folder / "models.csv").write_text("model,top1,gmacs\na,76.5,4.1\nb,81.0,17.6\n")


def run_page(path: Path, folder: Path) -> Iterator[Block]:
    """Each block with what it prints, run in `folder` with the names of the blocks before it."""
    matplotlib.use("Agg")
    names: dict[str, object] = {}
    for number, match in enumerate(_BLOCK.finditer(path.read_text())):
        code, shown = match.groups()
        out = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore", sc.FitWarning)  # results keep and print them
            exec(compile(code, f"{path.name}, block {number}", "exec"), names)
        plt.close("all")
        yield Block(code, out.getvalue(), shown)


def same_text(printed: str, shown: str) -> bool:
    """Word by word; numbers to 2 %, for draws on another machine may differ in their last digits."""
    said, expected = _WORD.findall(printed), _WORD.findall(shown)
    return len(said) == len(expected) and all(map(_same_word, said, expected))


def _same_word(said: str, expected: str) -> bool:
    if said == expected:
        return True
    try:
        return abs(float(said) - float(expected)) <= 0.02 * abs(float(expected))
    except ValueError:
        return False


def main() -> None:
    names = set(sys.argv[1:])
    for path in PYTHON_PAGES:
        if names and path.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder))
            done = iter(list(run_page(path, Path(folder))))
        path.write_text(_BLOCK.sub(lambda match, done=done: _with_output(match, next(done)), path.read_text()))
        print(os.path.relpath(path, ROOT))


def _with_output(match: re.Match[str], block: Block) -> str:
    if block.shown is None:
        return match[0]
    said = "\n".join(line.rstrip() for line in block.printed.rstrip().splitlines())
    return f"```python\n{block.code}```\n\n```text\n{said}\n```"


if __name__ == "__main__":
    main()
