"""Vectors over the parts of a batch of instances: scores, marginals, costs and gradients."""
