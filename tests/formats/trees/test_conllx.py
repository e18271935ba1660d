"""CoNLL-X and the Penn format's columns: reading, telling formats apart, writing again."""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats.trees import tree_files
from structopt.formats.trees.dependency_trees import Arc, Trees
from structopt.metrics.attachment import nonprojective

CONLLX = """\
1	El	el	d	da	gen=m|num=s	2	_	2	_
2	índice	índice	n	nc	gen=m	3	SUJ	3	SUJ
3	sube	subir	v	vm	_	0	ROOT	0	ROOT

1	¡	¡	F	Fa	_	0	PUNC	_	_
2	Sí	sí	r	rg	_	0	ROOT	_	_
"""
PENN = "#\t#\t2\n5\tCD\t0\n\nIt\tPRP\t2\nfell\tVBD\t0\n.\t.\t2\n"
REAL = pytest.mark.skipif(
    "STRUCTOPT_DATA" not in os.environ, reason="needs real data: set STRUCTOPT_DATA"
)


def saved(folder: Path, text: str, name: str = "a.txt", encoding: str = "utf8") -> Path:
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def rewritten(read: Trees, target: Path, encoding: str = "utf8") -> bytes:
    arcs = list(map(Arc, read.gold_heads().tolist(), read.relations))
    bounds = read.offsets.tolist()
    outputs = [arcs[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    tree_files.write(read, target, outputs, encoding=encoding)
    return target.read_bytes()


def test_conllx(tmp_path: Path) -> None:
    path = saved(tmp_path, CONLLX, encoding="latin-1")
    read = tree_files.read(path, encoding="latin-1")
    assert (read.format, read.offsets.tolist(), read.lines.tolist()) == (
        "conllx",
        [0, 3, 5],
        [1, 2, 3, 5, 6],
    )
    assert read.gold_heads().tolist() == [2, 3, 0, 0, 0]
    assert read.relations == ["_", "SUJ", "ROOT", "PUNC", "ROOT"]
    assert (read.cells["form"][1], read.cells["upos"][:2], read.cells["xpos"][:2]) == (
        "índice",
        ["d", "n"],
        ["da", "nc"],
    )
    assert rewritten(read, tmp_path / "out", "latin-1") == path.read_bytes()


def test_penn(tmp_path: Path) -> None:
    read = tree_files.read(saved(tmp_path, PENN))
    assert (read.format, read.offsets.tolist(), read.gold_heads().tolist()) == (
        "penn",
        [0, 2, 5],
        [2, 0, 2, 0, 2],
    )
    assert read.cells["form"] == ["#", "5", "It", "fell", "."]
    assert read.cells["upos"] == read.cells["xpos"] == ["#", "CD", "PRP", "VBD", "."]
    assert "lemma" not in read.cells and read.relations == ["_"] * 5
    assert rewritten(read, tmp_path / "out").decode() == PENN


@pytest.mark.parametrize(
    "text", [PENN.replace("\t", " "), PENN.replace("\n", "\r\n"), PENN.replace("\t", " ").rstrip()]
)
def test_penn_variants(tmp_path: Path, text: str) -> None:
    read = tree_files.read(saved(tmp_path, text))
    assert (read.format, read.gold_heads().tolist()) == ("penn", [2, 0, 2, 0, 2])
    assert rewritten(read, tmp_path / "out").decode() == text


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.conllu", CONLLX, "conllu"),
        ("a.conllu.gz", CONLLX, "conllu"),
        ("a.conll", CONLLX, "conllx"),
        ("a.conll", "# text\n" + CONLLX, "conllu"),
        ("a.conll", CONLLX.replace("\t2\t_\n", "\t2:det\t_\n", 1), "conllu"),
        ("a.conll", CONLLX.replace("\tROOT\n", "\tSpaceAfter=No\n", 1), "conllu"),
        ("a.conll", "1-2\t" + "_\t" * 8 + "_\n" + CONLLX, "conllu"),
        ("a.conllu", PENN, "penn"),
        ("a.conllu", "nonsense\n", "conllu"),
    ],
)
def test_formats_are_told_apart(name: str, text: str, format: str) -> None:
    assert tree_files.detect_format(name, text.split("\n")) == format


