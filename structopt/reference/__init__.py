"""Solutions by general-purpose solvers, which the learning algorithms are compared with."""
