import hashlib
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import scaling as sc
import scaling.datasets
from scaling.errors import FitWarning
from scaling.report import write_report
from scaling.report.advice import ADVICE, told_warnings
from scaling.report.asked import Asked, records_digest
from scaling.report.checklist import NOT_RECORDED, checklist_section
from scaling.report.edge import MOST_FITTED, find_edge, sampled
from scaling.report.figures import drawn_rows, frontier_picture, group_labels, hover_labels
from scaling.report.noted import Note, noted
from scaling.report.overview import summary_section
from scaling.report.runs import count_statuses, runs_section
from scaling.report.tasks import fit_each_task, task_table
from scaling.report.words import short, values_of

from .made import EVIL, hostile_runs, made_runs


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    return write_report(made_runs(), path, title="A <b>title</b>"), path.read_text()


def test_what_was_written_is_what_is_said(page):
    done, text = page
    assert (done.num_rows, done.num_runs, done.num_fitted, done.num_tasks) == (60, 60, 60, 1)
    assert done.num_by_status == {"finished": 60, "inside a run": 0, "diverged": 0, "failed": 0}
    assert done.num_bytes == len(text.encode())
    assert "A &lt;b&gt;title&lt;/b&gt;" in text
    assert "<b>title" not in text
    assert "://" not in text  # nothing is loaded
    for part in ("Summary", "The frontier", "Transfer", "The runs", "Warnings", "Reporting checklist"):
        assert part in text


def test_the_numbers_are_the_librarys(page):
    runs = made_runs()
    front = sc.fit_frontier(runs.compute_flops, runs.upstream_error, selection="stochastic")
    trans = sc.fit_transfer(1 - runs.upstream_error, 1 - runs.task0_10shot_error, selection="stochastic")
    low, high = front.interval("c")
    assert f"{front.params['c']:.4g} [{low:.4g}, {high:.4g}]" in page[1]
    far = front.predict([10 * runs.compute_flops.max()], level=0.95)
    assert f"{far.median[0]:.4g} [{far.low[0]:.4g}, {far.high[0]:.4g}]" in page[1]
    ends = trans.saturation_interval()
    assert f"saturation {trans.saturation:.4g} [{ends[0]:.4g}, {ends[1]:.4g}]" in page[1]
    best = sc.pareto_frontier(runs.compute_flops, runs.upstream_error)
    table = find_edge(runs, Asked(by="model_family")).table.set_index("group")
    convention = sc.fit_law("saturating_power", runs.compute_flops[best], runs.upstream_error[best])
    assert table.loc["Pareto points (published convention)", "b"] == convention.params["b"]
    assert table.loc["vit", "runs"] == 30
    assert table.loc["vit", "best error"] == runs.upstream_error[::2].min()


def test_each_warning_is_told_once_with_its_places_and_what_to_do():
    notes = [
        Note("ridge", "b is small", "vit"),
        Note("ridge", "b is small", "resnet"),
        Note("ridge", "b is small", "vit"),
    ]
    ((kind, text),) = told_warnings(notes)
    assert kind == "ridge"
    assert text.startswith("vit, resnet: b is small. ")
    assert text.endswith(ADVICE["ridge"])
    assert set(ADVICE) == {*FitWarning.KINDS, "note"}


def test_the_checklist_says_what_is_not_recorded():
    runs = made_runs()
    asked = Asked()
    section = checklist_section(runs, find_edge(runs, asked), asked)
    known = section.tables[0].frame.set_index("item")["what is known"]
    assert known["how FLOPs are counted"] == "3x forward"
    assert known["parameters"] == "3 free of 3"
    assert known["seeds"] == "1 value"
    assert known["learning rate"].endswith("fixed")
    assert known["batch size"] == NOT_RECORDED
    assert known["schedule"] == "60 rows after its end, 0 from inside"
    assert "batch size" in section.paragraphs[0]
    assert "last_value" in known["held-out error without a fit"]
    tuned = runs.assign(lr=np.where(np.arange(60) < 30, 1e-3, 3e-3))
    known = checklist_section(tuned, find_edge(tuned, asked), asked).tables[0].frame.set_index("item")["what is known"]
    assert known["learning rate"].startswith("2 to 2 (median 2)")


