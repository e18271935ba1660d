"""Models that earlier versions saved load today, and predict what they predicted then.

``tests/saved`` has a folder per version; see ``tools/save_models.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools import save_models
from tools.save_models import SavedModel

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""By how much a probability or score may differ, because processors round sums differently."""
TRAINING = 1e-6
"""By how much the results of further training may differ, relatively."""


def cases(*, runs: bool) -> list[Any]:
    return [
        pytest.param(version, model, id=f"{version.name}-{model.name}", marks=marks(model))
        for version in save_models.versions()
        for model in save_models.listed(version)
        if runs == bool(model.resume)
    ]


def marks(model: SavedModel) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason=model.fault, strict=False)] if model.fault else []


def differences(now: Any, then: Any, relative: float, where: str = "") -> Iterator[str]:
    """Where two values of JSON differ: numbers that are not integers by more than rounding, others
    at all.
    """
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        for key in then:
            yield from differences(now[key], then[key], relative, f"{where}.{key}")
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for index, pair in enumerate(zip(now, then, strict=True)):
            yield from differences(*pair, relative, f"{where}[{index}]")
    elif isinstance(now, float) and isinstance(then, float):
        if not math.isclose(now, then, rel_tol=relative, abs_tol=ABSOLUTE):
            yield f"{where}: {now} now, {then} then"
    elif now != then or type(now) is not type(then):
        yield f"{where}: {now} now, {then} then"


def stored(version: Path, model: SavedModel) -> Any:
    path = version / save_models.PREDICTIONS / f"{model.name}.json"
    return json.loads(path.read_text(encoding="utf8"))


@pytest.mark.parametrize(("version", "model"), cases(runs=False))
def test_predictions(
    version: Path, model: SavedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(version)
    now = save_models.predictions(model, tmp_path / save_models.written_name(model))
    now.get("evaluate", {}).pop("proved_optimal", None)  # versions after 0.1 report it
    assert list(differences(now, stored(version, model), RELATIVE)) == []
    if model.written is not None:
        assert_equal_files(
            tmp_path / save_models.written_name(model),
            version / save_models.PREDICTIONS / save_models.written_name(model),
        )


def assert_equal_files(now: Path, then: Path) -> None:
    if now.suffix != ".npz":
        assert now.read_text(encoding="utf8") == then.read_text(encoding="utf8")
        return
    with np.load(now) as arrays, np.load(then) as others:
        assert arrays.files == others.files
        for name in others.files:
            np.testing.assert_array_equal(arrays[name], others[name])


@pytest.mark.parametrize(("version", "run"), cases(runs=True))
def test_run_folder(
    version: Path, run: SavedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(version)
    then = stored(version, run)
    after_resuming = then.pop("resumed")
    now = save_models.predictions(run, tmp_path / "unused")
    assert list(differences(now, then, RELATIVE)) == []
    resumed = save_models.resumed(run, tmp_path)
    assert list(differences(resumed, after_resuming, TRAINING)) == []
