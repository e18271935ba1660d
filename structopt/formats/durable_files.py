"""Files that are whole or not there: arrays and JSON, written beside, synced and renamed; digests; no pickle."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from structopt.errors import ModelError
from structopt.kernels.waist.record import Array


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader, at any time, sees the old one or the new one, never a part."""
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def write_json(path: Path, values: Any) -> None:
    """Write JSON in the order of the keys (columns have one that matters); equal values give equal bytes."""
    write_bytes(path, json_bytes(values))


def json_bytes(values: Any) -> bytes:
    """JSON in the order of the keys, UTF-8, indented, infinities as the words ``inf`` and ``-inf``."""
    return (json.dumps(_plain(values), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def write_arrays(path: Path, arrays: Mapping[str, Array], notes: Mapping[str, Any] | None = None) -> None:
    """Write arrays, and notes as JSON, into one safetensors file."""
    from safetensors.numpy import save

    metadata = {"notes": json.dumps(_plain(notes or {}), sort_keys=True)}
    contiguous = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    write_bytes(path, save(contiguous, metadata))


def read_arrays(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what `write_arrays` wrote.

    Raises
    ------
    ModelError
        If the file is missing, truncated or not of that format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            notes = json.loads((stored.metadata() or {}).get("notes", "{}"))
            return {name: stored.get_tensor(name) for name in stored.keys()}, notes  # noqa: SIM118
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such file; the folder is not complete.") from None
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelError(f"{path}: truncated or damaged ({error}). Take it from a backup, or train again.") from None


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
