"""Predictions of saved models, as files."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import structopt
from structopt import datasets
from structopt.command import main
from structopt.config import registry
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.factor_graph.arc_factored import ArcFactored
from structopt.formats import tag_schemes
from structopt.inference.exact import Exact
from structopt.model import prediction
from structopt.model.ranking import ranked_outputs
from structopt.objective.decoding import KBest, decoded
from structopt.objective.examples import Examples
from tests.trained import TrainedRuns

QUICK = ["task.limit=60", "optimizer.epochs=2", "tracker=none"]
TEXT = (
    "-DOCSTART- -X- O O\n\n\nJan NNP B-NP _\nvisited VBD B-VP O\nOslo NNP B-NP B-LOC\n\n"
    "He PRP B-NP _\n"
)


@pytest.fixture(scope="module")
def ner(trained: TrainedRuns) -> Path:
    return trained("ner")


def predicted(model: Path, folder: Path, text: str, *words: str) -> list[str]:
    (folder / "in.txt").write_text(text)
    assert (
        main.main(
            [
                "predict",
                f"model={model}",
                f"input={folder / 'in.txt'}",
                f"output={folder / 'out.txt'}",
                *words,
            ]
        )
        == 0
    )
    return (folder / "out.txt").read_text().split("\n")


def test_the_input_with_one_more_column(ner: Path, tmp_path: Path) -> None:
    lines, before = predicted(ner, tmp_path, TEXT), TEXT.split("\n")
    labels = structopt.load(ner).labels
    assert len(lines) == len(before)
    for line, old in zip(lines, before, strict=True):
        if not old or old.startswith("-DOCSTART-"):
            assert line == old
        else:
            assert line.rpartition(" ")[0] == old and line.split()[-1] in labels


def test_partial_labels(ner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [line.split() for line in predicted(ner, tmp_path, TEXT, "partial=true")]
    assert [c[4] for c in cells if len(c) == 5 and c[3] != "_"] == ["O", "B-LOC"]
    (tmp_path / "in.txt").write_text("Jan NNP B-NP _\nOslo NNP B-NP B-FOO\n")
    words = [
        "predict",
        f"model={ner}",
        f"input={tmp_path / 'in.txt'}",
        f"output={tmp_path / 'no.txt'}",
        "partial=true",
    ]
    assert main.main(words) == 2
    assert (
        f"{tmp_path / 'in.txt'}:2: given label=B-FOO is not a label of the model."
        in capsys.readouterr().err
    )
    assert not (tmp_path / "no.txt").exists()


def test_probabilities_and_k_best(ner: Path, tmp_path: Path) -> None:
    cells = [
        line.split()
        for line in predicted(ner, tmp_path, TEXT, "probabilities=true", "k_best=3")
        if line
    ][1:]
    for cell in cells:
        label, probabilities, *ranked = cell[4:]
        pairs = [one.rpartition(":") for one in probabilities.split(",")]
        numbers = [float(number) for _, _, number in pairs]
        assert numbers == sorted(numbers, reverse=True) and min(numbers) >= 0.001
        assert 0.98 < sum(numbers) < 1.001
        assert len(ranked) == 3 and ranked[0] == label
    assert len({tuple(cell[6 + k] for cell in cells[:3]) for k in range(3)}) == 3


@pytest.mark.parametrize(
    ("text", "missing"), [("Jan\nslept\n", ["pos", "chunk"]), ("Jan NNP\nslept VBD\n", ["chunk"])]
)
def test_fewer_columns(
    ner: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, missing: list[str]
) -> None:
    lines = predicted(ner, tmp_path, text)
    assert [line.rpartition(" ")[0] for line in lines[:2]] == text.splitlines()
    messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [
        name for name in ("pos", "chunk") if any(f"no column '{name}'" in m for m in messages)
    ] == missing


def test_gzip(ner: Path, tmp_path: Path) -> None:
    plain = "\n".join(predicted(ner, tmp_path, TEXT))
    with gzip.open(tmp_path / "in.gz", "wt") as stream:
        stream.write(TEXT)
    words = [
        "predict",
        f"model={ner}",
        f"input={tmp_path / 'in.gz'}",
        f"output={tmp_path / 'out.gz'}",
        "threads=2",
    ]
    assert main.main(words) == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == plain


def test_iob1_files(tmp_path: Path) -> None:
    """Learnt as iob2, read and written as iob1; a given I-X stands for B-X too."""
    blocks = datasets.path("train", "conll").read_text().split("\n\n")[1:61]
    sentences = [[line.split() for line in block.splitlines()] for block in blocks]
    for sentence in sentences:
        for cells, tag in zip(
            sentence, tag_schemes.convert([c[-1] for c in sentence], "iob2", "iob1"), strict=True
        ):
            cells[-1] = tag
    text = (
        "\n\n".join("\n".join(" ".join(cells) for cells in sentence) for sentence in sentences)
        + "\n"
    )
    (tmp_path / "train.txt").write_text(text)
    model = structopt.train(
        ["task=ner", *QUICK, f"task.train={tmp_path / 'train.txt'}"], tmp_path / "run"
    )
    assert "B-PER" in model.labels
    outputs, sentence = [], []
    for line in predicted(tmp_path / "run", tmp_path, text):
        if line:
            sentence.append(line.split()[-1])
        elif sentence:
            outputs.append(sentence)
            sentence = []
    assert all(tag_schemes.valid(output, "iob1") is None for output in outputs)
    assert any(tag.startswith("I-") for output in outputs for tag in output)
    lines = predicted(
        tmp_path / "run", tmp_path, "Jan NNP B-NP I-PER\nslept VBD B-VP _\n", "partial=true"
    )
    assert lines[0].split()[-1] == "I-PER"


def test_attributes(tmp_path: Path) -> None:
    structopt.train(["task=attributes", *QUICK], tmp_path / "run")
    text = "".join(datasets.path("dev", "crfsuite").read_text().partition("\n\n")[:2])
    lines = predicted(tmp_path / "run", tmp_path, text, "probabilities=true")
    assert len([line for line in lines if line]) == len([line for line in text.split("\n") if line])
    assert all(":" in cell for line in lines if line for cell in line.split("\t")[-1].split(","))
    free = "_" + text.partition("\t")[1] + text.partition("\t")[2]
    assert predicted(tmp_path / "run", tmp_path, free, "partial=true")[1].startswith(
        text.split("\n")[1].split("\t")[0]
    )


def test_another_inference(ner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The listing of all outputs decodes as the exact inference does; what does not fit is refused
    before the input is read.
    """
    two = TEXT.partition("He PRP")[0].replace(" B-LOC", " O").replace("visited VBD B-VP O\n", "")
    expected = predicted(ner, tmp_path, two, "probabilities=true", "k_best=3")
    assert (
        predicted(ner, tmp_path, two, "probabilities=true", "k_best=3", "inference=enumeration")
        == expected
    )
    words = [f"model={ner}", "input=none.txt"]
    refusals = {
        "ad3": "inference=ad3 cannot solve structures of kind chain. Those that can: e",
        "exat": "mean 'exact'",
    }
    for name, message in refusals.items():
        for command in (["predict", *words, "output=o"], ["evaluate", *words]):
            assert main.main([*command, f"inference={name}"]) == 2
            assert message in capsys.readouterr().err
    (tmp_path / "gold.txt").write_text(two.replace(" _", " B-PER"))
    assert (
        main.main(
            ["evaluate", f"model={ner}", f"input={tmp_path / 'gold.txt'}", "inference=enumeration"]
        )
        == 0
    )


