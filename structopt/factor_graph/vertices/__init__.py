"""Lists of all outputs of a graph, for the reference."""
