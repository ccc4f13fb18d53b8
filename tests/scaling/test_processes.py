"""Both command lines as real processes: Ctrl-C, pipes, colours, quiet, completion."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scaling.completion import option_table, read_table

PROGRAMS = ("scaling", "sweeps")
# It says when the command line's own code begins: before that the interpreter starts, which no program can change.
STARTED = "import os, sys\nfrom {0}.__main__ import main\nsys.argv = {1!r}\nos.write(1, b'started\\n')\nmain()"
SCRIPT = 'exec "$PYTHON" -m {0} "$@"'


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return kept | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHON": sys.executable, "COLUMNS": "100"} | changes


def call(*arguments, **changes):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment(**changes), timeout=120)


def heed_ctrl_c():
    """As in a terminal: the background of a script ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def stopped_after(seconds, *arguments):
    """Exit code and standard error of a process told to stop so long after its own code began."""
    command = [sys.executable, "-c", STARTED.format(arguments[0], list(arguments))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), preexec_fn=heed_ctrl_c
    ) as process:  # fmt: skip
        assert process.stdout.readline() == b"started\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=120)[1].decode()
    return process.returncode, errors


# Alone on a machine both import for about a second; the last delays fall into the work itself.
@pytest.mark.parametrize("seconds", [0.02, 0.3, 1.2])
def test_ctrl_c_is_one_line_and_exit_130_at_any_moment(seconds, tmp_path):
    page = ("scaling", "report", "demo", "-o", str(tmp_path / "page.html"))
    assert stopped_after(seconds, *page) == (130, "stopped\n")


@pytest.mark.parametrize("seconds", [0.02, 0.5])
def test_ctrl_c_while_sweeps_imports(seconds):
    spec = Path(__file__).parents[2] / "sweeps" / "configs" / "demo.yaml"
    assert stopped_after(seconds, "sweeps", "plan", str(spec)) == (130, "stopped\n")


def test_ctrl_c_that_is_ignored_stays_so():
    """As in the background of a script."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from scaling.interrupts import leave_at_once\n"
        "leave_at_once(signal.SIGINT); signal.raise_signal(signal.SIGINT); print('lives')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stdout == "lives\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_standard_output_there_is_no_traceback(program):
    done = subprocess.run(
        ["sh", "-c", SCRIPT.format(program) + " >&-", "sh", "--version"],
        stderr=subprocess.PIPE, text=True, check=False, env=environment(), timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "--help"])
def test_a_closed_pipe_is_silence(arguments):
    line = f"{SCRIPT.format('scaling')} | true"
    done = subprocess.run(
        ["bash", "-c", line, "_", *arguments.split()], capture_output=True, text=True, check=False, env=environment()
    )  # fmt: skip
    assert done.stderr == ""


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_version_and_a_help_that_begins_with_three_commands(program):
    assert call(program, "--version").stdout.split() == [program, "0.1.0"]
    told = call(program, "--help").stdout
    screen = "\n".join(told.splitlines()[:24])
    assert sum(f"  {program} {name}" in screen for name in read_table(program)) >= 3
    assert "For example" in screen
    assert "docs/tutorial.md" in told
    assert "\x1b" not in told


def on_a_terminal(*arguments, **changes):
    """What a process writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments], stdout=theirs, stderr=theirs, stdin=theirs,
        env=environment(TERM="xterm-256color", **changes),
    )  # fmt: skip
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        written += piece
    process.wait()
    os.close(ours)
    return written.decode()


@pytest.mark.parametrize(("program", "arguments"), [("scaling", "--help"), ("sweeps", "status nowhere")])
def test_no_color_leaves_no_escape_code(program, arguments):
    assert "\x1b[" in on_a_terminal(program, *arguments.split())
    assert "\x1b" not in on_a_terminal(program, *arguments.split(), NO_COLOR="1")


def test_quiet_leaves_the_answer_and_the_errors():
    loud = call("scaling", "fit", "demo", "--select", "pareto")
    quiet = call("scaling", "fit", "demo", "--select", "pareto", "--quiet")
    assert loud.stderr.startswith("warning")
    assert quiet.stderr == ""
    assert "saturating_power: " in loud.stdout
    table = quiet.stdout.splitlines()
    assert table[0].split()[:2] == ["num_points", "a"]
    assert table == [line for line in loud.stdout.splitlines() if line in table]
    wrong = call("scaling", "--quiet", "fit", "nowhere")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.startswith("error: ")) == (2, "", True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_table_of_completions_is_that_of_the_commands(program):
    told = f"write it anew: python -m scaling.completion {program}"
    assert read_table(program) == option_table(program), told


def completed(line, program="scaling"):
    """As bash asks: the words, and the place of the one that is completed."""
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    return call(program, **asked, **{f"_{program.upper()}_COMPLETE": "complete_bash"}).stdout.split()


def test_commands_options_data_sets_and_laws_are_completed():
    assert completed("scaling fr") == ["frontier"]
    assert completed("scaling frontier --se") == ["--select", "--seed"]
    assert completed("scaling report dem") == ["demo"]
    assert completed("scaling fit demo --law satu") == ["saturating_power"]
    assert completed("scaling fit demo --select s") == []  # stochastic is not for it
    assert completed("sweeps run spec.yaml --engine s", "sweeps") == ["slurm"]


def test_a_completion_imports_no_command():
    code = (
        "import sys\nfrom scaling.completion import completed_command\nimport scaling.cli\n"
        "names = [p.opts for p in completed_command('scaling', 'fit').params]\n"
        "assert ['--law'] in names\nassert not {'pandas', 'scipy', 'numpy', 'rich'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr


def test_bash_completes_after_show_completion(tmp_path):
    """The script that is shown, read by bash, which then asks this command line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    command = tmp_path / "scaling"
    command.write_text(f"#!/bin/sh\n{SCRIPT.format('scaling')}\n")
    command.chmod(0o755)
    line = (
        'eval "$(_SCALING_COMPLETE=source_bash scaling)"\ncomplete -p scaling\n'
        "COMP_WORDS=(scaling compare demo --laws sat)\nCOMP_CWORD=4\n"
        '_scaling_completion scaling\necho "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [bash, "-c", line], capture_output=True, text=True, check=False, env=environment(PATH=path), timeout=120
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "saturating_power"
    assert "-F _scaling_completion scaling" in done.stdout


@pytest.mark.parametrize(("shell", "file"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish")])
def test_completion_is_installed_in_the_users_own_files(shell, file, tmp_path):
    """In a home of its own; the shell is the one that is asked for, where none is found out."""
    asked = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = call("scaling", "--install-completion", shell, **asked)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / file).exists()
