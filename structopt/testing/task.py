"""What every task promises: the same arrays from the same corpus, outputs that survive coding, and
errors with file and line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pytest

from structopt.core.data.encoded import Encoded, EncodedTrees
from structopt.core.data.table_schema import Schema
from structopt.core.task import Task
from structopt.errors import ConfigError, DataError
from structopt.kernels.waist.record import Array
from structopt.testing.promises import default, promises, required


def assert_same(left: Encoded, right: Encoded) -> None:
    """Two encoded corpora have the same variables, labels, words, gold, attributes and numbers."""
    assert left.labels == right.labels
    assert list(left.words) == list(right.words)
    assert set(left.tables) == set(right.tables)
    assert {name: len(tables) for name, tables in left.dense.items()} == {
        name: len(ts) for name, ts in right.dense.items()
    }
    pairs = [(left.offsets, right.offsets), (left.gold, right.gold)]
    for name, tables in left.dense.items():
        every = [np.arange(len(table.rows)) for table in tables]
        pairs += [
            (a.values(n), b.values(n))
            for a, b, n in zip(tables, right.dense[name], every, strict=True)
        ]
    for name, table in left.tables.items():
        other = right.tables[name]
        assert table.size == other.size
        pairs += [
            (getattr(table, key), getattr(other, key)) for key in ("offsets", "ids", "values")
        ]
    for a, b in pairs:
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b)


@promises("task")
class TaskSuite:
    """Override two fixtures: `task` returns a function that creates a task, `path` a labelled file
    of at least three instances.

    Where the task decodes neither labels nor heads, override `gold_view`; where it reads files that
    have no labels, `unlabelled`; and `malformed`, a file that it must refuse, and the line.
    """

    @required
    def task(self) -> Any:
        """Return a function without arguments that creates the task under test."""

    @required
    def path(self, tmp_path: Path) -> Any:
        """Return the path of a labelled file with at least three instances; `tmp_path` is a
        folder for it.
        """

    @default
    def unlabelled(self, path: Path) -> Path:
        """Make the same file without its labels; that of a task that overlooks them is the file
        itself.
        """
        return path

    @default
    def malformed(self, tmp_path: Path) -> tuple[Path, int] | None:
        """Make a file that must be refused, and say which line is wrong; None where there is
        none.
        """
        return None

    def gold_view(self, encoded: Encoded) -> Array:
        """Return the gold outputs as the view that `decode` takes: label numbers, or of trees heads
        and relations.
        """
        assert encoded.gold is not None
        if not isinstance(encoded, EncodedTrees):
            return encoded.gold
        assert encoded.heads is not None
        own = np.arange(len(encoded.heads)) - np.repeat(
            encoded.offsets[:-1], np.diff(encoded.offsets)
        )
        return np.stack(
            [np.where(encoded.heads == own, 0, encoded.heads + 1), encoded.gold], axis=1
        )

    def test_attributes(self, task: Callable[[], Task]) -> None:
        """The program reads files, limit, columns and the main metric.

        Set `files` (paths), `limit`, `main_metric`, `view`, `partial` and `columns` in the class or
        its constructor.
        """
        component = task()
        assert all(isinstance(path, Path) for path in component.files.values())
        assert component.limit is None or component.limit >= 1
        assert isinstance(component.main_metric, str)
        assert isinstance(component.view, str)
        assert isinstance(component.partial, bool)
        assert len(component.columns) == len(set(component.columns))

    def test_fit_encodes_as_encode_does(self, task: Callable[[], Task], path: Path) -> None:
        """The training corpus, encoded again, gives the same arrays; its labels are all known.

        Let `fit` learn the vocabulary and then call `encode`; all labels of training must be known
        to it.
        """
        component = task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        assert_same(encoded, component.encode(corpus))
        assert len(encoded) >= 3
        assert tuple(component.labels) == tuple(encoded.labels)
        assert encoded.gold is not None
        assert encoded.gold.min() >= 0

    def test_limit(self, task: Callable[[], Task], path: Path) -> None:
        """The first instances only.

        Read no more instances than `limit` in `read`.
        """
        component = task()
        assert len(component.fit(component.read(path, limit=2))) == 2

    def test_subsets_are_encoded_as_their_instances_are(
        self, task: Callable[[], Task], path: Path
    ) -> None:
        """Consecutive instances of a corpus have the gold outputs that they have in the whole; or
        the task says that it cannot.

        Return from `subset` the instances first <= i < last, so that ``tail=0.2`` can take the end
        of the training file apart.
        """
        component = task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        try:
            subset = component.subset(corpus, 1, len(encoded))
        except ConfigError:
            return
        assert len(subset) == len(encoded) - 1
        again, expected = component.encode(subset), encoded.subset(1, len(encoded))
        assert again.gold is not None
        assert expected.gold is not None
        np.testing.assert_array_equal(again.gold, expected.gold)

    def test_gold_decodes_to_a_perfect_score(self, task: Callable[[], Task], path: Path) -> None:
        """Gold outputs, coded and decoded, score 1; the metrics have names and the report is text.

        `decode` must undo the encoding of gold, `evaluate` compare with the corpus, with metrics
        from 0 to 1; override `gold_view` where the view is another.
        """
        component = task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        outputs = component.decode(encoded, self.gold_view(encoded))
        assert len(outputs) == len(encoded)
        metrics = component.evaluate(corpus, outputs)
        assert metrics[component.main_metric] == 1.0
        assert all(0.0 <= value <= 1.0 for value in metrics.values())
        assert len(component.written(outputs)) == len(encoded)
        assert component.report(corpus, outputs).strip()

    def test_outcomes_add_up_to_the_scores(self, task: Callable[[], Task], path: Path) -> None:
        """What the instances add to the counts comes to the metrics of `evaluate`, for outputs that
        are partly wrong.

        Return from `outcomes` the counts of each instance, and combine them by the formula of
        `evaluate`.
        """
        component = task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        gold = self.gold_view(encoded)
        third = np.arange(len(gold)).reshape(-1, *[1] * (gold.ndim - 1)) % 3 == 0
        outputs = component.decode(encoded, np.where(third, gold[:1], gold))
        outcomes = component.outcomes(corpus, outputs)
        assert len(outcomes) == len(encoded)
        assert outcomes.scores() == pytest.approx(component.evaluate(corpus, outputs))

    def test_state_is_all_it_learnt(self, task: Callable[[], Task], path: Path) -> None:
        """Another object with the state encodes the corpus alike; the state is JSON and arrays,
        without the file's path.

        Return from `state` all that `fit` learnt, as JSON values and arrays, without paths;
        `restore` takes it up.
        """
        component, other = task(), task()
        corpus = component.read(path)
        encoded = component.fit(corpus)
        values, arrays = component.state()
        stored = json.dumps(values)
        assert str(path) not in stored
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
        other.restore(json.loads(stored), arrays)
        assert_same(encoded, other.encode(other.read(path)))
        assert tuple(other.labels) == tuple(component.labels)

    def test_an_earlier_vocabulary_is_kept(self, task: Callable[[], Task], path: Path) -> None:
        """Fitted to fewer instances beside an earlier task, it knows all that the earlier one does,
        and encodes as it says.

        Keep all names of `earlier` in `fit`, and add those of the corpus behind them.
        """
        earlier, component = task(), task()
        earlier.fit(earlier.read(path))
        corpus = component.read(path, limit=1)
        encoded = component.fit(corpus, earlier)
        assert_same(encoded, component.encode(corpus))
        for kind, names in earlier.vocabulary().items():
            assert set(names) <= set(component.vocabulary()[kind])
        for name, table in encoded.tables.items():
            assert set(earlier.attribute_names(name)) <= set(component.attribute_names(name))
            assert len(component.attribute_names(name)) == table.size

    def test_tables(self, task: Callable[[], Task], path: Path) -> None:
        """The example is as the input schema says and survives JSON; outputs are as the output
        schema says.

        Make `input_example` of the columns of `input_schema`, and let `instances` and `corpus` read
        it.
        """
        component = task()
        component.fit(component.read(path))
        example = json.loads(json.dumps(component.input_example()))
        assert set(example) <= {column.name for column in component.input_schema}
        checked = component.input_schema.checked(example)
        encoded = component.encode(component.corpus(component.instances(checked)))
        assert len(encoded) == len(next(iter(example.values())))
        assert (
            Schema.restore(json.loads(json.dumps(component.output_schema.state())))
            == component.output_schema
        )

    def test_attributes_have_names(self, task: Callable[[], Task], path: Path) -> None:
        """One for each attribute of a table; none for a part group that the task does not know.

        Return from `attribute_names` one name for each attribute of the table, none twice; none for
        other groups.
        """
        component = task()
        encoded = component.fit(component.read(path))
        for name, table in encoded.tables.items():
            names = component.attribute_names(name)
            assert len(names) == table.size
            assert len(set(names)) == table.size
        assert len(component.attribute_names("no such group")) == 0

    def test_predictions_are_written(
        self, task: Callable[[], Task], path: Path, unlabelled: Path, tmp_path: Path
    ) -> None:
        """A file without labels has as many instances, lacks no column but these, and predictions
        for it are written.

        Let `read(..., labelled=False)` do without labels, and `write_outputs` write every instance.
        """
        component = task()
        encoded = component.fit(component.read(path))
        corpus = component.read(unlabelled, labelled=False)
        assert len(component.encode(corpus)) == len(encoded)
        assert isinstance(component.missing_columns(corpus), list)
        outputs, target = (
            component.written(component.decode(encoded, self.gold_view(encoded))),
            tmp_path / "predicted",
        )
        component.write_outputs(corpus, target, outputs)
        assert target.stat().st_size > 0

    def test_malformed_file(
        self, task: Callable[[], Task], malformed: tuple[Path, int] | None
    ) -> None:
        """The error says which line of which file.

        Raise `DataError(path, line, message)`, with the line counted from 1.
        """
        if malformed is None:
            raise SkipTest("no malformed file was given")
        file, line = malformed
        with pytest.raises(DataError) as refused:
            component = task()
            component.fit(component.read(file))
        assert str(refused.value).startswith(f"{file}:{line}: ")
