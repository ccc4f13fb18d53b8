import subprocess
import sys

import pytest

import scaling


def in_fresh_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_takes_under_seven_tenths_of_a_second_and_nothing_heavy():
    code = (
        "import time, sys; t = time.perf_counter(); from scaling import fit_law;"
        "print(time.perf_counter() - t, *sorted({'torch', 'matplotlib', 'pandas', 'sweeps'} & set(sys.modules)))"
    )
    # The least of five: what the machine's other work adds is not the import's.
    runs = sorted((float(line[0]), line[1:]) for line in (in_fresh_python(code).split() for _ in range(5)))
    assert runs[0][1] == []
    assert runs[0][0] < 0.7


def test_every_public_name_is_there():
    assert all(hasattr(scaling, name) for name in scaling.__all__)
    # The rest lies in its namespaces: frontier, transfer, tables, tuning, measurements, plots, published, datasets.
    assert len(scaling.__all__) <= 31
    assert set(scaling.__all__) <= set(dir(scaling))


def test_plots_are_found_on_first_use_and_other_names_are_not():
    assert in_fresh_python("import scaling; print(scaling.plots.plot_frontier.__name__)").strip() == "plot_frontier"
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        _ = scaling.foo
