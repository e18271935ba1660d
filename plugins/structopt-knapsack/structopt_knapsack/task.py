"""Items to be selected within a budget, from JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np

from structopt.plugin import Array, ConfigError, DataError
from structopt.plugin.provisional import (
    AttributeTable,
    Column,
    Schema,
    Task,
    check_keys,
    checked_paths,
    write_text,
)
from structopt_knapsack import reading, scores
from structopt_knapsack.data import EncodedKnapsacks
from structopt_knapsack.reading import Corpus

SHIPPED = Path(__file__).parent / "corpus"
FEATURE_KEYS = ("support", "min_count")


class Reading(TypedDict, total=False):
    """Keys of the config's node ``features`` that the task reads."""

    min_count: int


class Knapsacks(Task):
    """Select items within a budget.

    A line of a file is a JSON object: ``{"items": [{"features": {"kind": "tool", "price": 2.5},
    "weight": 3}, ...], "budget": 10, "selected": [0, 2]}``. Weights and budget are whole numbers. A
    feature is a number, true, false, or a word, which makes the attribute ``name=word``. Further
    keys are kept in predictions.

    Parameters
    ----------
    train, dev, test : str or None
        Files, plain or .gz. Without `train`, all three are those of the small corpus shipped with
        the plugin.
    limit : int or None
        Number of training instances to read.
    encoding : str
        Encoding of the files.
    features : mapping
        ``min_count``: attributes of fewer training items are left out.
    """

    columns = ("items",)
    main_metric = "f1"
    unit = "items"
    view = "selection"
    labels = ("out", "in")
    reading: ClassVar[type[Any]] = Reading
    input_schema = Schema(
        (
            Column("features", "string", 2),
            Column("values", "double", 2, required=False, like="features", filler=1.0),
            Column("weights", "long", 1, like="features"),
            Column("budget", "long"),
        )
    )
    output_schema = Schema((Column("selected", "long", 1),))

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        limit: int | None = None,
        encoding: str = "utf8",
        features: Mapping[str, Any] | None = None,
    ) -> None:
        features = features or {}
        check_keys("features", features, FEATURE_KEYS)
        self.min_count = int(features.get("min_count", 1))
        if self.min_count < 1:
            raise ConfigError(f"features.min_count={self.min_count} must be at least 1.")
        self._paths, self.limit, self.encoding = (
            checked_paths(train, dev, test, limit),
            limit,
            encoding,
        )
        self._attributes: dict[str, int] = {}

    @property
    def files(self) -> dict[str, Path]:
        """Files by split (train, dev, test), by default those of the shipped corpus."""
        if self._paths["train"] is None:
            return {split: SHIPPED / f"{split}.jsonl" for split in self._paths}
        return {split: Path(path) for split, path in self._paths.items() if path is not None}

    def read(self, path: Any, limit: int | None = None, labelled: bool = True) -> Corpus:
        """Read JSON lines; without labels, ``selected`` is ignored."""
        return reading.read(path, limit, labelled, self.encoding)

    def subset(self, corpus: Corpus, first: int, last: int) -> Corpus:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Corpus:
        """Make an unlabelled corpus of objects in the form of the files."""
        return reading.of_memory(instances)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Corpus:
        """Make a corpus of such objects and the numbers of the items to select of each."""
        return reading.of_memory(instances, outputs)

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Objects in the form of the files, from a table."""
        all_values = table.get("values") or [
            [[1.0] * len(names) for names in row] for row in table["features"]
        ]
        rows = zip(table["features"], all_values, table["weights"], table["budget"], strict=True)
        return [
            {
                "items": [
                    {"features": dict(zip(names, values, strict=True)), "weight": weight}
                    for names, values, weight in zip(items, numbers, weights, strict=True)
                ],
                "budget": budget,
            }
            for items, numbers, weights, budget in rows
        ]

    def input_example(self) -> dict[str, list[Any]]:
        """Two instances with attributes of the training corpus."""
        names = list(self._attributes)[:2] or ["price"]
        return {
            "features": [[names, names[:1]], [names]],
            "weights": [[3, 4], [2]],
            "budget": [5, 2],
        }

    def output_table(self, outputs: Sequence[Sequence[int]]) -> dict[str, list[Any]]:
        """The selected items of every instance, by number."""
        return {"selected": [list(output) for output in outputs]}

    def fit(self, corpus: Corpus, earlier: Knapsacks | None = None) -> EncodedKnapsacks:
        """Learn the attributes of the training corpus, keep those of an `earlier` task, and encode
        the corpus.
        """
        counts = Counter(name for one in corpus.instances for item in one.features for name in item)
        kept = {name for name, count in counts.items() if count >= self.min_count}
        known = kept if earlier is None else kept | set(earlier._attributes)
        self._attributes = {name: j for j, name in enumerate(sorted(known))}
        return self.encode(corpus)

    def encode(self, corpus: Corpus, given: Sequence[str] | None = None) -> EncodedKnapsacks:
        """Encode a corpus with the attributes that `fit` learnt; other attributes are left out."""
        if given is not None:
            self.given_labels(corpus)
        sizes = [len(one.weights) for one in corpus.instances]
        gold = None
        if all(one.selected is not None for one in corpus.instances):
            gold = np.array(
                [
                    j in (one.selected or ())
                    for one in corpus.instances
                    for j in range(len(one.weights))
                ],
                np.int32,
            )
        return EncodedKnapsacks(
            offsets=np.cumsum([0, *sizes], dtype=np.int64),
            tables={"item": self._table(corpus)},
            labels=self.labels,
            gold=gold,
            weights=np.array(
                [weight for one in corpus.instances for weight in one.weights], np.int64
            ),
            budgets=np.array([one.budget for one in corpus.instances], np.int64),
        )

    def decode(self, encoded: EncodedKnapsacks, view: Array) -> list[list[int]]:
        """Numbers of the selected items, one list per instance."""
        bounds = encoded.offsets.tolist()
        return [
            np.flatnonzero(view[a:b]).tolist() for a, b in zip(bounds[:-1], bounds[1:], strict=True)
        ]

    def outcomes(
        self, gold: Corpus, predicted: Sequence[Sequence[int]]
    ) -> scores.SelectionOutcomes:
        """What every instance adds to the counts of the scores."""
        if any(one.selected is None for one in gold.instances):
            raise DataError(
                gold.path,
                None,
                'has no selections to compare with; give a file with "selected" on every line.',
            )
        return scores.outcomes(gold.instances, predicted)

    def report(self, corpus: Corpus, predicted: Sequence[Sequence[int]]) -> str:
        """Scores as a table to read."""
        return scores.report(self.evaluate(corpus, predicted), len(corpus))

    def attribute_names(self, group: str = "item") -> list[str]:
        """Names of the attributes of items."""
        return list(self._attributes) if group == "item" else []

    def configuration_names(self, group: str) -> list[Any]:
        """An item has one part, which is on if the item is selected."""
        return ["in"]

    def vocabulary(self) -> dict[str, Sequence[str]]:
        """The two states of an item."""
        return {"labels": self.labels}

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The attributes."""
        return {"attributes": list(self._attributes)}, {}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Set the attributes of a stored state."""
        self._attributes = {name: j for j, name in enumerate(values["attributes"])}

    def write_outputs(
        self,
        corpus: Corpus,
        target: str | Path,
        outputs: Sequence[Sequence[int]],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Sequence[tuple[float, Sequence[int]]]] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the objects again, with ``selected`` as predicted.

        ``probabilities`` has the probability of each item to be selected, ``k_best`` the best
        selections and their scores.
        """
        lines = []
        for i, (one, selected) in enumerate(zip(corpus.instances, outputs, strict=True)):
            line: dict[str, Any] = {**one.source, "selected": list(selected)}
            if probabilities is not None:
                line["probabilities"] = [round(float(p), 6) for p in probabilities[i][:, 1]]
            if ranked is not None:
                line["k_best"] = [
                    {"score": round(score, 6), "selected": list(best)} for score, best in ranked[i]
                ]
            lines.append(json.dumps(line, ensure_ascii=False))
        write_text(target, "\n".join(lines) + "\n", self.encoding)

    def _table(self, corpus: Corpus) -> AttributeTable:
        """Known attributes of every item."""
        rows = [
            [
                (self._attributes[name], value)
                for name, value in item.items()
                if name in self._attributes
            ]
            for one in corpus.instances
            for item in one.features
        ]
        entries = [entry for row in rows for entry in row]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        ids, values = (
            np.array([j for j, _ in entries], np.int32),
            np.array([value for _, value in entries], float),
        )
        return AttributeTable(offsets, ids, values, len(self._attributes))
