"""What the documents show at a terminal is so: each command runs as it stands there, or is one that exists."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
import typer
import yaml
from typer.testing import CliRunner

import scaling as sc
from scaling.cli import app as scaling_app
from scaling.commands import COMMANDS
from sweeps.cli import app as sweeps_app

from ..sweeps import folders
from ..sweeps.conftest import SPEC
from .pages import PAGES, ROOT

DOCS = [path for path in PAGES if path.name != "CHANGELOG.md"]
APPS = {"scaling": scaling_app, "sweeps": sweeps_app}


# Several pages have one command of the demo, by its name and by two folders: it runs once.
ONE_SWEEP = re.compile(r"\bruns/demo\b|(?<=scaling report )demo\b")


def shell_lines(program):
    """The lines of the shell blocks that start with the program, each once, without its comment; `\\` joins two."""
    lines = {
        ONE_SWEEP.sub("runs/night1", line.partition(" #")[0].strip()).replace("-o night1.html", "-o report.html")
        for path in DOCS
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), flags=re.DOTALL)
        for line in re.sub(r" *\\\n *", " ", block).splitlines()
        if line.startswith(f"{program} ")
    }
    return sorted(lines)


def quoted(pattern):
    """What stands between backticks, outside of blocks, and begins so."""
    found = set()
    for path in DOCS:
        prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        found |= {" ".join(text.split()) for text in re.findall(r"`([^`]+)`", prose) if re.match(pattern, text)}
    return sorted(found)


def group_of(program):
    return typer.main.get_command(APPS[program])


def commands_of(program):
    """By name, as typer has them."""
    group = group_of(program)
    context = typer.Context(group)
    return {name: group.get_command(context, name) for name in group.list_commands(context)}


def options_of(command):
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files that the documents name: the shipped sweep's with one task and probe, a spreadsheet."""
    folder = tmp_path_factory.mktemp("docs")
    shipped = ROOT / "data" / "sweeps" / "demo"
    evals = pd.read_parquet(shipped / "evals.parquet").query("task == 'digits' and probe == 'whitened'")
    (folder / "runs" / "night1").mkdir(parents=True)
    (folder / "runs" / "night1" / "records.parquet").write_bytes((shipped / "records.parquet").read_bytes())
    sc.write_records(evals, folder / "runs" / "night1" / "evals.parquet", "evals")
    error = np.linspace(60, 20, 12)
    table = pd.DataFrame(
        {
            "Model": [f"model {i}" for i in range(12)], "Family": ["vit", "resnet"] * 6,
            "Top-1 error": [f"{each:.1f}%".replace(".", ",") for each in error],
            "Compute (EFLOP)": [f"{1000 * 2**i:,}.0".replace(",", " ").replace(".", ",") for i in range(12)],
        }
    )  # fmt: skip
    table.to_csv(folder / "spreadsheet.csv", sep=";", index=False, encoding="utf-8-sig")
    return folder


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """With a finished sweep and its spec, under the names of the documents."""
    folder = tmp_path_factory.mktemp("night")
    kinds = {
        run_id: folders.Kind(error=0.5 * 2 ** (-i / 3) + 0.05, compute=1e12 * 2**i)
        for i, run_id in enumerate(folders.ids(14))
    }
    folders.write_sweep(folder / "runs" / "night1", kinds)
    (folder / "night1.yaml").write_text(yaml.safe_dump(SPEC))
    return folder


def test_the_documents_show_every_command():
    assert {line.split()[1] for line in shell_lines("scaling")} == set(COMMANDS)


@pytest.mark.parametrize("line", shell_lines("scaling"), ids=lambda line: line[:80])
def test_a_command_of_the_documents_gives_an_answer(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    arguments = shlex.split(line)[1:]
    to_file = arguments.index(">") if ">" in arguments else len(arguments)
    done = CliRunner().invoke(scaling_app, arguments[:to_file])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()
    for option in ("--figure", "-o"):
        for place, argument in enumerate(arguments):
            if argument == option:
                assert (folder / arguments[place + 1]).stat().st_size > 0


SHOWN = re.findall(
    r"^\$ (scaling .*)\n((?:(?!```).*\n)+)", (ROOT / "docs" / "command_line.md").read_text(), flags=re.MULTILINE
)


@pytest.mark.parametrize(("line", "output"), SHOWN, ids=[line for line, _ in SHOWN])
def test_a_command_says_what_the_document_shows(monkeypatch, line, output):
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(scaling_app, shlex.split(line)[1:])
    for said, shown in zip((done.stdout or done.stderr).split(), output.split(), strict=True):
        if re.fullmatch(r"[-+.\de]*\d,?", shown):  # draws on another machine may differ in the last digits
            assert float(said.strip(",")) == pytest.approx(float(shown.strip(",")), rel=0.02)
        else:
            assert said == shown


def test_the_document_shows_an_answer_and_an_error():
    assert [output.startswith("error: ") for _, output in SHOWN] == [False, True]


# What a document's command is given so that it takes no time; `run` has tests of its own.
QUICK = {"plan": ["--no-measure"], "watch": ["--once"], "status": [], "collect": [], "suggest": [], "retry": []}
SWEEPS = [*shell_lines("sweeps"), *quoted("sweeps ")]
NIGHT = [line for line in SWEEPS if line.split()[1] in QUICK and "night1" in line]


def test_the_commands_of_a_night_are_among_those_that_run():
    assert {line.split()[1] for line in NIGHT} >= {"plan", "watch", "status", "suggest", "retry"}


@pytest.mark.parametrize("line", NIGHT)
def test_a_command_of_a_night_runs(night, monkeypatch, line):
    monkeypatch.chdir(night)
    arguments = shlex.split(line)[1:]
    done = CliRunner().invoke(sweeps_app, [*arguments, *QUICK[arguments[0]]])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()


@pytest.mark.parametrize("program", list(APPS))
def test_a_command_in_prose_and_its_options_exist(program):
    commands = commands_of(program) | {"": group_of(program)}  # of `scaling --help` the second word is an option
    lines = [*quoted(rf"{program}\s"), *shell_lines(program)]
    assert lines
    for line in lines:
        second = line.split()[1]
        names = [""] if second.startswith("-") else re.findall(r"\w+", second)
        for name in names:
            assert name in {*commands, "COMMAND"}, line
        if "--" in line and "COMMAND" not in line:
            assert set(re.findall(r"(?<!\S)\[?(--[\w-]+)", line)) <= options_of(commands[names[0]]), line
        for spec in re.findall(r"sweeps/configs/[\w.]+", line):
            assert (ROOT / spec).is_file() or spec.endswith("NAME.yaml"), line


def test_an_option_in_prose_is_one_of_some_command():
    known = {name for program in APPS for command in commands_of(program).values() for name in options_of(command)}
    known |= {name for program in APPS for name in options_of(group_of(program))}
    shown = {name for text in quoted("--") for name in re.findall(r"(?<!\S)(--[\w-]+)", text)}
    assert len(shown) > 20
    assert shown <= known
