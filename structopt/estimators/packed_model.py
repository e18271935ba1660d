"""Models as plain bytes, by which estimators are pickled: the files of the model folder, of which
loading runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from structopt.model.model import Model


def packed(model: Model) -> dict[str, bytes]:
    """Return the files of a model's folder by their relative paths; equal models give equal
    bytes.
    """
    with TemporaryDirectory(prefix="structopt-") as folder:
        model.save(folder)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def unpacked(files: Mapping[str, bytes]) -> Model:
    """Undo `packed`; the errors of `Model.load`."""
    with TemporaryDirectory(prefix="structopt-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return Model.load(Path(folder))
