"""The checkpoint of a run: the state after a pass, with a fingerprint of the data, so that other
data are refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from structopt.core.entry_points import core_version
from structopt.core.scorer import Scorer
from structopt.errors import ModelError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.objective.fingerprint import Fingerprint

CHECKSUM, SEEN, VERSION = "checksum", "seen", "version"
EARLIER = "an earlier version"
"""The version that wrote a checkpoint without the note `VERSION`."""
REMEDY = "Undo that; or train again, in a new folder or after deleting this file."
ANOTHER_RUN = "Train that run again, or start from its weights alone: warm_start.state=none."


class Checkpoint:
    """One safetensors file of arrays and notes.

    Of arrays over the weights that are zero wherever a weight may not move, it keeps the rest only.

    Parameters
    ----------
    path : Path
        The file; its folder is made where it is missing.
    scorer : Scorer
    fingerprint : Fingerprint or None
        Of the training data; None for a file of another run, which is read whatever its data were.
    """

    def __init__(self, path: Path, scorer: Scorer, fingerprint: Fingerprint | None = None) -> None:
        self.path, self.scorer, self.fingerprint = path, scorer, fingerprint
        self.version = core_version()  # of the file that was read last

    def write(
        self, arrays: Mapping[str, Array], notes: Mapping[str, Any], over_weights: Collection[str]
    ) -> None:
        """Write arrays, and notes as JSON; a reader sees the old file or the new one.

        Parameters
        ----------
        arrays : mapping of str to array
        notes : mapping of str to JSON value
        over_weights : collection of str
            Which of the arrays are over the weights (`structopt.core.optimizer.Plan.weights`).
        """
        assert self.fingerprint is not None
        weights = [
            name for name in arrays if name in over_weights and self.scorer.covers(arrays[name])
        ]
        packed = {
            name: self.scorer.compress(array) if name in weights else array
            for name, array in arrays.items()
        }
        layout = {name: _layout(array) for name, array in packed.items()}
        checksums = {name: _checksum(array) for name, array in packed.items()}
        data = {"digest": self.fingerprint.digest, "layout": self.fingerprint.layout}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        notes = {
            **notes,
            "weights": weights,
            "arrays": layout,
            "checksums": checksums,
            "data": data,
            VERSION: core_version(),
        }
        durable_files.write_arrays(self.path, packed, {**notes, CHECKSUM: _checksum_of(notes)})

    def read(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Read what `write` wrote.

        Raises
        ------
        ModelError
            If the file is truncated, was written by an earlier version, for other data, or changed
            since.
        """
        packed, notes = durable_files.read_arrays(self.path)
        self.version = str(notes.get(VERSION, EARLIER))
        self._compare(notes.get("data"))
        if {name: _layout(array) for name, array in packed.items()} != notes.get("arrays"):
            raise self.refusal("its arrays are not those that were written")
        self._compare_checksums(packed, notes)
        weights = set(notes["weights"])
        arrays = {
            name: self.scorer.expand(array) if name in weights else array
            for name, array in packed.items()
        }
        if not all(self.scorer.covers(arrays[name]) for name in weights):
            raise self.mismatch("its weights are not as many as the model's")
        return arrays, notes

    def _compare_checksums(self, packed: Mapping[str, Array], notes: dict[str, Any]) -> None:
        """Refuse a file that is damaged; those of earlier versions have no checksums."""
        checksum = notes.pop(CHECKSUM, None)
        if checksum is not None and checksum != _checksum_of(notes):
            raise self.refusal("its notes are not those that were written")
        if any(_checksum(packed[name]) != one for name, one in notes.get("checksums", {}).items()):
            raise self.refusal("its arrays are not those that were written")

    def refusal(self, reason: str) -> ModelError:
        """The error that says why no run can go on from this file."""
        of_this_run = self.fingerprint is not None
        what, remedy = (
            ("checkpoint of this run", REMEDY)
            if of_this_run
            else ("state to go on from", ANOTHER_RUN)
        )
        return ModelError(
            f"not a {what}: {reason}.",
            where=str(self.path),
            remedy=remedy,
        )

    def mismatch(self, reason: str, difference: str = "") -> ModelError:
        """Return the error for contents that differ from the data of the run.

        Another version of structopt may encode the same data differently; the error then names the
        version and not the data.
        """
        detail = f" ({difference})" if difference else ""
        if self.version == core_version():
            return self.refusal(f"{reason}{detail}")
        writer = self.version if self.version == EARLIER else f"version {self.version}"
        return ModelError(
            f"{writer} of structopt wrote this checkpoint, and version {core_version()} cannot "
            f"resume it{detail}.",
            where=str(self.path),
            remedy="Resume with the version that wrote it; or train again, in a new folder. The "
            "model of the run can be used as it is.",
        )

    def _compare(self, data: Any) -> None:
        """Refuse a checkpoint of other data than the run's."""
        if not isinstance(data, Mapping):
            raise self.refusal(
                "it does not say of which data it is, as those of earlier versions do not"
            )
        layout = data.get("layout") or {}
        if not isinstance(layout, Mapping):
            raise self.refusal("it does not say how large its data are")
        if self.fingerprint is None:
            return
        saved = Fingerprint(str(data.get("digest")), layout)
        if difference := saved.difference(self.fingerprint):
            raise self.mismatch(
                "the training data, or how they are encoded, changed since", difference
            )


def _checksum(array: Array) -> int:
    """CRC-32 of an array's numbers: a flipped bit would else change results without a word."""
    return crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _checksum_of(notes: Mapping[str, Any]) -> int:
    """CRC-32 of notes as they are read back."""
    return crc32(json.dumps(json.loads(durable_files.json_bytes(notes)), sort_keys=True).encode())


def _layout(array: Array) -> list[Any]:
    """Type and shape, as JSON keeps them."""
    return [np.asarray(array).dtype.str, *array.shape]
