"""The language of feature templates: over columns of tokens, and over dependency arcs."""
