"""Numbers of tokens beside their attributes: word vectors, numeric columns, matrices."""
