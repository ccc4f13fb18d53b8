"""A sweep: which runs are left, who trains them, what is written, in which order."""