def test_ranked_outputs_are_the_k_best_columns(ner: Path, tmp_path: Path) -> None:
    model = structopt.load(ner)
    (tmp_path / "in.txt").write_text(TEXT)
    examples = model.examples(model.task.read(tmp_path / "in.txt", labelled=False))
    ranked = ranked_outputs(model.task, model.graph, examples, model.k_best_outputs(examples, 3), 3)
    cells = [line.split() for line in predicted(ner, tmp_path, TEXT, "k_best=3") if line][1:]
    assert [[output for _, output in outputs] for outputs in ranked] == [
        [[cell[5 + k] for cell in cells[:3]] for k in range(3)],
        [[cell[5 + k] for cell in cells[3:]] for k in range(3)],
    ]
    for outputs in ranked:
        assert [score for score, _ in outputs] == sorted(
            (score for score, _ in outputs), reverse=True
        )


def test_only_trees_have_pictures(
    ner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", f"model={ner}", "input=a", f"output={tmp_path / 'o'}", "picture=a.svg"]
    assert main.main(words) == 2
    assert (
        "picture=a.svg draws trees, and task=ner has none. Leave it out." in capsys.readouterr().err
    )


TREES = """\
# text = He slept
1	He	_	PRON	_	_	{}	_	_	_
2	slept	_	VERB	_	_	{}	_	_	A=b

1	Yes	_	X	_	_	{}	_	_	_
"""


def arcs_of(offsets: list[int], arcs: list[int]) -> SparseVectors:
    return SparseVectors(np.array(offsets), np.array(arcs, np.int32), np.ones(len(arcs)))


class FewExamples(SimpleNamespace):
    """Examples without empty instances, as far as `predict` asks for them."""

    places = None
    spread, _all_places = Examples.spread, Examples._all_places

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def count(self) -> int:
        return len(self)


class Parser:
    """A model with the methods that `predict` calls, which return fixed trees and probabilities."""

    def __init__(self) -> None:
        self.config = {"task": {"name": "dependency"}}
        self.task, self.graph, self.inference = (
            registry.create("task", self.config["task"]),
            ArcFactored(),
            Exact(),
        )
        self.task.fit(self.task.read(datasets.path("dev", "conllu")))

    def small_outputs(self, trees: Any) -> None:
        return None

    def examples(self, trees: Any, labels: None, executor: Any) -> Any:
        encoded = self.task.encode(trees, labels)
        return FewExamples(encoded=encoded, structure=self.graph.build(encoded))

    def best_outputs(self, examples: Any, executor: Any) -> list[Any]:
        return decoded(self.task, self.graph, examples, arcs_of([0, 2, 3], [1, 3, 0]))

    def view_marginals(self, examples: Any, executor: Any) -> list[Any]:
        return [np.array([[0.25, 0.0, 0.75], [0.75, 0.25, 0.0]]), np.array([[1.0, 0.0]])]

    def k_best_outputs(self, examples: Any, k: int, executor: Any) -> list[KBest]:
        first = KBest(np.array([2.0, 1.0]), arcs_of([0, 2, 4], [1, 3, 0, 2]))
        return [first, KBest(np.array([0.5]), arcs_of([0, 1], [0]))]


def test_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = Parser()
    monkeypatch.setattr(prediction, "find_model", Path)
    monkeypatch.setattr(prediction.Model, "load", lambda folder, late, sources: parser)
    text = TREES.format("_", "_", "_")
    assert "\n".join(predicted(tmp_path, tmp_path, text)) == TREES.format(2, 0, 0)
    rows = [
        line.split("\t")
        for line in predicted(tmp_path, tmp_path, text, "probabilities=true", "k_best=2")
    ]
    assert [row[0] for row in rows if len(row) == 1] == [
        "# text = He slept",
        "# k_best = 1",
        "# score = 2.000000",
        "",
        "# text = He slept",
        "# k_best = 2",
        "# score = 1.000000",
        "",
        "# k_best = 1",
        "# score = 0.500000",
        "",
    ]
    assert [(row[6], row[9]) for row in rows if len(row) > 1] == [
        ("2", "p=0.750"),
        ("0", "A=b|p=0.750"),
        ("0", "p=0.250"),
        ("1", "A=b|p=0.250"),
        ("0", "p=1.000"),
    ]
    predicted(
        tmp_path, tmp_path, TREES.format(0, 1, 0), f"picture={tmp_path / 'a.svg'}", "sentence=1"
    )
    picture = (tmp_path / "a.svg").read_text()
    assert "<title>0.750</title>" in picture and "slept" in picture and "Yes" not in picture
    words = [
        "predict",
        "model=m",
        f"input={tmp_path / 'in.txt'}",
        f"output={tmp_path / 'o'}",
        "picture=a.svg",
        "sentence=3",
    ]
    assert main.main(words) == 2
    assert "in.txt: there is no sentence 3 to draw: the file has 2" in capsys.readouterr().err
