"""Columns of the tokens of files and sentences, and the templates that look at them."""
