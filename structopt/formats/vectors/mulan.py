"""Mulan's files: ARFF, with an XML file that names its label columns.

    <labels xmlns="http://mulan.sourceforge.net/labels">
      <label name="beach"></label>
      <label name="sunset"></label>
    </labels>

Label columns are nominal ``{0,1}``, or hold the numbers 0 and 1. Of the other columns, numeric ones
and those of ``{0,1}`` are attributes of the column's name; any other nominal column makes an
attribute ``column=value`` of every value but its first. Missing attributes are refused: only the
owner of the data knows whether 0, a mean or a mark should stand for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from structopt.errors import ConfigError, DataError, did_you_mean
from structopt.formats.numbering import repeated
from structopt.formats.text_files import read_text
from structopt.formats.vectors import arff_reader
from structopt.formats.vectors.arff_header import Attribute
from structopt.formats.vectors.arff_reader import BINARY, Arff
from structopt.formats.vectors.labelled_vectors import LabelledVectors
from structopt.kernels.waist.record import Array

SPLIT_SUFFIX = re.compile(r"[-_.](train|dev|test|valid)$", re.I)


def read(
    path: str | Path,
    limit: int | None = None,
    labels: int | str | None = None,
    known: Sequence[str] = (),
    labelled: bool = True,
    encoding: str = "utf8",
    partial: bool = False,
) -> LabelledVectors:
    """Read an ARFF file, plain or gzip, or its first `limit` rows, and separate its label columns
    from the others.

    Parameters
    ----------
    path : str or Path
    limit : int or None
    labels : int, str or None
        The number of last columns that are labels, the path of an XML file that names them, or
        None: the XML file of the same name, with or without a last ``-train``, ``-dev`` or
        ``-test``; without one, the number that MEKA's ``-C`` gives in the name of the relation.
    known : sequence of str
        Labels of a model: if there are any, label columns are those of these names, and `labels` is
        ignored.
    labelled : bool
        Whether there must be label columns, without missing values.
    encoding : str
    partial : bool
        Whether labels may be missing (``?``): they are left open.

    Raises
    ------
    DataError
        What `structopt.formats.vectors.arff_reader.read` raises; an XML file that cannot be found
        or read; a label without a column, or with other values than 0 and 1; a missing value.
    ConfigError
        Fewer than one label column, or no other column.
    """
    rows = arff_reader.read(path, limit, encoding)
    names = _known_names(rows, known, labelled) if known else _label_names(rows, labels, encoding)
    column_of = {attribute.name: j for j, attribute in enumerate(rows.attributes)}
    columns = [column_of[name] for name in names]
    sets, unknown = _label_sets(rows, columns, labelled, partial) if names else (None, None)
    attributes, numbers, nominal = _numbering(rows.attributes, set(columns))
    of_label = np.zeros(len(rows.attributes), bool)
    of_label[columns] = True
    kept = ~of_label[rows.columns]
    missing = np.flatnonzero(np.isnan(rows.values) & kept)
    if len(missing):
        name = rows.attributes[rows.columns[missing[0]]].name
        raise DataError(
            path,
            rows.line_of(int(missing[0])),
            f"the value of {name!r} is missing (?)",
            remedy="put a number in its place, such as 0 or the column's mean.",
        )
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    entry_columns, values = rows.columns[kept], rows.values[kept]
    is_nominal = nominal[entry_columns]
    ids = (numbers[entry_columns] + np.where(is_nominal, values - 1.0, 0.0)).astype(np.int32)
    values = np.where(is_nominal, 1.0, values)
    return LabelledVectors(
        rows.path, before[rows.offsets], attributes, ids, values, sets, tuple(names), True, unknown
    )


def _known_names(rows: Arff, known: Sequence[str], labelled: bool) -> list[str]:
    """The names of a model's labels; none where the file has no column of them and may lack
    them.
    """
    names = {attribute.name for attribute in rows.attributes}
    missing = [name for name in known if name not in names]
    if not missing:
        return list(known)
    if len(missing) == len(known) and not labelled:
        return []
    message = (
        f"there is no column of the label {missing[0]!r}.{did_you_mean(missing[0], names)} Every "
        "label needs one."
    )
    raise DataError(rows.path, None, message)


def _label_names(rows: Arff, labels: int | str | None, encoding: str) -> list[str]:
    """The names of the label columns of a training file."""
    names = [attribute.name for attribute in rows.attributes]
    if isinstance(labels, int):
        if not 1 <= labels < len(names):
            message = (
                f"{rows.path} has {len(names)} columns; give a number from 1 to {len(names) - 1}."
            )
            raise ConfigError(f"task.labels={labels}: {message}")
        return names[-labels:]
    source = Path(labels) if labels is not None else _xml_beside(Path(rows.path))
    if source is None:
        return _counted_names(rows, names)
    listed = label_list(source, encoding)
    columns = set(names)
    for name in listed:
        if name not in columns:
            message = (
                f"the label {name!r} has no column in {rows.path}.{did_you_mean(name, names)} Is "
                "this its XML file?"
            )
            raise DataError(source, None, message)
    if len(listed) == len(names):
        raise DataError(
            source, None, f"all columns of {rows.path} are labels: nothing is left to tell them by."
        )
    return listed


def _counted_names(rows: Arff, names: Sequence[str]) -> list[str]:
    """The names of the label columns that MEKA's ``-C`` counts; DataError without it."""
    if rows.labels is None:
        tried = " or ".join(path.name for path in _xml_paths(Path(rows.path)))
        raise DataError(
            rows.path,
            None,
            f"which columns are labels? There is no {tried}, and @relation has no -C",
            remedy="set task.labels to the number of last columns, or to an XML file.",
        )
    count, line = rows.labels
    if not 1 <= abs(count) < len(names):
        raise DataError(
            rows.path,
            line,
            f"-C {count} counts label columns, and the file has {len(names)} columns",
            remedy=f"write 1 to {len(names) - 1} if the first columns are labels, -1 to "
            f"{1 - len(names)} if the last ones are, or set task.labels.",
        )
    return list(names[:count] if count > 0 else names[count:])


