"""What the documents show at a terminal is so: each command runs as it stands there, or is one that exists."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scaling.cli import app as scaling_app
from scaling.commands import COMMANDS

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]


def shell_lines(program):
    """(document, command) of each line of the shell blocks that starts with the program."""
    for path in DOCS:
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), flags=re.DOTALL):
            for line in block.splitlines():
                if line.startswith(f"{program} "):
                    yield path.name, line


SCALING = sorted(set(shell_lines("scaling")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files that the documents name."""
    folder = tmp_path_factory.mktemp("docs")
    night = folder / "runs" / "night1"
    shutil.copytree(ROOT / "data" / "sweeps" / "demo", night)
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


def test_the_documents_show_every_command():
    shown = {line.split()[1] for _, line in SCALING}
    assert shown == set(COMMANDS)


@pytest.mark.parametrize(("document", "line"), SCALING, ids=[line.partition(" #")[0].strip() for _, line in SCALING])
def test_a_command_of_the_documents_gives_an_answer(folder, monkeypatch, document, line):
    monkeypatch.chdir(folder)
    arguments = shlex.split(line, comments=True)[1:]
    to_file = arguments.index(">") if ">" in arguments else len(arguments)
    done = CliRunner().invoke(scaling_app, arguments[:to_file])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()
    for option in ("--figure", "-o"):
        for place, argument in enumerate(arguments):
            if argument == option:
                assert (folder / arguments[place + 1]).stat().st_size > 0
