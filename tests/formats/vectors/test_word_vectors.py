"""Word vectors: every form that is read, and what of it is held."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structopt.core.data import expansion
from structopt.errors import DataError
from structopt.formats.vectors import word_vectors_bytes
from structopt.formats.vectors.word_vectors import read_word_vectors
from tests.formats.vectors.word_vector_files import ALL, MATRIX, WORDS, binary, text, vectors_of

FILE = "vectors.txt"


class TestForms:
    """What programs write, and what is taken of it."""

    @pytest.mark.parametrize("name", ["a.txt", "a.vec", "a.txt.gz", "a"])
    @pytest.mark.parametrize(
        "content",
        [
            text(),
            text(False),
            text(True, "\t"),
            text(False, "\t"),
            text(True, " ", "\r\n"),
            text(False, " ", " \n"),
            text(True, "  "),
            text(False, " ", "  \r\n"),
            text().rstrip(),
            b"\xef\xbb\xbf" + text(),
            b"\xef\xbb\xbf" + text(False),
            text() + b"\n \n",
            text(False).replace(b"\n", b"\n\n"),
            text().replace(b"5 3", b" 5\t3 \r", 1),
        ],
    )
    def test_text(self, make, name, content):
        assert vectors_of(make(content, name)) == ALL

    @pytest.mark.parametrize("name", ["a.bin", "a.bin.gz", "a.txt"])
    @pytest.mark.parametrize("content", [binary(), binary(b""), binary() + b"\n"])
    def test_binary(self, make, name, content):
        assert vectors_of(make(content, name)) == ALL

    @pytest.mark.parametrize("suffix", [".txt", ".vocab"])
    @pytest.mark.parametrize("kind", ["<f2", "<f4", "<f8", ">f4"])
    def test_matrix(self, make, suffix, kind):
        make("\n".join(WORDS), f"a{suffix}")
        half = MATRIX.astype(np.float16).astype(np.float32)
        np.save(make("", "a.npy"), half.astype(kind))
        assert vectors_of(make("", "b.npy").with_name("a.npy")) == dict(
            zip(WORDS, half.tolist(), strict=True)
        )

    def test_a_matrix_is_mapped(self, make):
        np.save(make("", "a.npy"), MATRIX)
        found = read_word_vectors(make("\n".join(WORDS), "a.txt").with_suffix(".npy"), ["a", "the"])
        assert isinstance(found.matrix, np.memmap) and found.matrix.shape == (5, 3)
        assert found.numbers == {"the": 1, "a": 3}

    @pytest.mark.parametrize(
        "vocabulary", ["\ufeffa b\r\nc\r\n\n", "a b\nc\na b\n", "a\tb\nc\n\n\n\n", "a b\nc\n 1"]
    )
    def test_words_of_a_matrix(self, make, vocabulary):
        path = make("", "a.npy")
        np.save(path, MATRIX[:3])
        make(vocabulary, "a.txt")
        assert read_word_vectors(path, ["a b", "c"]).numbers == {"a b": 0, "c": 1}

    @pytest.mark.parametrize(
        "vocabulary", ["a 120\nc 7\n", "a\t120\nc\t7\n", "a 0.5 0.25\nc 1 2\n"]
    )
    def test_counts_after_the_words_of_a_matrix(self, make, vocabulary):
        path = make("", "a.npy")
        np.save(path, MATRIX[:2])
        make(vocabulary, "a.vocab")
        assert read_word_vectors(path, ["a", "c", "120", "7"]).numbers == {"a": 0, "c": 1}

    def test_only_wanted_words(self, make):
        for content in (text(), text(False), binary()):
            found = read_word_vectors(make(content), {"1984", "The"})
            assert found.numbers == {"1984": 0} and found.matrix.tolist() == [[4, 5, 6]]
            nothing = read_word_vectors(make(content), [])
            assert nothing.numbers == {} and nothing.matrix.shape == (0, 3)

    @pytest.mark.parametrize("header", [b"", b"4 2\n"])
    def test_words_with_spaces(self, make, header):
        path = make(header + b". . . 1 2\nat name@domain.com 3 4\nat 5 6\n  7 8\n")
        wanted = [". . .", "at", "at name@domain.com", ".", " ", ""]
        assert vectors_of(path, wanted) == {
            ". . .": [1, 2],
            "at": [5, 6],
            "at name@domain.com": [3, 4],
        }

    def test_words_that_are_numbers(self, make):
        assert vectors_of(
            make("7 1 2\nnan 3 4\n1e5 5 6\ninf 7 8\n"), ["7", "nan", "1e5", "inf", "1"]
        ) == {
            "7": [1, 2],
            "nan": [3, 4],
            "1e5": [5, 6],
            "inf": [7, 8],
        }

    def test_no_header_where_vectors_have_one_number(self, make):
        assert vectors_of(make("7 3\na 4\n"), ["7", "a"]) == {"7": [3], "a": [4]}
        assert vectors_of(make("2 1\n7 3\na 4\n"), ["2", "7", "a"]) == {"7": [3], "a": [4]}

    def test_the_first_of_words_counts(self, make):
        assert vectors_of(make("a 1 2\nb 3 4\na 5 6\n"), ["a", "b"]) == {"a": [1, 2], "b": [3, 4]}
        twice = b"2 1\n" + b"".join(b"a " + np.float32(x).tobytes() for x in (0.1, 0.2))
        assert vectors_of(make(twice, "a.bin"), ["a"]) == {"a": [np.float32(0.1)]}

    def test_encodings(self, make):
        assert vectors_of(make(text().decode().encode("latin-1")), encoding="latin-1") == ALL
        wanted = ["caf\xe9", "\u20ac", "\ud800"]  # the last two cannot be written
        assert vectors_of(make("caf\xe9 1\n".encode("latin-1")), wanted, encoding="latin-1") == {
            "caf\xe9": [1]
        }

    def test_broken_words_are_passed_over(self, make):
        assert vectors_of(make(b"\xff\xfe\x80 1 2\na 3 4\n\xe2\x82 5 6\n"), ["a", "\ufffd"]) == {
            "a": [3, 4]
        }

    def test_words_are_divided_at_line_ends_and_blanks_alone(self, make):
        wanted = ["a\xa0b", "c\u2028d", "e\x85f"]
        assert vectors_of(make("".join(f"{word} 1\n" for word in wanted)), wanted) == dict.fromkeys(
            wanted, [1]
        )


class TestStreams:
    """Files larger than memory."""

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
    @pytest.mark.parametrize("content", [text(), text(False, "\t", "\r\n"), text(False).rstrip()])
    def test_blocks_of_text(self, make, monkeypatch, content, size):
        monkeypatch.setattr(word_vectors_bytes, "BLOCK", size)
        assert vectors_of(make(content, "a.gz")) == ALL

    @pytest.mark.parametrize("size", range(35, 50))
    def test_binary_blocks(self, make, monkeypatch, size):
        monkeypatch.setattr(word_vectors_bytes, "BLOCK", size)  # the first of which shows the form
        for content in (binary(), binary(b"")):
            assert vectors_of(make(content)) == ALL

    @pytest.mark.parametrize("name", ["a.txt", "a.gz"])
    def test_memory(self, make, monkeypatch, name):
        monkeypatch.setattr(word_vectors_bytes, "BLOCK", 1 << 16)
        rows = "".join(f"word{i} {' '.join(['0.125'] * 50)}\n" for i in range(20_000))
        path = make(rows, name)
        del rows
        tracemalloc.start()
        found = read_word_vectors(path, {"word17", "word19999"})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.numbers == {"word17": 0, "word19999": 1} and peak < 1 << 20

    def test_expansion(self, make, monkeypatch):
        monkeypatch.setattr(expansion, "ALWAYS", 1000)
        path = make("".join(f"{i} {' '.join(['0.125'] * 50)}\n" for i in range(2000)), "a.gz")
        with (
            expansion.expanding({"max_expansion": 10.0}),
            pytest.raises(DataError, match="max_expansion=100"),
        ):
            read_word_vectors(path, ["1"])
        with expansion.expanding({"max_expansion": 100.0}):
            assert vectors_of(path, ["1"]) == {"1": [0.125] * 50}


words = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=5)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    vectors=st.integers(1, 4).flatmap(
        lambda size: st.dictionaries(
            words, st.lists(numbers, min_size=size, max_size=size), min_size=2, max_size=8
        )
    ),
    header=st.booleans(),
    tabs=st.booleans(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_round_trips(make, vectors, header, tabs):
    size = len(next(iter(vectors.values())))
    first = f"{len(vectors)} {size}\n"
    rows = "".join(f"{word} {' '.join(map(repr, row))} \n" for word, row in vectors.items())
    if header or size == 1:  # a word of digits and one number may be a header
        rows = first + rows
    assert vectors_of(make(rows.replace(" ", "\t") if tabs else rows), vectors) == vectors
    records = b"".join(
        word.encode() + b" " + np.array(row, "<f4").tobytes() for word, row in vectors.items()
    )
    assert vectors_of(make(first.encode() + records, "a.bin"), vectors) == vectors
