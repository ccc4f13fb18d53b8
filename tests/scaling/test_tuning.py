import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling import FitWarning
from scaling.tuning import best_tuned, tuning_table

LRS = (1e-3, 3e-3, 1e-2)
ADDED = ["num_tried", "num_diverged", "num_failed", "num_seeds", "edge", "choice_bias"]


def runs_of(*cells, **columns):
    """A row a run: each cell is (fields, held-out errors, evaluation errors) at `LRS`."""
    rows = [
        {"lr": lr, "upstream_val_error": val, "upstream_error": error, **fields}
        for fields, vals, errors in cells
        for lr, val, error in zip(LRS, vals, errors, strict=True)
    ]
    frame = pd.DataFrame(rows).assign(step=100, weights="last", **columns)
    return frame.assign(run_id=[f"r{row}" for row in range(len(frame))])


SMALL = ({"model_variant": "S", "width": 16}, (0.5, 0.4, 0.45), (0.5, 0.42, 0.41))
LARGE = ({"model_variant": "L", "width": 64}, (0.3, 0.25, 0.4), (0.31, 0.24, 0.4))


def found_in(best, *names):
    return best[list(names)].to_numpy().tolist()


def test_the_best_of_each_cell_is_chosen_by_held_out_images():
    best = best_tuned(runs_of(SMALL, LARGE))
    found = found_in(best, "model_variant", "lr", "upstream_val_error", "upstream_error", *ADDED[:5])
    assert found == [["S", 3e-3, 0.4, 0.42, 3, 0, 0, 1, ""], ["L", 3e-3, 0.25, 0.24, 3, 0, 0, 1, ""]]
    # On the evaluation set S would have taken 1e-2 and claimed .41.
    assert best["choice_bias"].tolist() == pytest.approx([0.01, 0.0], abs=1e-12)


def test_the_rows_are_those_of_the_records_and_fit_again():
    best = best_tuned(runs_of(SMALL, LARGE, compute_flops=1e9))
    assert set(runs_of(SMALL, compute_flops=1e9).columns) <= set(best.columns)
    assert {"cell", "choice_score", *ADDED} <= set(best.columns)
    assert not [name for name in best if name.startswith("_")]


def test_an_edge_of_the_range_is_flagged():
    low, high = ((0.2, 0.3, 0.4),) * 2, ((0.4, 0.3, 0.2),) * 2
    with pytest.warns(
        FitWarning, match=r"in 2 of 2 cells the best value is at the end.*lowest lr, model_variant a"
    ) as w:
        best = best_tuned(runs_of(({"model_variant": "a"}, *low), ({"model_variant": "b"}, *high)))
    assert w[0].message.kind == "edge_of_range"
    assert best["edge"].tolist() == ["lowest lr", "highest lr"]


def test_zero_is_no_edge_below():
    runs = runs_of(SMALL).assign(weight_decay=[0, 0.1, 1], lr=1e-3, upstream_val_error=[0.1, 0.2, 0.3])
    assert best_tuned(runs, ["weight_decay"])["edge"].tolist() == [""]


def test_a_diverged_value_beyond_brackets_the_best():
    runs = runs_of(SMALL).assign(status=["ok", "ok", "diverged"], upstream_val_error=[0.5, 0.4, None])
    runs["upstream_error"] = [0.5, 0.4, None]
    best = best_tuned(runs)
    assert found_in(best, "lr", "num_tried", "num_diverged", "edge") == [[3e-3, 3, 1, ""]]


def test_a_failed_run_is_no_value_that_was_tried():
    runs = runs_of(SMALL).assign(status=["ok", "ok", "oom"], upstream_val_error=[0.5, 0.4, None])
    with pytest.warns(FitWarning, match="highest lr"):
        best = best_tuned(runs)
    assert found_in(best, "lr", "num_tried", "num_failed", "edge") == [[3e-3, 2, 1, "highest lr"]]


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_a_cell_in_which_nothing_came_to_an_end_is_left_out_with_a_warning(status):
    runs = runs_of(SMALL, LARGE).assign(status=[status] * 3 + ["ok"] * 3)
    with pytest.warns(FitWarning, match="in 1 of 2 cells no value has a result") as w:
        assert best_tuned(runs)["model_variant"].tolist() == ["L"]
    assert w[0].message.kind == "dropped_points"


