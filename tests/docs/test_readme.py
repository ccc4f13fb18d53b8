"""What the README and the pages say is so: programs run and print what is shown, links and files are there."""

import re

import pytest
import yaml

import scaling as sc
from sweeps.commands import COMMANDS
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec, read_spec

from .pages import PAGES, PYTHON_PAGES, ROOT, blocks, run_page, same_text, write_folder

README = (ROOT / "README.md").read_text()
ANALYSES = (ROOT / "docs" / "analyses.md").read_text()
SWEEPS = ROOT / "docs" / "sweeps.md"


def relative(path):
    return str(path.relative_to(ROOT))


def test_the_first_thirty_lines_hold_a_program_of_ten():
    program = blocks(ROOT / "README.md", "python")[0]
    assert program in "\n".join(README.splitlines()[:30])
    assert sum(bool(line.strip()) for line in program.splitlines()) <= 10


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150  # the rest is in docs/


@pytest.mark.parametrize("path", PYTHON_PAGES, ids=relative)
def test_a_page_runs_and_prints_what_it_shows(path, tmp_path):
    write_folder(tmp_path)
    done = list(run_page(path, tmp_path))
    assert any(block.printed.strip() for block in done)
    for block in done:
        if block.shown is not None:
            assert same_text(block.printed, block.shown), block.printed


def test_the_pages_of_a_first_hour_run():
    names = {relative(path) for path in PYTHON_PAGES}
    assert names >= {"README.md", "docs/tutorial.md", "docs/faq.md", "docs/how_sure.md", "docs/analyses.md"}
    assert names >= {relative(path) for path in (ROOT / "docs" / "how_to").glob("*.md")}
    assert names >= {relative(path) for path in (ROOT / "docs" / "laws").glob("*.md") if path.name != "index.md"}


def test_words_and_numbers_of_an_output_are_compared():
    assert same_text("c = 0.1001  [0.0, inf]", "c = 0.1 [0.0, inf]")
    assert not same_text("c = 0.11", "c = 0.1")
    assert not same_text("c = 0.1", "b = 0.1")
    assert not same_text("c = 0.1 0.2", "c = 0.1")


def test_every_call_and_figure_of_the_analyses_exists():
    rows = [line for line in ANALYSES.splitlines() if line.startswith("| ") and "plot_" in line]
    names = {name for row in rows for name in re.findall(r"`(plot_\w+)`", row)}
    assert names == set(sc.plots.__all__)
    for space in ("frontier", "transfer", "tables", "tuning", "measurements"):
        module = getattr(sc, space)
        assert set(re.findall(rf"`{space}\.(\w+)", ANALYSES)) <= set(module.__all__)


def test_a_name_of_the_library_in_prose_exists():
    """`sc.frontier.cost_ratio(...)` between backticks, in any page."""
    for path in PAGES:
        if path.name != "CHANGELOG.md":
            for chain in re.findall(r"`sc((?:\.\w+)+)", path.read_text()):
                found = sc
                for name in chain.split(".")[1:]:
                    found = getattr(found, name)


def test_the_table_of_commands_names_them_all():
    assert re.findall(r"^\| `sweeps (\w+)", SWEEPS.read_text(), flags=re.MULTILINE) == list(COMMANDS)


def test_the_example_spec_is_valid():
    plan = make_plan(parse_spec(yaml.safe_load(blocks(SWEEPS, "yaml")[0])))
    assert len(plan.configs) == (2 * 2 + 1) * 3 * 3 * 2


def test_the_spec_of_a_night_is_as_large_as_its_page_says():
    page = ROOT / "docs" / "how_to" / "run_grids_overnight.md"
    plan = make_plan(parse_spec(yaml.safe_load(blocks(page, "yaml")[0])))
    models = len(plan.configs)
    assert f"{models}\nmodels cost {models // 3} trainings" in page.read_text()


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        assert target.startswith("http") or path.parent.joinpath(target).exists(), target


def test_the_demo_is_as_large_as_the_readme_says():
    plan = make_plan(read_spec(ROOT / "sweeps" / "configs" / "demo.yaml"))
    assert f"trains {len(plan.configs)} small ViTs and ResNets" in README


def test_published_tables_have_their_digests():
    import hashlib

    folder = ROOT / "data" / "published"
    lines = [line.split() for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {path.name for path in folder.glob("*.csv")}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in lines)
