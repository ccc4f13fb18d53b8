"""What every data set of the table keeps to; a new one is tested because it is listed."""

import re

import numpy as np
import pytest

from scaling.datasets import DATASETS, load
from scaling.schema import RECORDS

TASK_COLUMN = r"[a-z0-9_-]+_(\d+shot|finetune|zero_shot)(_top5)?_error"  # fashion-mnist is a task too
POSITIVE = [
    "num_params",
    "flops_per_image",
    "compute_flops",
    "compute_core_days",
    "images_seen",
    "train_examples",
    "image_size",
]


@pytest.fixture(scope="module")
def loaded():
    return {}


@pytest.fixture(params=DATASETS)
def data_set(request):
    found = DATASETS[request.param]
    if not found.is_shipped:
        request.getfixturevalue("data_folder")
    return found


@pytest.fixture
def runs(data_set, loaded):
    """`load` validates: the key is there and does not repeat, fractions lie in [0, 1]."""
    if data_set.name not in loaded:
        loaded[data_set.name] = load(data_set.name)
    return loaded[data_set.name]


def test_its_rows_are_those_that_it_says(data_set, runs):
    assert data_set.num_rows in (None, len(runs))
    assert len(runs) >= 2


def test_errors_are_fractions_and_not_all_of_them_zero_or_null(runs):
    errors = [name for name in runs if name.endswith("_error")]
    for name in errors:
        values = runs[name].dropna()
        assert values.between(0, 1).all(), name
        assert name in RECORDS or values.max() > 0, name


def test_columns_of_errors_are_of_the_schema_or_of_a_task(data_set, runs):
    own = [name for name in runs if name.endswith("_error") and name not in RECORDS]
    odd = [name for name in own if not re.fullmatch(TASK_COLUMN, name)]
    assert odd == (["imagenet_error"] if data_set.name == "recipe_architecture_factors" else [])


def test_costs_and_sizes_are_positive(runs):
    for name in set(POSITIVE) & set(runs):
        assert (runs[name].dropna() > 0).all(), name


def test_flops_say_how_they_were_counted(runs):
    costs = [name for name in ("flops_per_image", "compute_flops") if name in runs]
    if costs:
        counted = runs[costs].notna().any(axis=1)
        assert runs.loc[counted, "flops_rule"].notna().all()


def test_the_source_is_one_that_the_citation_names(data_set, runs):
    assert runs["source"].notna().all()
    assert all(source in data_set.citation for source in runs["source"].unique())


def test_it_can_be_begun_with_its_x_and_y(data_set, runs):
    both = runs[[data_set.x, data_set.y]].dropna().to_numpy(float)
    assert len(both) >= 2
    assert (both > 0).all()
    assert np.ptp(both[:, 0]) > 0


def test_what_is_said_of_the_upstream_error_is_so(data_set, runs):
    assert runs["upstream_error"].isna().all() == data_set.upstream_error.startswith("null")


def test_it_says_what_it_is(data_set):
    texts = [data_set.summary, data_set.citation, data_set.licence, data_set.upstream_error]
    assert all(text.strip() == text != "" for text in texts)
    assert data_set.files


def test_a_file_to_fetch_has_a_pinned_commit_and_a_digest_or_none(data_set):
    for file in data_set.files:
        if file.url is not None:
            assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", file.url)
        for each in filter(None, (file, file.reduced)):
            assert each.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", each.sha256)


def test_its_tables_are_told_and_another_is_refused_in_one_line(data_set):
    assert data_set.tables[0] == "records"
    for table in data_set.tables[1:]:
        assert len(load(data_set.name, table=table)) > 0
    with pytest.raises(ValueError, match=rf"^data set '{data_set.name}' has the tables records.*, got 'none'$"):
        load(data_set.name, table="none")
