"""Numbers of every token beside its attributes: word vectors, numeric columns, and matrices with a
row a token.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from structopt.core.data.dense_table import DenseTable
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column
from structopt.errors import ConfigError, DataError, did_you_mean
from structopt.formats.in_memory.instances import MEMORY
from structopt.kernels.waist.record import Array
from structopt.task.dense.sentence_numbers import Matrices, key_of_matrix, separated, stacked
from structopt.task.dense.word_rows import WordRows
from structopt.task.key_checks import check_keys

VECTORS, MATRIX = "vectors", ".npy"
STANDARDS = ("none", "columns")
FARTHEST = 100
"""The largest offset of a window."""
LARGEST = float(np.finfo(np.float32).max)

_BLOCK = re.compile(
    r"(?P<name>.*?)\s*(?:\[\s*(?P<first>[+-]?\d+)\s*(?:\.\.\s*(?P<last>[+-]?\d+)\s*)?\])?"
)

log = logging.getLogger(__name__)


class DenseReading(TypedDict, total=False):
    """The keys of the config's node ``features`` that `DenseColumns` takes."""

    vectors: str | None
    vectors_lower: bool
    vectors_unknown: str | None
    dense: list[str]
    standardize: Literal["none", "columns"]


class Tokens(NamedTuple):
    """The tokens of a corpus: the offsets of its sentences, the lines of its file, words, columns,
    and matrices that came with sentences in memory.
    """

    path: str
    offsets: Array
    lines: Array
    words: Sequence[str]
    cells: Mapping[str, Sequence[str]]
    matrices: Matrices = {}


@dataclass(eq=False)
class Block:
    """Numbers of one source, of the tokens at some offsets from each token.

    Attributes
    ----------
    name : str
        ``vectors``, the name of a column, or a file that ends in .npy, in whose name * stands for
        that of the data.
    window : tuple of int
    means, deviations : float64, shape (dimensions,)
        By which the numbers are standardised; without a number where they are not.
    """

    name: str
    window: tuple[int, ...] = (0,)
    means: Array = field(default_factory=lambda: np.zeros(0))
    deviations: Array = field(default_factory=lambda: np.zeros(0))
    dimensions: int = 0

    @classmethod
    def of(cls, text: str) -> Block:
        """Read ``NAME``, ``NAME[offset]`` or ``NAME[first..last]``, or raise `ConfigError`."""
        match = _BLOCK.fullmatch(text.strip())
        if not match or not match["name"]:
            raise ConfigError(
                f"features.dense: '{text}' is no source of numbers.",
                remedy="Write NAME, NAME[1] or NAME[-1..1].",
            )
        first = int(match["first"] or 0)
        last = int(match["last"]) if match["last"] else first
        if not -FARTHEST <= first <= last <= FARTHEST:
            message = (
                f"features.dense: the offsets of '{text}' must ascend, from -{FARTHEST} to "
                f"{FARTHEST}."
            )
            raise ConfigError(message)
        return cls(match["name"], tuple(range(first, last + 1)))

    @property
    def names(self) -> list[str]:
        """Readable names of the numbers of a token: source, offset unless it is 0, and dimension
        where there are several.
        """
        stems = [self.name + (f"[{offset}]" if offset else "") for offset in self.window]
        return (
            stems
            if self.dimensions == 1
            else [f"{stem}.{d}" for stem in stems for d in range(self.dimensions)]
        )

    def measure(self, numbers: Array, matrix: Array) -> None:
        """Compute the means and deviations of the tokens that have a row; a dimension that is
        constant is not divided.
        """
        counts = np.bincount(numbers[numbers >= 0], minlength=len(matrix)).astype(np.float64)
        total, values = max(counts.sum(), 1.0), matrix.astype(np.float64)
        self.means = counts @ values / total
        deviations = np.sqrt(counts @ (values - self.means) ** 2 / total)
        self.deviations = np.where(deviations > 1e-12 * np.abs(self.means), deviations, 1.0)
        self.deviations[self.deviations == 0.0] = 1.0

    def table(self, numbers: Array, matrix: Array, offsets: Array) -> DenseTable:
        """The rows of every token and of its neighbours; zeros beyond the sentence, and where a
        token has no row.
        """
        if len(self.means):
            matrix = ((matrix - self.means) / self.deviations).astype(np.float32)
        tokens = np.arange(len(numbers))
        begins, ends = (
            np.repeat(bounds, np.diff(offsets)) for bounds in (offsets[:-1], offsets[1:])
        )
        rows = np.full((len(numbers), len(self.window)), -1, np.int32)
        for k, offset in enumerate(self.window):
            inside = (tokens + offset >= begins) & (tokens + offset < ends)
            rows[inside, k] = numbers[tokens[inside] + offset]
        return DenseTable(rows, matrix)


