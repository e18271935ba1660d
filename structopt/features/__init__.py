"""Scorers: what makes part scores of weights, one component a module, and what they are made of."""
