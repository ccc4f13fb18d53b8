"""One run: its steps, its state, its checkpoints."""
