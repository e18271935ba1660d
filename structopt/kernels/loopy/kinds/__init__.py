"""Factors of the core's kinds, a file a kind: the best configuration and the marginals of one
factor.
"""
