"""Files of sparse vectors with labels: LIBSVM, ARFF, Mulan."""
