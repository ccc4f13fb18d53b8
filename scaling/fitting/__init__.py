"""From points to a fitted law: objectives, starts, the solver, the result and its text."""
