"""Texts to summarize and their reference summaries: JSON lines, plain text, CoNLL-U."""
