"""Documents as CoNLL-U: round trips, tasks of structopt on them, and malformed files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy_corpora import sentences, write_docbin
from structopt_spacy.conllu import convert, from_conllu, to_conllu

import structopt
from structopt import StructoptError

NLP = spacy.blank("en")


def docs(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(NLP.vocab))


def annotations(doc: Doc) -> list[tuple[object, ...]]:
    return [
        (
            *(one.text_with_ws, one.tag_, one.pos_, one.lemma_, str(one.morph), one.is_sent_start),
            *(one.has_head(), one.head.i, one.dep_, one.ent_iob_, one.ent_type_),
        )
        for one in doc
    ]


def test_round_trip(tmp_path: Path) -> None:
    write_docbin(tmp_path / "gold.spacy", NLP, sentences(9, 0))
    convert(tmp_path / "gold.spacy", tmp_path / "gold.conllu")
    convert(tmp_path / "gold.conllu", tmp_path / "back.spacy")
    pairs = zip(docs(tmp_path / "gold.spacy"), docs(tmp_path / "back.spacy"), strict=True)
    assert all(annotations(one) == annotations(other) for one, other in pairs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"spaces": [True, False, False, True]},
        {"tags": ["A", "", "B", ""], "pos": ["NOUN", "", "X", ""]},
        {"ents": ["B-A", "I-A", "", "O"]},
        {"heads": [1, None, 3, 3], "deps": ["a", None, "b", "ROOT"]},
        {"sent_starts": [True, False, True, False], "lemmas": ["a", "b", "", "c"]},
        {"morphs": ["Case=Nom", "", "", "Case=Acc|Number=Sing"]},
    ],
)
def test_missing_annotations_stay_missing(options: dict[str, list[object]]) -> None:
    doc = Doc(NLP.vocab, words=["Ann", "Lee", "slept", "."], **options)
    if "spaces" not in options:
        doc = Doc(NLP.vocab, words=["Ann", "Lee", "slept", "."], spaces=[True] * 4, **options)
    again = list(from_conllu(to_conllu([doc, doc]), NLP.vocab))
    known = [row[:5] + row[6:] for row in annotations(doc)]
    assert [[row[:5] + row[6:] for row in annotations(one)] for one in again] == [known, known]


def test_documents_without_entities_stay_open() -> None:
    one = Doc(NLP.vocab, words=["Ann", "slept"], ents=["B-PER", "O"])
    other = Doc(NLP.vocab, words=["Ben"])
    again = list(from_conllu(to_conllu([one, other]), NLP.vocab))
    assert [[token.ent_iob_ for token in doc] for doc in again] == [["B", "O"], [""]]
    text = "1\tAnn\t_\t_\t_\t_\t_\t_\t_\tNER=B-PER\n2\tslept\t_\t_\t_\t_\t_\t_\t_\t_\n"
    assert [token.ent_iob_ for doc in from_conllu(text, NLP.vocab) for token in doc] == ["B", "O"]


def test_entities_of_any_scheme() -> None:
    """An entity may begin with I-, and ends with its sentence."""
    rows = [("Ann", "I-A"), ("Lee", "I-A"), ("", ""), ("Ben", "I-A"), ("Oslo", "S-B"), ("x", "_")]
    text = "".join(
        f"{i}\t{word}" + "\t_" * 7 + f"\tNER={label}\n" if word else "\n"
        for i, (word, label) in enumerate(rows, 1)
    )
    (doc,) = from_conllu(text, NLP.vocab)
    assert [(one.text, one.label_) for one in doc.ents] == [
        *[("Ann Lee", "A"), ("Ben", "A"), ("Oslo", "B")]
    ]
    assert doc[-1].ent_iob_ == ""


def test_white_space_is_left_out() -> None:
    doc = Doc(NLP.vocab, words=["\n", "Ann", " ", "slept"], heads=[1, 3, 1, 3], deps=list("abcd"))
    (again,) = from_conllu(to_conllu([doc]), NLP.vocab)
    assert [(one.text, one.head.i) for one in again] == [("Ann", 1), ("slept", 1)]


@pytest.mark.parametrize("task", ["ner", "dependency", "tagging"])
def test_tasks_read_and_write_documents(tmp_path: Path, task: str) -> None:
    for name, seed in (("train", 0), ("dev", 1)):
        write_docbin(tmp_path / f"{name}.spacy", NLP, sentences(30, seed))
        convert(tmp_path / f"{name}.spacy", tmp_path / f"{name}.conllu")
    further = {
        "ner": [],
        "dependency": ["factor_graph.labeled=true"],
        "tagging": ["task.fields.tag=[XPOS]"],
    }[task]
    words = [f"task={task}", *further, "optimizer.epochs=3", "tracker=none", "quiet=true"]
    files = [f"task.{name}={tmp_path}/{name}.conllu" for name in ("train", "dev")]
    model = structopt.train([*words, *files], folder=tmp_path / "run")
    output = tmp_path / "predicted.conllu"
    command = [sys.executable, "-m", "structopt", "predict", f"model={tmp_path}/run"]
    command += [f"input={tmp_path}/dev.conllu", f"output={output}", "quiet=true"]
    subprocess.run(command, check=True)
    convert(output, tmp_path / "predicted.spacy")
    pairs = zip(docs(tmp_path / "predicted.spacy"), docs(tmp_path / "dev.spacy"), strict=True)
    examples = [Example(one, gold) for one, gold in pairs]
    metrics = model.evaluate(tmp_path / "dev.conllu")
    if task == "ner":
        assert get_ner_prf(examples)["ents_f"] == pytest.approx(metrics["f1"])
    elif task == "dependency":
        scores = Scorer.score_deps(examples, "dep", head_attr="head", ignore_labels=())
        assert scores["dep_las"] == pytest.approx(metrics["las"])
    else:
        score = Scorer.score_token_attr(examples, "tag")["tag_acc"]
        assert score == pytest.approx(metrics["accuracy"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tAnn\n", r"file:1.*2 columns, not 10"),
        ("1\tAnn\t_\tNN\t_\t_\t_\t_\t_\t_\n", "file:1.*spaCy refuses.*NN"),
        ("1\tAnn\t_\t_\t_\t_\t7\ta\t_\t_\n", "file:1.*spaCy refuses"),
        ("1\tAnn\t_\t_\t_\t_\tx\ta\t_\t_\n", "file:1.*spaCy refuses"),
        ("1\tAnn\t_\t_\t_\t_\t_\t_\t_\tNER=PER\n", "file:1.*spaCy refuses"),
    ],
)
def test_malformed_rows_are_refused(text: str, message: str) -> None:
    with pytest.raises(StructoptError, match=message):
        list(from_conllu(text, NLP.vocab, "file"))


def test_command(tmp_path: Path) -> None:
    (tmp_path / "broken.spacy").write_bytes(b"nothing")
    (tmp_path / "broken.conllu").write_bytes(b"\xff")
    for source in ("broken.spacy", "missing.spacy", "broken.conllu", "missing.conllu"):
        target = "out.conllu" if source.endswith("spacy") else "out.spacy"
        command = [sys.executable, "-m", "structopt_spacy", source, target]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"structopt_spacy: {source}"), done.stderr
        assert len(done.stderr.splitlines()) == 1
