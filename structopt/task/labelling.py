"""What all tasks share that give one label to every token of a sequence: labels, outputs, scores, hard constraints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.table_schema import Column, Schema
from structopt.core.task import Ranked, Task
from structopt.errors import ConfigError, DataError, did_you_mean
from structopt.formats import tag_schemes
from structopt.formats.predicted_cells import predicted_cells
from structopt.kernels.waist.record import Array
from structopt.metrics import spans
from structopt.metrics.outcomes import Outcomes
from structopt.task.partial_labels import FREE, alternatives, known_runs, label_sets, settled
from structopt.task.split_files import checked_paths, files_of

# Where in an entity a prefix can stand, in the letters of bioes.
PLACES = {
    "iob1": {"B": "BS", "I": "BIES"},
    "iob2": {"B": "BS", "I": "IE"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
}


class Labelled(Protocol):
    """What a corpus must have: where it came from, sentence offsets and the line of each token."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def offsets(self) -> Array:
        """Where each sentence begins in the tokens."""

    @property
    def lines(self) -> Array:
        """The line of each token."""


class Labelling(Task):
    """Base of the sequence tasks; a subclass brings reading, attributes and writing.

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package takes the place of all three.
    limit : int or None
        Number of training sentences to read.
    encoding : str
        Encoding of the files.
    scheme : str
        Tag scheme of the files: iob1, iob2, bioes, none (plain labels), or auto (told from the training tags).
    target_scheme : str
        Scheme that is learnt; predictions are written in the files' scheme.
    valid_tags : bool
        Forbid label sequences that the learnt scheme does not allow, in training and prediction.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind that is left out takes
        `default_C`.
    partial : bool
        Whether the training file may leave labels open: ``_`` where nothing is known, ``B-PER|B-ORG`` for one of these.
    """

    shipped_format = "conll"
    input_schema: Any  # a Schema, or a property that gives one; its first column has a cell a token

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        scheme: str = "auto",
        target_scheme: str = "iob2",
        valid_tags: bool = False,
        default_C: float = 1.0,
        default_C_by: Mapping[str, float] | None = None,
        partial: bool = False,
    ) -> None:
        _check_scheme("scheme", scheme, ("auto", *tag_schemes.SCHEMES))
        _check_scheme("target_scheme", target_scheme, tag_schemes.SCHEMES)
        self._paths = checked_paths(train, dev, test, limit)
        self.limit, self.encoding, self.scheme, self.target_scheme = limit, encoding, scheme, target_scheme
        self.valid_tags, self.default_C, self.partial = valid_tags, default_C, partial
        self.default_C_by = dict(default_C_by or {})
        self.labels: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, Path]:
        """Files by role (train, dev, test), the shipped corpus where none is given."""
        return files_of(self._paths, self.shipped_format)

    @property
    def main_metric(self) -> str:
        """The metric that early stopping and pictures look at: entity F1, or accuracy where labels are plain."""
        return "accuracy" if self.scheme == "none" else "f1"

    def decode(self, encoded: Encoded, view: Array) -> list[list[str]]:
        """Label sequences, one a sentence, from label numbers, shape (tokens,)."""
        names = [self.labels[y] for y in view.tolist()]
        bounds = encoded.offsets.tolist()
        return [names[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def outcomes(self, corpus: Any, predicted: Sequence[Sequence[str]]) -> Outcomes:
        """What every sentence adds to the scores."""
        count = spans.token_outcomes if self.scheme == "none" else spans.outcomes
        return count(self.gold_outputs(corpus), self.written(predicted))

    def report(self, corpus: Any, predicted: Sequence[Sequence[str]]) -> str:
        """Scores as a table to read."""
        if self.scheme == "none":
            return f"accuracy: {100 * self.evaluate(corpus, predicted)['accuracy']:.2f}%\n"
        return spans.report(self.gold_outputs(corpus), self.written(predicted))

    def gold_outputs(self, corpus: Any) -> list[list[str]]:
        """Gold label sequences of a corpus, as they stand in the file."""
        labels = self._file_labels(corpus)
        if labels is None:
            raise DataError(corpus.path, None, "has no labels to compare with; give a file with a label column.")
        bounds = corpus.offsets.tolist()
        return [labels[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def written(self, outputs: Sequence[Sequence[str]]) -> list[list[str]]:
        """Label sequences in the scheme of the files."""
        if self.target_scheme == "none" or self.scheme in ("none", "auto", self.target_scheme):
            return [list(output) for output in outputs]
        return [tag_schemes.convert(output, self.target_scheme, self.scheme) for output in outputs]

    @property
    def output_schema(self) -> Schema:
        """A label a token."""
        return Schema((Column("labels", "string", 1, like=next(iter(self.input_schema)).name),))

    def output_table(self, outputs: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
        """Labels of the tokens, a list a sentence."""
        return {"labels": [list(output) for output in outputs]}

    def write_outputs(
        self,
        corpus: Any,
        target: str | Path,
        outputs: Sequence[Any],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again with further cells behind each token: see `structopt.formats.predicted_cells`."""
        self.write(corpus.path, target, predicted_cells(self.labels, outputs, probabilities, ranked, k_best))

    @abstractmethod
    def write(self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]) -> None:
        """Write a file again with the cells to add: for each sentence, for each token."""

    @abstractmethod
    def _file_labels(self, corpus: Any) -> list[str] | None:
        """Gold labels of all tokens, as they stand in the file; None for unlabelled input."""

    @abstractmethod
    def _gold_labels(self, corpus: Any) -> list[str] | None:
        """Gold labels of all tokens, in the learnt scheme; None for unlabelled input."""

    def vocabulary(self) -> dict[str, list[str]]:
        """The labels."""
        return {"labels": list(self.labels)}

    def _settle_scheme(self, sentences: Sequence[Sequence[str]], earlier: Labelling | None = None) -> None:
        """Replace the scheme ``auto`` by what the training tags show, or by an earlier one where they are all O."""
        if self.partial:
            sentences = known_runs(sentences)
        if self.scheme == "auto":
            silent = all(tag == "O" for sentence in sentences for tag in sentence)
            self.scheme = earlier.scheme if earlier is not None and silent else detect_scheme(sentences)
        if self.scheme == "none":
            self.target_scheme = "none"

    def _learn_labels(self, labels: Sequence[str], earlier: Labelling | None = None) -> None:
        """Number the labels of the training part, and those of an earlier task, which must be of the same scheme."""
        if earlier is not None and earlier.target_scheme != self.target_scheme:
            raise ConfigError(
                f"warm_start: that model's labels are of the scheme {earlier.target_scheme}, and these of {self.target_scheme}. "
                "Give task.scheme and task.target_scheme as it had them, or leave its labels out: warm_start.vocabulary=new."
            )
        self.labels = tuple(sorted({*labels, *(earlier.labels if earlier is not None else ())}))

    def _encoded(
        self, corpus: Labelled, tables: Mapping[str, AttributeTable], labels: Sequence[str] | None, allowed: Array | None = None
    ) -> Encoded:
        numbers = {label: y for y, label in enumerate(self.labels)}
        gold = None if labels is None else np.array([numbers.get(label, -1) for label in labels], np.int32)
        starts, pairs, ends = tag_schemes.constraints(self.labels, self.target_scheme) if self.valid_tags else ((), (), ())
        return Encoded(corpus.offsets, tables, self.labels, gold, allowed, starts, ends, pairs)

    def _allowed(self, corpus: Labelled, given: Sequence[str]) -> Array:
        """Which labels each token may take: all where `given` has a mark for free, else the given ones."""
        allowed = label_sets(given, self.labels, self._fits)
        unknown = np.flatnonzero(~allowed.any(axis=1))
        if len(unknown):
            label = given[unknown[0]]
            raise DataError(
                corpus.path,
                int(corpus.lines[unknown[0]]),
                f"the given label '{label}' is not one of the model's.{did_you_mean(label, self.labels)} "
                f"Labels: {', '.join(self.labels)}; write {FREE[0]} for a token that is free.",
            )
        return allowed

    def _learnt_labels(self, cells: Sequence[str]) -> list[str]:
        """The labels that cells in the files' scheme may stand for, in the learnt scheme."""
        given = {label for cell in set(cells) for label in alternatives(cell)}
        if self.scheme in ("none", self.target_scheme):
            return sorted(given)
        prefixed = {f"{prefix}-{label[2:]}" for prefix in PLACES[self.target_scheme] for label in given if label != "O"}
        return sorted(one for one in prefixed | (given & {"O"}) if any(self._fits(label, one) for label in given))

    def _encoded_in_part(self, corpus: Labelled, tables: Mapping[str, AttributeTable], cells: Sequence[str]) -> Encoded:
        """A training corpus whose cells may leave labels open; `gold` is the first label that each token may have."""
        if not self.labels:
            raise DataError(corpus.path, None, "no label is given in this file: task.partial=true learns from some that are.")
        sets = self._allowed(corpus, cells)
        if self.scheme not in ("none", self.target_scheme):
            self._settle_labels(corpus, cells, sets)
        encoded = self._encoded(corpus, tables, None)
        return replace(encoded, gold=sets.argmax(axis=1).astype(np.int32), gold_sets=sets)

    def _settle_labels(self, corpus: Labelled, cells: Sequence[str], sets: Array) -> None:
        """Leave one label where those beside it say which of the learnt scheme's it is: I-PER after O is B-PER."""
        rows = dict(zip(self.labels, np.eye(len(self.labels), dtype=bool), strict=True))
        convert = partial(tag_schemes.convert, source=self.scheme, target=self.target_scheme)
        for start, end in pairwise(corpus.offsets.tolist()):
            for position, label in settled(cells[start:end], convert):
                sets[start + position] = rows[label]

    def _fits(self, given: str, label: str) -> bool:
        """Whether a label given in the files' scheme can stand for a learnt one: I-PER of iob1 for B-PER of iob2."""
        if given == label and self.scheme in ("none", self.target_scheme):
            return True
        if "none" in (self.scheme, self.target_scheme) or "O" in (given, label):
            return given == label
        places = PLACES[self.scheme].get(given[:1], ""), PLACES[self.target_scheme].get(label[:1], "")
        return given[1:] == label[1:] and not set(places[0]).isdisjoint(places[1])

    def _label_state(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "scheme": self.scheme, "target_scheme": self.target_scheme}

    def _restore_labels(self, values: Mapping[str, Any]) -> None:
        self.labels = tuple(values["labels"])
        self.scheme, self.target_scheme = values["scheme"], values["target_scheme"]


def _check_scheme(key: str, scheme: str, known: tuple[str, ...]) -> None:
    if scheme not in known:
        raise ConfigError(f"task.{key}={scheme} is unknown.{did_you_mean(scheme, known)} Schemes: {', '.join(known)}.")


def detect_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """Tell the tag scheme from the tags: bioes, iob2 or iob1 by their prefixes, none when they have no prefixes.

    Tags with B- and I- only are iob2 or iob1: the one that forbids fewer of the sentences, since files have slips (one entity
    of all of CoNLL-2002's Spanish ones begins with I-); iob2 if both forbid as many.
    """
    distinct = {tag for sentence in sentences for tag in sentence}
    prefixed = {tag for tag in distinct if tag[1:2] == "-" and tag[:1] in "BIES" and len(tag) > 2}
    if not prefixed or any(tag != "O" for tag in distinct - prefixed):
        return "none"
    if any(tag[0] in "ES" for tag in prefixed):
        return "bioes"
    slips = {
        scheme: sum(tag_schemes.valid(sentence, scheme) is not None for sentence in sentences) for scheme in ("iob2", "iob1")
    }
    return min(slips, key=slips.__getitem__)


def rows_of(table: AttributeTable, keep: Array) -> AttributeTable:
    """Rows of an attribute table that a mask over positions keeps."""
    counts = np.diff(table.offsets)
    entries = np.repeat(keep, counts)
    offsets = np.concatenate([[0], np.cumsum(counts[keep])]).astype(np.int64)
    return AttributeTable(offsets, table.ids[entries], None if table.values is None else table.values[entries], table.size)


def check_keys(place: str, given: Collection[str], known: Collection[str]) -> None:
    """Raise ConfigError for a key that is not known."""
    for key in given:
        if key not in known:
            raise ConfigError(f"There is no key '{place}.{key}'.{did_you_mean(key, known)} Keys: {', '.join(known)}.")
