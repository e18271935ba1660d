"""Costs of wrong outputs, one a file; the losses count them, by ``loss.cost=NAME``."""
