"""How sure a fit is: bootstrap, profile, derived values, simulated worlds."""
