"""The base of tasks that label every token of a sequence: their labels, outputs, scores and hard
constraints.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.file_sets import FileSet
from structopt.core.data.in_memory import FREE, is_missing
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.core.task import Ranked, Task
from structopt.errors import ConfigError, DataError, did_you_mean
from structopt.formats import forbidden_pairs, tag_schemes
from structopt.formats.in_memory.instances import MEMORY, shown
from structopt.formats.predicted_cells import predicted_cells
from structopt.kernels.waist.record import Array
from structopt.metrics import entities
from structopt.metrics.instance_counts import InstanceCounts
from structopt.task.outputs_in_memory import GIVEN, GOLD, NOT_KNOWN, unknown_label
from structopt.task.partial_labels import (
    MISSING,
    alternatives,
    certain_labels,
    known_runs,
    label_sets,
    unknown_labels,
)
from structopt.task.split_files import checked_paths, files_of

log = logging.getLogger(__name__)


class Labelled(Protocol):
    """A corpus of token sequences: its file, the offsets of its sentences and the line of each
    token.
    """

    @property
    def path(self) -> str:
        """The file."""

    @property
    def offsets(self) -> Array:
        """Where each sentence begins in the tokens."""

    @property
    def lines(self) -> Array:
        """The line of each token."""


class TokenLabelling(Task):
    """One label for every token; a subclass adds reading, attributes and writing.

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, the small corpus shipped with the package is used for
        all three.
    limit : int or None
        Number of training sentences to read.
    encoding : str
        Encoding of the files.
    scheme : str
        Tag scheme of the files: iob1, iob2, bioes, biluo, bmes, none (plain labels), or auto
        (detected from the training tags).
    target_scheme : str
        Scheme that is learnt; predictions are written in the files' scheme.
    valid_tags : bool
        Forbid label sequences that the learnt scheme does not allow, in training and prediction.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.
    partial : bool
        Whether the training file may leave labels open: ``_`` where nothing is known,
        ``B-PER|B-ORG`` for one of these.
    forbidden : sequence of pairs of str or None
        Label sequences that no output has, in training and prediction: [A, B] forbids B after A,
        [null, B] B at the start, [A, null] A at the end. Write labels in the target scheme.
    """

    instance = "sentence"
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
        forbidden: Sequence[Sequence[str | None]] = (),
    ) -> None:
        _check_scheme("scheme", scheme, ("auto", *tag_schemes.SCHEMES))
        _check_scheme("target_scheme", target_scheme, tag_schemes.SCHEMES)
        self._paths = checked_paths(train, dev, test, limit)
        self._detects_scheme = scheme == "auto"
        self.limit, self.encoding, self.scheme, self.target_scheme = (
            limit,
            encoding,
            scheme,
            target_scheme,
        )
        self.valid_tags, self.default_C, self.partial = valid_tags, default_C, partial
        self.forbidden = forbidden_pairs.checked_pairs("task.forbidden", forbidden, ConfigError)
        self.default_C_by = dict(default_C_by or {})
        self.labels: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, Path | FileSet]:
        """The files by split (train, dev, test); those of the shipped corpus if no training file is
        typed.
        """
        return files_of(self._paths, self.shipped_format)

    @property
    def main_metric(self) -> str:
        """The metric that early stopping and pictures look at: entity F1, or accuracy where labels
        are plain.
        """
        return "accuracy" if self.scheme == "none" else "f1"

    def decode(self, encoded: Encoded, view: Array) -> list[list[str]]:
        """Return label sequences, one a sentence, from label numbers, shape (tokens,)."""
        names = [self.labels[y] for y in view.tolist()]
        bounds = encoded.offsets.tolist()
        return [names[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def outcomes(self, corpus: Any, predicted: Sequence[Sequence[str]]) -> InstanceCounts:
        """Return the counts of every sentence that scores are made of."""
        count = entities.token_outcomes if self.scheme == "none" else entities.outcomes
        return count(self.gold_outputs(corpus), self.written(predicted))

    @property
    def comparable_metric(self) -> str:
        """F1 if the training data decide the scheme: another part of the data may have another."""
        return "f1" if self._detects_scheme else self.main_metric

    def comparable_outcomes(self, gold: Any, predicted: Sequence[Sequence[str]]) -> InstanceCounts:
        """Return counts for an F1 that needs no scheme: plain labels are entities of one token."""
        if not self._detects_scheme:
            return self.outcomes(gold, predicted)
        return entities.label_outcomes(self.gold_outputs(gold), self.written(predicted))

    @property
    def _scheme_is_open(self) -> bool:
        """Whether the labels of training, which are all O, leave open which scheme others have."""
        return self._detects_scheme and self.labels == ("O",)

    def report(self, corpus: Any, predicted: Sequence[Sequence[str]]) -> str:
        """Return the scores as a table of text."""
        if self.scheme == "none":
            return f"accuracy: {100 * self.evaluate(corpus, predicted)['accuracy']:.2f}%\n"
        return entities.report(self.gold_outputs(corpus), self.written(predicted))

    def gold_outputs(self, corpus: Any) -> list[list[str]]:
        """Return the gold label sequences of a corpus, in the files' scheme; DataError where it has
        none.
        """
        labels = self._file_labels(corpus)
        if labels is None:
            raise DataError(
                corpus.path,
                None,
                "has no labels to compare with.",
                remedy="Give a file with a label column.",
            )
        bounds = corpus.offsets.tolist()
        return [labels[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def written(self, outputs: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return label sequences in the scheme of the files."""
        if self.target_scheme == "none" or self.scheme in ("none", "auto", self.target_scheme):
            return [list(output) for output in outputs]
        return [tag_schemes.convert(output, self.target_scheme, self.scheme) for output in outputs]

    @property
    def output_schema(self) -> Schema:
        """A list of labels, one a token."""
        return Schema((Column("labels", "string", 1, like=next(iter(self.input_schema)).name),))

    def output_table(self, outputs: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
        """Return the labels of the tokens, a list a sentence."""
        return {"labels": [list(output) for output in outputs]}

    def kept_outputs(self, corpus: Any, outputs: Sequence[Any]) -> list[str]:
        """Return the cells of all tokens, of lists with a label in the files' scheme, ``A|B``, or
        None for every token.
        """
        lengths, cells = np.diff(corpus.offsets).tolist(), []
        entries = GIVEN.listed(outputs, len(lengths), "[['B-PER', None], None]")
        for number, (output, length) in enumerate(zip(entries, lengths, strict=True), 1):
            labels = GIVEN.cells(output, length, number, "tokens")
            if wrong := [label for label in labels if not isinstance(label, (str, type(None)))]:
                message = (
                    f"the given label {shown(wrong[0])} is no string. Give a label, or None "
                    "where it is open."
                )
                raise GIVEN.refused(number, message)
            cells += [FREE[0] if is_missing(label) else label for label in labels]
        return cells

    def _gold_cells(self, offsets: Array, outputs: Any) -> list[str]:
        """The gold labels of all tokens, of outputs in memory; with ``task.partial=true`` None is a
        label that is open.
        """
        lengths = np.diff(offsets).tolist()
        cells, sound = list[Any](), set[str]()
        entries = GOLD.listed(outputs, len(lengths), "[['B-PER', 'O'], ['O']]")
        for number, (output, length) in enumerate(zip(entries, lengths, strict=True), 1):
            labels = (
                [None] * length if output is None else GOLD.cells(output, length, number, "tokens")
            )
            if set(map(type, labels)) == {str}:
                new = set(labels) - sound
                if not any(map(is_missing, new)):
                    sound |= new
                    cells += labels
                    continue
            for label in labels:
                if is_missing(label) and not self.partial:
                    raise GOLD.refused(number, MISSING)
                if not is_missing(label) and not isinstance(label, str):
                    raise GOLD.refused(number, f"the label {shown(label)} is not a string.")
            cells += [FREE[0] if is_missing(label) else label for label in labels]
        return cells

    def _complete(self, corpus: Labelled, cells: list[str], gold: bool = True) -> list[str]:
        """Return the label cells of a file, with an open label for each empty cell; DataError at an
        empty cell of gold labels unless training labels may be open.
        """
        if not any(map(is_missing, set(cells))):
            return cells
        if gold and not self.partial:
            position = next(i for i, cell in enumerate(cells) if is_missing(cell))
            raise DataError(corpus.path, int(corpus.lines[position]), MISSING)
        return [FREE[0] if is_missing(cell) else cell for cell in cells]

    def marginal_columns(
        self, encoded: Encoded, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``token``, from 1, ``label``, in the learnt scheme, and
        ``probability``.
        """
        columns = super().marginal_columns(encoded, index, choices)
        return {"token": columns.pop("variable"), **columns}

    def write_outputs(
        self,
        corpus: Any,
        target: str | Path,
        outputs: Sequence[Any],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the file of a corpus again with further cells behind each token: see
        `structopt.formats.predicted_cells`.
        """
        self.write(
            corpus.path,
            target,
            predicted_cells(self.labels, outputs, probabilities, ranked, k_best),
        )

    @abstractmethod
    def write(
        self, source: str | Path, target: str | Path, added: Sequence[Sequence[Sequence[str]]]
    ) -> None:
        """Write a file again with the cells to add: for each sentence, for each token."""

    @abstractmethod
    def _file_labels(self, corpus: Any) -> list[str] | None:
        """Gold labels of all tokens, in the files' scheme; None for unlabelled input."""

    @abstractmethod
    def _gold_labels(self, corpus: Any) -> list[str] | None:
        """Gold labels of all tokens, in the learnt scheme; None for unlabelled input."""

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the labels."""
        return {"labels": list(self.labels)}

    def _fix_scheme(
        self,
        corpus: Labelled,
        sentences: Sequence[Sequence[str]],
        earlier: TokenLabelling | None = None,
    ) -> None:
        """Replace the scheme ``auto`` by that of the training tags, or of an earlier task if all
        tags are O.
        """
        evidence = tag_schemes.SchemeEvidence()
        self._add_evidence(evidence, corpus, sentences)
        self._take_scheme(evidence, earlier)

    def _add_evidence(
        self,
        evidence: tag_schemes.SchemeEvidence,
        corpus: Labelled,
        sentences: Sequence[Sequence[str]],
    ) -> None:
        """Count the tags of training sentences if they decide the scheme."""
        if self.scheme != "auto":
            return
        runs, split = (known_runs(sentences), alternatives) if self.partial else (None, None)
        evidence.add(sentences, corpus.path, corpus.lines.tolist(), split, runs)

    def _take_scheme(
        self, evidence: tag_schemes.SchemeEvidence, earlier: TokenLabelling | None = None
    ) -> None:
        """Replace the scheme ``auto`` by the scheme of the training tags, and print it.

        Raises
        ------
        DataError
            Some tags are malformed: see `structopt.formats.tag_schemes.SchemeEvidence`.
        """
        if self.scheme == "auto":
            evidence.check()
            self.scheme = self._detected(evidence, earlier)
            self._print_scheme(evidence)
        if self.scheme == "none":
            self.target_scheme = "none"
            if self.valid_tags:
                log.warning(
                    "task.valid_tags=true has no effect: the labels are plain (task.scheme=none)."
                )

    def _detected(
        self, evidence: tag_schemes.SchemeEvidence, earlier: TokenLabelling | None
    ) -> str:
        """The scheme of training tags, which may continue an earlier task."""
        if earlier is not None and evidence.only_outside:
            return earlier.scheme
        return evidence.scheme

    def _print_scheme(self, evidence: tag_schemes.SchemeEvidence) -> None:
        """Print the scheme of a file; of labels in memory only if some look like tags, but not
        enough.
        """
        malformed, tags = sum(evidence.malformed.values()), evidence.tags
        if not tags:
            return
        if self.scheme != "none":
            if evidence.path != MEMORY:
                log.warning("%s: the tags are %s (task.scheme=auto).", evidence.path, self.scheme)
        elif malformed < tags or evidence.path != MEMORY:
            percent = 100 * malformed / tags
            log.warning(
                "%s: the labels are plain (task.scheme=none), because %.0f %% of the labels other "
                "than O have no prefix such as B- or I-.",
                evidence.path,
                percent,
            )

    def _learn_labels(self, labels: Sequence[str], earlier: TokenLabelling | None = None) -> None:
        """Number the labels of the training data, and those of an earlier task, which must be of
        the same scheme.
        """
        if earlier is not None and not self._continues(earlier):
            raise ConfigError(
                "warm_start: that model's labels are of the scheme "
                f"{earlier.target_scheme}, and these of {self.target_scheme}.",
                remedy="Give task.scheme and task.target_scheme as it had them, or leave "
                "its labels out: warm_start.vocabulary=new.",
            )
        self.labels = tuple(sorted({*labels, *(earlier.labels if earlier is not None else ())}))
        if warning := forbidden_pairs.unknown_warning(self.forbidden, self.labels):
            log.warning("%s", warning)

    def _continues(self, earlier: TokenLabelling) -> bool:
        """Whether labels of an earlier task have the same meaning in the scheme of this task."""
        return earlier.target_scheme == self.target_scheme or set(earlier.labels) == {"O"}

    def _encoded(
        self,
        corpus: Labelled,
        tables: Mapping[str, AttributeTable],
        labels: Sequence[str] | None,
        allowed: Array | None = None,
    ) -> Encoded:
        numbers = {label: y for y, label in enumerate(self.labels)}
        gold = (
            None
            if labels is None
            else np.array([numbers.get(label, -1) for label in labels], np.int32)
        )
        starts, pairs, ends = self._constraints()
        return Encoded(
            corpus.offsets,
            tables,
            self.labels,
            gold,
            allowed,
            starts,
            ends,
            pairs,
            dense=self._dense(corpus),
            words=self._words(corpus),
        )

    def _constraints(self) -> tuple[Any, Any, Any]:
        """Starts, pairs and ends of labels, as indices, that no sequence has."""
        own = forbidden_pairs.numbered(self.forbidden, self.labels)
        if not self.valid_tags:
            return own
        starts, pairs, ends = tag_schemes.constraints(self.labels, self.target_scheme)
        return (
            tuple(sorted({*own[0], *starts})),
            tuple(sorted({*own[1], *pairs})),
            tuple(sorted({*own[2], *ends})),
        )

    def _dense(self, corpus: Any) -> dict[str, tuple[DenseTable, ...]]:
        """Numbers of every token, beside its attributes; by default none."""
        return {}

    def _words(self, corpus: Any) -> Sequence[str]:
        """The word of every token; by default none."""
        return ()

    def _allowed(self, corpus: Labelled, cells: Sequence[str]) -> Array:
        """Which labels each token may take, bool, shape (tokens, labels): all where the cell is
        free, else those it names.
        """
        unknown = unknown_labels(cells, self.labels, self._compatible)
        if unknown:
            index = next(i for i, cell in enumerate(cells) if cell in unknown)
            if corpus.path == MEMORY:
                place = checks.in_instances(corpus.offsets)((index,))
                raise unknown_label(unknown[cells[index]], self.labels, place)
            raise DataError(
                corpus.path,
                int(corpus.lines[index]),
                f"{NOT_KNOWN}{did_you_mean(unknown[cells[index]], self.labels)}",
                parameter="given label",
                value=unknown[cells[index]],
                remedy=f"Labels: {', '.join(self.labels)}; write {FREE[0]} for a token that is "
                "free.",
            )
        return label_sets(cells, self.labels, self._compatible)

    def _labels_in_target_scheme(self, cells: Sequence[str]) -> list[str]:
        """The labels that cells in the files' scheme may be in the learnt scheme, sorted."""
        labels = {label for cell in set(cells) for label in alternatives(cell)}
        if self.target_scheme == "none" or self.scheme in ("none", self.target_scheme):
            return sorted(labels)
        prefixes = tag_schemes.PREFIXES[self.target_scheme]
        candidates = {
            f"{prefix}-{label[2:]}" for prefix in prefixes for label in labels if label != "O"
        } | (labels & {"O"})
        return sorted(
            candidate
            for candidate in candidates
            if any(self._compatible(label, candidate) for label in labels)
        )

    def _encoded_with_sets(
        self, corpus: Labelled, tables: Mapping[str, AttributeTable], cells: Sequence[str]
    ) -> Encoded:
        """A training corpus whose cells may leave labels open; `gold` is the first label that each
        token may have.
        """
        if not self.labels:
            raise DataError(
                corpus.path,
                None,
                "no label is given in this file: task.partial=true learns from some that are.",
            )
        self._check_tags(corpus, cells, alternatives)
        sets = self._allowed(corpus, cells)
        if self.scheme not in ("none", self.target_scheme):
            self._narrow_sets(corpus, cells, sets)
        encoded = self._encoded(corpus, tables, None)
        return replace(encoded, gold=sets.argmax(axis=1).astype(np.int32), gold_sets=sets)

    def _check_tags(
        self,
        corpus: Labelled,
        cells: Sequence[str],
        split: Callable[[str], Sequence[str]] = lambda cell: (cell,),
    ) -> None:
        """Raise DataError at the first cell with a tag outside the scheme of the files."""
        wrong: dict[str, tag_schemes.TagError] = {}
        for cell in set(cells):
            try:
                tag_schemes.check_tags(split(cell), self.scheme)
            except tag_schemes.TagError as error:
                wrong[cell] = error
        if wrong:
            position = next(i for i, cell in enumerate(cells) if cell in wrong)
            raise DataError(corpus.path, int(corpus.lines[position]), f"{wrong[cells[position]]}.")

    def _narrow_sets(self, corpus: Labelled, cells: Sequence[str], sets: Array) -> None:
        """Leave one label in the set of a token whose neighbours decide it in the learnt scheme:
        I-PER after O is B-PER.
        """
        rows = dict(zip(self.labels, np.eye(len(self.labels), dtype=bool), strict=True))
        convert = partial(tag_schemes.convert, source=self.scheme, target=self.target_scheme)
        for start, end in pairwise(corpus.offsets.tolist()):
            for position, label in certain_labels(cells[start:end], convert):
                sets[start + position] = rows[label]

    def _compatible(self, label: str, candidate: str) -> bool:
        """Whether a token with this label in the files' scheme can have the candidate in the learnt
        scheme.
        """
        return tag_schemes.compatible(label, self.scheme, candidate, self.target_scheme)

    def _label_state(self) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "scheme": self.scheme,
            "target_scheme": self.target_scheme,
        }

    def _restore_labels(self, state: SavedState) -> None:
        self.labels = tuple(state.strings("labels", least=1))
        self.scheme, self.target_scheme = (
            state.string(key, tag_schemes.SCHEMES) for key in ("scheme", "target_scheme")
        )
        if self.target_scheme == "none":
            return
        try:
            tag_schemes.check_tags(self.labels, self.target_scheme)
        except tag_schemes.TagError:
            state.refuse("labels", f"tags of the scheme {self.target_scheme}")


def _check_scheme(key: str, scheme: str, known: tuple[str, ...]) -> None:
    if scheme not in known:
        raise ConfigError(
            f"is unknown.{did_you_mean(scheme, known)} Schemes: {', '.join(known)}.",
            parameter=f"task.{key}",
            value=scheme,
        )
