"""Names of labels that files write as integers: in the file, in a file beside it, or in one that is
typed.

HuggingFace's data sets have them in ``dataset_info.json`` (``features``: for a field, ``names``) or
``dataset_infos.json`` (the same by configuration).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from structopt.errors import ConfigError, DataError
from structopt.formats.json_objects import reason
from structopt.formats.text_files import read_text

INFORMATION = ("dataset_info.json", "dataset_infos.json")
"""Files of HuggingFace's data sets, beside the data."""

Names = dict[str, list[str]]
"""Names by field: that of an integer is the entry it counts, from 0."""


class ClassNames:
    """The names of integers in the fields of a file.

    Parameters
    ----------
    path : str or None
        A file of names: JSON as in the module's head, or ``{"field": ["O", "B-PER"]}``, or one name
        a line, for any field.

    Attributes
    ----------
    known : mapping of str to list of str
        Names that were found so far, by field; a model keeps them.
    """

    def __init__(
        self, path: str | None = None, known: Mapping[str, list[str]] | None = None
    ) -> None:
        self.path, self.known = path, dict(known or {})
        self._typed: Names | list[str] | None = None

    def of(self, data: str, field: str, own: Mapping[str, list[str]]) -> list[str] | None:
        """Return the names of a field of a data file: typed, its `own`, those of the file beside
        it, or known; else None.
        """
        found = (
            self._from_file(field)
            or own.get(field)
            or _beside(data).get(field)
            or self.known.get(field)
        )
        if found:
            self.known[field] = found
        return found

    def named(self, sentence: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a sentence in memory whose integers are replaced by names, in fields that have
        names.
        """
        known = {field: names for field, names in self.known.items() if field in sentence}
        if not known:
            return sentence
        replaced = {
            field: [
                names[int(cell)]
                if isinstance(cell, (int, np.integer))
                and not isinstance(cell, bool)
                and 0 <= cell < len(names)
                else cell
                for cell in sentence[field]
            ]
            for field, names in known.items()
            if isinstance(sentence[field], Iterable)
        }
        return {**sentence, **replaced}

    def _from_file(self, field: str) -> list[str] | None:
        if self.path is None:
            return None
        if self._typed is None:
            self._typed = read_names(self.path)
        return self._typed if isinstance(self._typed, list) else self._typed.get(field)


def read_names(path: str) -> Names | list[str]:
    """Read a file of names; DataError where it is JSON without any, ConfigError where it is not
    there.
    """
    if not Path(path).exists():
        raise ConfigError(f"task.names={path}: there is no such file.")
    text = read_text(path)
    if not text.lstrip().startswith(("{", "[")):
        return [name for name in text.split("\n") if name.strip()]
    try:
        names = names_of(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise DataError(
            path,
            None,
            f"this is no JSON ({reason(error)})",
            remedy="give one name a line, or JSON.",
        ) from None
    if not names:
        example = '{"ner_tags": ["O", "B-PER"]}'
        raise DataError(
            path,
            None,
            "there are no names of labels",
            remedy=f"write {example}, or give dataset_info.json.",
        )
    return names


def names_of(value: Any) -> Names:
    """The names in JSON by field; those of the first configuration, where there are several."""
    if not isinstance(value, dict):
        return {}
    if isinstance(value.get("features"), dict):
        value = value["features"]
    found = {field: _listed(feature) for field, feature in value.items() if _listed(feature)}
    return found or next(filter(None, map(names_of, value.values())), {})


def _listed(feature: Any) -> list[str]:
    """Names in a feature: a list, an object with ``names``, or one whose ``feature`` has them."""
    for _ in range(8):
        if not isinstance(feature, dict):
            break
        feature = feature.get("names", feature.get("feature"))
    return (
        list(feature)
        if isinstance(feature, list) and all(isinstance(name, str) for name in feature)
        else []
    )


def _beside(data: str) -> Names:
    """The names in the files of information beside a data file; none where these cannot be read."""
    for name in INFORMATION:
        path = Path(data).with_name(name) if Path(data).name else Path(name)
        if path.is_file():
            found = read_names(str(path))
            return found if isinstance(found, dict) else {}
    return {}
