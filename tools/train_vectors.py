"""Train word vectors on text, by counts of words near each other and a singular value
decomposition.

Usage::

    python tools/train_vectors.py --format conll --output vectors.txt train.txt dev.txt
    python tools/train_vectors.py --format penn --lower --dimensions 50 --output vectors.npy
    'wsj.zip:**/*.mrg'

FILES are read as the tasks of structopt read them: plain or gzip, folders, patterns and members of
archives. The output is word2vec's text, packed where its name ends in .gz; or, for NAME.npy, a
matrix with its words in NAME.txt. Either is what features.vectors takes.

M is the matrix of shifted positive pointwise mutual information (Levy, Goldberg and Dagan, 2015),

    M[w, c] = max(0, log(n(w, c) / n(w)) - log(n(c)^a / sum over c' of n(c')^a) - log(shift)),

where n(w, c) counts how often c stands near w, a word at the distance d counting 1 - (d - 1) /
window, which is how often a window of random width sees it; and a, the smoothing, makes rare
contexts less surprising. With the truncated decomposition M = U S V' the vectors are the rows of U
S^p.
"""

from __future__ import annotations

import argparse
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds

from structopt.errors import ConfigError, StructoptError
from structopt.formats import conll_reader
from structopt.formats.durable_files import replace_file
from structopt.formats.text_files import read_text, write_text
from structopt.formats.trees import tree_files, treebank

Sentences = list[list[str]]
Format = Literal["text", "conll", "conllu", "conllx", "penn"]