def _xml_beside(path: Path) -> Path | None:
    """The XML file in the folder of an ARFF file; None if there is none."""
    return next((candidate for candidate in _xml_paths(path) if candidate.is_file()), None)


def _xml_paths(path: Path) -> list[Path]:
    """The XML files that may name the labels of an ARFF file."""
    stem = re.sub(r"\.arff(\.gz)?$", "", path.name, flags=re.I)
    return [
        path.with_name(f"{name}.xml") for name in dict.fromkeys((stem, SPLIT_SUFFIX.sub("", stem)))
    ]


def label_list(path: Path, encoding: str = "utf8") -> list[str]:
    """Return the names in one of Mulan's XML files, in their order; of nested labels too."""
    text = read_text(path, encoding)
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml.*?\?>", "", text, flags=re.S))
    except ElementTree.ParseError as error:
        raise DataError(
            path,
            error.position[0],
            f"this is not XML ({error})",
            remedy="give the XML file of the labels.",
        ) from None
    except ValueError as error:  # a character that XML cannot have
        raise DataError(
            path,
            None,
            f"this is not XML ({error})",
            remedy="give the XML file of the labels.",
        ) from None
    labels = [
        element.get("name") for element in root.iter() if element.tag.rpartition("}")[2] == "label"
    ]
    names = [name for name in labels if name]
    if not names or len(names) < len(labels):
        raise DataError(
            path,
            None,
            "no label is named here",
            remedy='write <label name="..."></label> for each of them.',
        )
    if twice := repeated(names):
        raise DataError(
            path,
            None,
            f"the label {twice!r} is named twice",
            remedy="remove one of them.",
        )
    return names


def _label_sets(
    rows: Arff, columns: Sequence[int], labelled: bool, partial: bool
) -> tuple[list[tuple[str, ...]] | None, list[tuple[str, ...]] | None]:
    """The labels of every row, and those it leaves open; None, None where a label is missing and
    the file may lack labels.
    """
    for column in columns:
        attribute = rows.attributes[column]
        if attribute.values not in (None, BINARY):
            message = (
                f"the label {attribute.name!r} must have the values {{0,1}}, in this order: "
                "declare it so."
            )
            raise DataError(rows.path, attribute.line, message)
    order = np.full(len(rows.attributes), -1)
    order[columns] = np.arange(len(columns))
    entries = np.flatnonzero(order[rows.columns] >= 0)
    missing = np.isnan(rows.values[entries]) & partial
    wrong = entries[(rows.values[entries] != 1.0) & ~missing]
    if len(wrong) and not labelled and np.isnan(rows.values[wrong]).all():
        return None, None
    if len(wrong):
        attribute, value = rows.attributes[rows.columns[wrong[0]]], rows.values[wrong[0]]
        fault = "is missing (?)" if np.isnan(value) else f"is {value:g}"
        message = (
            f"the label {attribute.name!r} {fault}: write 1 where the instance has it, else 0."
        )
        if np.isnan(value):
            message += " For training data without some labels, set task.partial=true."
        raise DataError(rows.path, rows.line_of(int(wrong[0])), message)
    names, unknown = [rows.attributes[column].name for column in columns], entries[missing]
    sets = _names_of(rows, entries[~missing], order, names)
    return sets, (_names_of(rows, unknown, order, names) if len(unknown) else None)


def _names_of(
    rows: Arff, entries: Array, order: Array, names: Sequence[str]
) -> list[tuple[str, ...]]:
    """Names of the columns of some entries, row by row, in the order of the label columns."""
    owner = np.searchsorted(rows.offsets, entries, side="right") - 1
    number = order[rows.columns[entries]]
    sets: list[list[str]] = [[] for _ in rows.lines]
    for entry in np.lexsort((number, owner)).tolist():
        sets[owner[entry]].append(names[number[entry]])
    return [tuple(labels) for labels in sets]


def _numbering(columns: Sequence[Attribute], labels: set[int]) -> tuple[list[str], Array, Array]:
    """Attributes, the number of each column's first one, and whether a column has an attribute for
    every value but the first.
    """
    attributes: list[str] = []
    first, nominal = np.zeros(len(columns), np.int64), np.zeros(len(columns), bool)
    for j, column in enumerate(columns):
        if j in labels:
            continue
        first[j] = len(attributes)
        if column.values in (None, BINARY):
            attributes.append(column.name)
        else:
            nominal[j] = True
            attributes += [f"{column.name}={value}" for value in (column.values or ())[1:]]
    return attributes, first, nominal
