"""All measurements cost less than a quarter of the training; recorded figures are in results/."""

import pytest

from sweeps.specs.spec import read_spec

from .measurement_cost import DEMO, cost_table, measured_plan

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
def test_all_measurements_of_a_trunk_of_the_demo():
    """Of 60 to 2000 steps; one of 400 and less costs a larger share. Both are CPU seconds of the same minutes."""
    trunks = [trunk for trunk in measured_plan(read_spec(DEMO)).trunks if trunk.configs[0].model.variant == "w32d2/8"]
    row = cost_table([max(trunks, key=lambda trunk: trunk.num_steps)]).iloc[0]
    assert row["runs"] == 5
    assert 0 < row["measured"] < 0.25 * row["training"]
