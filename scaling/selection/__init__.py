"""Which points a law is fitted to: hulls, the Pareto frontier, the stochastic frontier."""
