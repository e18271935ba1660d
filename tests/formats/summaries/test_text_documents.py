"""Texts to summarize: JSON lines, plain text, CoNLL-U, references beside them and apart; malformed
ones by their messages.
"""

import gzip
import json
import os
import tarfile

import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.summaries.text_documents import read
from structopt.formats.text_files import read_each
from tests.messages import raises

CONLLU = """# newdoc id = one
# text = A b.
1	A	_	_	_	_	_	_	_	_
2	b	_	_	_	_	_	_	_	_
3	.	_	_	_	_	_	_	_	_

1-2	cd	_	_	_	_	_	_	_	_
1	c	_	_	_	_	_	_	_	_
2	d	_	_	_	_	_	_	_	_

# newdoc id = two
# text = E.
1	E.	_	_	_	_	_	_	_	_
"""


def write(path, *rows):
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n",
        encoding="utf8",
    )
    return path


def test_json_lines(tmp_path):
    file = write(
        tmp_path / "a.jsonl",
        {"name": "x", "sentences": [" A  b. ", "", "C."], "references": ["One.\nTwo.", ["Three."]]},
        "",
        {
            "doc": "y",
            "sentences": ["D."],
            "summaries": [{"by": "human2", "text": "Four."}, {"by": "model", "text": "Five."}],
        },
    )
    corpus = read(file)
    assert corpus.names == ["x", "y"] and corpus.places == [(str(file), 1), (str(file), 3)]
    assert corpus.documents() == [["A b.", "C."], ["D."]]
    assert corpus.references == [[["One.", "Two."], ["Three."]], [["Four."]]]
    assert len(read(file, limit=1)) == 1
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read(packed).sentences == corpus.sentences


def test_texts_and_their_references_in_folders(tmp_path):
    topics, golds = tmp_path / "topics", tmp_path / "gold"
    topics.mkdir()
    (golds / "b").mkdir(parents=True)
    (topics / "a.txt.data").write_bytes("Good café.\r\n\r\nIt’s fine.\n".encode("cp1252"))
    write(topics / "b.txt", "Über.")
    write(golds / "a.1.txt", "Fine.")
    write(golds / "a.txt", "Good.", "Café.")
    write(golds / "b" / "b.2.gold", "Über.")
    corpus = read(topics, references=str(golds))
    assert corpus.names == ["a", "b"]
    assert corpus.documents() == [["Good café.", "It’s fine."], ["Über."]]
    assert corpus.references == [[["Fine."], ["Good.", "Café."]], [["Über."]]]
    assert read(topics, encoding="latin-1").sentences[2] == "Ã\x9cber."
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(topics, "topics")
        archive.add(golds, "gold")
    packed = read(f"{tmp_path}/all.tar.gz:topics/*", references=f"{tmp_path}/all.tar.gz:gold/**")
    assert (packed.documents(), packed.references) == (corpus.documents(), corpus.references)


def test_conllu(tmp_path):
    corpus = read(write(tmp_path / "a.conllu", CONLLU))
    assert corpus.names == ["one", "two"] and corpus.places[1][1] == 11
    assert corpus.documents() == [["A b.", "c d"], ["E."]]
    assert corpus.references is None
    references = write(
        tmp_path / "r.jsonl",
        {"id": "two", "references": ["E"]},
        {"id": "one", "references": ["B"]},
        {"id": "z", "references": ["Z"]},
    )
    assert read(tmp_path / "a.conllu", references=str(references)).references == [[["B"]], [["E"]]]


def test_any_bytes_are_a_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(1, 256)))
    ((_, text),) = read_each(tmp_path / "a.txt")
    assert len(text) == 255 and "\x81" in text and "€" in text