class DenseColumns:
    """The numbers of every token, from sources that are read beside the templates.

    Parameters
    ----------
    vectors : str or None
        A file of word vectors (`structopt.formats.vectors.word_vectors`).
    vectors_lower : bool
        Whether words that the file lacks are looked up in lower case.
    vectors_unknown : str or None
        A word of the file whose vector the others get; None: zeros.
    dense : sequence of str
        Sources: ``vectors``, columns, or FILE.npy with a row a token (* in its name stands for that
        of the data file, without its suffix); each perhaps with offsets, such as
        ``vectors[-1..1]``. Without any, ``vectors`` where a file has them.
    standardize : {"none", "columns"}
        ``columns``: less their means, divided by their deviations, over the tokens of the training
        data.
    """

    def __init__(
        self,
        vectors: str | None = None,
        vectors_lower: bool = True,
        vectors_unknown: str | None = None,
        dense: Sequence[str] = (),
        standardize: Literal["none", "columns"] = "none",
    ) -> None:
        if standardize not in STANDARDS:
            raise ConfigError(
                f"is none of: {', '.join(STANDARDS)}.",
                parameter="features.standardize",
                value=standardize,
            )
        self.blocks = [Block.of(text) for text in dense or ([VECTORS] if vectors else [])]
        asked = any(block.name == VECTORS for block in self.blocks)
        if asked and vectors is None:
            raise ConfigError(
                "names vectors, and there is no file of them.",
                parameter="features.dense",
                remedy="Set features.vectors=FILE.",
            )
        if vectors is not None and not asked:
            raise ConfigError(
                "names a file that features.dense does not use.",
                parameter="features.vectors",
                remedy="Add vectors to features.dense.",
            )
        self.standardize = standardize
        self.words = WordRows(vectors, vectors_lower, vectors_unknown)

    @classmethod
    def of(cls, features: Mapping[str, Any]) -> DenseColumns:
        """Make them of the keys that they take of a config's node ``features``."""
        return cls(
            **{key: features[key] for key in DenseReading.__annotations__ if key in features}
        )

    @property
    def columns(self) -> list[str]:
        """The columns that it reads."""
        return [
            block.name
            for block in self.blocks
            if block.name != VECTORS and not block.name.endswith(MATRIX)
        ]

    @property
    def matrix_keys(self) -> dict[str, Block]:
        """The blocks that read matrices, by the keys that sentences in memory have for them."""
        own = [block for block in self.blocks if block.name.endswith(MATRIX)]
        return {key_of_matrix(number): block for number, block in enumerate(own)}

    def schema_columns(self, like: str) -> tuple[Column, ...]:
        """Return the columns of matrices in a table; `like` is the column of tokens."""
        return tuple(Column(key, "double", 2, like=like) for key in self.matrix_keys)

    def examples(self, lengths: Sequence[int] = (4, 2)) -> dict[str, list[Any]]:
        """Return matrices of zeros for sentences of these lengths, by key."""
        return {
            key: [[[0.0] * block.dimensions for _ in range(length)] for length in lengths]
            for key, block in self.matrix_keys.items()
        }

    def separated(
        self, instances: Iterable[Any], names: Sequence[str]
    ) -> tuple[Iterable[Any], Matrices]:
        """Separate the matrices of sentences in memory from their columns `names`: see
        `structopt.task.dense.sentence_numbers.separated`.
        """
        return separated(instances, list(self.matrix_keys), self.columns, names)

    @property
    def names(self) -> list[str]:
        """Readable names of all numbers of a token."""
        return [name for block in self.blocks for name in block.names]

    def fit(self, tokens: Tokens, partial: bool, earlier: DenseColumns | None = None) -> None:
        """Learn which words have vectors, and how numbers are standardised; those of `earlier`
        columns are kept.

        Raises
        ------
        DataError
            None of the words has a vector; a cell that is no number; a matrix that has not a row a
            token.
        ConfigError
            There is no such column, or the numbers of an earlier model had other dimensions.
        """
        for name in self.columns:
            if name not in tokens.cells:
                hint = did_you_mean(name, tokens.cells)
                raise ConfigError(
                    f"features.dense: there is no column '{name}'.{hint} Columns: "
                    f"{', '.join(tokens.cells)}."
                )
        if earlier is not None:
            self.words.keep(earlier.words)
        known = {} if earlier is None else {block.name: block for block in earlier.blocks}
        for block in self.blocks:
            numbers, matrix = self._source(block, tokens, partial)
            if block.name == VECTORS:
                self._report(tokens, numbers)
            block.dimensions = matrix.shape[1]
            if block.name in known and known[block.name].dimensions != block.dimensions:
                one, other = block.dimensions, known[block.name].dimensions
                raise ConfigError(
                    f"warm_start: {block.name} has {one} dimensions, and {other} in that model.",
                    remedy="Take the same.",
                )
            if block.name in known and len(known[block.name].means):
                block.means, block.deviations = (
                    known[block.name].means,
                    known[block.name].deviations,
                )
            elif self.standardize == "columns":
                block.measure(numbers, matrix)

    def tables(self, tokens: Tokens, partial: bool = False) -> tuple[DenseTable, ...]:
        """The numbers of all tokens of a corpus, a table a source; `partial`: it has the first
        tokens of its file alone.
        """
        found = []
        for block in self.blocks:
            numbers, matrix = self._source(block, tokens, partial)
            if matrix.shape[1] != block.dimensions:
                message = (
                    f"{block.name} has {matrix.shape[1]} dimensions, and {block.dimensions} in "
                    "training."
                )
                raise DataError(tokens.path, None, f"{message} Give vectors of the same kind.")
            found.append(block.table(numbers, matrix, tokens.offsets))
        return tuple(found)

    def of_words(self, tokens: Tokens, partial: bool = False) -> dict[str, tuple[DenseTable, ...]]:
        """The tables as those of the words of trees: nothing where there are no sources."""
        return {"word": self.tables(tokens, partial)} if self.blocks else {}

    def read_from(self, sources: Mapping[str, Any]) -> None:
        """Take files for a model that is applied: vectors of words that training has not shown,
        matrices of the new data.
        """
        check_keys("features", sources, ("vectors", "dense"))
        if "vectors" in sources:
            if not any(block.name == VECTORS for block in self.blocks):
                raise ConfigError(
                    "features.vectors: the model reads no word vectors.",
                    remedy="Leave it out.",
                )
            self.words.path = str(sources["vectors"])
        own, dense = list(self.matrix_keys.values()), sources.get("dense")
        if isinstance(dense, (str, Path)):
            dense = str(dense).strip().removeprefix("[").removesuffix("]").split(",")
        named = [Block.of(str(name)) for name in dense or () if str(name).strip()]
        if not named:
            return
        if len(named) != len(own) or not all(block.name.endswith(MATRIX) for block in named):
            raise ConfigError(
                f"must name {len(own)} files that end in {MATRIX}, because the model reads "
                f"{len(own)} matrices.",
                parameter="features.dense",
                value=sources["dense"],
                remedy=f"Set features.dense=[{','.join(['FILE.npy'] * len(own))}]."
                if own
                else "Leave it out.",
            )
        for block, other in zip(own, named, strict=True):
            if other.window not in ((0,), block.window):
                raise ConfigError(
                    f"names another window for {other.name} than in training: "
                    f"{block.window[0]}..{block.window[-1]}.",
                    parameter="features.dense",
                    value=sources["dense"],
                    remedy="Leave the window out.",
                )
            block.name = other.name

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the sources, and the vectors of the words that training and later splits have
        shown; no path.
        """
        values, arrays = self.words.state()
        values["blocks"] = []
        for number, block in enumerate(self.blocks):
            name = MATRIX if block.name.endswith(MATRIX) else block.name
            scaled = bool(len(block.means))
            values["blocks"].append(
                {
                    "name": name,
                    "window": list(block.window),
                    "dimensions": block.dimensions,
                    "scaled": scaled,
                }
            )
            if scaled:
                arrays |= {f"{number}.means": block.means, f"{number}.deviations": block.deviations}
        return values, arrays

    def stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The state under the name ``numbers`` in that of a task; nothing where there are no
        sources.
        """
        if not self.blocks:
            return {}, {}
        values, arrays = self.state()
        return {"numbers": values}, {f"numbers.{name}": array for name, array in arrays.items()}

    @classmethod
    def restored(cls, state: SavedState) -> DenseColumns:
        """Undo `stored`."""
        return (
            cls.restore(state.within("numbers", "numbers.")) if "numbers" in state.values else cls()
        )

    @classmethod
    def restore(cls, state: SavedState) -> DenseColumns:
        """Undo `state`."""
        columns = cls()
        columns.words = WordRows.restore(state)
        for number, saved in enumerate(state.each("blocks")):
            window = tuple(saved.wholes("window", -FARTHEST, FARTHEST))
            block = Block(saved.string("name"), window, dimensions=saved.whole("dimensions", 1))
            if saved.flag("scaled"):
                stem, shape = f"{number}.", (block.dimensions,)
                block.means, block.deviations = (
                    saved.array(stem + name, np.float64, shape) for name in ("means", "deviations")
                )
                if (block.deviations <= 0).any():
                    saved.refuse_array(f"{stem}deviations", "above 0")
            columns.blocks.append(block)
        if any(
            b.name == VECTORS and b.dimensions != columns.words.matrix.shape[1]
            for b in columns.blocks
        ):
            state.refuse_array("matrix", "as wide as the source vectors has dimensions")
        return columns

    def _source(self, block: Block, tokens: Tokens, partial: bool) -> tuple[Array, Array]:
        """The row of every token (-1: none), and the matrix."""
        count = int(tokens.offsets[-1])
        if block.name == VECTORS:
            numbers = self.words.rows(tokens.words)
            return numbers, self.words.matrix
        if block.name.endswith(MATRIX):
            key = next(key for key, one in self.matrix_keys.items() if one is block)
            if key in tokens.matrices:
                matrix = stacked(key, tokens.matrices[key], tokens.offsets, block.dimensions)
            else:
                from structopt.formats.vectors.matrices import read_matrix

                matrix = read_matrix(_named(block.name, tokens.path, key), count, partial)
            return np.arange(count, dtype=np.int32), matrix
        if block.name not in tokens.cells:  # of a file to predict, which may lack columns
            return np.full(count, -1, np.int32), np.zeros((0, 1), np.float32)
        return _parsed(block.name, tokens)

    def _report(self, tokens: Tokens, numbers: Array) -> None:
        """Say how many words have vectors; refuse a file that has those of none."""
        if not (numbers >= 0).any():
            message = (
                f"features.vectors: {self.words.path} has a vector of none of its words. Give "
                "vectors of the same language"
            )
            raise DataError(tokens.path, None, f"{message}, with words written and cased alike.")
        distinct = {
            word: number >= 0 for word, number in zip(tokens.words, numbers.tolist(), strict=True)
        }
        log.info(
            "%s: %.1f%% of the words, and %.1f%% of the distinct ones, have vectors.",
            tokens.path,
            100 * np.mean(numbers >= 0),
            100 * sum(distinct.values()) / len(distinct),
        )


