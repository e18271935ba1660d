"""Clusters of three variables that tighten the linear relaxation of a pairwise graph: its
reparametrisation, the passes on it, and the search for clusters.
"""
