import subprocess
import sys

import pytest

import scaling


def in_fresh_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_takes_no_torch_no_matplotlib_and_under_seven_tenths_of_a_second():
    code = (
        "import time, sys; t = time.perf_counter(); from scaling import fit_law;"
        "print(time.perf_counter() - t, 'torch' in sys.modules, 'matplotlib' in sys.modules, 'sweeps' in sys.modules)"
    )
    # The least of five: what the machine's other work adds is not the import's.
    runs = sorted((float(line[0]), line[1:]) for line in (in_fresh_python(code).split() for _ in range(5)))
    assert runs[0][1] == ["False", "False", "False"]
    assert runs[0][0] < 0.7


def test_every_public_name_is_there():
    assert all(hasattr(scaling, name) for name in scaling.__all__)
    assert len(scaling.__all__) <= 25


def test_plots_are_found_on_first_use_and_other_names_are_not():
    assert in_fresh_python("import scaling; print(scaling.plots.plot_frontier.__name__)").strip() == "plot_frontier"
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        _ = scaling.foo