@pytest.mark.parametrize(
    ("text", "format", "line", "message"),
    [
        (CONLLX.replace("2\tí", "3\tí"), "conllx", 2, "the word is numbered '3' where 2 is due"),
        ("1-2" + CONLLX[1:], "conllx", 1, "the word is numbered '1-2' where 1 is due"),
        (
            CONLLX.replace("\t3\tSUJ", "\t7\tSUJ"),
            "auto",
            2,
            "the head 7 of word 2 is beyond the sentence, which has 3 words",
        ),
        (
            CONLLX,
            "penn",
            1,
            "this line has 10 columns, but Penn's format has 3, parted by tabs or single spaces: "
            "word ",
        ),
        (
            PENN,
            "conllx",
            2,
            "this line has 3 columns, but CoNLL-X has 10, .* ID FORM LEMMA CPOSTAG POSTAG FEATS "
            "HEAD DEPREL ",
        ),
        (PENN.replace("PRP\t2", "PRP\t1"), "auto", 4, "word 1 is its own head"),
        (PENN.replace("PRP\t2", "PRP\t_"), "auto", 4, "the head of word 1 is missing"),
        (PENN.replace("PRP\t", "\t"), "auto", 4, "the column POS is empty"),
        (
            PENN.replace("VBD\t0", "VBD\t1"),
            "auto",
            4,
            "the heads go round in a circle, 1 -> 2 -> 1",
        ),
        ("a b c d\n", "auto", 1, "this line has 1 column, but CoNLL-X has 10"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, text: str, format: tree_files.Format, line: int, message: str
) -> None:
    path = saved(tmp_path, text)
    with pytest.raises(DataError, match=message) as error:
        tree_files.read(path, format)
    assert error.value.line == line


@pytest.mark.parametrize(("text", "title"), [(CONLLX, "CoNLL-X"), (PENN, "Penn's format")])
def test_no_place_for_probabilities_and_lists(tmp_path: Path, text: str, title: str) -> None:
    read = tree_files.read(saved(tmp_path, text), labelled=False)
    for rest, option in (
        ([[np.zeros((3, 4))] * 2], "probabilities=true"),
        ([None, [[], []]], "k_best"),
    ):
        with pytest.raises(
            ConfigError,
            match=f"{title} has no place for what {option} writes. Give input in CoNLL-U",
        ):
            tree_files.write(read, tmp_path / "out", [], *rest)
    assert not (tmp_path / "out").exists()


@pytest.mark.nightly("data")
@REAL
@pytest.mark.parametrize(
    ("name", "encoding", "sentences", "several", "crossing"),
    [("eus", "latin-1", 2595, 1007, 669), ("esp", "utf8", 2949, None, None)],
)
def test_conll2007(
    tmp_path: Path,
    name: str,
    encoding: str,
    sentences: int,
    several: int | None,
    crossing: int | None,
) -> None:
    path = Path(os.environ["STRUCTOPT_DATA"]) / "conll2007" / f"{name}.train.gz"
    read = tree_files.read(path, encoding=encoding)
    assert (read.format, len(read)) == ("conllx", sentences)
    assert rewritten(read, tmp_path / "out", encoding) == gzip.decompress(path.read_bytes())
    if several is not None:
        heads, begins = read.gold_heads(), read.offsets[:-1]
        assert (np.add.reduceat(heads == 0, begins) > 1).sum() == several
        assert np.logical_or.reduceat(nonprojective(heads, read.offsets), begins).sum() == crossing


@pytest.mark.nightly("data")
@REAL
def test_penn_sample(tmp_path: Path) -> None:
    with tarfile.open(
        Path(os.environ["STRUCTOPT_DATA"]) / "ptb_sample" / "dependency_treebank.tar.gz"
    ) as archive:
        parts = [
            archive.extractfile(member).read() for member in archive if member.name.endswith(".dp")
        ]
    path = tmp_path / "all.dp"
    path.write_bytes(b"\n".join(parts))
    read = tree_files.read(path)
    assert (read.format, len(read)) == ("penn", 3914)
    assert (np.add.reduceat(read.gold_heads() == 0, read.offsets[:-1]) == 1).all()
    assert rewritten(read, tmp_path / "out") == path.read_bytes()
