"""Learners' passes, and what their steps solve."""
