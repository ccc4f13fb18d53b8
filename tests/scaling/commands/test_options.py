"""Every option of every command has a test."""

from dataclasses import fields
from pathlib import Path

import click
import pytest
import typer

from scaling.cli import app
from scaling.commands import COMMANDS
from scaling.commands.base import Asked

TESTS = {path: path.read_text() for path in Path(__file__).parents[2].rglob("test_*.py")}
SHARED = {field.name for field in fields(Asked)} | {"_is_quiet"}  # --quiet, which both command lines add


def options_of(command):
    group = typer.main.get_command(app)
    found = group.get_command(click.Context(group), command)
    return [(option.name, option.opts) for option in found.params if option.param_type_name == "option"]


def untested(command, tests):
    """Options that stand in no file which calls the command; those that all commands share, in none at all."""
    everything, own = "\n".join(tests), "\n".join(text for text in tests if f'"{command}"' in text)
    return [
        names
        for name, names in options_of(command)
        if not any(f'"{each}"' in (everything if name in SHARED else own) for each in names)
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_stands_in_a_test(command):
    assert options_of(command)
    assert not untested(command, [text for path, text in TESTS.items() if path != Path(__file__)])


def test_an_option_without_a_test_is_named():
    assert untested("predict", ['call("predict", path, "--at", 1)', 'call("fit", path, "--law", "power")']) != []
    assert ["--law"] in untested("predict", ['call("predict", path, "--at", 1)', 'call("fit", path, "--law", "power")'])
    assert ["--at"] not in untested("predict", ['call("predict", path, "--at", 1)'])
