"""A sweep while it runs: its state as text and figure."""
