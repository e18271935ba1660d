"""Functions of scores: values, marginals, best outputs, samples, losses.

Each takes a batch of instances at once, checks its arguments, and makes one compiled call per
thread.
"""
