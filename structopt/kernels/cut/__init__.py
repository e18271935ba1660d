"""Minimum cuts: the linear relaxation of graphs of two-state pairs, and expansion moves."""
