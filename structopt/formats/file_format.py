"""Binary files of annotated documents, which plugins convert to CoNLL-U and back, by the ends of
their names.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from pathlib import Path
from typing import ClassVar

from structopt.core import entry_points
from structopt.core.component import Component
from structopt.errors import DataError

KIND = "file_format"
DISTRIBUTIONS = {"spacy": "structopt-spacy"}
"""The plugins of known endings."""


class FileFormat(Component):
    """A file format that the tasks read and write as CoNLL-U.

    The entry point of the group ``structopt.file_format`` has the ending of the files as its name,
    without the dot. The class has no arguments.
    """

    kind_of_component: ClassVar[str] = KIND

    @abstractmethod
    def to_conllu(self, data: bytes, path: str) -> str:
        """Return the documents of a file as CoNLL-U, with a comment ``# newdoc`` before each.

        Raises
        ------
        DataError
            If the file does not have this format.
        """

    @abstractmethod
    def annotated(self, data: bytes, conllu: str, path: str) -> bytes:
        """Return a file with other annotations of its words.

        Parameters
        ----------
        data : bytes
            The file.
        conllu : str
            Its CoNLL-U, in which cells of words were changed. A predicted value is in its column
            if the file had no such values. Otherwise, it is the item ``predicted_KEY=`` of MISC.
        path : str
            The name of the new file, for messages.

        Raises
        ------
        DataError
            If the format has no place for an annotation.
        """


def format_of(path: str | Path) -> FileFormat | None:
    """Return the format of a file, with ``.gz`` behind its ending or not; None if no plugin has it.

    Raises
    ------
    DataError
        If the plugin of a known ending is not installed.
    """
    name = str(path).lower().removesuffix("}").removesuffix(".gz")
    ending = name.rpartition(".")[2]
    known = entry_points.installed(KIND).get(ending)
    if known is not None:
        return _created(known)
    if ending in DISTRIBUTIONS:
        raise DataError(
            path,
            None,
            f"files of .{ending} need the plugin {DISTRIBUTIONS[ending]}",
            remedy=f"pip install {DISTRIBUTIONS[ending]}.",
        )
    return None


@cache
def _created(known: entry_points.Installed) -> FileFormat:
    form: FileFormat = known.load(FileFormat)()
    return form
