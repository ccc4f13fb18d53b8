"""The forms of an answer: what a terminal, a pipe, JSON and csv get, and how a command ends."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scaling as sc
from scaling.cli import app
from scaling.commands.answer import Answer, print_answer
from scaling.commands.base import Asked, answered, kind_lines, takes
from scaling.commands.terminal import cell, print_table

from .calls import answer, call, made_runs, refused

LONG = pd.DataFrame({"group": ["vit", "resnet"], **{f"parameter_{i}": [1 / 3, 2e22] for i in range(8)}})


def terminal(monkeypatch, columns):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))


def shown(capsys):
    """Lines on standard output without colours."""
    text = capsys.readouterr().out
    return [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines()]


def test_a_table_that_fits_is_shown_as_it_is(monkeypatch, capsys):
    terminal(monkeypatch, 200)
    print_table(LONG)
    lines = shown(capsys)
    assert lines[0].split() == list(LONG.columns)
    assert lines[1].split() == ["vit", *["0.3333"] * 8]


def test_a_table_too_wide_for_the_terminal_is_turned(monkeypatch, capsys):
    terminal(monkeypatch, 80)
    print_table(LONG)
    lines = shown(capsys)
    assert lines[0].split() == ["group", "vit", "resnet"]
    assert lines[1].split() == ["parameter_0", "0.3333", "2e+22"]
    assert max(map(len, lines)) <= 80


def test_more_rows_than_stand_side_by_side_follow_below(monkeypatch, capsys):
    terminal(monkeypatch, 24)
    print_table(LONG)
    lines = shown(capsys)
    assert [line.split() for line in lines if line.startswith("group")] == [["group", "vit"], ["group", "resnet"]]


def test_texts_are_broken_over_lines_before_a_table_is_turned(monkeypatch, capsys):
    terminal(monkeypatch, 60)
    print_table(pd.DataFrame({"group": ["vit"], "b": [0.5], "reason": ["too few points " * 6]}))
    lines = shown(capsys)
    assert lines[0].split() == ["group", "b", "reason"]
    assert len(lines) > 2


def test_nothing_is_cut_where_no_terminal_reads(capsys):
    name = "x" * 20_000
    print_table(pd.DataFrame({"group": [name, "b"], "b": [0.5, 1.0]}))
    assert name in capsys.readouterr().out.replace("\n", "")


def test_a_terminal_is_spared_names_of_thousands_of_letters(monkeypatch, capsys):
    terminal(monkeypatch, 80)
    print_table(pd.DataFrame({"group": ["x" * 10_000], "b": [0.5]}))
    assert len("".join(shown(capsys))) < 400


def test_columns_without_a_word_are_left_out_but_numbers_are_not(capsys):
    print_table(pd.DataFrame({"reason": ["", ""], "c_low": [np.nan, np.nan], "none": [None, None], "b": [1.0, 2.0]}))
    assert shown(capsys)[0].split() == ["c_low", "b"]


def test_long_tables_say_how_many_rows_they_leave_out_at_a_terminal_alone(monkeypatch, capsys):
    print_table(pd.DataFrame({"b": np.arange(250.0)}))
    assert [line.strip() for line in shown(capsys)] == ["b", *map(str, range(250))]
    terminal(monkeypatch, 80)
    print_table(pd.DataFrame({"b": np.arange(250.0)}))
    assert shown(capsys)[-1] == "... and 50 more rows: --csv or --json gives all"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 3, "0.3333"), (np.nan, "-"), (None, "-"), (pd.NA, "-"), (np.inf, "inf"), (True, "yes"), (123456, "123456")],
)  # fmt: skip
def test_cells(value, text):
    assert cell(value) == text


def test_a_name_gives_a_terminal_no_orders(tmp_path):
    bad = "a\x1b[31m\n<script>[bold]"
    made_runs(40).assign(model_family=bad).to_parquet(tmp_path / "runs.parquet")
    result = call("fit", tmp_path / "runs.parquet", "--by", "model_family")
    assert "\x1b" not in result.stdout
    assert r"a\x1b[31m\n<script>[bold]" in result.stdout
    assert answer("fit", tmp_path / "runs.parquet", "--by", "model_family")["rows"][0]["group"] == bad


def test_json_is_strict(capsys):
    table = pd.DataFrame({"low": [np.nan, np.inf], "none": [None, pd.NA], "flag": [np.True_, np.False_]})
    print_answer(Answer(table, values={"array": np.array([1.5, -np.inf]), "when": pd.Timestamp(0)}), [], as_json=True)
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=lambda _: pytest.fail("not strict")) == {
        "rows": [{"low": None, "none": None, "flag": True}, {"low": "inf", "none": None, "flag": False}],
        "array": [1.5, "-inf"], "when": "1970-01-01 00:00:00", "notes": [], "warnings": [],
    }  # fmt: skip


def test_warnings_stand_once_on_standard_error_or_in_the_json(path):
    result = call("fit", path, "--at", 1e25, "--at", 1e25)
    assert result.stderr == "warning (extrapolation): x lies 3.00 decades beyond the points fitted\n"
    found = call("fit", path, "--at", 1e25, "--json")
    assert found.stderr == ""
    assert [each["kind"] for each in json.loads(found.stdout)["warnings"]] == ["extrapolation"]


def test_many_notes_are_cut_at_a_terminal_alone(monkeypatch, capsys):
    many = Answer(pd.DataFrame({"b": [1]}), notes=[f"note {i}" for i in range(120)])
    print_answer(many, [])
    assert shown(capsys)[2:] == many.notes
    terminal(monkeypatch, 80)
    print_answer(many, [])
    assert shown(capsys)[-1] == "... and 20 more notes: --json gives all"


def test_every_kind_of_warning_has_a_line():
    assert len(kind_lines(sc.FitWarning.KINDS)) == len(sc.FitWarning.KINDS)


def test_an_answer_without_a_figure(tmp_path, capsys):
    command = answered(takes(Asked)(lambda asked: Answer(pd.DataFrame({"b": [1]}))))
    options = {field.name: field.default for field in fields(Asked)} | {"columns": []}
    with pytest.raises(Exception, match="2"):
        command(**options | {"records": "x", "figure": [tmp_path / "a.png"]})
    captured = capsys.readouterr()
    assert "nothing to draw" in captured.err
    assert captured.out.split() == ["b", "1"]


def test_a_folder_that_cannot_be_written_is_told_before_the_records_are_read(tmp_path):
    (tmp_path / "a.png").mkdir()
    assert "cannot be written" in refused("fit", "/nowhere", "--figure", tmp_path / "a.png")


def test_weights_probe_and_layer_choose_rows_and_columns(tmp_path):
    runs = made_runs(20).drop(columns=["pets_10shot_error", "pets_5shot_error", "spread", "times"])
    ema = runs.assign(weights="ema", upstream_error=runs["upstream_error"] * 0.9)
    sc.write_records(pd.concat([runs, ema]), tmp_path / "records.parquet")
    key = {"step": 1, "weights": "last", "task": "pets", "method": "fewshot", "num_shots": 10, "draw": 0}
    evals = [
        {"run_id": run, **key, "probe": probe, "layer": layer, "error": error * factor}
        for run, error in zip(runs["run_id"], runs["upstream_error"], strict=True)
        for probe, layer, factor in (
            ("whitened", "pre_logits", 1), ("plain", "pre_logits", 0.5), ("whitened", "block_1", 0.25)
        )
    ]  # fmt: skip
    evals += [{**row, "method": "finetune", "error": row["error"] * 0.8} for row in evals[::3]]
    sc.write_records(evals, tmp_path / "evals.parquet", table="evals")

    def amplitude(*args):
        return answer("fit", tmp_path, "--law", "power", *args)["rows"][0]["a"]

    base = amplitude("--task", "pets")
    # A power law's amplitude is that of the errors, up to the solver's last step.
    assert amplitude() == pytest.approx(base, rel=1e-6)
    assert amplitude("--weights", "ema") == pytest.approx(0.9 * base, rel=1e-6)
    assert amplitude("--task", "pets", "--probe", "plain") == pytest.approx(0.5 * base, rel=1e-6)
    assert amplitude("--task", "pets", "--layer", "block_1") == pytest.approx(0.25 * base, rel=1e-6)
    assert amplitude("--task", "pets", "--method", "finetune") == pytest.approx(0.8 * base, rel=1e-6)
    assert "--method" in refused("fit", tmp_path, "--task", "pets", "--method", "guess")


def test_where_names_near_columns_and_says_that_it_keeps_nothing(path):
    assert "there is depth" in refused("fit", path, "--where", "depht > 3")
    assert "--where 'depth > 30' keeps none of 60 rows" in refused("fit", path, "--where", "depth > 30")


def test_many_faults_of_records_are_one_line(tmp_path):
    bad = made_runs(20).assign(depth=-1, num_params=-1, upstream_error=3.0, images_seen=-1)
    bad.to_parquet(tmp_path / "runs.parquet")
    line = refused("fit", tmp_path / "runs.parquet")
    assert line.startswith("error: bad records: ")
    assert line.endswith("(and 1 more faults)\n")


# Real processes -----------------------------------------------------------------------------------------------


def process(*args, **options):
    command = [sys.executable, "-m", "scaling", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_standard_output_is_the_answer_alone(path):
    out, err = (running := process("fit", path, "--at", "1e25", "--json")).communicate()
    assert running.returncode == 0
    assert json.loads(out)["rows"]
    assert err == ""


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    runs = made_runs(200)
    runs["run_id"] += "x" * 1000  # more than a pipe holds
    runs.to_parquet(tmp_path / "runs.parquet")
    running = process("fit", tmp_path / "runs.parquet", "--by", "run_id", "--csv")
    assert running.stdout.readline().startswith("group,")
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    running.wait()


def heed_ctrl_c():
    """What runs in the background of a script ignores it, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_is_130_without_a_traceback(path):
    args = ["scaling", "fit", str(path), "--interval", "residuals", "--draws", "2000000"]
    code = (
        f"import sys; import scaling.commands.fit; from scaling.cli import main; sys.argv = {args}; print(flush=True)"
    )
    command = [sys.executable, "-c", f"{code}; main()"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, **pipes, preexec_fn=heed_ctrl_c)
    running.stdout.readline()  # the imports have come to their end
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_the_help_lists_the_commands():
    out = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout
    assert all(name in out for name in ("fit", "compare", "predict"))
    assert max(map(len, out.splitlines())) <= 80
