"""Image sets too large to hold decoded: read from disk step by step, in an order that is a function of (seed, step).

`index` says what there is and needs no torch; `images` is a set or a subset of it, `source` the batches of training.
"""
