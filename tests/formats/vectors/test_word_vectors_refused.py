"""Files that are no word vectors, or damaged ones, and the text of every error."""

import gzip
import os
import pickle
import re

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.vectors import word_vectors_bytes
from structopt.formats.vectors.word_vectors import read_word_vectors
from tests.formats.vectors.word_vector_files import MATRIX, WORDS, binary, saved, text, vectors_of

FILE = "vectors.txt"
INFINITE = np.array([[0, 0, 0]] * 2 + [[1, np.inf, np.nan]] * 3, np.float32)


class TestRefusals:
    """Malformed samples, and what is told of each."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                "2 2\na 1 2\nb 3\n",
                ":3: numbers after the word: 1, where line 1 says 2; the file is cut off or "
                "damaged",
            ),
            (
                "a 1 2\nx 3\n",
                ":2: numbers after the word: 1, where line 1 has 2; the file is cut off or "
                "damaged here",
            ),
            ("2 2\nx\na 1 2\n", ":2: numbers after the word: 0, where line 1 says 2"),
            (
                "a 1 2\nx 1 2 3\n",
                ":2: numbers after the word: 3, where line 1 has 2; the file is cut off",
            ),
            ("a 1 2\nx 1 2 3 4\n", ":2: numbers after the word: 4, where line 1 has 2"),
            ("a 1 2\nb  1\n", ":2: numbers after the word: 1, where line 1 has 2"),
            (
                "a 1 2\nb 1 x\n",
                ":2: 'x' stands among the numbers, and is none: the file is cut off or damaged "
                "here: copy or",
            ),
            ("a 1 2\nb 1_0 2\n", ":2: '1_0' stands among the numbers"),
            ("a 1 2\nb \u0661 2\n", ":2: '\u0661' stands among the numbers"),
            ("a 1 2\nb 1,5 2\n", ":2: '1,5' stands among the numbers"),
            ("a 1 x 3\n", ":1: 'x' stands among the numbers, and is none"),
            (
                "a 1 2\nb 1 nan\n",
                ":2: number 2 of the vector of 'b' is nan, and numbers must be finite in single "
                "precision:",
            ),
            ("3 2\nx 1 inf\n\nb -inf 2\na 1 2\n", ":4: number 1 of the vector of 'b' is -inf"),
            ("a 1 2\nb 1e39 2\n", ":2: number 1 of the vector of 'b' is inf"),
            (
                "3 2\na 1 2\nb 1 2\n",
                ":1: the line says that 3 vectors follow, and 2 do: the file is truncated; copy "
                "or download",
            ),
            (
                "1 2\na 1 2\nb 1 2\n",
                ":1: the line says that 1 vectors follow, and 2 do: correct it, or make the file "
                "again.",
            ),
            ("3 2\n", ":1: the line says that 3 vectors follow, and 0 do: the file is truncated"),
            (
                "3 0\na\n",
                ":1: the first line says that vectors have 0 numbers: make the file again.",
            ),
            (
                "the cat sat\n",
                ":1: word vectors begin with a line 'COUNT DIMENSIONS' (word2vec, fastText) or a "
                "word and its",
            ),
            ("the\ncat\n", ":1: word vectors begin with"),
            ("\na 1 2\n", ":1: word vectors begin with"),
            ("", ": the file is empty: check the path, or make the file again."),
            ("\n \r\n\n", ": the file is empty: check the path, or make the file again."),
        ],
    )
    @pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
    def test_text(self, make, content, message, name):
        path = make(content, name)
        with pytest.raises(DataError, match=f"^{re.escape(f'{path}{message}')}"):
            read_word_vectors(path, ["a", "b"])

    def test_a_line_without_end(self, make, monkeypatch):
        monkeypatch.setattr(word_vectors_bytes, "LONGEST_LINE", 1000)
        with pytest.raises(
            DataError,
            match="a line has over 1000 bytes, so this is no text of word vectors: check the path.",
        ):
            read_word_vectors(make("a 1 2\n" + "b" * 1001), ["a"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                binary()[:-2],
                "the first line says that 5 vectors follow, and the file ends in vector 5: it is "
                "truncated; copy or",
            ),
            (
                binary()[:30],
                "the first line says that 5 vectors follow, and the file ends in vector 2: it is "
                "truncated",
            ),
            (b"5 3\n", "the line says that 5 vectors follow, and 0 do: the file is truncated"),
            (
                binary(header=b"4 3\n"),
                "the first line says that 4 vectors follow, and there is more after them: the "
                "line is",
            ),
            (binary(header=b"5 2\n"), "the first line says that 5 vectors follow"),
            (
                binary(matrix=INFINITE),
                "vector 3: number 2 of the vector of '1984' is inf, and numbers must be finite",
            ),
            (
                b"2 3\na \0" + b"\1" * (5 << 20),
                "vector 2 has a word of over 65536 bytes, so the first line does not fit what",
            ),
        ],
    )
    def test_binary(self, make, content, message):
        path = make(content)
        with pytest.raises(DataError, match=f"^{re.escape(str(path))}:.*{re.escape(message)}"):
            read_word_vectors(path, WORDS)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                (793712314).to_bytes(4, "little") + bytes(40),
                "this is a model of fastText; give the .vec file that fastText",
            ),
            (
                pickle.dumps({"a": 1}),
                "this is a pickle (gensim, PyTorch), which may run programs when it is read; "
                "write the",
            ),
            (
                b"PK\x03\x04" + bytes(40),
                "this is an archive, an .npz or a model of PyTorch; unpack it, or write the "
                "vectors as",
            ),
            (
                b"\x40" + bytes(7) + b'{"a":{}}',
                "this is a safetensors file, which has no words; write its matrix with",
            ),
            (
                b"\x89HDF\r\n\x1a\n",
                "this is an HDF5 file; write the vectors as text: in gensim, "
                "vectors.save_word2vec_format(",
            ),
            (
                bytes(range(40)),
                "this is neither text nor a binary file of word2vec, which begins with COUNT "
                "DIMENSIONS: write",
            ),
            ("a 1\n".encode("utf-16"), "this is neither text nor a binary file of word2vec"),
        ],
    )
    @pytest.mark.parametrize("name", ["a.bin", "a.gz"])
    def test_other_forms(self, make, content, message, name):
        path = make(content, name)
        with pytest.raises(DataError, match=f"^{re.escape(f'{path}: {message}')}"):
            read_word_vectors(path, ["a"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                gzip.compress(text(), mtime=0)[:-10],
                "the gzip file is truncated: copy or download it again.",
            ),
            (gzip.compress(text(), mtime=0)[:10] + b"\xff" * 30, "the gzip file is damaged ("),
            (
                text(),
                "the name ends in .gz, but this is not a gzip file: rename it, or compress it "
                "with gzip.",
            ),
        ],
    )
    def test_gzip(self, tmp_path, content, message):
        (tmp_path / "a.gz").write_bytes(content)
        with pytest.raises(DataError, match=re.escape(f"a.gz: {message}")):
            read_word_vectors(tmp_path / "a.gz", ["a"])

    def test_places(self, tmp_path, make):
        for path in (tmp_path / "none.txt", "none\0", tmp_path / ("a" * 300)):
            with pytest.raises(DataError, match="there is no such file: check the path."):
                read_word_vectors(path, ["a"])
        make("", "a.zip")
        for path in (tmp_path, tmp_path / "*.txt", tmp_path / "a.zip"):
            with pytest.raises(
                DataError,
                match=r"a folder, a pattern or an archive, .* one file: give its path, unpacked\.",
            ):
                read_word_vectors(path, ["a"])
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(
            DataError,
            match="this is a pipe or a device, and input is read more than once: save it to a file",
        ):
            read_word_vectors(tmp_path / "pipe", ["a"])

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf9", "rot13", "a\0b"])
    def test_encodings(self, make, encoding):
        with pytest.raises(
            ConfigError,
            match="is none that writes digits and spaces as ASCII does. Convert the file to utf8",
        ):
            read_word_vectors(make(text()), ["a"], encoding)


class TestRefusedMatrices:
    """Malformed matrices, and lists of words that do not fit."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                saved(np.zeros(5)),
                "with a row a word, and this is float64 of shape (5,): write it with numpy.save.",
            ),
            (
                saved(np.zeros((5, 3), int)),
                "word vectors are a matrix of floating-point numbers with a row a word, and this "
                "is",
            ),
            (
                saved(np.array([["a"]], object)),
                "this is no .npy file of numbers, or a truncated one (",
            ),
            (saved(MATRIX)[:-1], "this is no .npy file of numbers, or a truncated one ("),
            (saved(MATRIX)[:50], "this is no .npy file of numbers, or a truncated one ("),
            (
                saved(MATRIX).replace(b"<f4", b"[[["),
                "this is no .npy file of numbers, or a truncated one (",
            ),
            (saved(MATRIX[:0]), "this is "),
            (text(), "this is no .npy file of numbers, or a truncated one ("),
            (
                gzip.compress(saved(MATRIX), mtime=0),
                "a packed matrix cannot be mapped into memory: unpack it with gunzip.",
            ),
        ],
    )
    def test_matrices(self, make, content, message):
        make("\n".join(WORDS), "a.txt")
        path = make(content, "a.npy")
        with pytest.raises(DataError, match=f"^{re.escape(str(path))}: .*{re.escape(message)}"):
            read_word_vectors(path, ["a"])

    @pytest.mark.parametrize(
        ("vocabulary", "message"),
        [
            (
                "a\nb\n",
                "a.txt: it has 2 words, and the matrix a.npy has 5 rows: write the word of every "
                "row in a line.",
            ),
            ("a\nb\nc\nd\ne\nf", "a.txt: it has 6 words, and the matrix a.npy has 5 rows"),
            ("5 3\na\nb\nc\nd\ne", "a.txt: it has 6 words, and the matrix a.npy has 5 rows"),
            ("", "a.txt: it has 0 words, and the matrix a.npy has 5 rows"),
        ],
    )
    def test_lengths(self, make, vocabulary, message):
        make(vocabulary, "a.txt")
        with pytest.raises(DataError, match=re.escape(message)):
            read_word_vectors(make(saved(MATRIX), "a.npy"), ["f"])

    def test_no_words(self, make):
        message = (
            "a.npy: the words of its rows are missing: write them, a word a line, to a.txt or "
            "a.vocab beside it."
        )
        with pytest.raises(DataError, match=re.escape(message)):
            read_word_vectors(make(saved(MATRIX), "a.npy"), ["a"])

    @pytest.mark.parametrize(("kind", "value"), [(np.float32, np.nan), (np.float64, 1e39)])
    def test_numbers(self, make, kind, value):
        matrix = MATRIX.astype(kind)
        matrix[3, 1] = value
        make("\n".join(WORDS), "a.txt")
        path = make(saved(matrix), "a.npy")
        assert vectors_of(path, ["the"]) == {"the": MATRIX[1].tolist()}
        with pytest.raises(
            DataError,
            match="a.npy: row 4: number 2 of the vector of 'a' is (nan|inf), and numbers must be",
        ):
            read_word_vectors(path, ["the", "a"])
