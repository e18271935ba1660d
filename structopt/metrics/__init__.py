"""Counts and scores of predictions."""
