"""Five word vectors, in the forms that are read."""

import io

import numpy as np

from structopt.formats.vectors.word_vectors import read_word_vectors

WORDS = ["</s>", "the", "1984", "a", "caf\xe9"]
MATRIX = np.array([[0, 0.5, -1], [1e-3, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, -2.5e-2]], np.float32)


def text(header=True, between=" ", end="\n"):
    rows = [
        between.join([word, *(repr(x) for x in row)])
        for word, row in zip(WORDS, MATRIX.tolist(), strict=True)
    ]
    return end.join([*(["5 3"] if header else []), *rows, ""]).encode()


def binary(end=b"\n", matrix=MATRIX, header=b"5 3\n"):
    return header + b"".join(
        word.encode() + b" " + row.tobytes() + end for word, row in zip(WORDS, matrix, strict=True)
    )


def vectors_of(path, wanted=(*WORDS, "none"), **options):
    found = read_word_vectors(path, wanted, **options)
    assert found.matrix.dtype == np.float32
    return {word: found.matrix[number].tolist() for word, number in found.numbers.items()}


ALL = dict(zip(WORDS, MATRIX.tolist(), strict=True))


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()
