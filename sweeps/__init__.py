"""Train grids of vision models over model size, subset size and step count, and log `scaling`'s records."""
