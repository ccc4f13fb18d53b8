import numpy as np
import pytest

import scaling as sc
from scaling import tables

X = np.geomspace(1, 1e3, 12)
FIT = sc.fit_law("power", X, 0.5 * X**-0.25 * np.exp(0.02 * np.random.default_rng(0).standard_normal(12)))


def test_the_table_is_that_of_the_fit():
    table = tables.compare_with_printed(FIT, {"b": 0.25, "a": 0.5}, level=0.9)
    assert table.index.tolist() == ["b", "a"]
    assert table["printed"].tolist() == [0.25, 0.5]
    assert table["fitted"].tolist() == [FIT.params["b"], FIT.params["a"]]
    assert [tuple(row) for row in table[["low", "high"]].to_numpy()] == [FIT.interval("b", 0.9), FIT.interval("a", 0.9)]


def test_a_printed_value_is_all_that_rounds_to_it():
    high = FIT.interval("b")[1]
    step = 10.0**-3
    above = f"{np.ceil(high / step) * step:.3f}"  # beyond the interval by less than a unit of the last decimal
    is_near = float(above) - 0.5 * step <= high
    assert tables.compare_with_printed(FIT, {"b": above})["is_inside"].tolist() == [is_near]
    assert not tables.compare_with_printed(FIT, {"b": f"{high + 2 * step:.3f}"})["is_inside"].any()
    # With two decimals more, the same number says more.
    assert not tables.compare_with_printed(FIT, {"b": above + "00"})["is_inside"].any()


@pytest.mark.parametrize("printed", [{}, {"c": 0.1}, {"a": 0.5, "d": 1.0}])
def test_a_parameter_that_the_law_does_not_have_is_refused(printed):
    with pytest.raises(ValueError, match=r"printed must name parameters among \('a', 'b'\)"):
        tables.compare_with_printed(FIT, printed)


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        tables.compare_with_printed(FIT, {"a": np.nan})


def test_zhais_printed_laws_lie_in_the_intervals_of_the_frontiers_law():
    """Both laws of Figure 9 on ImageNet, by least squares on the Pareto frontier."""
    runs = sc.datasets.load("zhai2021")
    laws = sc.datasets.table("zhai2021_printed_laws").set_index("task").loc[:, ["a", "b", "c", "d"]]
    for shots in (5, 10):
        front = sc.fit_frontier(
            runs["compute_core_days"], runs[f"imagenet_{shots}shot_error"], law="double_saturating_power",
            objective="least_squares", num_draws=200,
        )  # fmt: skip
        printed = laws.loc[f"ImageNet {shots}-shot"]
        printed = printed.iloc[0] if printed.ndim > 1 else printed  # Figure 4 has the 10-shot one of other images
        assert tables.compare_with_printed(front, printed)["is_inside"].all()
