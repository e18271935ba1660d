"""Labelling the cells of images: every cell is a variable, and neighbours in a row or a column depend on each other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from structopt.core.data.encoded import EncodedGraphs
from structopt.core.data.splits import SPLITS, SplitPath, split_of
from structopt.core.data.table_schema import Column, Schema
from structopt.datasets.snakes import snakes
from structopt.errors import ConfigError, DataError
from structopt.formats.labelled_images import Image, Images, image_of_lists, images_of, read_images, share, write_images
from structopt.formats.npz import side_by_side
from structopt.kernels.waist.record import Array
from structopt.metrics.outcomes import RIGHT, Outcomes, classes_of, label_events, macro_f1
from structopt.task.grid_features import GridFeatures, grid_edges
from structopt.task.split_files import checked_paths
from structopt.task.whole_inputs import WholeInputs

GENERATED = {"train": 80, "dev": 40, "test": 40}


@dataclass(frozen=True, kw_only=True)
class EncodedImages(EncodedGraphs):
    """Images as graphs, and the images themselves, which outputs are made of."""

    images: Images

    def subset(self, first: int, last: int) -> EncodedImages:
        """The images first <= i < last."""
        images = self.images.taken(range(first, last), self.images.path)
        return replace(self, **self._sliced(EncodedImages, first, last), images=images)


class Grid(WholeInputs):
    """Labels of the cells of images, which are grids of any size: snakes, segmentations.

    Files are npz (`structopt.formats.labelled_images` describes them). An output is an `Image`: pixels and predicted labels.

    Parameters
    ----------
    train, dev, test : str or None
        Files. Without `train`, images of snakes are generated: a snake is ten cells, each of which shows by its colour where
        the next one lies, labelled 1 to 10 from the head, and 0 around it.
    dev_share, test_share : float
        Shares of the images of `train` that are its dev and test parts, where those have no files; they are called
        FILE#dev and FILE#test, on the command line too.
    data_seed : int
        Seed of the shares, and of generated images.
    limit : int or None
        Number of training images to read.
    default_C : float
        C for optimizers that are not given one.
    default_C_by : mapping or None
        The same for kinds of optimizers: ``optimum`` (those that reach it), ``gradient``. A kind that is left out takes
        `default_C`.
    radius : int
        How far around it a cell sees: 1 for its eight neighbours, 0 for itself alone.
    pixels : str
        ``symbols``: every colour of the training images is an attribute; ``values``: every channel is one, divided by its
        largest in training; ``auto``: symbols, where there are at most 64.
    edge_features : str
        ``directions``: an edge has weights for whether it goes right or down; ``pixels``: and for what the cells at its ends
        look like.

    Notes
    -----
    The snakes are those of Nowozin et al. (2011), whose cells look alike wherever they are in the snake: only along the
    edges can a label be told.
    """

    columns = ("pixels",)
    input_schema = Schema((Column("pixels", "double", 3),))
    output_schema = Schema((Column("labels", "long", 2, like="pixels"),))
    main_metric = "accuracy"
    unit = "cells"

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
        for role, path, part in (("dev", dev, dev_share), ("test", test, test_share)):
            if not 0 <= part < 1:
                raise ConfigError(f"task.{role}_share={part:g} must be at least 0 and below 1.")
            if part and path:
                raise ConfigError(f"task.{role}_share takes images from task.train, and task.{role} is given too. Give only one.")
        if dev_share + test_share >= 1:
            raise ConfigError(f"task.dev_share={dev_share:g} and task.test_share={test_share:g} leave nothing to train on.")
        self._generates = train is None
        self._shares = {"dev": dev_share, "test": test_share}
        self.data_seed, self.limit, self.default_C = data_seed, limit, default_C
        self.default_C_by = dict(default_C_by or {})
        self.features = GridFeatures(radius, pixels, edge_features)
        self.labels: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, Path | SplitPath]:
        """Files, shares of files, or generated splits, by the name of the split."""
        train = self._paths["train"]
        if train is None:
            if any(self._shares.values()):  # a saved model has the shares, which name splits of its file, but no paths
                raise ConfigError("task.dev_share and task.test_share take images from task.train. Give task.train too.")
            return {split: SplitPath(split) for split in SPLITS}
        files: dict[str, Path | SplitPath] = {split: Path(path) for split, path in self._paths.items() if path is not None}
        shared = {split: SplitPath(split, Path(train)) for split, share in self._shares.items() if share}
        return files | ({"train": SplitPath("train", Path(train))} if shared else {}) | shared

    def read(self, path: str | os.PathLike[str], limit: int | None = None, labelled: bool = True) -> Images:
        """Read a file or a share of it, or generate a split (`train`, `dev` and `test` are its names)."""
        split, name = split_of(path), os.fspath(path)
        if split is None:
            images = read_images(name, labelled)
        elif split.source is None:
            if not self._generates:
                message = "there is no such file, and the model was trained on a file, not on generated images: check the path."
                raise DataError(name, None, message)
            made = snakes(GENERATED[split.split], f"{self.data_seed} {split.split}")
            images = images_of([Image(*one) for one in made], name)
        else:
            whole = read_images(split.source, labelled)
            images = share(whole, split.split, self._shares["dev"], self._shares["test"], self.data_seed, name)
        return images if limit is None else images.taken(range(min(limit, len(images))), name)

    def corpus(self, instances: Sequence[Any]) -> Images:
        """Make an unlabelled corpus of arrays of shape (rows, columns, channels), or of `Image`s."""
        return images_of(instances)

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Images from a table: arrays of shape (rows, columns, channels)."""
        return [image_of_lists(cells, number) for number, cells in enumerate(table["pixels"], 1)]

    def input_example(self) -> dict[str, list[Any]]:
        """An image of colours that training has shown."""
        pixel = self.features.example()
        return {"pixels": [[[pixel] * 3] * 2]}

    def fit(self, corpus: Images, earlier: Grid | None = None) -> EncodedImages:
        """Learn labels and colours from the training images, beside those of an `earlier` task, and encode them."""
        known = [] if earlier is None else list(map(int, earlier.labels))
        self.labels = tuple(map(str, sorted({*_gold(corpus).tolist(), *known})))
        self.features.fit(corpus, None if earlier is None else earlier.features)
        return self.encode(corpus)

    def encode(self, corpus: Images, given: Sequence[str] | None = None) -> EncodedImages:
        """Encode images: cells, edges to the right and downwards, and what they look like."""
        self._refuse_given(given)
        edges, ways = grid_edges(corpus)
        joined = edges[1] + np.repeat(corpus.offsets[:-1], np.diff(edges[0]))[:, None]
        tables = {"label": self.features.cells(corpus), "edge": self.features.between(corpus, joined, ways)}
        gold = None if corpus.labels is None else self._numbers(corpus.labels)
        return EncodedImages(corpus.offsets, tables, self.labels, gold, edges=edges, images=corpus)

    def decode(self, encoded: EncodedImages, view: Array) -> list[Image]:
        """Images with predicted labels."""
        labels, images, offsets = np.array(self.labels, np.int32)[view], encoded.images, encoded.offsets.tolist()
        return [
            Image(images.pixels[a:b].reshape(*shape, -1), labels[a:b].reshape(shape))
            for (a, b), shape in zip(pairwise(offsets), images.shapes.tolist(), strict=True)
        ]

    def outcomes(self, corpus: Images, predicted: Sequence[Image]) -> Outcomes:
        """What every image adds to the scores: itself, that it is all right, its cells; of each label right, found and gold."""
        gold, found, cells = _gold(corpus), _labels_of(predicted), np.diff(corpus.offsets)
        labels, numbers = np.unique(np.concatenate([gold, found]), return_inverse=True)
        owner = np.repeat(np.arange(len(cells)), cells)
        wrong = np.bincount(owner[gold != found], minlength=len(cells))
        table = np.stack([np.ones(len(cells)), wrong == 0, cells], axis=1)
        events = label_events(owner, numbers[: len(gold)], numbers[len(gold) :])
        return Outcomes.of_classes(table, events, len(labels), _scores)

    def report(self, corpus: Images, predicted: Sequence[Image]) -> str:
        """Scores as a table to read, a line a label, in per cent."""
        scores = self.evaluate(corpus, predicted)
        lines = [
            f"{len(predicted)} images; accuracy: {100 * scores['accuracy']:.2f}%; macro F1: {100 * scores['macro_f1']:.2f}; "
            f"wholly right: {100 * scores['exact']:.2f}%",
            "label  precision  recall      F1",
        ]
        for label, (precision, recall, f1) in _label_scores(_gold(corpus), _labels_of(predicted)).items():
            lines.append(f"{label:5}  {100 * precision:9.2f}  {100 * recall:6.2f}  {100 * f1:6.2f}")
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

        With probabilities it has ``probabilities``, shape (cells, labels), in the order of ``label_names``; ``ranked``, shape
        (cells, k), has the labels in the 1st to kth best output, -1 where there are fewer.
        """
        more: dict[str, Array] = {}
        if probabilities is not None:
            more["probabilities"] = np.concatenate(probabilities)
            more["label_names"] = np.array(self.labels, np.int32)
        if ranked is not None:
            more["ranked"] = np.concatenate(side_by_side([[_labels_of([image]) for _, image in best] for best in ranked]))
        write_images(target, outputs, **more)

    def output_table(self, outputs: Sequence[Image]) -> dict[str, list[Any]]:
        """Labels of every image as nested lists."""
        return {"labels": [np.asarray(image.labels).tolist() for image in outputs]}

    def vocabulary(self) -> dict[str, list[str]]:
        """The labels."""
        return {"labels": list(self.labels)}

    def attribute_names(self, group: str = "label") -> list[str]:
        """What stands where around a cell, or at the ends of an edge."""
        return self.features.names(group) if group in ("label", "edge") else []

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Labels, and what cells may look like."""
        values, arrays = self.features.state()
        return {"labels": list(self.labels), "features": values, "generates": self._generates}, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""
        self.labels, self._generates = tuple(values["labels"]), values["generates"]
        self.features.restore(values["features"], arrays)

    def _numbers(self, labels: Array) -> Array:
        """Numbers of labels; -1 for those that training never shows."""
        known = np.array(self.labels, np.int64)
        place = np.searchsorted(known, labels).clip(max=len(known) - 1)
        return np.where(known[place] == labels, place, -1).astype(np.int32)


