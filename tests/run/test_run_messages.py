"""The texts of errors that `structopt.run` raises, in one table."""

from pathlib import Path

import pytest

from structopt.errors import StructoptError
from structopt.run import history, records

FILES = {
    "cut.json": "{",
    "list.json": "[]",
    "words/.hydra/config.yaml": "a: 1",
    "words/.hydra/overrides.yaml": "a: 1",
    "no_epoch.csv": "epoch,f1\n,1\n",
    "words.csv": "epoch,f1\n1,x\n",
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
            lambda: records.read_run(Path("nowhere")),
            "nowhere: this is not the folder of a run; it has no .hydra/config.yaml.",
        ),
        (
            lambda: records.read_json(Path("cut.json")),
            "cut.json: this is not JSON (Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)). Restore the file, or delete it.",
        ),
        (
            lambda: records.read_json(Path("list.json")),
            "list.json: this is not a JSON object. Restore the file, or delete it.",
        ),
        (
            lambda: records.read_run(Path("words")),
            "words/.hydra/overrides.yaml: this is not a list of overrides. Restore the file, "
            "or delete it.",
        ),
        (
            lambda: history.read("no_epoch.csv"),
            "no_epoch.csv:2: this is not a row of a history, which has the epoch and a number "
            "or nothing per column. Restore the file, or delete it.",
        ),
        (
            lambda: history.read("words.csv"),
            "words.csv:2: this is not a row of a history, which has the epoch and a number or "
            "nothing per column. Restore the file, or delete it.",
        ),
    ],
)
def test_texts(call, text):
    with pytest.raises(StructoptError) as raised:
        call()
    assert str(raised.value) == text
