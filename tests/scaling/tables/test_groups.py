import numpy as np
import pandas as pd
import pytest

from scaling.tables import VTAB_GROUPS, extreme_tasks, group_means, task_gaps, vtab_task

TASKS = [task for tasks in VTAB_GROUPS.values() for task in tasks]


def table(**change):
    values = pd.DataFrame([np.arange(19.0), np.arange(19.0)[::-1]], index=["up", "down"], columns=TASKS)
    return values.assign(**change)


def test_vtab_has_seven_four_and_eight_tasks():
    assert [len(tasks) for tasks in VTAB_GROUPS.values()] == [7, 4, 8]
    assert len(set(TASKS)) == 19


@pytest.mark.parametrize(
    "name", ["dosovitskiy2020_table9_vtab.csv", "abnar2021_table5_vtab_hwd.csv"], ids=["ViT", "Abnar"]
)
def test_every_spelling_of_the_papers_is_known(published, name):
    frame = published(name)
    names = frame.columns[1:-1] if "vtab.csv" in name else frame.dataset[:-4]
    assert sorted(map(vtab_task, names)) == sorted(TASKS)


def test_the_mean_of_all_weighs_tasks_not_groups():
    means = group_means(table()).loc["up"]
    assert means["All"] == 9
    assert means[["Natural", "Specialized", "Structured"]] @ [7 / 19, 4 / 19, 8 / 19] == pytest.approx(9, rel=1e-15)


def test_extremes_and_gaps():
    assert extreme_tasks(table()).lowest.tolist() == [TASKS[0], TASKS[-1]]
    gaps = task_gaps(table(), "up", "down")
    assert gaps.index[0] == TASKS[-1]
    assert gaps.gap.is_monotonic_decreasing
    assert gaps.group.value_counts().to_dict() == {"Structured": 8, "Natural": 7, "Specialized": 4}


def test_columns_of_no_group_are_left_out():
    assert group_means(table(Mean=1e9)).equals(group_means(table()))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table().drop(columns="svhn"), "'svhn' is missing"),
        (table(Pets=1.0), "'pets' occurs twice"),
        (table(svhn=np.nan), "'svhn' of 'up' has none"),
        (pd.concat([table(), table()]), "'up' occurs twice"),
    ],
)
def test_bad_tables_are_named(frame, message):
    with pytest.raises(ValueError, match=message):
        group_means(frame)


def test_an_unknown_row_is_named_with_near_ones():
    with pytest.raises(ValueError, match="no row has the label 'dwn'; there is down"):
        task_gaps(table(), "up", "dwn")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"All": ["svhn"]}, "no group may have the name of the overall mean, 'All'"),
        ({"g": []}, "group 'g' must be a list of one or more names"),
        ({"g": "xy"}, "group 'g' must be a list of one or more names, got 'xy'"),
        ({}, "at least one group"),
    ],
)
def test_bad_groups_are_named(groups, message):
    with pytest.raises(ValueError, match=message):
        group_means(table(), groups)
    if "All" not in groups:
        with pytest.raises(ValueError, match=message):
            extreme_tasks(table(), groups)
