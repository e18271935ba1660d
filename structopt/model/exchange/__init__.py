"""Models in the files of other programs, and weights by name."""