def sentences_of(path: str, form: Format, column: int = 0, encoding: str = "utf8") -> Sentences:
    """Return the words of every sentence of a file, or of several.

    Parameters
    ----------
    path : str
    form : {"text", "conll", "conllu", "conllx", "penn"}
        ``text`` has a sentence a line, its words divided by blanks.
    column : int
        Of ``conll``: the column of the words, from 0.
    encoding : str

    Raises
    ------
    DataError, ConfigError
        What the readers refuse.
    """
    if form == "text":
        return [words for line in read_text(path, encoding).split("\n") if (words := line.split())]
    if form == "conll":
        return conll_reader.read(path, {"word": column}, encoding=encoding).sentences("word")
    if form == "penn":
        return treebank.read(path, encoding=encoding).words
    trees = tree_files.read(path, form, labelled=False, encoding=encoding)
    bounds = trees.offsets.tolist()
    return [
        trees.cells["form"][begin:end] for begin, end in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def vocabulary_of(sentences: Sentences, min_count: int, unknown: str | None = None) -> list[str]:
    """Return the words that are frequent enough, the most frequent first; without those that have
    blanks in them.

    Where `unknown` is a word, it stands for all that are left out, and is among them if there are
    any.
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    kept = [word for word, count in counts.items() if count >= min_count and len(word.split()) == 1]
    if unknown is not None and unknown not in kept and len(kept) < len(counts):
        kept.append(unknown)
    return sorted(kept, key=lambda word: (-counts[word], word))


def neighbours(
    sentences: Sentences, vocabulary: Sequence[str], window: int, unknown: str | None = None
) -> csr_array:
    """Count how often words of the vocabulary stand near each other, shape (words, words),
    symmetric.

    Words outside of it are taken out first, so that windows reach across them, or become the
    unknown word.
    """
    numbers = {word: number for number, word in enumerate(vocabulary)}
    other = -1 if unknown is None else numbers.get(unknown, -1)
    ids = np.array(
        [numbers.get(word, other) for sentence in sentences for word in sentence], np.int32
    )
    owners = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])[
        ids >= 0
    ]
    ids = ids[ids >= 0]
    counts = csr_array((len(numbers), len(numbers)))
    for distance in range(1, min(window, len(ids) - 1) + 1):
        inside = owners[:-distance] == owners[distance:]
        pairs = (ids[:-distance][inside], ids[distance:][inside])
        weights = np.full(len(pairs[0]), 1 - (distance - 1) / window)
        counts = counts + coo_array((weights, pairs), counts.shape).tocsr()
    return csr_array(counts + counts.T)


def mutual_information(counts: csr_array, smoothing: float = 0.75, shift: float = 1.0) -> csr_array:
    """Return M, the shifted positive pointwise mutual information of words and contexts; see the
    top of this file.
    """
    entries = counts.tocoo()
    totals = np.asarray(counts.sum(axis=1)).ravel()
    totals[totals == 0] = 1  # words without neighbours have no entries
    contexts = totals**smoothing
    rows, columns = entries.coords
    values = (
        np.log(entries.data / totals[rows])
        - np.log(contexts[columns] / contexts.sum())
        - np.log(shift)
    )
    kept = values > 0
    return csr_array((values[kept], (rows[kept], columns[kept])), shape=counts.shape)


def decompose(
    matrix: csr_array, dimensions: int, power: float = 0.5, seed: int = 0
) -> NDArray[np.float32]:
    """Return U S^power, float32, shape (words, dimensions), the largest singular value first.

    A column has the sign that makes its largest entry positive, since either sign is a
    decomposition.
    """
    start = np.random.default_rng(seed).normal(size=matrix.shape[0])
    left, singular, _ = svds(matrix, k=dimensions, v0=start, solver="arpack")
    order = np.argsort(-singular)
    left, singular = left[:, order], np.maximum(singular[order], 0)
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(dimensions)])
    return np.asarray(left * signs * singular**power, np.float32)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows in unit length; those that are zero stay so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def write(path: str, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Write a matrix and its words, where the name ends in .npy; else word2vec's text."""
    if path.endswith(".npy"):
        write_text(Path(path).with_suffix(".txt"), "".join(f"{word}\n" for word in words))
        replace_file(path, _npy(vectors))
        return
    rows = zip(words, vectors.tolist(), strict=True)
    lines = (f"{word} {' '.join([f'{x:.6g}' for x in vector])}\n" for word, vector in rows)
    write_text(path, f"{len(words)} {vectors.shape[1]}\n{''.join(lines)}")


def _npy(vectors: NDArray[np.float32]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, vectors, allow_pickle=False)
    return stream.getvalue()


def train(
    sentences: Sentences, options: argparse.Namespace
) -> tuple[list[str], NDArray[np.float32]]:
    """Return words and their vectors.

    Raises
    ------
    ConfigError
        Fewer words than the decomposition needs.
    """
    if options.lower:
        sentences = [[word.lower() for word in sentence] for sentence in sentences]
    words = vocabulary_of(sentences, options.min_count, options.unknown)
    matrix = mutual_information(
        neighbours(sentences, words, options.window, options.unknown),
        options.smoothing,
        options.shift,
    )
    if len(words) <= options.dimensions or not matrix.nnz:
        what = (
            f"{len(words)} words stand there {options.min_count} times or more, in {matrix.nnz} "
            "pairs"
        )
        raise ConfigError(
            f"{what}: too few for {options.dimensions} dimensions. Give more text, or lower "
            "--dimensions."
        )
    vectors = decompose(matrix, options.dimensions, options.power, options.seed)
    return words, unit_rows(vectors) if options.unit else vectors


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, train, and write the vectors."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name, least in (
        ("dimensions", 1),
        ("window", 1),
        ("min_count", 1),
        ("shift", 1e-12),
        ("smoothing", 0),
        ("power", 0),
    ):
        if not least <= getattr(options, name) < np.inf:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}.")
    try:
        files = [
            sentences_of(path, options.format, options.column, options.encoding)
            for path in options.files
        ]
        sentences = [sentence for file in files for sentence in file]
        words, vectors = train(sentences, options)
        write(options.output, words, vectors)
    except StructoptError as error:
        parser.exit(2, f"{error}\n")
    tokens = sum(map(len, sentences))
    print(
        f"{options.output}: {len(words)} words in {vectors.shape[1]} dimensions, of {tokens} "
        "tokens."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="file, folder, pattern of names, or ARCHIVE:PATTERN",
    )
    add(
        "--format",
        choices=get_args(Format),
        default="text",
        help="text, the default: a sentence a line",
    )
    add("--output", required=True, help="NAME.txt, NAME.txt.gz or NAME.npy")
    add("--column", type=int, default=0, help="column of the words in conll, from 0 (default: 0)")
    add("--encoding", default="utf8", help="of the files (default: utf8)")
    add("--lower", action="store_true", help="count words in lower case")
    add(
        "--min-count",
        type=int,
        default=2,
        help="leave out words that are less frequent (default: 2)",
    )
    add(
        "--unknown",
        help="a word that stands for all that are left out (default: they are taken out)",
    )
    add("--dimensions", type=int, default=100, help="length of the vectors (default: 100)")
    add("--window", type=int, default=5, help="how far neighbours are away at most (default: 5)")
    add(
        "--smoothing",
        type=float,
        default=0.75,
        help="power of the counts of contexts (default: 0.75)",
    )
    add(
        "--shift",
        type=float,
        default=1.0,
        help="negative samples that the shift stands for (default: 1)",
    )
    add("--power", type=float, default=0.5, help="power of the singular values (default: 0.5)")
    add("--unit", action="store_true", help="scale the vectors to length 1")
    add("--seed", type=int, default=0, help="seed of the start of the decomposition (default: 0)")
    return parser


if __name__ == "__main__":
    main()
