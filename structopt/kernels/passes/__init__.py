"""Drivers over instances that learners and predictions share, one per module: a command loads only
the drivers that it calls.

A driver calls only the kernels among its arguments. Un-compiled (``driver.py_func``) it takes plain
Python functions.
"""

LEAST = -1e300
"""The value of an inference is above it if there is an output."""
