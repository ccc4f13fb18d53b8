"""A spec and what it becomes: fields, recipes, configs, the grid of runs."""
