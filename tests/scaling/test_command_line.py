"""Commands that are imported when they are asked for, in both command lines."""

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from scaling.cli import app as scaling_app
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


def test_what_the_encoding_of_the_output_lacks_is_a_question_mark():
    code = "from scaling.command_line import _fit_to_output as fit; fit(); print('\\u2588 \\udce9')"
    environment = dict(os.environ) | {"PYTHONIOENCODING": "ascii"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert said.stdout.strip() == b"? ?"


def test_a_width_of_no_columns_is_one_not_known():
    """As a terminal that does not tell it has; rich would write nothing at all."""
    command = [sys.executable, "-m", "scaling", "--help"]
    assert subprocess.run(command, env=dict(os.environ) | {"COLUMNS": "0"}, capture_output=True).stdout.strip()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_an_output_that_cannot_be_written_is_one_line(option):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "sweeps", option], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"error: ")
