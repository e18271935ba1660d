"""Published experiments: a module a paper, with its numbers and its authors' observations."""
