"""Several runs side by side: a table, learning curves, and whether they differ by more than
chance.
"""