ROWS = {
    "sentence": ("this line is not JSON (Expecting value): write one object a line.", 1),
    "[1]": ('this line is a list: write an object, {"sentences": ["..."]}.', 1),
    '{"text": "a"}': (
        'this object has no "sentences", but "text": write {"sentences": ["..."]}.',
        1,
    ),
    "{}": ('this object has no "sentences", but no keys: write {"sentences": ["..."]}.', 1),
    '{"sentences": "a"}': ('"sentences" is a text: give a list of sentences.', 1),
    '{"sentences": [1]}': ('"sentences" has a number in it: give sentences, which are texts.', 1),
    '{"sentences": ["a"], "references": "b"}': (
        '"references" is a text: give a list of summaries.',
        1,
    ),
    '{"sentences": ["a"], "references": [{}]}': (
        '"references" is an object: give a list of sentences.',
        1,
    ),
    '{"sentences": ["a"], "references": []}': (
        "there is no reference summary: give one by a person, or leave the document out.",
        1,
    ),
    '{"sentences": ["a"], "references": [" "]}': ("a reference summary is empty: remove it.", 1),
    '{"sentences": ["a"], "summaries": ["b"]}': (
        '"summaries" is no list of objects with "text": write [{"by": "human", "text": "..."}].',
        1,
    ),
    '{"sentences": ["a"], "name": 3}': (
        '"name" is a number: give the document\'s name, a text.',
        1,
    ),
    '{"name": "n", "sentences": [" "]}': (
        "document n: it has no sentence, so that there is nothing to summarize: remove it, or "
        "give its text.",
        1,
    ),
    '{"name": "n", "sentences": ["a"]}\n{"name": "n", "sentences": ["a"]}': (
        "has a document of this name already: rename one of them.",
        2,
    ),
    '{"sentences": ["a"], "references": ["b"]}\n{"name": "m", "sentences": ["a"]}': (
        "document m: it has no references, and others have: give them to all, or to none.",
        2,
    ),
    "[" * 100_000: ("nested too deep", 1),
}


@pytest.mark.parametrize("text", ROWS, ids=range(len(ROWS)))
def test_malformed_json_lines(tmp_path, text):
    message, line = ROWS[text]
    with pytest.raises(DataError) as caught:
        read(write(tmp_path / "a.jsonl", text))
    assert str(caught.value).startswith(f"{tmp_path / 'a.jsonl'}:{line}: ") and message in str(
        caught.value
    )


def test_other_malformed_files(tmp_path):
    text, empty = write(tmp_path / "a.txt", "A."), write(tmp_path / "empty.txt", "")
    with pytest.raises(DataError, match=r"empty.txt:1: document empty: it has no sentence"):
        read(empty)
    with pytest.raises(
        DataError,
        match=r"a.txt:1: document a: .*r.jsonl has no reference summary of this name. Did you mean "
        r"'aa'?",
    ):
        read(text, references=str(write(tmp_path / "r.jsonl", {"id": "aa", "references": ["x"]})))
    with pytest.raises(
        DataError,
        match=r's.jsonl:1: this object has neither "references" nor "summaries": give the '
        r"document\'s.",
    ):
        read(text, references=str(write(tmp_path / "s.jsonl", {"id": "a"})))
    (tmp_path / "a.1.txt").write_text("", encoding="utf8")
    with pytest.raises(
        DataError, match=r"a.1.txt: this reference summary is empty: remove the file, or write it."
    ):
        read(text, references=str(tmp_path / "a.1.txt"))
    with pytest.raises(
        DataError,
        match=r"c.conllu:1: this row has 1 columns, and CoNLL-U has 10, separated by tabs: correct it",
    ):
        read(write(tmp_path / "c.conllu", "word"))
    with pytest.raises(DataError, match=r"d.conllu: there is no document: check the path"):
        read(write(tmp_path / "d.conllu", "", ""))
    with raises(ConfigError, parameter="limit", value=0):
        read(text, limit=0)
    with raises(ConfigError, parameter="task.encoding", value="utf9"):
        read(text, encoding="utf9")


@pytest.mark.nightly("data")
@pytest.mark.skipif(
    "STRUCTOPT_DATA" not in os.environ, reason="STRUCTOPT_DATA is not set: no topics to read"
)
def test_real_files():
    data = os.environ["STRUCTOPT_DATA"]
    archive = f"{data}/opinosis/opinosis.tar.gz"
    corpus = read(f"{archive}:topics/*.data", references=f"{archive}:summaries-gold/**")
    assert len(corpus) == 40 and {len(own) for own in corpus.references} == {4, 5}
    assert not any("\ufffd" in sentence for sentence in corpus.sentences)
    dev = read(f"{data}/gum/dep.dev.conllu.gz", references=f"{data}/gum/summaries.jsonl.gz")
    assert len(dev) == 30 and {len(own) for own in dev.references} == {1, 5}
