"""CoNLL-U: what is read, what is refused, and files written again."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from structopt import datasets
from structopt.errors import ConfigError, DataError
from structopt.formats.trees import conllu, tree_files
from structopt.formats.trees.dependency_trees import Arc, Trees
from tests.messages import raises

TEXT = """\
# newdoc id = a
# sent_id = 1
1-2	vámonos	_	_	_	_	_	_	_	SpaceAfter=No
1	vamos	ir	VERB	VB	Mood=Imp|Number=Plur	0	root	0:root	_
2	nos	nosotros	PRON	PRP	Case=Acc	1	obj	1:obj	_
3	a l	a	ADP	IN	_	4	case	4:case	x=1|p=0.100
4	mar	mar	NOUN	NN	_	1	obl	1:obl	SpaceAfter=No
4.1	voy	ir	VERB	_	_	_	_	0:root	CopyOf=1
4.2	yo	yo	PRON	_	_	_	_	4.1:nsubj	_

# sent_id = 2
0.1	_	_	_	_	_	_	_	_	_
1	#	#	SYM	SYM	_	0	root	_	_
2	.	.	PUNCT	.	_	0	punct	_	_
"""


def saved(folder: Path, text: str, name: str = "a.conllu") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def gold_outputs(read: Trees) -> list[list[Arc]]:
    pairs = list(map(Arc, read.gold_heads().tolist(), read.relations))
    bounds = read.offsets.tolist()
    return [pairs[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def written(read: Trees, target: Path, *rest: object, encoding: str = "utf8") -> str:
    tree_files.write(read, target, gold_outputs(read), *rest, encoding=encoding)
    return target.read_bytes().decode(encoding)


def row(number: object, head: object, **cells: str) -> str:
    names = ("form", "lemma", "upos", "xpos", "feats")
    return "\t".join([str(number), *(cells.get(n, "x") for n in names), str(head), "dep", "_", "_"])


def sentence(*heads: object) -> str:
    return "".join(row(m, head) + "\n" for m, head in enumerate(heads, 1))


@pytest.mark.parametrize(
    ("relation", "kept"), [(None, "DEPREL and DEPS"), ("new", "DEPS")], ids=["heads", "labels"]
)
def test_new_heads_next_to_old_relations(tmp_path: Path, relation: str | None, kept: str) -> None:
    read = tree_files.read(saved(tmp_path, TEXT), labelled=False)
    outputs = [[arc._replace(relation=relation) for arc in one] for one in _heads(read)]
    assert tree_files.stale_cells(read, outputs) is None, "all heads are those of the file"
    outputs[0][1:3] = [Arc(4, relation), Arc(1, relation)]
    message = tree_files.stale_cells(read, outputs)
    assert message is not None and (message.path, message.line) == (read.path, 5)
    start = "2 of 6 words, the first one here, have a new head, but keep"
    assert message.problem == f"{start} {kept} of the input"
    assert ("factor_graph.labeled=true" in message.remedy) == (relation is None)


def _heads(read: Trees) -> list[list[Arc]]:
    arcs = [Arc(int(head)) for head in read.cells["head"]]
    return [arcs[a:b] for a, b in pairwise(read.offsets.tolist())]


def test_words_heads_and_lines(tmp_path: Path) -> None:
    read = tree_files.read(saved(tmp_path, TEXT))
    assert (read.format, len(read), read.offsets.tolist()) == ("conllu", 2, [0, 4, 6])
    assert read.lines.tolist() == [4, 5, 6, 7, 13, 14]
    assert read.gold_heads().tolist() == [0, 1, 4, 1, 0, 0]
    assert read.gold_heads().dtype == np.int32
    assert read.cells["form"] == ["vamos", "nos", "a l", "mar", "#", "."]
    assert read.cells["feats"][:2] == ["Mood=Imp|Number=Plur", "Case=Acc"]
    assert read.relations == ["root", "obj", "case", "obl", "root", "punct"]
    assert (
        read.cells["upos"][2] == "ADP"
        and read.cells["xpos"][2] == "IN"
        and read.cells["lemma"][0] == "ir"
    )


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT + "\n",
        TEXT.rstrip("\n"),
        "\n\n" + TEXT + "\n\n\n",
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
    ],
    ids=["one end", "blank end", "no end", "more blanks", "mark", "crlf"],
)
def test_round_trip(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path, text)
    read = tree_files.read(path)
    assert written(read, tmp_path / "out") == text
    blank = [[Arc(0, "dep")] * n for n in (4, 2)]
    tree_files.write(read, tmp_path / "out", blank)
    assert written(tree_files.read(path), tmp_path / "again") == text
    assert (tmp_path / "out").read_text(encoding="utf8").count("\t0\tdep\t") == 6


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    read = tree_files.read(path)
    tree_files.write(read, tmp_path / "out.gz", gold_outputs(read))
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == TEXT


def test_without_predicted_relations_the_column_stays(tmp_path: Path) -> None:
    read = tree_files.read(saved(tmp_path, TEXT))
    tree_files.write(read, tmp_path / "out", [[Arc(2), Arc(0), Arc(2), Arc(2)], [Arc(0), Arc(1)]])
    changed = tree_files.read(tmp_path / "out")
    assert changed.gold_heads().tolist() == [2, 0, 2, 2, 0, 1]
    assert changed.relations == read.relations


def test_probabilities_are_kept_in_misc(tmp_path: Path) -> None:
    read = tree_files.read(saved(tmp_path, TEXT))
    tables = [np.full((n, n + 1), 0.25) for n in (4, 2)]
    tables[0][2, 4], tables[1][0, 0] = 0.98765, 1.0000001
    cells = [
        line.split("\t")[-1]
        for line in written(read, tmp_path / "out", tables).split("\n")
        if "\t" in line
    ]
    assert cells == [
        "SpaceAfter=No",
        "p=0.250",
        "p=0.250",
        "x=1|p=0.988",
        "SpaceAfter=No|p=0.250",
        "CopyOf=1",
        "_",
        "_",
    ] + [
        "p=1.000",
        "p=0.250",
    ]


def test_k_best_sentences_follow_each_other(tmp_path: Path) -> None:
    read = tree_files.read(saved(tmp_path, "\ufeff" + TEXT.replace("\n", "\r\n")))
    first, second = gold_outputs(read)
    other = [Arc(2, "x"), Arc(0, "y")]
    text = written(read, tmp_path / "out", None, [[(1.5, first)], [(2, second), (-3.25, other)]])
    assert (
        text.startswith("\ufeff# newdoc")
        and text.count("\ufeff") == 1
        and text.count("\n") == text.count("\r\n")
    )
    blocks = text.replace("\r\n", "\n").rstrip("\n").split("\n\n")
    lines = [block.split("\n") for block in blocks]
    assert [[line for line in block if line.startswith("#")][-3:] for block in lines] == [
        ["# sent_id = 1", "# k_best = 1", "# score = 1.500000"],
        ["# sent_id = 2", "# k_best = 1", "# score = 2.000000"],
        ["# sent_id = 2", "# k_best = 2", "# score = -3.250000"],
    ]
    assert (
        lines[0][4].startswith("1-2\t")
        and lines[0][-1].startswith("4.2\t")
        and lines[2][3].startswith("0.1\t")
    )
    again = tree_files.read(tmp_path / "out")
    assert (again.offsets.tolist(), again.gold_heads().tolist()) == (
        [0, 4, 6, 8],
        [0, 1, 4, 1, 0, 0, 2, 0],
    )
    assert again.relations[-2:] == ["x", "y"]


def test_limit(tmp_path: Path) -> None:
    path = saved(tmp_path, TEXT)
    assert tree_files.read(path, limit=1).offsets.tolist() == [0, 4]
    broken = saved(tmp_path, TEXT + "\nbroken\n", "b.conllu")
    assert len(tree_files.read(broken, limit=2)) == 2
    with raises(ConfigError, parameter="limit", value=0):
        tree_files.read(path, limit=0)


def test_without_labels_heads_are_not_looked_at(tmp_path: Path) -> None:
    path = saved(tmp_path, row(1, "_") + "\n" + row(2, "2") + "\n")
    read = tree_files.read(path, labelled=False)
    assert read.heads is None and read.cells["head"] == ["_", "2"]
    with pytest.raises(DataError, match="has no heads to compare with"):
        read.gold_heads()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        ("# only\n# comments\n", None, "the file has no sentences"),
        (
            sentence(0) + "\n" + "1\tx\n",
            3,
            "this line has 2 columns, but CoNLL-U has 10, parted by tabs: ID FORM LEMMA UPOS",
        ),
        (row(1, 0).replace("\t", " ") + "\n", 1, "this line has 1 column, but CoNLL-U has 10"),
        (
            row(1, 0, lemma="") + "\n",
            1,
            "the column LEMMA is empty: write _ where there is no value",
        ),
        (sentence(0, 1) + row(4, 1) + "\n", 3, "the word is numbered '4' where 3 is due"),
        (row(0, 0) + "\n", 1, "the word is numbered '0' where 1 is due"),
        (row("x", 0) + "\n", 1, "the word is numbered 'x' where 1 is due"),
        (
            sentence(0, 1) + sentence(0),
            3,
            "numbered '1' where 3 is due: .* leave a blank line after each sentence",
        ),
        (
            sentence(0, "_"),
            2,
            "the head of word 2 is missing (_): give labelled files for training and evaluation",
        ),
        (
            sentence(0, "one"),
            2,
            "the head 'one' of word 2 is not a number: write the number of the head word, or 0",
        ),
        (sentence(0, "1.5"), 2, "the head '1.5' of word 2 is not a number"),
        (sentence(0, "-1"), 2, "the head '-1' of word 2 is not a number"),
        (sentence(0, "01"), 2, "the head '01' of word 2 is not a number"),
        (
            sentence(0) + "\n" + sentence(0, 3),
            4,
            "the head 3 of word 2 is beyond the sentence, which has 2 words: write 0 to 2",
        ),
        (
            sentence(0, 2),
            2,
            "word 2 is its own head: write the number of another word, or 0 for the root",
        ),
        (
            sentence(0) + "\n" + sentence(2, 1),
            3,
            "the heads go round in a circle, 1 -> 2 -> 1: every word must lead to the",
        ),
        (
            sentence(0, 5, 2, 2, 3, 4),
            2,
            "the heads go round in a circle, 2 -> 5 -> 3 -> 2: .* Correct one of these heads",
        ),
        (
            row("1-", "_") + "\n" + sentence(0),
            1,
            "the ID '1-' is none: write 3 for a word, 3-4 for a multi-word token",
        ),
        (
            row("2-3", "_") + "\n" + sentence(0, 1, 1),
            1,
            "the multi-word token 2-3 must stand just before its first word",
        ),
        (
            row("1-3", "_") + "\n" + sentence(0, 1),
            1,
            "the multi-word token 1-3 must .* end within the 2 words",
        ),
        (row("2-1", "_") + "\n" + sentence(0, 1), 1, "the multi-word token 2-1 must"),
        (
            row("1-2", "_")
            + "\n"
            + row(1, 0)
            + "\n"
            + row("2-3", "_")
            + "\n"
            + row(2, 1)
            + "\n"
            + row(3, 1)
            + "\n",
            3,
            "the multi-word token 2-3 overlaps 1-2: a word belongs to one at most",
        ),
        (
            sentence(0) + row("2.1", "_") + "\n",
            2,
            "the empty node is numbered 2.1 where 1.1 is due",
        ),
        (
            sentence(0) + row("1.1", "_") + "\n" + row("1.3", "_") + "\n",
            3,
            "the empty node is numbered 1.3 where 1.2 is due",
        ),
        (
            sentence(0) + "\n" + row("0.1", "_") + "\n",
            3,
            "the sentence that begins here has no words",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = saved(tmp_path, text)
    pattern = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(DataError, match=pattern) as error:
        tree_files.read(path)
    assert error.value.line == line
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_long_cycles_are_found(tmp_path: Path) -> None:
    n = 1000
    tree_files.read(saved(tmp_path, sentence(0, *range(1, n))))
    with pytest.raises(
        DataError, match="the heads go round in a circle, 501 -> 1000 -> (9.. -> ){8}... -> 501:"
    ):
        tree_files.read(saved(tmp_path, sentence(0, *range(1, 500), n, *range(501, n))))


def test_wrong_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(DataError, match="set task.encoding"):
        tree_files.read(path)
    assert tree_files.read(path, encoding="latin-1").cells["form"][0] == "vamos"
    assert (
        written(tree_files.read(path, encoding="latin-1"), tmp_path / "out", encoding="latin-1")
        == TEXT
    )


def test_misc() -> None:
    assert conllu.with_probability("_", 0.5) == "p=0.500"
    assert conllu.with_probability("p=0.1|A=b", -1e-9) == "A=b|p=0.000"


def test_the_shipped_corpus(tmp_path: Path) -> None:
    for part in datasets.SPLITS:
        read = tree_files.read(datasets.path(part, "conllu"))
        assert written(read, tmp_path / "out") == datasets.path(part, "conllu").read_text(
            encoding="utf8"
        )


COUNTS = {
    "en_ewt-ud-train": (12544, 204577),
    "en_ewt-ud-dev": (2001, 25147),
    "tr_imst-ud-train": (3435, 37522),
}


@pytest.mark.nightly("data")
@pytest.mark.skipif(
    "STRUCTOPT_DATA" not in os.environ, reason="needs real data: set STRUCTOPT_DATA"
)
def test_treebanks_survive_to_the_byte(tmp_path: Path) -> None:
    files = sorted((Path(os.environ["STRUCTOPT_DATA"]) / "ud").glob("*.conllu.gz"))
    assert files
    for path in files:
        read = tree_files.read(path)
        assert read.format == "conllu"
        assert written(read, tmp_path / "out").encode() == gzip.decompress(path.read_bytes())
        name = path.name.partition(".")[0]
        assert (len(read), len(read.lines)) == COUNTS.get(name, (len(read), len(read.lines)))
