"""What the README says is so: its program runs, its links and files are there, its example spec is valid."""

import re
from pathlib import Path

import pytest
import yaml

import scaling as sc
from sweeps.commands import COMMANDS
from sweeps.data.datasets import DATASETS, FOLDER_KINDS
from sweeps.data.suites import SUITES
from sweeps.grid import make_plan
from sweeps.measure import MEASUREMENTS
from sweeps.models import FAMILIES
from sweeps.recipes import RECIPES
from sweeps.spec import parse_spec, read_spec

from ..sweeps.test_summary import write_sweep

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_thirty_lines_hold_a_program_that_runs(tmp_path, monkeypatch, capsys):
    program = blocks("python")[0]
    assert program in "\n".join(README.splitlines()[:30])
    assert sum(bool(line.strip()) for line in program.splitlines()) <= 10
    folder = tmp_path / "runs" / "demo"
    folder.mkdir(parents=True)
    write_sweep(folder, tasks={"digits": lambda error: 0.6 * error**1.5 + 0.2})
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    assert "Prediction(" in capsys.readouterr().out
    assert (folder / "digits.png").stat().st_size > 0


def test_the_program_for_a_table_of_ones_own_runs(capsys):
    exec(compile(blocks("python")[1], "README.md", "exec"), {})
    assert "Prediction(" in capsys.readouterr().out


def test_a_table_of_another_tool_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.csv").write_text("model,top1,gmacs\na,76.5,4.1\nb,81.0,17.6\n")
    names = {"sc": sc}
    exec(compile(blocks("python")[2], "README.md", "exec"), names)
    assert names["runs"]["compute_flops"].round().tolist() == [8.2e9, 35.2e9]
    assert names["runs"]["upstream_error"].round(12).tolist() == [0.235, 0.19]


def test_the_program_of_the_analyses(capsys):
    exec(compile(blocks("python")[3], "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Prediction(" in printed
    assert "cost of resnet over that of vit at equal error" in printed


def test_every_call_and_figure_of_the_analyses_exists():
    rows = [line for line in README.splitlines() if line.startswith("| ") and "plot_" in line]
    names = {name for row in rows for name in re.findall(r"`(plot_\w+)`", row)}
    assert names == set(sc.plots.__all__)
    for space in ("frontier", "transfer", "tables", "tuning", "measurements"):
        module = getattr(sc, space)
        assert set(re.findall(rf"`{space}\.(\w+)", README)) <= set(module.__all__)


def test_the_tables_of_models_recipes_and_data_name_what_there_is():
    rows = [re.findall(r"`([\w-]+)`", line.split("|")[1]) for line in README.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in row}
    assert set(FAMILIES) | set(RECIPES) | set(DATASETS) | set(FOLDER_KINDS) | set(SUITES) | set(MEASUREMENTS) <= named


def test_the_table_of_commands_names_them_all():
    assert re.findall(r"^\| `sweeps (\w+)", README, flags=re.MULTILINE) == list(COMMANDS)


def test_the_example_spec_is_valid():
    plan = make_plan(parse_spec(yaml.safe_load(blocks("yaml")[0])))
    assert len(plan.configs) == (2 * 2 + 1) * 3 * 3 * 2


DOCS = [f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md", *DOCS])
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text()):
        assert target.startswith("http") or (ROOT / name).parent.joinpath(target).exists(), target


def test_the_demo_is_as_large_as_the_readme_says():
    plan = make_plan(read_spec(ROOT / "sweeps" / "configs" / "demo.yaml"))
    assert f"trains {len(plan.configs)} small ViTs and ResNets" in README


def test_published_tables_have_their_digests():
    import hashlib

    folder = ROOT / "data" / "published"
    lines = [line.split() for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {path.name for path in folder.glob("*.csv")}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in lines)
