"""CoNLL-U with mentions: what is read, what is refused, and files written again."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.coreference import coreference_files
from structopt.formats.coreference.conllu_entities import with_entity
from tests.messages import raises

FILE = "a.conllu"
FIELDS = "# global.Entity = GRP-etype-link"
TEXT = f"""\
# newdoc id = a
{FIELDS}
# sent_id = 1
1-2	vámonos	_	_	_	_	_	_	_	SpaceAfter=No
1	vamos	ir	VERB	VB	Mood=Imp	0	root	0:root	Discourse=x|Entity=(7-event-a,b:c(3-person)|MSeg=y
2	nos	nosotros	PRON	PRP	Case=Acc	1	obj	_	Bridge=3<7|Entity=(12-place)
3	al	a	ADP	IN	_	4	case	_	Entity=7)|SplitAnte=3<7
4	mar	mar	NOUN	NN	_	1	obl	_	_
4.1	voy	ir	VERB	_	_	_	_	0:root	CopyOf=1

# sent_id = 2
1	Yo	yo	PRON	PRP	_	2	nsubj	_	Entity=(3-person-coref)

# newdoc id = b
# sent_id = 3
1	Yo	yo	PRON	PRP	_	0	root	_	Entity=(7-person-coref)
""".replace("	2	nsubj", "	0	nsubj")


def row(number: object, entity: str = "", head: object = 0, misc: str = "_") -> str:
    return (
        f"{number}\tw{number}\t_\t_\t_\t_\t{head}\t_\t_\t{f'Entity={entity}' if entity else misc}\n"
    )


def sentence(*entities: str) -> str:
    return "".join(row(number, entity) for number, entity in enumerate(entities, 1)) + "\n"


def written(read, target, *rest) -> str:
    coreference_files.write(read, target, *rest)
    return target.read_bytes().decode()


def test_documents_words_and_mentions(make) -> None:
    read = coreference_files.read(make(TEXT))
    assert (read.format, read.names, read.documents.tolist()) == ("conllu", ["a", "b"], [0, 5, 6])
    assert (read.sentences.tolist(), read.lines.tolist()) == ([0, 4, 5, 6], [5, 6, 7, 8, 12, 16])
    assert read.mentions.tolist() == [[0, 3], [0, 1], [1, 2], [4, 5], [5, 6]]
    assert (read.offsets.tolist(), read.gold_clusters().tolist()) == ([0, 4, 5], [0, 1, 2, 1, 0])
    assert read.heads is not None and (read.heads.tolist(), read.heads.dtype) == (
        [0, 1, 4, 1, 0, 0],
        np.int32,
    )
    assert (
        read.cells["form"] == ["vamos", "nos", "al", "mar", "Yo", "Yo"]
        and read.cells["upos"][1] == "PRON"
    )
    assert read.cells.keys() == {"form", "lemma", "upos", "xpos", "feats", "deprel"}


@pytest.mark.parametrize("form", ["auto", "conllu"])
def test_ten_columns_with_tabs_are_conllu(make, form: str) -> None:
    assert coreference_files.read(make(TEXT, "a.txt"), form).format == "conllu"
    columns = "a\t0\t0\tw\t-\t-\t-\t-\t-\t(0)\n"
    assert (
        coreference_files.read(make(f"#begin document (a)\n{columns}", "a.txt")).format == "conll"
    )
    assert coreference_files.read(make(columns, "a.txt"), "conll").format == "conll"


def test_columns_without_values_are_missing(make) -> None:
    read = coreference_files.read(make(row(1, "(1)") + row(2, head="_")))
    assert (read.cells, read.heads, read.names) == ({"form": ["w1", "w2"]}, None, [FILE])


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        ("# global.Entity = eid-etype", "(e1-x"),
        ("# global.Entity = etype-eid-head", "(person-e1-1"),
        ("#global.Entity=etype-GRP", "(x-e1"),
        ("# global.Entity = name-etype", "(e1-x"),
        ("# none", "(e1-x-y"),
    ],
)
def test_the_field_of_the_entity(make, fields: str, cell: str) -> None:
    read = coreference_files.read(make(f"{fields}\n{sentence(cell, 'e1)', f'{cell})')}"))
    assert read.entities(0) == [[(0, 2), (2, 3)]]


def test_fields_hold_until_others_are_declared(make) -> None:
    text = (
        f"# global.Entity = etype-eid\n{sentence('(x-e1)')}# newdoc\n# global.Entity = eid\n"
        f"{sentence('(e1-x)')}"
    )
    read = coreference_files.read(make("# newdoc id = a\n" + text))
    assert (read.names, read.entities(0), read.entities(1)) == (["a", FILE], [[(0, 1)]], [[(0, 1)]])


def test_empty_nodes_are_no_words(make) -> None:
    text = (
        row("0.1", "(e1)")
        + row(1, "(e2(e3")
        + row("1.1", "e2)(e4")
        + row(2, "e3)")
        + row("2.1", "e4)")
    )
    read = coreference_files.read(make(text))
    assert (read.mentions.tolist(), read.gold_clusters().tolist()) == (
        [[0, 2], [0, 1], [1, 2]],
        [0, 1, 2],
    )
    (markup,) = read.markup
    assert [mark[:3] for mark in markup.kept] == [(1, 1, "e1")]
    read = coreference_files.read(make(row("0.1", "(e1") + row(1, "e1)(e2)")))
    assert read.mentions.tolist() == [[0, 1]]
    assert [mark[:3] for mark in read.markup[0].kept] == [(2, 2, "e2")]


def test_several_files(make, tmp_path) -> None:
    for name, text in [
        ("1.conllu", TEXT),
        ("2.conllu", sentence("(1)") + sentence("(2)")),
        ("3.conllu", TEXT),
    ]:
        make(text, name)
    read = coreference_files.read(f"{tmp_path}/*.conllu")
    assert (read.names, read.documents.tolist()) == (
        ["a", "b", "2.conllu", "a", "b"],
        [0, 5, 6, 8, 13, 14],
    )
    assert len(coreference_files.read(f"{tmp_path}/*.conllu", limit=3).lines) == 8


def test_limit_takes_the_first_documents_and_looks_no_further(make, tmp_path) -> None:
    rest = "# newdoc id = c\n# global.Entity = eid-x\nragged\n"
    read = coreference_files.read(make(TEXT + "\n" + rest), limit=2)
    assert len(read) == 2 and written(read, tmp_path / "out", read.gold_clusters()).endswith(
        "\n" + rest
    )
    assert len(coreference_files.read(make(TEXT), limit=1).lines) == 5
    with pytest.raises(DataError, match="a.conllu: the file has no sentences: check the path"):
        coreference_files.read(make("# newdoc\n" + TEXT), limit=1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# only comments\n", None, "the file has no sentences: check the path"),
        (
            sentence("", ""),
            None,
            "the document read has no mention: Entity= of MISC has no brackets. Give documents "
            "with",
        ),
        (
            sentence("(1", "2)"),
            2,
            "2) closes a mention of the entity 2, of which none is open in this document",
        ),
        (
            f"# newdoc\n{sentence('(1-x')}# newdoc\n{sentence('1)')}",
            2,
            "the mention of the entity 1 that begins here is not",
        ),
        (
            sentence("(1") + sentence("1)"),
            1,
            "the mention of the entity 1 that begins here ends in another sentence, in line 3",
        ),
        (
            sentence("(1-a)(2-b)"),
            1,
            "the word of line 1 is a mention twice, of the entities 1 and 2: remove one of the "
            "two.",
        ),
        (
            sentence("(1)x"),
            1,
            "Entity=(1)x does not read as brackets of mentions: write brackets run together, "
            "such as (7-",
        ),
        (sentence("((1)"), 1, "Entity=((1) does not read as brackets of mentions"),
        (sentence("()"), 1, "Entity=() does not read as brackets of mentions"),
        (row(1, misc="A=b|Entity="), 1, "Entity= does not read as brackets of mentions"),
        (
            "# global.Entity = a-eid\n" + sentence("(e1)"),
            2,
            "Entity=(e1) does not read as brackets of mentions: .*, each opening one with the "
            "entity as its field 2.",
        ),
        (
            sentence("(e1[1/2]-person", "e1[1/2])", "(e1[2/2])"),
            1,
            "e1[1/2] is a piece of a discontinuous mention: set task.discontinuous=hull to read "
            "such mentions",
        ),
        (
            row(1, misc="Entity=(1)|Entity=(2)"),
            1,
            "MISC has Entity= more than once: write all brackets of the word as one",
        ),
        (
            row("1-2", "(1)") + sentence("", ""),
            1,
            "the multi-word token 1-2 has Entity=, which is for words: write it at",
        ),
        (
            sentence("(1)") + "# newdoc\n" + sentence("(1)"),
            1,
            "this row stands outside of the file's documents: write # newdoc",
        ),
        (
            row(1, "(1)") + "# newdoc\n" + row(2),
            2,
            "a document begins within a sentence: leave a blank line before this one.",
        ),
        (
            row(1, "(1)", head=2),
            1,
            "the head '2' is no word of its sentence, which has 1: write 1 to 1, 0 for the root, "
            "or _",
        ),
        (row(1, "(1)") + row(3), 2, "the word is numbered '3' where 2 is due"),
        ("1\tx\t(1)\n", 1, "this line has 3 columns, but CoNLL-U has 10"),
    ],
)
def test_what_is_refused(make, text: str, line: int | None, message: str) -> None:
    path = make(text)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(DataError, match=pattern) as error:
        coreference_files.read(path)
    assert error.value.line == line
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


EXPECTED = (
    TEXT.replace("(7-event-a,b:c(3-person)", "(e1-event-a,b:c(e2-person)")
    .replace("Bridge=3<7|Entity=(12-place)", "Bridge=e2<e1|Entity=(e3-place)")
    .replace("Entity=7)|SplitAnte=3<7", "Entity=e1)|SplitAnte=e2<e1")
    .replace("(3-person-coref)", "(e2-person-coref)")
    .replace("(7-person-coref)", "(e1-person-coref)")
)


@pytest.mark.parametrize(
    ("source", "target"),
    [("", ""), ("\n", "\r\n"), ("# newdoc id = a", "\ufeff# newdoc id = a")],
    ids=["plain", "crlf", "mark"],
)
def test_written_brackets(make, tmp_path, source: str, target: str) -> None:
    read = coreference_files.read(make(TEXT.replace(source, target) if source else TEXT))
    text = written(read, tmp_path / "out.conllu", read.gold_clusters())
    assert text == (EXPECTED.replace(source, target) if source else EXPECTED)
    again = coreference_files.read(tmp_path / "out.conllu")
    assert written(again, tmp_path / "again.conllu", again.gold_clusters()) == text


def test_fields_are_declared_where_they_were_not(make, tmp_path) -> None:
    read = coreference_files.read(make(TEXT.replace(FIELDS + "\n", "").replace("\n", "\r\n")))
    text = written(read, tmp_path / "out", read.gold_clusters())
    assert text == EXPECTED.replace(FIELDS + "\n", "").replace("\n", "\r\n"), "unknown fields"
    read = coreference_files.read(make(sentence("(1)")))
    assert written(
        read, tmp_path / "out", read.gold_clusters()
    ) == "# global.Entity = eid\n" + sentence("(e1)")


def misc(text: str) -> list[str]:
    rows = [line for line in text.split("\n") if "\t" in line]
    return [line.split("\t")[-1] for line in rows]


def test_what_is_not_predicted_is_copied(make, tmp_path) -> None:
    items = (
        row("1.1", misc="A=1|Bridge=1<2:part,1<9")
        + row(2, misc="SplitAnte=1<2")
        + row(3, "(etype-1-x)")
        + row(4, misc="XEntity=1")
    )
    text = "# global.Entity = etype-eid-head\n" + row("0.1", "(zero-9-)") + row(1, "(-1)") + items
    read = coreference_files.read(make(text))
    (message,) = coreference_files.write(read, tmp_path / "out", np.array([0, 1]))
    assert message == (
        f"{read.path}: not predicted, but copied from the input: 1 mentions without words of "
        "their own; 1 Bridge=; 1 SplitAnte=; the fields etype, head of 3 mentions."
    )
    output = (tmp_path / "out").read_text()
    assert misc(output) == [
        "Entity=(zero-e3-)",
        "Entity=(-e1)",
        "A=1|Bridge=e1<e4:part,e1<e3",
        "SplitAnte=e1<e4",
        "Entity=(etype-e2-x)",
        "XEntity=1",
    ]
    again = coreference_files.read(tmp_path / "out")
    assert coreference_files.write(again, tmp_path / "again", again.gold_clusters()) != []
    assert (tmp_path / "again").read_text() == output
    others = replace(read, mentions=np.array([[1, 3]], np.int32), offsets=np.array([0, 1]))
    assert misc(written(others, tmp_path / "out", np.zeros(1, int))) == [
        "Entity=(zero-e2-)",
        "_",
        "A=1|Bridge=e3<e4:part,e3<e2",
        "Entity=(-e1|SplitAnte=e3<e4",
        "Entity=e1)",
        "XEntity=1",
    ]


def test_documents_without_sentences(make, tmp_path) -> None:
    text = "# newdoc id = a\n# newdoc id = b\n" + row(1, "(3)", misc="_") + "\n# newdoc id = c\n"
    read = coreference_files.read(make(text))
    assert (read.names, read.documents.tolist()) == (["a", "b", "c"], [0, 0, 1, 1])
    assert misc(written(read, tmp_path / "out", read.gold_clusters())) == ["Entity=(e1)"]


def test_mentions_of_one_document_do_not_name_those_of_another(make, tmp_path) -> None:
    documents = [
        f"# newdoc id = {name}\n{row(1, entity)}{row('1.1', '(9)')}\n"
        for name, entity in (("a", "(9)"), ("b", "(1)"))
    ]
    read = coreference_files.read(make("".join(documents)))
    text = written(read, tmp_path / "out", read.gold_clusters())
    assert misc(text) == ["Entity=(e1)", "Entity=(e1)", "Entity=(e1)", "Entity=(e2)"]
    last = read.subset(1, 2)
    assert [[mark.first for mark in one.kept] for one in last.markup] == [[7]]


def test_hulls_of_discontinuous_mentions(make, tmp_path) -> None:
    pieces = ("(e1[1/2]-x", "e1[1/2])(e2)", "(e1)", "(e1[2/2])(e3[1/2])", "(e3[2/2]", "e3[2/2])")
    read = coreference_files.read(make(sentence(*pieces)), discontinuous="hull")
    assert read.mentions.tolist() == [[0, 4], [1, 2], [2, 3], [3, 6]]
    assert read.entities(0) == [[(0, 4), (2, 3)], [(1, 2)], [(3, 6)]]
    assert [one.hulls for one in read.markup] == [2]
    text = written(read, tmp_path / "out", read.gold_clusters())
    assert misc(text) == [
        "Entity=(e1-x",
        "Entity=(e2)",
        "Entity=(e1)",
        "Entity=e1)(e3",
        "_",
        "Entity=e3)",
    ]
    same = sentence("(e1[1/2])(e2", "", "(e1[2/2])e2)")
    read = coreference_files.read(make(same), discontinuous="hull")
    assert (read.mentions.tolist(), read.markup[0].kept) == ([[0, 3]], ())


@pytest.mark.parametrize(
    ("pieces", "line", "problem"),
    [
        (
            ("(e1[1/2])", "(e2)", ""),
            1,
            "the discontinuous mention of the entity e1 that begins here has 1 of 2 pieces",
        ),
        (
            ("(e1[2/2])", "(e1[1/2])", ""),
            1,
            "e1[2/2] begins here, where piece 1 of a discontinuous mention of the entity e1 is due",
        ),
    ],
)
def test_pieces_that_are_refused(make, pieces: tuple[str, ...], line: int, problem: str) -> None:
    path = make(sentence(*pieces))
    with raises(DataError, path=path, line=line, problem=problem):
        coreference_files.read(path, discontinuous="hull")


def test_mentions_that_cross_by_their_empty_nodes(make, tmp_path) -> None:
    """As words, one of the mentions lies in the other; as rows, they cross."""
    text = row(1) + row("1.1", "(1") + row(2, "(2") + row(3, "1)") + row(4, "2)")
    read = coreference_files.read(make(text))
    assert (read.mentions.tolist(), read.crossing) == ([[1, 4], [1, 3]], ())
    (message,) = coreference_files.write(read, tmp_path / "out", np.array([0, 0]))
    assert message.startswith(f"{read.path}:2: the mentions that begin here and in line 3 cross")
    assert coreference_files.read(tmp_path / "out").mentions.tolist() == read.mentions.tolist()


def test_brackets_that_would_read_as_one_word(make, tmp_path) -> None:
    read = coreference_files.read(make(sentence("(1", "1)(2", "2)(3(4)", "3)")))
    text = written(read, tmp_path / "out.conllu", read.gold_clusters())
    assert [line.split("Entity=")[1] for line in text.split("\n")[1:5]] == [
        "(e1",
        "e1)(e2",
        "(e3(e4)e2)",
        "e3)",
    ]
    assert (
        coreference_files.read(tmp_path / "out.conllu").mentions.tolist() == read.mentions.tolist()
    )


def test_items_stay_in_order() -> None:
    assert with_entity("_", "(e1)") == "Entity=(e1)" and with_entity("Entity=(1)", "") == "_"
    assert with_entity("Discourse=x|MSeg=y", "(e1)") == "Discourse=x|Entity=(e1)|MSeg=y"
    assert with_entity("discourse=x", "(e1)") == "discourse=x|Entity=(e1)"
    assert with_entity("Z=1|Entity=(1)|A=1", "(e2)") == "Z=1|Entity=(e2)|A=1"