def test_the_table_of_runs_begins_with_the_frontier_and_says_what_became_of_the_others():
    runs = made_runs()
    runs.loc[0, ["status", "upstream_error"]] = "diverged", np.nan
    runs.loc[1:3, "status"] = "failed"
    runs["failure"] = [None, *["Traceback\n  RuntimeError: out of memory\n"] * 2, None, *[None] * 56]
    runs.loc[4, "cooled_down"] = False
    assert count_statuses(runs) == {"finished": 55, "inside a run": 1, "diverged": 1, "failed": 3}
    edge = find_edge(runs, Asked())
    best, left, failed, diverged = runs_section(runs, edge, Asked()).tables
    num_best = int(best.frame["on the frontier"].sum())
    assert best.frame["on the frontier"].tolist() == [True] * num_best + [False] * (55 - num_best)
    assert best.frame["upstream_error"].iloc[0] == edge.y.min()
    assert edge.usable is not None
    assert dict(zip(left.frame.reason, left.frame.rows, strict=True)) == edge.usable.num_left_out
    assert failed.frame.iloc[:, :2].values.tolist() == [["RuntimeError: out of memory", 2], ["not recorded", 1]]
    assert diverged.frame["run_id"].tolist() == ["run-0"]


def test_a_task_that_no_law_can_be_had_of_keeps_its_row():
    runs = made_runs(num_tasks=2)
    runs["task1_10shot_error"] = 0.5
    fits = list(fit_each_task(runs, Asked()))
    table = task_table(fits, 0.95).set_index("task")
    assert table.loc["task0 10-shot", "reason"] == ""
    assert table.loc["task1 10-shot", "reason"] != ""
    assert table.loc["task1 10-shot", "best accuracy"] == 0.5
    named = runs.rename(columns={"task0_10shot_error": "cars_zero_shot_error", "task1_10shot_error": "other"})
    assert [fit.name for fit in fit_each_task(named, Asked())] == ["cars zero-shot"]


DEGRADED = {
    "no compute": (lambda r: r.drop(columns="compute_flops"), "No frontier: column &#39;compute_flops&#39; is missing"),
    "no tasks": (lambda r: r.drop(columns="task0_10shot_error"), "No downstream task is recorded"),
    "one row": (lambda r: r.head(1), "No law of the frontier"),
    "two rows": (lambda r: r.head(2), "No law of the frontier"),
    "all diverged": (
        lambda r: r.assign(status="diverged", upstream_error=np.nan),
        "No frontier: no run to fit a law to",
    ),
    "all equal": (lambda r: r.assign(upstream_error=0.5), "No law of the frontier"),
    "all x equal": (lambda r: r.assign(compute_flops=1e18), "No law of the frontier"),
    "bare": (lambda r: r[["run_id", "step", "weights", "upstream_error"]], "No frontier: column"),
    "no family": (lambda r: r, "c is the irreducible error of these runs"),
    "few": (lambda r: r.head(8), "Summary"),
    "null family": (lambda r: r.assign(model_family=[None, *["vit"] * 15]), "c is the irreducible error of these runs"),
    "text tasks": (lambda r: r.assign(task0_10shot_error="low"), "task0 10-shot: no law"),
    "inf": (lambda r: r.assign(task0_10shot_error=np.inf), "task0 10-shot: no law"),
    "zero task": (lambda r: r.assign(task0_10shot_error=0.0), "task0 10-shot: no law"),
    "step 0": (lambda r: r.assign(upstream_error=1.0), "No law of the frontier"),
}