def test_of_equal_scores_the_lowest_value_is_chosen():
    runs = runs_of(({}, (0.4, 0.3, 0.3), (0.4, 0.3, 0.3))).iloc[::-1]
    assert best_tuned(runs)["lr"].tolist() == [3e-3]


def test_a_cell_of_one_value_is_flagged():
    runs = runs_of(SMALL, LARGE).iloc[:4]
    with pytest.warns(
        FitWarning, match=r"in 1 of 2 cells one value of \['lr'\]: nothing was chosen; the first: .* L"
    ) as w:
        best = best_tuned(runs)
    assert [warning.message.kind for warning in w] == ["one_value"]
    assert found_in(best, "num_tried", "edge") == [[3, ""], [1, ""]]


def test_the_last_step_of_each_run_counts_and_weights_are_apart():
    """A row on the way is better than the end; the moving average's best is at another rate."""
    runs = runs_of(SMALL)
    on_the_way = runs.assign(step=50, upstream_val_error=0.01)
    ema = runs.assign(weights="ema", upstream_val_error=[0.3, 0.2, 0.1])
    with pytest.warns(FitWarning, match="in 1 of 2 cells the best value is at the end"):
        best = best_tuned(pd.concat([on_the_way, runs, ema]))
    assert found_in(best, "weights", "lr", "step") == [["ema", 1e-2, 100], ["last", 3e-3, 100]]


# Seeds --------------------------------------------------------------------------------------------------------

# Means over seeds .4, .35, .42; alone, seed 0 takes the lowest rate and seed 1 the middle one.
SEEDS = (
    ({"seed": 0}, (0.3, 0.4, 0.5), (0.3, 0.4, 0.5)),
    ({"seed": 1}, (0.5, 0.3, 0.34), (0.52, 0.3, 0.3)),
)


def test_seeds_are_cells_of_their_own_or_averaged():
    with pytest.warns(FitWarning, match="the first: lowest lr, lr 0.001, seed 0"):
        assert best_tuned(runs_of(*SEEDS))["lr"].tolist() == [1e-3, 3e-3]
    best = best_tuned(runs_of(*SEEDS), over_seeds=True)
    assert found_in(best, "seed", "lr", "num_seeds", "num_tried", "edge") == [
        [0, 3e-3, 2, 3, ""],
        [1, 3e-3, 2, 3, ""],
    ]
    assert best["choice_score"].tolist() == pytest.approx([0.35, 0.35])
    assert best["upstream_val_error"].tolist() == [0.4, 0.3]
    assert best["choice_bias"].tolist() == pytest.approx([0, 0])  # means .41, .35, .4


def test_only_values_that_all_seeds_have_are_compared():
    runs = runs_of(*SEEDS).drop(index=4)  # 3e-3 of seed 1
    with pytest.warns(FitWarning, match="lowest lr"):
        best = best_tuned(runs, over_seeds=True)
    assert found_in(best, "seed", "lr") == [[0, 1e-3], [1, 1e-3]]


def test_a_value_at_which_a_seed_diverged_is_never_chosen():
    runs = runs_of(*SEEDS).assign(status=["ok"] * 4 + ["diverged", "ok"])
    with pytest.warns(FitWarning, match="lowest lr"):
        best = best_tuned(runs, over_seeds=True)
    assert found_in(best, "lr", "num_diverged") == [[1e-3, 1], [1e-3, 1]]


# Several tuned columns ----------------------------------------------------------------------------------------


def test_two_tuned_columns_are_one_grid():
    grid = pd.DataFrame([(lr, wd) for lr in LRS for wd in (0.01, 0.1)], columns=["lr", "weight_decay"])
    val = [0.5, 0.4, 0.45, 0.2, 0.3, 0.35]
    runs = grid.assign(upstream_val_error=val, upstream_error=val, step=1, weights="last", run_id=list("abcdef"))
    with pytest.warns(FitWarning, match="highest weight_decay"):
        best = best_tuned(runs, ["lr", "weight_decay"])
    assert found_in(best, "run_id", "num_tried", "edge") == [["d", 6, "highest weight_decay"]]


