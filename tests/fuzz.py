"""How many examples the tests of damaged input draw: few by default, `FUZZ_EXAMPLES=2000` for a long search."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["FUZZ", "NUM_EXAMPLES"]

NUM_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "30"))
# A slow machine is no fault, and fixtures are only folders that each example overwrites. Few examples are the same ones
# in each run; a long search draws new ones.
FUZZ = settings(
    max_examples=NUM_EXAMPLES,
    deadline=None,
    derandomize=NUM_EXAMPLES <= 100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
