"""The texts of errors that `structopt.model` raises, in one table."""

from pathlib import Path

import pytest

from structopt.errors import StructoptError
from structopt.model import folder

FILES = {
    "run/empty.txt": "",
    "altered/manifest.json": "[]",
    "newer/manifest.json": '{"format": 99, "sha256": {}}',
    "incomplete/manifest.json": '{"format": 1, "sha256": {}}',
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Write the files into the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: folder.find_model("nowhere"),
            "nowhere: does not exist. Give a run folder, a model folder (with manifest.json), "
            "or an MLflow address such as runs:/ID/model.",
        ),
        (
            lambda: folder.find_model("run"),
            "run: has no model in it. Give a run folder, a model folder (with manifest.json), "
            "or an MLflow address such as runs:/ID/model.",
        ),
        (
            lambda: folder.read_folder(Path("nowhere")),
            "nowhere: there is no model here (manifest.json is missing). Give a folder that a "
            "run or Model.save wrote.",
        ),
        (
            lambda: folder.read_folder(Path("altered")),
            "altered/manifest.json: truncated or altered. Take it from a backup, or train again.",
        ),
        (
            lambda: folder.read_folder(Path("newer")),
            "newer: the model has format 99; this version reads 1. Update structopt.",
        ),
        (
            lambda: folder.read_folder(Path("incomplete")),
            "incomplete/config.json: the file is missing; the model is not complete. Take it "
            "from a backup, or train again.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