def _named(name: str, path: str, key: str) -> str:
    """The name of the matrix of a data file: * stands for the file's name without suffixes."""
    if path == MEMORY and (name == MATRIX or "*" in Path(name).name):
        raise DataError(
            path,
            None,
            "the model reads a matrix with one row per token.",
            remedy=f"Give it with every sentence, as {{'tokens': [...], '{key}': MATRIX}}.",
        )
    if "*" not in Path(name).name:
        if name == MATRIX:
            raise DataError(
                path,
                None,
                "is not set, and the model reads a matrix with one row per token.",
                parameter="features.dense",
                remedy="Set features.dense=[FILE.npy], the matrix of this file.",
            )
        return name
    stem = Path(path).name.removesuffix(".gz")
    return str(Path(name).with_name(Path(name).name.replace("*", Path(stem).stem)))


def _parsed(name: str, tokens: Tokens) -> tuple[Array, Array]:
    """The row of every token, none where its cell is empty, and the numbers of a column, float32,
    shape (tokens, 1).
    """
    cells = tokens.cells[name]
    values, rows = np.zeros((len(cells), 1), np.float32), np.arange(len(cells), dtype=np.int32)
    for token, cell in enumerate(cells):
        if not cell:  # in memory, columns may be left out
            rows[token] = -1
            continue
        try:
            number = float(cell)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or abs(number) > LARGEST:
            message = (
                f"column {name}: '{cell}' is no finite number, which features.dense needs there."
            )
            raise DataError(tokens.path, int(tokens.lines[token]), message)
        values[token] = number
    return rows, values
