"""Parameters that several optimizers have: what they mean, and checks of their values.

The docstring of an optimizer says "See `structopt.learning.options`." of those that have no special
meaning there; then schemas take their texts from here (`structopt.config.schema`).

Parameters
----------
average : bool
    Return the mean of all iterates (before each update, one a visit) instead of the last one.
batch_size : int
    Instances a step. The threads of the executor share them, with bit-identical results for any
    number of threads.
"""
