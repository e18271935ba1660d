"""Files of documents: the tasks of structopt read and write them, and malformed files."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy_corpora import sentences, write_docbin
from structopt_spacy.conllu import DocBinFormat

import structopt
from structopt import StructoptError

NLP = spacy.blank("en")
WORDS = ["Ann", "Lee", "slept", "."]
FORMAT = DocBinFormat()


def docs(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(NLP.vocab))


def stored(*several: Doc) -> bytes:
    return DocBin(docs=several, store_user_data=True).to_bytes()


def predict(run: Path, source: Path, target: Path, *options: str) -> tuple[int, str]:
    """Return the exit code and the messages of a command."""
    command = [sys.executable, "-m", "structopt", "predict", f"model={run}", f"input={source}"]
    command += [f"output={target}", "quiet=true", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


def annotations(doc: Doc) -> list[tuple[object, ...]]:
    return [
        (
            *(one.text_with_ws, one.tag_, one.pos_, one.lemma_, str(one.morph), one.is_sent_start),
            *(one.has_head(), one.head.i, one.dep_, one.ent_iob_, one.ent_type_),
        )
        for one in doc
    ]


def again(data: bytes) -> list[Doc]:
    return list(DocBin().from_bytes(data).get_docs(NLP.vocab))


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
def test_unchanged_rows_change_nothing(options: dict[str, list[object]]) -> None:
    doc = Doc(NLP.vocab, words=WORDS, **options)
    data = stored(doc, Doc(NLP.vocab), doc)
    written = again(FORMAT.annotated(data, FORMAT.to_conllu(data, "a"), "b"))
    assert list(map(annotations, written)) == [annotations(doc), [], annotations(doc)]


def test_all_else_is_kept() -> None:
    doc = Doc(NLP.vocab, words=["\n", *WORDS], ents=["O", "B-A", "O", "O", "O"])
    doc.cats, doc.user_data["key"] = {"good": 1.0}, "value"
    doc.spans["names"] = [doc[1:3]]
    data = stored(doc)
    conllu = FORMAT.to_conllu(data, "a").replace("NER=B-A", "NER=B-A|predicted_NER=S-B")
    (written,) = again(FORMAT.annotated(data, conllu, "b"))
    assert (written.cats, written.user_data["key"]) == ({"good": 1.0}, "value")
    assert [span.text for span in written.spans["names"]] == ["Ann Lee"]
    assert [(one.text, one.label_) for one in written.ents] == [("Ann", "B")]


def test_heads_and_tags_are_set() -> None:
    doc = Doc(NLP.vocab, words=["\n", *WORDS])
    data = stored(doc)
    rows = "1\tAnn\t_\tX\tT\t_\t2\ta\t_\t_\n2\tLee\t_\tX\tU\t_\t0\t_\t_\t_\n"
    rows += "3\tslept\t_\tX\tV\t_\t2\tb\t_\t_\n4\t.\t_\tX\tW\t_\t3\t_\t_\t_\n\n"
    (written,) = again(FORMAT.annotated(data, rows, "b"))
    assert [token.tag_ for token in written] == ["_SP", "T", "U", "V", "W"]
    assert [token.head.i for token in written] == [1, 2, 2, 2, 3]
    assert [token.dep_ for token in written] == ["dep", "a", "ROOT", "b", "dep"]


def test_documents_without_entities_stay_open() -> None:
    one = Doc(NLP.vocab, words=["Ann", "slept"], ents=["B-PER", "O"])
    text = FORMAT.to_conllu(stored(one, Doc(NLP.vocab, words=["Ben"])), "a")
    assert [line.split("NER=")[1] for line in text.splitlines() if "NER=" in line] == [
        *["B-PER", "O", "_"]
    ]
    assert "NER=" not in FORMAT.to_conllu(stored(Doc(NLP.vocab, words=["Ben"])), "a")


@pytest.mark.parametrize("task", ["ner", "dependency", "tagging"])
def test_tasks_read_and_write_documents(tmp_path: Path, task: str) -> None:
    for name, seed in (("train", 0), ("dev", 1)):
        write_docbin(tmp_path / f"{name}.spacy", NLP, sentences(30, seed))
    packed = tmp_path / "dev.spacy.gz"
    packed.write_bytes(gzip.compress((tmp_path / "dev.spacy").read_bytes()))
    further = {
        "ner": [],
        "dependency": ["factor_graph.labeled=true"],
        "tagging": ["task.fields.tag=[XPOS]"],
    }[task]
    words = [f"task={task}", *further, "optimizer.epochs=3", "tracker=none", "quiet=true"]
    files = [f"task.{name}={tmp_path}/{name}.spacy" for name in ("train", "dev")]
    model = structopt.train([*words, *files], folder=tmp_path / "run")
    for source, target in ((packed, "one.spacy"), (tmp_path / "dev.spacy", "other.spacy.gz")):
        assert predict(tmp_path / "run", source, tmp_path / target) == (0, "")
    one, other = tmp_path / "one.spacy", tmp_path / "other.spacy.gz"
    assert one.read_bytes() == gzip.decompress(other.read_bytes())
    pairs = zip(docs(one), docs(tmp_path / "dev.spacy"), strict=True)
    examples = [Example(doc, gold) for doc, gold in pairs]
    metrics = model.evaluate(tmp_path / "dev.spacy")
    if task == "ner":
        assert get_ner_prf(examples)["ents_f"] == pytest.approx(metrics["f1"])
    elif task == "dependency":
        scores = Scorer.score_deps(examples, "dep", head_attr="head", ignore_labels=())
        assert scores["dep_las"] == pytest.approx(metrics["las"])
    else:
        score = Scorer.score_token_attr(examples, "tag")["tag_acc"]
        assert score == pytest.approx(metrics["accuracy"])
    twice = f"{{{tmp_path}/dev.spacy,{packed}}}"
    assert model.evaluate(twice) == pytest.approx(metrics)


@pytest.mark.parametrize(
    ("option", "content"), [("k_best=2", "k_best=K"), ("probabilities=true", "the item p of MISC")]
)
def test_what_documents_cannot_have(tmp_path: Path, option: str, content: str) -> None:
    write_docbin(tmp_path / "train.spacy", NLP, sentences(9, 0))
    words = ["task=dependency", "optimizer.epochs=1", "tracker=none", "quiet=true"]
    structopt.train([*words, f"task.train={tmp_path}/train.spacy"], folder=tmp_path / "run")
    source, target = tmp_path / "train.spacy", tmp_path / "out.spacy"
    code, message = predict(tmp_path / "run", source, target, option)
    assert code == 2
    assert f"a DocBin has no place for {content}" in message
    assert not target.exists()
    assert predict(tmp_path / "run", source, tmp_path / "out.conllu", option)[0] == 0


def test_only_documents_become_documents(tmp_path: Path) -> None:
    write_docbin(tmp_path / "train.spacy", NLP, sentences(9, 0))
    words = ["task=ner", "optimizer.epochs=1", "tracker=none", "quiet=true"]
    structopt.train([*words, f"task.train={tmp_path}/train.spacy"], folder=tmp_path / "run")
    (tmp_path / "new.txt").write_text("Ann\nslept\n", encoding="utf8")
    code, message = predict(tmp_path / "run", tmp_path / "new.txt", tmp_path / "new.spacy")
    assert code == 2
    assert "only if the input is one file that has it" in message


@pytest.mark.parametrize(
    "content", [b"nothing", b"", DocBin().to_bytes()[:20], gzip.compress(b"x" * 99)]
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.spacy"
    path.write_bytes(content)
    with pytest.raises(StructoptError, match=r"broken.spacy.*(not a DocBin|empty)"):
        structopt.train(["task=ner", f"task.train={path}", "tracker=none"], folder=tmp_path / "run")


def test_errors_name_the_document(tmp_path: Path) -> None:
    write_docbin(tmp_path / "train.spacy", NLP, sentences(3, 0))
    good = docs(tmp_path / "train.spacy")[0]
    bad = Doc(NLP.vocab, words=WORDS, heads=[1, 0, 1, 1], deps=["a"] * 4)
    (tmp_path / "train.spacy").write_bytes(stored(good, bad))
    words = ["task=dependency", f"task.train={tmp_path}/train.spacy", "tracker=none"]
    with pytest.raises(StructoptError, match=r"train.spacy, document 2:[12]"):
        structopt.train(words, folder=tmp_path / "run")


def test_tabs_are_refused() -> None:
    with pytest.raises(StructoptError, match=r"a, document 2: .*tab"):
        FORMAT.to_conllu(stored(Doc(NLP.vocab, words=["x"]), Doc(NLP.vocab, words=["x\ty"])), "a")


def test_line_breaks_of_unicode_stay_in_words() -> None:
    data = stored(Doc(NLP.vocab, words=["a\u2028b", "c\x85d"], ents=["B-A", "O"]))
    conllu = FORMAT.to_conllu(data, "a").replace("NER=B-A", "NER=B-A|predicted_NER=B-B")
    (written,) = again(FORMAT.annotated(data, conllu, "b"))
    assert [(one.text, one.label_) for one in written.ents] == [("a\u2028b", "B")]
