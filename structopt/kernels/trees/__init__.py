"""Dependency trees: Chu-Liu-Edmonds, the matrix-tree theorem, Eisner, inside-outside, k best."""
