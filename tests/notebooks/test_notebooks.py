"""Each notebook runs in a fresh kernel without an error or a warning, and what it keeps is what running it gives."""

import re

import pytest

from .cells import NOTEBOOKS, WARNS, code_cells, executed, has_tag, logic, outputs, read

_MOST_BYTES = 2_000_000  # beyond which code-hosting pages show no notebook
_OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|work|Users)/")

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def texts(output):
    """Of an output all that is text."""
    data = output.get("data", {})
    return [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", ""), *output.get("traceback", [])]


def kinds(cell):
    """What a cell shows, in order: text, a figure, a table."""
    found = [min(output.get("data", {output.output_type: 0})) for output in cell.outputs]
    return [kind for i, kind in enumerate(found) if kind != "stream" or found[i - 1 : i] != ["stream"]]


def test_there_are_seven():
    assert [path.name[:2] for path in NOTEBOOKS] == [f"0{i}" for i in range(1, 8)]


@every_notebook
def test_it_holds_no_logic(path):
    found = {cell.source: logic(cell.source) for cell in code_cells(read(path))}
    assert not {source: names for source, names in found.items() if names}


@every_notebook
def test_it_was_run_from_top_to_bottom(path):
    cells = code_cells(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@every_notebook
def test_what_it_keeps_can_be_shown(path):
    assert path.stat().st_size < _MOST_BYTES
    found = [text for _, output in outputs(read(path)) for text in texts(output)]
    assert not [match.string for text in found if (match := _OF_A_MACHINE.search(text))]
    assert any("image/png" in output.get("data", {}) for _, output in outputs(read(path)))


@pytest.mark.notebook
@every_notebook
def test_it_runs_without_an_error_or_a_warning(path, tmp_path):
    notebook = executed(path, tmp_path)
    on_stderr = {cell.source: output.text for cell, output in outputs(notebook) if output.get("name") == "stderr"}
    warns = {cell.source for cell in code_cells(notebook) if has_tag(cell, WARNS)}
    assert set(on_stderr) == warns, on_stderr
    kept = {cell.id: kinds(cell) for cell in code_cells(read(path))}
    assert {cell.id: kinds(cell) for cell in code_cells(notebook)} == {
        cell.id: kept[cell.id] for cell in code_cells(notebook)
    }


def test_logic_is_found():
    assert logic("def f():\n    return 1") == ["FunctionDef"]
    assert logic("%matplotlib inline\n!ls\nruns = [run for run in range(3)]") == ["comprehension"]
    assert logic("!sweeps run night1.yaml\nimport scaling as sc\nsc.fit_law('power', x, y)") == []
