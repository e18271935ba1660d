"""Published experiments: a module a paper, with its numbers and what its authors saw in them."""