@pytest.mark.parametrize("name", DEGRADED)
def test_what_cannot_be_had_is_one_line_of_the_page(name, tmp_path, undrawn):
    change, said = DEGRADED[name]
    runs = made_runs(16).drop(columns="model_family") if name != "null family" else made_runs(16)
    write_report(change(runs), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert said in text
    assert "The runs" in text
    assert "Reporting checklist" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.head(0), "no rows to report of in the table"),
        (lambda r: r.assign(compute_flops="many"), "compute_flops must be a number"),
        (lambda r: r.assign(upstream_error=np.inf), "upstream_error must be finite"),
        (lambda r: r.drop(columns="upstream_error"), "column upstream_error is missing"),
        (lambda r: r.assign(compute_flops=[1e18, "high"] * 20), "compute_flops must be a number"),
    ],
)
def test_records_that_are_none_are_told_and_no_page_is_written(change, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        write_report(change(made_runs(40)), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_hostile_texts_stand_on_the_page_as_texts(tmp_path):
    runs = hostile_runs()
    done = write_report(runs, tmp_path / "page.html", title=EVIL[0])
    text = (tmp_path / "page.html").read_text()
    assert done.num_rows == len(runs)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "x" * 2_000 not in text
    assert not re.search(r"<[^>]*\sonmouseover=", re.sub(r'"[^"]*"', '""', text))


def test_five_hundred_families_are_not_five_hundred_laws(tmp_path):
    runs = made_runs(1000).assign(model_family=[f"family {place % 500}" for place in range(1000)])
    edge = find_edge(runs, Asked(by="model_family"))
    assert len(edge.table) == 2 + 8
    assert edge.num_groups_left == 492
    labels = group_labels(runs, "model_family") or []
    assert len(set(labels)) == 9
    assert "492 others" in labels


def test_what_is_drawn_keeps_the_frontier_and_is_the_same_for_one_seed():
    marked = np.array([5, 99_999])
    rows = [drawn_rows(100_000, marked, np.random.default_rng(3)) for _ in range(2)]
    assert rows[0].size == 3_000
    assert np.isin(marked, rows[0]).all()
    assert np.array_equal(rows[0], rows[1])
    assert drawn_rows(10, marked, np.random.default_rng(0)).tolist() == list(range(10))
    assert sampled(5, 10, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


def test_more_runs_than_are_fitted_are_sampled_and_that_is_said(tmp_path, monkeypatch, undrawn):
    monkeypatch.setattr("scaling.report.edge.MOST_FITTED", 40)
    runs = made_runs(num_tasks=0).drop(columns="model_family")
    assert find_edge(runs, Asked()).samples == ["The law of all runs is fitted to 40 of 60 runs"]
    done = write_report(runs, tmp_path / "page.html", seed=3)
    assert done.num_fitted == 40 < MOST_FITTED
    text = (tmp_path / "page.html").read_text()
    assert text.count("The law of all runs is fitted to 40 of 60 runs, at random (seed 3).") == 2
    again = write_report(runs, tmp_path / "again.html", seed=3)
    made = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert made.sub("", text) == made.sub("", (tmp_path / "again.html").read_text())
    assert again.num_bytes == done.num_bytes


def test_the_digest_is_of_key_and_values_by_rows():
    runs = made_runs(5)
    rows = pd.util.hash_pandas_object(runs[["run_id", "step", "weights", "upstream_error"]], index=False)
    assert records_digest(runs, "upstream_error") == hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()
    assert records_digest(runs, "upstream_error") != records_digest(runs[::-1], "upstream_error")


def test_a_point_says_which_run_it_is():
    first, *_ = hover_labels(made_runs(2), ("E", np.array([0.25, 0.5])))
    assert (
        first
        == "run-0\nmodel_family vit, model_variant S/16, train_examples 1000, step 100, seed 0, lr 0.001\nE = 0.25"
    )


def test_a_data_set_is_named_and_its_own_columns_are_where_one_begins(tmp_path, undrawn):
    done = write_report("zhai2021", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert done.num_rows == sc.datasets.DATASETS["zhai2021"].num_rows
    assert "a x^-b + c of compute_core_days (x)" in text
    assert "The best of 262 usable runs has imagenet_10shot_error 0.151." in text
    assert "licence" in text
    with pytest.raises(ValueError, match="near names: zhai2021"):
        write_report("zhai2020", tmp_path / "page.html")


def test_what_is_not_to_be_relied_on_is_said_before_the_law():
    runs = made_runs(30)
    edge = find_edge(runs, Asked(by="model_family"))
    assert edge.laws is not None
    names = edge.laws["law"].tolist()

    def summary(**errors):
        values = [errors.get(name, 0.5) for name in names]
        told = replace(edge, laws=edge.laws.assign(heldout_log_rmse=values))
        return summary_section(told, [], Asked()).paragraphs

    assert summary(last_value=0.9)[0].startswith("The best of 30")
    assert "At ten times the largest" in " ".join(summary(last_value=0.9))
    every = summary(last_value=0.2, power=0.4)
    assert every[0] == (
        "Do not extrapolate any law: held-out runs of the frontier are predicted better without one, by the last error"
        " before them (off by 0.2 in log error), than by saturating_power (0.5); the best law is power (0.4)."
    )
    assert "At ten times the largest" not in " ".join(every)
    assert summary(last_value=0.2, power=0.1)[0].startswith("Do not extrapolate this law")
    assert "the best law" not in summary(last_value=0.2)[0]


def test_tasks_that_nothing_can_be_told_of_come_first_in_a_sentence_each():
    runs = made_runs(30, num_tasks=3).assign(task1_10shot_error=0.5, task2_10shot_error=np.nan)
    fits = list(fit_each_task(runs, Asked()))
    first, second = summary_section(find_edge(runs, Asked()), fits, Asked()).paragraphs[-2:]
    assert first.startswith("No law of transfer for 2 of 3 tasks, of the first, task1 10-shot, because: ")
    assert second.startswith("task0 10-shot: best accuracy")
    bare = list(fit_each_task(runs.assign(upstream_error=np.nan), Asked()))
    assert bare[0].best == 1 - runs["task0_10shot_error"].min()


def test_what_is_of_a_sample_is_said(monkeypatch):
    monkeypatch.setattr("scaling.report.edge._MOST_COMPARED", 10)
    monkeypatch.setattr("scaling.report.edge._MOST_OF_GROUP", 12)
    edge = find_edge(made_runs(40, num_tasks=0), Asked(by="model_family"))
    assert edge.samples == [
        "Laws of groups are fitted to at most 12 runs each",
        "The ratio of costs is of at most 10 runs of each of the two",
    ]
    said = summary_section(edge, [], Asked(seed=3)).paragraphs
    assert "Laws of groups are fitted to at most 12 runs each, at random (seed 3)." in said


def test_the_caption_says_which_law_the_band_is_of():
    for num, what in ((40, "the lower edge of all runs"), (8, "the Pareto points")):
        edge = find_edge(made_runs(num, num_tasks=0), Asked())
        assert frontier_picture(edge, Asked()).caption.endswith(f"interval of the law of {what}.")


def test_only_tasks_are_shown_as_tasks():
    runs = made_runs(12).assign(train_error=0.25)
    (best, *_) = runs_section(runs, find_edge(runs, Asked()), Asked()).tables
    assert "task0_10shot_error" in best.frame
    assert "train_error" not in best.frame


def test_words():
    assert short("x" * 10_000) == "x" * 39 + "…" + "x" * 39
    frame = pd.DataFrame({"a": ["p", "q", "q", None], "b": [1.0, 2.5, 2.5, 2.5], "c": [[1], [1], [2], None]})
    assert values_of(frame, "a") == "q, p"
    assert values_of(frame, "b", 1) == "2.5 and 1 more"
    assert values_of(frame, "c") == "[1], [2]"
    assert values_of(frame, "missing") == ""
    assert noted("here", lambda: sc.fit_law("power", [1, 2], [1, 1]))[0] is None


@pytest.mark.parametrize("path", ["missing/page.html", "."])
def test_a_page_that_has_no_place_is_told_before_any_work(path, tmp_path):
    with pytest.raises(ValueError, match="a file in a folder that is there"):
        write_report("no such records", tmp_path / path)


def test_only_the_columns_that_are_shown_are_read(tmp_path):
    runs = made_runs().assign(host="a", unknown=1.0)
    sc.write_records(runs, tmp_path / "runs.parquet")
    shown = sc.read_records(tmp_path / "runs.parquet", only=Asked(where="unknown > 0").is_shown)
    assert {"unknown", "run_id", "upstream_error", "task0_10shot_error"} <= set(shown)
    assert "host" not in shown
    pd.testing.assert_frame_equal(
        sc.read_records(tmp_path / "runs.parquet", only=lambda name: True), sc.read_records(tmp_path / "runs.parquet")
    )
