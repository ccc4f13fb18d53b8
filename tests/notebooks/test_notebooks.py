"""Each notebook runs in a fresh kernel without an error or a warning, and what it keeps is what running it gives."""

import re

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from .cells import (
    NOTEBOOKS,
    code_cells,
    executed,
    faults,
    hides_warnings,
    logic,
    outputs,
    read,
    texts,
    words_and_numbers,
)  # fmt: skip

_MOST_BYTES = 1_000_000  # a page of a code-hosting site that shows it is to open quickly
_OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|work|Users|usr|opt|mnt|srv|var)/")

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_seven():
    assert [path.name[:2] for path in NOTEBOOKS] == [f"0{i}" for i in range(1, 8)]


@every_notebook
def test_it_holds_no_logic(path):
    found = {cell.source: logic(cell.source) for cell in code_cells(read(path))}
    assert not {source: names for source, names in found.items() if names}


@every_notebook
def test_it_hides_no_warning(path):
    assert not [cell.source for cell in code_cells(read(path)) if hides_warnings(cell.source)]


@every_notebook
def test_it_was_run_from_top_to_bottom(path):
    cells = code_cells(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@every_notebook
def test_what_it_keeps_can_be_shown(path):
    assert path.stat().st_size < _MOST_BYTES
    assert not [output for _, output in outputs(read(path)) if output.output_type == "error"]
    found = [text for _, output in outputs(read(path)) for text in texts(output)]
    assert not [match.string for text in found if (match := _OF_A_MACHINE.search(text))]
    assert any("image/png" in output.get("data", {}) for _, output in outputs(read(path)))


@pytest.mark.notebook
@every_notebook
def test_it_runs_without_an_error_or_a_warning(path, tmp_path):
    assert not faults(read(path), executed(path, tmp_path))


def test_logic_is_found():
    assert logic("def f():\n    return 1") == ["FunctionDef"]
    assert logic("%matplotlib inline\n!ls\nruns = [run for run in range(3)]") == ["comprehension"]
    assert logic("better = 1 if True else 2") == ["IfExp"]
    assert logic("!sweeps run night1.yaml\nimport scaling as sc\nsc.fit_law('power', x, y)") == []


def test_logic_in_a_magic_is_found():
    assert logic("%%time\ndef f():\n    return 1") == ["%%time"]
    assert logic("%%writefile helpers.py\ndef f():\n    return 1") == ["%%writefile helpers.py"]
    assert logic("%%writefile night1.yaml\nname: night1") == []


@pytest.mark.parametrize("source", ["warnings.simplefilter('ignore')", "!sweeps plan a.yaml 2>/dev/null", "%%capture"])
def test_hidden_warnings_are_found(source):
    assert hides_warnings(source)


def test_words_and_numbers_of_a_cell():
    output = nbformat.v4.new_output(
        "stream", text="b = -0.34, 1,707 runs, vit w16d1/8 at \x1b[32m1e+13\x1b[0m <a 0x7f>"
    )
    words, numbers = words_and_numbers(nbformat.v4.new_code_cell(outputs=[output]))
    assert words == "b = #, # runs, vit w16d1/# at # <a >"
    assert numbers == [-0.34, 1707, 8, 1e13]


def one_cell(source, text="", name="stdout", tags=()):
    shown = [nbformat.v4.new_output("stream", name=name, text=text)] if text else []
    cell = nbformat.v4.new_code_cell(source, id="cell", outputs=shown, metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.mark.parametrize(
    ("kept", "shown", "tags", "fault"),
    [
        ("b = 0.34", "b =  0.341\n", [], None),
        ("took 3", "took 9", ["live"], None),
        ("b = 0.34", "b = 0.36", [], "stale"),
        ("c = 0", "c = 0, at_bound", [], "stale"),
        ("1 run", "1 run, 2 runs", [], "stale"),
        ("", "c = 0", ["live"], "stale"),
        ("c = 0", "c = 0", ["warns"], "to stderr went"),
    ],
)
def test_stale_outputs_are_found(kept, shown, tags, fault):
    found = faults(*(one_cell("show()", text, tags=tags) for text in (kept, shown)))
    assert [line.startswith(fault) for line in found] == [True] if fault else found == []


def test_only_fits_of_live_runs_may_warn_unmeant():
    for text, tags, count in [
        ("FitWarning: c", ["live"], 0),
        ("FitWarning: c", [], 1),
        ("UserWarning: c", ["live"], 1),
    ]:
        ran = one_cell("fit()", text, "stderr", tags)
        assert len(faults(ran, ran)) == count


def test_a_warning_is_found():
    plain, tagged = (one_cell("fit()", "cell:1: FitWarning: narrow", "stderr", tags) for tags in ([], ["warns"]))
    assert len(faults(plain, plain)) == 1
    assert faults(tagged, tagged) == []


def test_the_order_of_the_two_streams_is_chance():
    streams = [nbformat.v4.new_output("stream", name=name, text=name) for name in ("stderr", "stdout")]
    one, other = (nbformat.v4.new_code_cell("fit()", outputs=outputs) for outputs in (streams, streams[::-1]))
    assert words_and_numbers(one) == words_and_numbers(other)


@pytest.mark.notebook
@pytest.mark.parametrize("source", ["1 / 0", "!sweeps status nowhere"])
def test_an_error_fails(tmp_path, source):
    nbformat.write(one_cell(source, tags=["raises-exception"]), tmp_path / "planted.ipynb")
    with pytest.raises(CellExecutionError):
        executed(tmp_path / "planted.ipynb", tmp_path)


@pytest.mark.notebook
def test_a_command_and_a_warning_run(tmp_path):
    source = "import warnings\n!sweeps --help\nwarnings.warn('narrow')"
    nbformat.write(one_cell(source), tmp_path / "planted.ipynb")
    ran = executed(tmp_path / "planted.ipynb", tmp_path)
    assert len(faults(ran, ran)) == 1
    assert any("suggest" in text for _, output in outputs(ran) for text in texts(output))
