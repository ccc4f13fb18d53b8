"""Commands that are imported when they are asked for, in both command lines."""

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from scaling.cli import app as scaling_app
from scaling.datasets import load
from sweeps.cli import app as sweeps_app

APPS = {"scaling": scaling_app, "sweeps": sweeps_app}


@pytest.mark.parametrize("program", list(APPS))
def test_the_list_of_commands_has_the_first_lines_of_their_own_help(program):
    group = typer.main.get_command(APPS[program])
    context = typer.Context(group)
    listed = " ".join(CliRunner().invoke(APPS[program], ["--help"]).stdout.replace("│", " ").split())
    assert len(group.list_commands(context)) == 8
    for name in group.list_commands(context):
        first = group.get_command(context, name).help.split("\n\n")[0]
        assert " ".join(first.split()) in listed


@pytest.mark.parametrize("program", list(APPS))
def test_the_list_of_commands_waits_for_none(program):
    """What any command takes, and the list does not: pandas."""
    code = (
        f"import sys; from {program}.cli import app\ntry: app(['--help'])\nfinally: assert 'pandas' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_that_is_not_there_is_wrong_use():
    done = CliRunner().invoke(scaling_app, ["fitt"])
    assert done.exit_code == 2
    assert "No such command 'fitt'" in done.stderr


def test_a_letter_that_a_terminal_does_not_have_is_escaped(tmp_path):
    runs = load("demo").assign(model_family="fam\u00efly")
    runs.to_parquet(tmp_path / "runs.parquet")
    words = [sys.executable, "-m", "scaling", "frontier", str(tmp_path / "runs.parquet"), "--by", "model_family"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "fam\\xefly" in done.stdout