def test_a_column_that_follows_is_named():
    """Where a spec gives none, the head's weight decay is the body's."""
    runs = runs_of(SMALL).assign(lr=1e-3, weight_decay=[0, 0.1, 1], head_weight_decay=[0, 0.1, 1])
    with pytest.raises(ValueError, match=r"no two runs differ in \['weight_decay'\] alone.*\['head_weight_decay'\]"):
        best_tuned(runs, ["weight_decay"])
    assert len(best_tuned(runs, ["weight_decay", "head_weight_decay"])) == 1


def test_what_is_tuned_may_be_a_name():
    runs = runs_of(SMALL).assign(lr=1e-3, augment=["none", "crop_flip", None])
    assert found_in(best_tuned(runs, ["augment"]), "augment", "edge") == [["crop_flip", ""]]


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["upstream_error", "upstream_loss", "pets_5shot_error"])
def test_the_evaluation_set_never_chooses(score):
    runs = runs_of(SMALL, upstream_loss=1.0, pets_5shot_error=0.5)
    with pytest.raises(ValueError, match="score must be a column of held-out training images"):
        best_tuned(runs, score=score, y="pets_5shot_error")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda runs: runs.drop(columns="upstream_val_error"),
            "column 'upstream_val_error' is missing: without an",
        ),
        (
            lambda runs: runs.assign(upstream_val_error=[0.5, None, 0.4]),
            "run 'r1' is nan .1 such.: without an error on",
        ),
        (lambda runs: runs.assign(upstream_val_error=[0.5, 50, 0.4]), "percent"),
        (lambda runs: runs.assign(upstream_error=[0.5, None, 0.4]), "column 'upstream_error' must hold a number"),
        (lambda runs: runs.drop(columns="lr"), "column 'lr' is missing"),
        (lambda runs: runs.drop(columns="run_id"), "column 'run_id' is missing"),
        (lambda runs: runs.iloc[:0], "at least one row"),
        (lambda runs: runs.assign(lr=[1e-3, 1e-3, 2e-3]), "runs 'r0' and 'r1' are alike in every column"),
        (lambda runs: runs.assign(lr=1e-3, model_variant=list("abc")), "no two runs differ in .'lr'. alone"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        best_tuned(change(runs_of(SMALL)))


def test_tuned_must_be_columns_and_no_seed():
    with pytest.raises(ValueError, match="tuned must be a list of one or more names, got 'lr'"):
        best_tuned(runs_of(SMALL), "lr")
    with pytest.raises(ValueError, match="the best seed is luck"):
        best_tuned(runs_of(*SEEDS), ["lr", "seed"])
    with pytest.raises(ValueError, match="column 'seed' is missing"):
        best_tuned(runs_of(SMALL), over_seeds=True)


def test_columns_that_records_lack_may_tell_cells_apart():
    runs = pd.concat([runs_of(SMALL).assign(stem_kernel=alpha) for alpha in (0.0, 0.2)])
    runs["run_id"] = list("abcdef")
    with pytest.raises(ValueError, match="name what tells them apart in `by` or `tuned`"):
        best_tuned(runs)
    assert best_tuned(runs, by=["stem_kernel"])["stem_kernel"].tolist() == [0.0, 0.2]


# Properties ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), over_seeds=st.booleans())
def test_the_order_of_rows_changes_nothing(seed, over_seeds):
    rng = np.random.default_rng(seed)
    cells = [
        ({"model_variant": name, "train_examples": size, "seed": number}, *rng.integers(0, 4, (2, 3)) / 4)
        for name in ("S", "L") for size in (1000, 10_000) for number in (0, 1)
    ]  # fmt: skip
    runs = runs_of(*cells, status=rng.choice(["ok", "ok", "diverged", "failed"], 24)).drop(index=rng.integers(0, 24))
    shuffled = runs.iloc[rng.permutation(len(runs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        a, b = (best_tuned(frame, over_seeds=over_seeds) for frame in (runs, shuffled))
        table = tuning_table(runs, over_seeds=over_seeds)
    pd.testing.assert_frame_equal(a, b)
    assert (a["choice_bias"] >= 0).all()
    assert (a["upstream_val_error"] >= 0).all()
    assert table["is_chosen"].sum() == len(a)
    best = table.groupby("cell")["choice_score"].min()
    assert a["choice_score"].tolist() == best.loc[a["cell"]].tolist()
