"""Files of dependency trees: CoNLL-U, CoNLL-X, columns of the Penn Treebank."""
