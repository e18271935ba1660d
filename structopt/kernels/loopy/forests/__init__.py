"""Spanning forests of pairwise graphs: their layout, messages, passes and marginals, and the bound
that they give.
"""
