"""Labelling the cells of images: every cell is a variable, and neighbours in a row or a column
depend on each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from structopt.core import checks
from structopt.core.data.encoded import EncodedGraphs
from structopt.core.data.file_sets import DataPath, data_path
from structopt.core.data.saved_state import SavedState
from structopt.core.data.splits import SPLITS, SplitPath, split_of
from structopt.core.data.table_schema import Column, Schema
from structopt.datasets.snakes import snakes
from structopt.errors import ConfigError, DataError
from structopt.formats.labelled_images import (
    FORM,
    LARGEST,
    Image,
    Images,
    image_of_lists,
    images_of,
    labelled_images,
    read_images,
    split_images,
    write_images,
)
from structopt.formats.npz import ranked_columns
from structopt.kernels.waist.record import Array
from structopt.metrics.f1 import class_counts, class_table, macro_f1
from structopt.metrics.instance_counts import RIGHT, InstanceCounts, label_events
from structopt.task.grid_features import GridFeatures, grid_edges
from structopt.task.outputs_in_memory import GIVEN, GOLD, kept_states, label_number
from structopt.task.split_files import checked_paths
from structopt.task.whole_outputs import WholeOutputs

OPEN = -1
"""The label of a cell whose label is not known, in arrays."""
GENERATED = {"train": 80, "dev": 40, "test": 40}


@dataclass(frozen=True, kw_only=True)
class EncodedImages(EncodedGraphs):
    """Images as graphs, with the images themselves, since outputs repeat the pixels."""

    images: Images

    def subset(self, first: int, last: int) -> EncodedImages:
        """The images first <= i < last."""
        images = self.images.selected(range(first, last), self.images.path)
        return replace(self, **self._sliced(EncodedImages, first, last), images=images)

    def _kept(self, kept: Array) -> dict[str, Any]:
        images = replace(self.images, shapes=self.images.shapes[kept])
        return {**super()._kept(kept), "images": images}


class Grid(WholeOutputs):
    """Labels of the cells of images of any size: snakes, segmentations.

    Files are npz (`structopt.formats.labelled_images` describes them). An output is an `Image`:
    pixels and predicted labels.

    Parameters
    ----------
    train, dev, test : str or None
        Files. Without `train`, images of snakes are generated: a snake is ten cells, the colour of
        each the direction of the next one, labelled 1 to 10 from the head; all other cells are
        labelled 0.
    dev_share, test_share : float
        Shares of the images of `train` that are the dev and test splits, where those have no files;
        their names are FILE#dev and FILE#test, on the command line too.
    data_seed : int
        Seed of the shares, and of generated images.
    limit : int or None
        Number of training images to read.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind
        that is left out takes `default_C`.
    radius : int
        How far away the cells are whose pixels are attributes of a cell: 1 for its eight
        neighbours, 0 for itself alone.
    pixels : str
        ``symbols``: every colour of the training images is an attribute; ``values``: every channel
        is one, divided by its largest in training; ``auto``: symbols, where there are at most 64.
    edge_features : str
        ``directions``: an edge has weights for whether it goes right or down; ``pixels``: and for
        what the cells at its ends look like.

    Notes
    -----
    The snakes are those of Nowozin et al. (2011): all their cells look alike, so that labels can
    only be inferred along the edges.
    """

    columns = ("pixels",)
    input_schema = Schema((Column("pixels", "double", 3),))
    output_schema = Schema((Column("labels", "long", 2, like="pixels"),))
    main_metric = "accuracy"
    unit = "cells"
    instance = "image"

    def __init__(
        self,
        train: str | None = None,
        dev: str | None = None,
        test: str | None = None,
        dev_share: float = 0.0,
        test_share: float = 0.0,
        data_seed: int = 0,
        limit: int | None = None,
        default_C: float = 1.0,
        radius: int = 1,
        pixels: Literal["auto", "symbols", "values"] = "auto",
        edge_features: Literal["directions", "pixels"] = "pixels",
        default_C_by: Mapping[str, float] | None = None,
    ) -> None:
        self._paths = checked_paths(train, dev, test, limit)
        for split, path, share in (("dev", dev, dev_share), ("test", test, test_share)):
            if not 0 <= share < 1:
                raise ConfigError(f"task.{split}_share={share:g} must be at least 0 and below 1.")
            if share and path:
                raise ConfigError(
                    f"task.{split}_share takes images from task.train, and task.{split} is "
                    "given too.",
                    remedy="Give only one.",
                )
        if dev_share + test_share >= 1:
            raise ConfigError(
                f"task.dev_share={dev_share:g} and task.test_share={test_share:g} leave nothing "
                "to train on."
            )
        self._generates = train is None
        self._shares = {"dev": dev_share, "test": test_share}
        self.data_seed, self.limit, self.default_C = data_seed, limit, default_C
        self.default_C_by = dict(default_C_by or {})
        self.features = GridFeatures(radius, pixels, edge_features)
        self.labels: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, DataPath]:
        """Files, shares of files, or generated images, by split."""
        train = self._paths["train"]
        if train is None:
            if any(self._shares.values()):  # a saved model has the shares, but no paths
                raise ConfigError(
                    "task.dev_share and task.test_share take images from task.train.",
                    remedy="Give task.train too.",
                )
            return {split: SplitPath(split) for split in SPLITS}
        files: dict[str, DataPath] = {
            split: data_path(path) for split, path in self._paths.items() if path is not None
        }
        shares = {
            split: SplitPath(split, Path(train)) for split, share in self._shares.items() if share
        }
        return files | ({"train": SplitPath("train", Path(train))} if shares else {}) | shares

    def read(
        self, path: str | os.PathLike[str], limit: int | None = None, labelled: bool = True
    ) -> Images:
        """Read a file or a share of it, or generate a split (`train`, `dev` or `test`)."""
        named, name = split_of(path), os.fspath(path)
        if named is None:
            images = read_images(name, labelled)
        elif named.source is None:
            if not self._generates:
                raise DataError(
                    name,
                    None,
                    "there is no such file, and the model was trained on a file, not on "
                    "generated images",
                    remedy="check the path.",
                )
            generated = snakes(GENERATED[named.split], f"{self.data_seed} {named.split}")
            images = images_of([Image(*image) for image in generated], name)
        else:
            whole = read_images(named.source, labelled)
            images = split_images(
                whole, named.split, self._shares["dev"], self._shares["test"], self.data_seed, name
            )
        return images if limit is None else images.selected(range(min(limit, len(images))), name)

    def subset(self, corpus: Images, first: int, last: int) -> Images:
        """Return the instances first <= i < last of a corpus."""
        return corpus.subset(first, last)

    def corpus(self, instances: Sequence[Any]) -> Images:
        """Make an unlabelled corpus of arrays of shape (rows, columns, channels), or of
        `Image`s.
        """
        return images_of(instances)

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Images:
        """Make a corpus of images, as `corpus` takes them, and arrays of labels of shape (rows,
        columns), or `Image`s.
        """
        images = FORM.listed(instances)
        outputs = GOLD.listed(outputs, len(images), "[[[0, 1], [1, 0]]]")
        return labelled_images(
            images, [output.labels if isinstance(output, Image) else output for output in outputs]
        )

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Return the images of a table: arrays of shape (rows, columns, channels)."""
        return [image_of_lists(cells, number) for number, cells in enumerate(table["pixels"], 1)]

    def input_example(self) -> dict[str, list[Any]]:
        """Return an image of a colour of the training data."""
        pixel = self.features.example()
        return {"pixels": [[[pixel] * 3] * 2]}

    def fit(self, corpus: Images, earlier: Grid | None = None) -> EncodedImages:
        """Learn labels and colours from the training images, beside those of an `earlier` task, and
        encode them.
        """
        known = [] if earlier is None else list(map(int, earlier.labels))
        self.labels = tuple(map(str, sorted({*_gold(corpus).tolist(), *known})))
        self.features.fit(corpus, None if earlier is None else earlier.features)
        return self.encode(corpus)

    def encode(self, corpus: Images, given: Sequence[int | None] | None = None) -> EncodedImages:
        """Encode images: cells, edges to the right and downwards, and the attributes of both;
        `given` labels are kept.
        """
        edges, directions = grid_edges(corpus)
        ends = edges[1] + np.repeat(corpus.offsets[:-1], np.diff(edges[0]))[:, None]
        cells, pairs = self.features.cells(corpus), self.features.edges(corpus, ends, directions)
        tables, dense = (
            {"label": cells.table, "edge": pairs.table},
            {"label": cells.dense, "edge": pairs.dense},
        )
        gold = None if corpus.labels is None else self._numbers(corpus.labels)
        allowed = None if given is None else kept_states(given, len(self.labels))
        return EncodedImages(
            corpus.offsets,
            tables,
            self.labels,
            gold,
            allowed,
            dense=dense,
            edges=edges,
            images=corpus,
        )

    def kept_outputs(self, corpus: Images, outputs: Sequence[Any]) -> list[int | None]:
        """Return the numbers of the labels of all cells, of rows of labels, or of `Image`s; None
        (or -1) where they are open.
        """
        numbers: list[int | None] = []
        shapes = corpus.shapes.tolist()
        for number, output in enumerate(
            GIVEN.listed(outputs, len(shapes), "[[[0, None], [None, 3]], None]"), 1
        ):
            labels = output.labels if isinstance(output, Image) else output
            height, width = shapes[number - 1]
            place = checks.in_instance(number - 1)
            for i, row in enumerate(GIVEN.cells(labels, height, number, "rows")):
                for j, label in enumerate(GIVEN.cells(row, width, number, "cells of a row")):
                    open_cell = label is None or label == OPEN
                    numbers.append(
                        None if open_cell else label_number(label, self.labels, place((i, j)))
                    )
        return numbers

    def marginal_columns(
        self, encoded: EncodedImages, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the columns ``row`` and ``column``, from 1, ``label`` and ``probability``."""
        columns = super().marginal_columns(encoded, index, choices)
        row, column = np.divmod(choices["variable"], encoded.images.shapes[index, 1])
        labels = list(map(int, columns["label"]))
        return {
            "row": row + 1,
            "column": column + 1,
            "label": labels,
            "probability": columns["probability"],
        }

    def decode(self, encoded: EncodedImages, view: Array) -> list[Image]:
        """Return images with predicted labels."""
        labels, images, offsets = (
            np.array(self.labels, np.int32)[view],
            encoded.images,
            encoded.offsets.tolist(),
        )
        return [
            Image(images.pixels[a:b].reshape(*shape, -1), labels[a:b].reshape(shape))
            for (a, b), shape in zip(pairwise(offsets), images.shapes.tolist(), strict=True)
        ]

    @property
    def empty_output(self) -> Image:
        """An image without cells."""
        return Image(np.zeros((0, 0)), np.zeros((0, 0), np.int32))

    def outcomes(self, corpus: Images, predicted: Sequence[Image]) -> InstanceCounts:
        """Return the counts of every image: 1, whether all is right, its cells; of each label
        right, predicted and gold.
        """
        return _label_outcomes(corpus, predicted)[1]

    def report(self, corpus: Images, predicted: Sequence[Image]) -> str:
        """Return the scores as a table of text, a line a label, in per cent."""
        labels, outcomes = _label_outcomes(corpus, predicted)
        scores = outcomes.scores()
        lines = [
            f"{len(predicted)} images; accuracy: {100 * scores['accuracy']:.2f}%; macro F1: "
            f"{100 * scores['macro_f1']:.2f}; "
            f"wholly right: {100 * scores['exact']:.2f}%",
            "label  precision  recall      F1",
        ]
        for label, counts in zip(
            labels.tolist(), class_counts(class_table(outcomes.totals(), 3)), strict=True
        ):
            lines.append(f"{label:5}  {counts.percentages()}")
        return "\n".join(lines) + "\n"

    def write_outputs(
        self,
        corpus: Images,
        target: str | Path,
        outputs: Sequence[Image],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Sequence[tuple[float, Image]]] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write an npz of the images with predicted labels.

        With probabilities it has ``probabilities``, shape (cells, labels), in the order of
        ``label_names``; ``ranked``, shape (cells, k), has the labels in the 1st to kth best output,
        -1 where there are fewer.
        """
        more: dict[str, Array] = {}
        if probabilities is not None:
            more["probabilities"] = np.concatenate(probabilities)
            more["label_names"] = np.array(self.labels, np.int32)
        if ranked is not None:
            more["ranked"] = np.concatenate(
                ranked_columns([[_labels_of([image]) for _, image in best] for best in ranked])
            )
        write_images(target, outputs, **more)

    def output_table(self, outputs: Sequence[Image]) -> dict[str, list[Any]]:
        """Return the labels of every image as nested lists."""
        return {"labels": [np.asarray(image.labels).tolist() for image in outputs]}

    def vocabulary(self) -> dict[str, list[str]]:
        """Return the labels."""
        return {"labels": list(self.labels)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """Return the names of attributes: pixels around a cell, or at the ends of an edge."""
        return self.features.names(group) if group in ("label", "edge") else []

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the labels, and the state of the features."""
        values, arrays = self.features.state()
        return {
            "labels": list(self.labels),
            "features": values,
            "generates": self._generates,
        }, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore what `state` returned."""
        state = SavedState(values, arrays)
        self.labels, self._generates = (
            tuple(state.strings("labels", least=1)),
            state.flag("generates"),
        )
        numbers = [int(label) if label.isdecimal() else -1 for label in self.labels]
        if numbers[0] < 0 or numbers[-1] > LARGEST or sorted(set(numbers)) != numbers:
            state.refuse("labels", f"whole numbers from 0 to {LARGEST} as strings, ascending")
        self.features.restore(state.within("features"))

    def _numbers(self, labels: Array) -> Array:
        """Numbers of labels; -1 for those that the training data lack."""
        known = np.array(self.labels, np.int64)
        indices = np.searchsorted(known, labels).clip(max=len(known) - 1)
        return np.where(known[indices] == labels, indices, -1).astype(np.int32)


def _gold(corpus: Images) -> Array:
    if corpus.labels is None:
        raise DataError(
            corpus.path,
            None,
            "has no labels to compare with.",
            remedy="Give a file with the array 'labels'.",
        )
    return corpus.labels


def _labels_of(images: Sequence[Image]) -> Array:
    return np.concatenate([np.ravel(image.labels) for image in images if image.labels is not None])


def _label_outcomes(corpus: Images, predicted: Sequence[Image]) -> tuple[Array, InstanceCounts]:
    """The labels that are gold or predicted somewhere, ascending, and the counts of every image."""
    gold, labelled, cells = _gold(corpus), _labels_of(predicted), np.diff(corpus.offsets)
    labels, numbers = np.unique(np.concatenate([gold, labelled]), return_inverse=True)
    image_of = np.repeat(np.arange(len(cells)), cells)
    wrong = np.bincount(image_of[gold != labelled], minlength=len(cells))
    table = np.stack([np.ones(len(cells)), wrong == 0, cells], axis=1)
    events = label_events(image_of, numbers[: len(gold)], numbers[len(gold) :])
    return labels, InstanceCounts.of_classes(table, events, len(labels), _scores)


def _scores(totals: Array) -> dict[str, float]:
    (images, all_right, cells), classes = totals[:3].tolist(), class_table(totals, 3)
    accuracy = float(classes[:, RIGHT].sum() / cells)
    return {
        "accuracy": accuracy,
        "hamming_loss": 1.0 - accuracy,
        "macro_f1": macro_f1(classes),
        "exact": all_right / images,
    }
