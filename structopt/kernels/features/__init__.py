"""Scores of features and their gradients."""
