import numpy as np
import pandas as pd
import pytest

from scaling.tables import chip_days, core_days, days_on_cores, error_cut, pairwise_ratios


def test_days_on_the_same_cores_come_back():
    assert days_on_cores(core_days([8, 2048], [30, 5]), [8, 2048]).tolist() == [30, 5]


def test_a_chip_of_one_core_has_as_many_chip_days():
    assert chip_days(9900, cores_per_chip=1) == 9900


def test_ratios_are_each_others_inverse_and_one_to_themselves():
    ratios = pairwise_ratios({"a": 2.5, "b": 0.68, "c": 12.3}).to_numpy()
    assert np.allclose(ratios * ratios.T, 1, rtol=1e-15)
    assert np.all(np.diag(ratios) == 1)


def test_ratios_do_not_depend_on_the_unit():
    costs = {"a": 2.5, "b": 0.68}
    scaled = {name: 1000 * cost for name, cost in costs.items()}
    assert np.allclose(pairwise_ratios(costs), pairwise_ratios(scaled), rtol=1e-14)


@pytest.mark.parametrize(
    "call", [lambda: core_days(0, 1), lambda: chip_days(-1), lambda: pairwise_ratios({"a": np.nan})]
)
def test_what_is_not_positive_is_refused(call):
    with pytest.raises(ValueError, match="must be positive and finite"):
        call()


@pytest.mark.parametrize("call", [core_days, days_on_cores, error_cut])
def test_shapes_that_differ_are_named(call):
    with pytest.raises(ValueError, match=r"shapes must be equal or broadcast, got \w+ \(3,\), \w+ \(2,\)"):
        call([0.1, 0.2, 0.3], [0.1, 0.2])


def test_error_cut_of_no_change_is_zero_and_of_all_is_one():
    assert error_cut([0.2, 0.2, 0.2], [0.2, 0.0, 0.3]).tolist() == pytest.approx([0, 1, -0.5])


def test_error_cut_asks_about_percent_and_refuses_no_error():
    with pytest.raises(ValueError, match="is this percent"):
        error_cut([12.46], [11.45])
    with pytest.raises(ValueError, match="the same index"):
        error_cut(pd.Series([0.1], index=["pets"]), pd.Series([0.1], index=["dtd"]))
    with pytest.raises(ValueError, match="row 1 is 0"):
        error_cut([0.1, 0.0], [0.1, 0.1])
