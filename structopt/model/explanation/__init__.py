"""What a model has learnt, and what decided one of its predictions, in names that people know."""
