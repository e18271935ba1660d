"""``structopt export`` and ``structopt import`` as they are typed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from structopt import datasets
from structopt.command import main
from tests.command.commands import failed
from tests.trained import TrainedRuns


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.main(words) == 0
    return capsys.readouterr().out


def test_export_import_and_apply(
    trained: TrainedRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file, folder = trained("attributes"), tmp_path / "m.crfsuite", tmp_path / "imported"
    export = ["export", f"model={run}", "format=crfsuite", f"output={file}"]
    assert printed(capsys, *export).startswith(f"{file}: 9 labels, ")
    assert printed(capsys, *export, "quiet=true") == ""
    shown = printed(capsys, "import", f"model={file}", f"output={folder}")
    assert shown.startswith(f"{folder}: 9 labels, ")
    again = tmp_path / "again.crfsuite"
    printed(capsys, "export", f"model={folder}", "format=crfsuite", f"output={again}")
    assert again.read_bytes() == file.read_bytes()
    data, texts = datasets.path("dev", "crfsuite"), []
    for model in (run, folder):
        words = [f"model={model}", f"input={data}", f"output={tmp_path / 'out.txt'}"]
        printed(capsys, "predict", *words)
        texts.append((tmp_path / "out.txt").read_text(encoding="utf8"))
    assert texts[0] == texts[1]
    assert "transition (" in printed(capsys, "explain", f"model={folder}", "top=2")
    assert "accuracy" in printed(capsys, "evaluate", f"model={folder}", f"input={data}")
    words = ["task=attributes", "task.limit=20", "optimizer.epochs=1", "tracker=none"]
    words += [f"warm_start.model={folder}", f"hydra.run.dir={tmp_path / 'run'}"]
    printed(capsys, *words)


def test_json_and_attributes(
    trained: TrainedRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = f"model={trained('ner')}", datasets.path("dev", "conll")
    path = tmp_path / "weights.json"
    shown = printed(capsys, "export", model, "format=json", f"output={path}")
    rows = json.loads(path.read_text(encoding="utf8"))["weights"]
    assert shown == f"{path}: {len(rows)} weights\n"
    path = tmp_path / "dev.txt"
    words = ["format=attributes", f"input={data}", f"output={path}", "encoding=utf8"]
    assert printed(capsys, "export", model, *words).startswith(f"{path}: 300 sentences, ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "format=json"], "export needs model=... and output=...."),
        (["export", "MODEL", "format=onnx", "output=m"], "format=onnx is none of: crfsuite, json"),
        (["export", "MODEL", "format=attributes", "output=m"], "format=attributes needs input="),
        (["export", "MODEL", "format=json", "output=m", "input=x"], "input=x has no effect with"),
        (["export", "MODEL", "format=json", "output=none/m"], "none/m: the file cannot be written"),
        (["export", "model=FILE", "format=json", "output=m"], "structopt import model="),
        (["predict", "model=FILE", "input=x", "output=y"], "structopt import model="),
        (["import", "model=FILE", "output=."], "'.' exists, and is not an empty folder."),
        (["import", "model=none", "output=new"], "none: there is no such file"),
        (["import", "model=pickle", "output=new"], "reads no pickles, because they run code."),
        (["import", "model=FILE", "output=new", "task.scheme=none"], "task.scheme cannot change"),
    ],
)
def test_refusals(
    words: list[str],
    message: str,
    trained: TrainedRuns,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pickle").write_bytes(pickle.dumps({"crf": 1}))
    Path("FILE").write_bytes(b"lCRF" + bytes(44))
    model = f"model={trained('attributes')}"
    assert message in failed(capsys, *(model if word == "MODEL" else word for word in words))
    assert not Path("new").exists() and not Path("m").exists()


def test_damaged_files_are_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.crfsuite"
    path.write_bytes(b"lCRF" + bytes(44))
    assert "is a model of the type" in failed(
        capsys, "import", f"model={path}", f"output={tmp_path / 'new'}"
    )
    assert not (tmp_path / "new").exists()