def _gold(corpus: Images) -> Array:
    if corpus.labels is None:
        raise DataError(corpus.path, None, "has no labels to compare with; give a file with the array 'labels'.")
    return corpus.labels


def _labels_of(images: Sequence[Image]) -> Array:
    return np.concatenate([np.ravel(image.labels) for image in images if image.labels is not None])


def _scores(totals: Array) -> dict[str, float]:
    (images, whole, cells), classes = totals[:3].tolist(), classes_of(totals, 3)
    accuracy = float(classes[:, RIGHT].sum() / cells)
    return {"accuracy": accuracy, "hamming_loss": 1.0 - accuracy, "macro_f1": macro_f1(classes), "exact": whole / images}


def _label_scores(gold: Array, found: Array) -> dict[int, tuple[float, float, float]]:
    """Precision, recall and F1 of each label that is gold or predicted somewhere; 0/0 is 0."""
    labels, numbers = np.unique(np.concatenate([gold, found]), return_inverse=True)
    wanted, predicted = numbers[: len(gold)], numbers[len(gold) :]
    counts = [np.bincount(own, minlength=len(labels)) for own in (wanted[wanted == predicted], predicted, wanted)]
    return {
        label: (right / max(found, 1), right / max(gold, 1), 2 * right / (found + gold))
        for label, right, found, gold in zip(labels.tolist(), *(own.tolist() for own in counts), strict=True)
    }
