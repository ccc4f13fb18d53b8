"""Every option of every command has a test."""

from dataclasses import fields
from pathlib import Path

import click
import pytest
import typer

from scaling.cli import app
from scaling.commands import COMMANDS
from scaling.commands.base import Asked
from scaling.commands.compare import CompareAsked
from scaling.commands.fit import FitAsked
from scaling.commands.frontier import FrontierAsked
from scaling.commands.plot import PlotAsked
from scaling.commands.predicted import PredictAsked
from scaling.commands.transfer import TransferAsked

from .calls import refused

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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("frontier", "demo", "--shots", 5), "--shots goes with --task"),
        (("fit", "demo", "--method", "finetune"), "--method goes with --task"),
        (("fit", "demo", "--draws", 5), "--draws goes with --interval or --target"),
        (("predict", "demo", "--at", 1e13, "--shots", 5), "--shots goes with --task"),
        (("frontier", "demo", "--layer", "block_1"), "--layer goes with --task or --y or --x or --where"),
        (("compare", "demo", "--probe", "plain"), "--probe goes with --task or --y or --x or --where"),
        (("compare", "demo", "--select", "all"), "--select goes with --reference"),
        (("compare", "demo", "--by", "model_family", "--reference", "vit", "--holdout", "largest:5"), "nothing beside"),
        (("transfer", "demo", "--shots", 5), "--shots goes with --task"),
        (("transfer", "demo", "--x", "width"), "--x says nothing in this command"),
        (("transfer", "demo", "--scalings", "--at", 0.9), "--at says nothing beside --scalings"),
        (("datasets", "--table", "evals"), "--table goes with the name of a data set"),
    ],
)
def test_an_option_that_would_say_nothing_is_refused(words, told):
    assert told in refused(*words)


@pytest.mark.parametrize("options", [FitAsked, FrontierAsked, CompareAsked, PredictAsked, TransferAsked, PlotAsked])
def test_options_that_go_together_are_options(options):
    silenced = options.silenced_by
    named = {*options.goes_with, *silenced, *silenced.values()}.union(*options.goes_with.values())
    assert named <= {field.name for field in fields(options)}
