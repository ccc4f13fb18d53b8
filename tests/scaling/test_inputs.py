"""Arguments of a wrong type are told in one line, whatever they are."""

import numpy as np
import pandas as pd
import pytest

from scaling import convex_hull, datasets, pareto_frontier, published, tuning
from scaling.frames import check_columns, check_names, column_of, there_is
from scaling.groups import number_groups
from scaling.inputs import check_num_draws, check_number, check_whole, generator, numbers

WRONG = (None, "abc", b"x", [1, "a"], {}, {"a": 1}, {1, 2}, object(), 1 + 2j, pd.NA)
DAYS = pd.to_datetime(["2024-01-01", "2024-01-02"])


@pytest.mark.parametrize(
    "values", [*WRONG[1:], [10**400], DAYS, DAYS.to_numpy()], ids=lambda value: type(value).__name__
)
def test_values_that_are_no_numbers(values):
    with pytest.raises(ValueError, match="x must hold numbers"):
        numbers("x", values)
    for function in (pareto_frontier, convex_hull, published.alabdulmohsin2022_m1):
        with pytest.raises(ValueError, match=r"[xy] must"):
            function(values, [1.0, 2.0])


@pytest.mark.parametrize("value", [*WRONG, True, 2.5, 0, np.nan, np.inf], ids=lambda value: type(value).__name__)
def test_a_number_that_is_not_whole(value):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got"):
        check_whole("n", value, 1)
    with pytest.raises(ValueError, match="num_bins must be a whole number"):
        published.cherti2023([1.0, 2.0], [2.0, 1.0], num_bins=value)


@pytest.mark.parametrize("value", [*WRONG, 0, -1.0, np.nan, np.inf], ids=lambda value: type(value).__name__)
def test_an_amount_that_is_none(value):
    with pytest.raises(ValueError, match="delta must be positive and finite, got"):
        check_number("delta", value, positive=True)


def test_tables_and_names_of_columns():
    frame = pd.DataFrame({"day": DAYS, "error": [0.1, 0.2]})
    with pytest.raises(ValueError, match="column 'day' must hold finite numbers"):
        column_of(frame, "day")  # the nanoseconds of a time would pass for a number
    for value in WRONG:
        with pytest.raises(ValueError, match="a table must be a pandas DataFrame"):
            check_columns(value, "a")
        with pytest.raises(ValueError, match="is missing; there is day, error"):
            check_columns(frame, value)
        with pytest.raises(ValueError, match=r"tuned must be a list of one or more names|column 1 is missing"):
            check_names("tuned", value, frame)
        with pytest.raises(ValueError, match="a table must be a pandas DataFrame"):
            tuning.best_tuned(value)
        with pytest.raises(ValueError, match="no data set is named"):
            datasets.load(value)


def test_labels_that_differ_in_spelling_alone_are_two_groups_and_told():
    with pytest.warns(UserWarning, match="groups: 'ViT-S' and 'vit s' are two groups"):
        assert number_groups(["ViT-S", "vit s", "vits"], 3)[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "a"])
def test_a_number_of_draws_is_whole_and_at_least_1(wrong):
    with pytest.raises(ValueError, match="num_draws must be a whole number of at least 1, got"):
        check_num_draws(wrong)


def test_draws_that_no_memory_holds_are_refused():
    check_num_draws(10_000_000)
    with pytest.raises(ValueError, match=r"num_draws must be at most 10,000,000, got 1e\+29"):
        check_num_draws(10**29)


def test_a_number_that_no_double_holds_is_refused():
    for wrong in (10**400, np.inf, np.nan, -1, True, "1"):
        with pytest.raises(ValueError, match=r"tolerance must be a finite number of at least 0, got"):
            convex_hull([1, 2], [1, 2], tolerance=wrong)


@pytest.mark.parametrize("wrong", ["seed", 1.5, -1, np.array([0.5]), object()])
def test_a_wrong_generator_is_one_line(wrong):
    with pytest.raises(ValueError, match="rng must be a numpy Generator, a seed or None, got"):
        generator(wrong)


def test_a_generator_goes_on_and_a_seed_begins():
    given = np.random.default_rng(3)
    assert generator(given) is given
    assert generator(None).random() == generator(0).random() == np.random.default_rng(0).random()


def test_near_names_come_before_all():
    assert there_is(["learning_rate", "seed"], "learning rate") == "there is learning_rate"
    assert there_is([]) == "there is none"
