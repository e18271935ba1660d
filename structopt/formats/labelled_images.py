"""Images with labelled cells: in memory, and as npz files.

An npz of images has the arrays ``shapes_x``, shape (images, 2): rows and columns of each;
``pixels``, shape (cells, channels), or (cells,): numbers, image by image and row by row; and
``labels``, shape (cells,): whole numbers from 0 on, which unlabelled input may lack. ``shapes_y``,
where there is one, repeats ``shapes_x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from structopt.core.data import ranges
from structopt.core.data.table_schema import TABLE
from structopt.errors import DataError
from structopt.formats.in_memory.instances import MEMORY, Form
from structopt.formats.npz import read_arrays, write_arrays
from structopt.kernels.waist.record import Array

FORM = Form(
    "image",
    "Give a list of images, each an array of numbers of shape (rows, columns, channels) or "
    "(rows, columns): [pixels].",
)
LARGEST = int(np.iinfo(np.int32).max)


class Image(NamedTuple):
    """One image.

    Attributes
    ----------
    pixels : shape (rows, columns, channels)
    labels : int32, shape (rows, columns), or None
    """

    pixels: Array
    labels: Array | None = None


@dataclass(frozen=True)
class Images:
    """A corpus of images, cell after cell.

    Attributes
    ----------
    path : str
        The file.
    shapes : int64, shape (images, 2)
        Rows and columns.
    pixels : shape (cells, channels)
    labels : int32, shape (cells,), or None
    """

    path: str
    shapes: Array
    pixels: Array
    labels: Array | None

    def __len__(self) -> int:
        """Number of images."""
        return len(self.shapes)

    @property
    def offsets(self) -> Array:
        """Where the cells of each image begin, int64, shape (images + 1,)."""
        return np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))]).astype(np.int64)

    def subset(self, first: int, last: int) -> Images:
        """Return the images first <= i < last."""
        return self.selected(range(first, last), self.path)

    def selected(self, indices: Sequence[int], path: str) -> Images:
        """Return the images of these indices, in their order, as a corpus of another name."""
        offsets = self.offsets
        runs = [np.arange(offsets[i], offsets[i + 1]) for i in indices]
        cells = np.concatenate([np.zeros(0, np.int64), *runs])
        labels = None if self.labels is None else self.labels[cells]
        return Images(path, self.shapes[np.array(indices, np.int64)], self.pixels[cells], labels)


def read_images(path: str | Path, labelled: bool = True) -> Images:
    """Read an npz of images.

    Raises
    ------
    DataError
        What is no such file, or is malformed: arrays that are missing, of other shapes than
        `shapes_x` says, or hold other numbers than they may.
    """
    needed = ("pixels", "shapes_x", *(["labels"] if labelled else []))
    arrays = read_arrays(path, needed, ("pixels", "shapes_x", "shapes_y", "labels"))
    shapes, pixels, labels = arrays["shapes_x"], arrays["pixels"], arrays.get("labels")

    def refuse(message: str) -> DataError:
        return DataError(path, None, message)

    if (
        shapes.ndim != 2
        or shapes.shape[1] != 2
        or shapes.dtype.kind not in "iu"
        or (shapes < 1).any()
    ):
        raise refuse(
            "'shapes_x' must be rows and columns, each at least 1, of shape (images, 2); it is "
            f"{_kind(shapes)}."
        )
    if not len(shapes):
        raise refuse("the file has no images: check the path, or make the file again.")
    if "shapes_y" in arrays and not np.array_equal(arrays["shapes_y"], shapes):
        raise refuse(
            "'shapes_y' differs from 'shapes_x', but labels and pixels must have the same cells. "
            "Leave it out."
        )
    # of Python's integers, which do not overflow
    cells = sum(rows * columns for rows, columns in shapes.tolist())
    if (
        pixels.ndim not in (1, 2)
        or len(pixels) != cells
        or not pixels.size
        or not _are_numbers(pixels)
    ):
        raise refuse(
            f"'pixels' must be finite numbers of shape ({cells}, channels), as 'shapes_x' says; "
            f"it is {_kind(pixels)}."
        )
    if (index := ranges.first_fault(pixels.ravel())) >= 0:
        value, image = (
            pixels.ravel()[index].item(),
            _image_of(shapes, index // (pixels.size // cells)),
        )
        raise refuse(
            f"'pixels' must be finite numbers: {value} in image {image} {ranges.fault(value)}. "
            "Scale the pixels down."
        )
    if labels is not None and (labels.shape != (cells,) or labels.dtype.kind not in "iu"):
        raise refuse(
            f"'labels' must be whole numbers of shape ({cells},), as 'shapes_x' says; it is "
            f"{_kind(labels)}."
        )
    if labels is not None and (wrong := (labels < 0) | (labels > LARGEST)).any():
        cell = int(wrong.argmax())
        image = _image_of(shapes, cell)
        raise refuse(
            f"image {image} has the label {labels[cell]}; labels are whole numbers from 0 to "
            f"{LARGEST}."
        )
    numbers = None if labels is None else labels.astype(np.int32)
    return Images(str(path), shapes.astype(np.int64), pixels.reshape(cells, -1), numbers)


def _image_of(shapes: Array, cell: int) -> int:
    """The number of the image that a cell belongs to, from 1."""
    return (
        int(np.searchsorted(np.cumsum(shapes.astype(np.int64).prod(axis=1)), cell, side="right"))
        + 1
    )


def write_images(path: str | Path, images: Sequence[Image], **more: Array) -> None:
    """Write an npz of labelled images, with further arrays."""
    corpus = images_of(images)
    assert corpus.labels is not None
    arrays = {
        "pixels": corpus.pixels,
        "labels": corpus.labels,
        "shapes_x": corpus.shapes,
        "shapes_y": corpus.shapes,
    }
    write_arrays(path, arrays | more)


def images_of(instances: Sequence[Any], path: str = MEMORY) -> Images:
    """Make a corpus of images in memory: `Image`s, or arrays of shape (rows, columns, channels) or
    (rows, columns). An array without elements is an image without cells.

    Raises
    ------
    DataError
        One image instead of a list of them; arrays of other shapes, or with different numbers of
        channels; labels of another shape.
    """
    if isinstance(instances, Image):
        raise FORM.refused(None, "the instances are one image")
    images = [_image(instance, number) for number, instance in enumerate(FORM.listed(instances), 1)]
    flat = [
        pixels.reshape(pixels.shape[0] * pixels.shape[1], -1) for pixels, _ in images if pixels.size
    ]
    if len({cells.shape[1] for cells in flat}) > 1:
        raise FORM.refused(None, "the images have different numbers of channels")
    shapes = np.array([pixels.shape[:2] for pixels, _ in images], np.int64).reshape(-1, 2)
    labels = [np.ravel(image.labels) for image in images if image.labels is not None]
    numbers = (
        np.concatenate(labels).astype(np.int32) if images and len(labels) == len(images) else None
    )
    return Images(path, shapes, np.concatenate(flat) if flat else np.zeros((0, 1)), numbers)


def labelled_images(instances: Sequence[Any], labels: Sequence[Any]) -> Images:
    """Make a corpus of images in memory, as `images_of` takes them, with the labels of their cells,
    of shape (rows, columns).

    Raises
    ------
    DataError
        As `images_of`; labels that are no whole numbers from 0 to `LARGEST`.
    """
    images = []
    for number, (instance, cells) in enumerate(zip(instances, labels, strict=True), 1):
        numbers = np.asarray(cells)
        if numbers.dtype.kind not in "iu" or (numbers < 0).any() or (numbers > LARGEST).any():
            raise FORM.refused(
                number, f"labels are whole numbers from 0 to {LARGEST}, and these are not"
            )
        images.append(
            _image(
                Image(
                    np.asarray(instance.pixels if isinstance(instance, Image) else instance),
                    numbers,
                ),
                number,
            )
        )
    return images_of(images)


def image_of_lists(cells: Sequence[Any], number: int) -> Array:
    """Make an image of nested lists of rows, columns and channels; DataError where their lengths
    differ.
    """
    if not len(cells):
        return np.zeros((0, 0))
    widths, channels = {len(row) for row in cells}, {len(pixel) for row in cells for pixel in row}
    if len(widths) != 1 or len(channels) != 1 or 0 in widths | channels:
        message = (
            "the rows of an image must have as many pixels each, and the pixels as many channels."
        )
        raise DataError(TABLE, number, message)
    return np.array(cells, np.float64)


def _image(instance: Any, number: int) -> Image:
    """An instance as an image; DataError where it is none."""
    try:
        image = instance if isinstance(instance, Image) else Image(np.asarray(instance))
    except ValueError:  # rows of different lengths
        raise FORM.refused(number, "an image has rows of different lengths") from None
    pixels, labels = image
    if not pixels.size and pixels.ndim in (1, 2, 3) and (labels is None or not np.size(labels)):
        none = None if labels is None else np.zeros((0, 0), np.int32)
        return Image(np.zeros((0, 0)), none)
    if pixels.ndim not in (2, 3) or not pixels.size or not _are_numbers(pixels):
        raise FORM.refused(number, f"an image is not numbers of such a shape, but {_kind(pixels)}")
    if (index := ranges.first_fault(pixels.ravel())) >= 0:
        value = pixels.ravel()[index].item()
        raise FORM.refused(number, f"the pixel {value} of an image {ranges.fault(value)}")
    if labels is not None and labels.shape != pixels.shape[:2]:
        raise FORM.refused(
            number,
            f"an image has labels of shape {labels.shape} for {pixels.shape[:2]} rows and columns",
        )
    return image


def split_images(
    images: Images, role: str, dev: float, test: float, seed: int, path: str
) -> Images:
    """Return the train, dev or test split of a corpus, `dev` and `test` being shares of it; the
    order is drawn from the seed.
    """
    order = list(range(len(images)))
    Random(seed).shuffle(order)
    first, second = round(dev * len(order)), round(dev * len(order)) + round(test * len(order))
    splits = {"dev": order[:first], "test": order[first:second], "train": order[second:]}
    if not splits[role]:
        raise DataError(
            path,
            None,
            f"its {len(order)} images are too few for a share",
            remedy="change task.dev_share or task.test_share.",
        )
    return images.selected(splits[role], path)


def _are_numbers(array: Array) -> bool:
    return array.dtype.kind in "buif"


def _kind(array: Array) -> str:
    return f"{array.dtype} of shape {array.shape}"
