"""Alternating directions dual decomposition: subproblems of factors, bounds, branch and bound."""
