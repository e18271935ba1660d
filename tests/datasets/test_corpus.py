"""The shipped corpus: reproducible, consistent across its formats, and hard enough to be worth
learning.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from structopt import datasets
from tools.corpus import generate
from tools.corpus.themes import THEMES

pytestmark = pytest.mark.nightly("rest")

SENTENCES = {"train": 1500, "dev": 300, "test": 300}
Rows = list[list[str]]


def read_conll(split: str) -> list[Rows]:
    blocks = datasets.path(split).read_text(encoding="utf8").split("\n\n")
    rows = [
        [line.split(" ") for line in block.strip().splitlines()]
        for block in blocks
        if block.strip()
    ]
    return [sentence for sentence in rows if sentence[0][0] != "-DOCSTART-"]


def read_conllu(split: str) -> list[Rows]:
    blocks = datasets.path(split, "conllu").read_text(encoding="utf8").strip().split("\n\n")
    return [
        [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        for block in blocks
    ]


def read_coref(split: str) -> list[list[Rows]]:
    texts = datasets.path(split, "coref").read_text(encoding="utf8").split("#end document")
    documents = []
    for document in texts:
        body = re.sub(r"^\s*#begin document.*$", "", document, count=1, flags=re.M)
        sentences = [
            [line.split(" ") for line in block.splitlines()]
            for block in body.strip().split("\n\n")
            if block
        ]
        documents += [sentences] if sentences else []
    return documents


def leaves(tree: str) -> list[tuple[str, str]]:
    return re.findall(r"\((\S+) ([^\s()]+)\)", tree)


def entities(sentences: list[Rows]) -> list[tuple[str, str]]:
    names: list[tuple[str, str]] = []
    for sentence in sentences:
        for word, *_, tag in sentence:
            if tag.startswith("B-"):
                names.append((word, tag[2:]))
            elif tag.startswith("I-"):
                names[-1] = (names[-1][0] + " " + word, tag[2:])
    return names


def test_regenerating_gives_the_same_bytes(tmp_path: Path) -> None:
    generate.main(["--folder", str(tmp_path)])
    for split in datasets.SPLITS:
        for kind in datasets.KINDS:
            assert (tmp_path / f"{split}.{kind}").read_bytes() == datasets.path(
                split, kind
            ).read_bytes(), (split, kind)


def test_another_seed_gives_another_corpus(tmp_path: Path) -> None:
    generate.write(tmp_path, seed=7)
    assert (tmp_path / "train.conll").read_bytes() != datasets.path("train").read_bytes()


def test_unknown_splits_and_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="no split 'tran'.*train, dev, test"):
        datasets.path("tran")
    with pytest.raises(ValueError, match="no format 'xml'.*conll"):
        datasets.path("dev", "xml")


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_the_four_formats_agree(split: str) -> None:
    columns, dependencies = read_conll(split), read_conllu(split)
    trees = datasets.path(split, "ptb").read_text(encoding="utf8").splitlines()
    coref = [sentence for document in read_coref(split) for sentence in document]
    assert len(columns) == len(dependencies) == len(trees) == len(coref) == SENTENCES[split]
    for rows, arcs, tree, chains in zip(columns, dependencies, trees, coref, strict=True):
        tokens = [(row[0], row[1]) for row in rows]
        assert [(arc[1], arc[4]) for arc in arcs] == tokens
        assert [(row[3], row[4]) for row in chains] == tokens
        unescape = {"-LRB-": "(", "-RRB-": ")"}
        assert [(unescape.get(word, word), tag) for tag, word in leaves(tree)] == tokens


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_every_dependency_graph_is_a_tree(split: str) -> None:
    for sentence in read_conllu(split):
        assert [int(row[0]) for row in sentence] == list(range(1, len(sentence) + 1))
        assert all(len(row) == 10 and all(row) for row in sentence)
        heads = [0] + [int(row[6]) for row in sentence]
        assert [row[7] for row in sentence if row[6] == "0"] == ["root"]
        assert not any(
            row[7] in ("root", "dep") and row[6] != "0" and row[7] == "root" for row in sentence
        )
        for start in range(1, len(heads)):
            node, steps = start, 0
            while node:
                node, steps = heads[node], steps + 1
                assert steps <= len(sentence)


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_brackets_balance(split: str) -> None:
    for tree in datasets.path(split, "ptb").read_text(encoding="utf8").splitlines():
        depth = 0
        for i, sign in enumerate(tree):
            depth += (sign == "(") - (sign == ")")
            assert depth > 0 or i == len(tree) - 1
        assert depth == 0
        assert tree.startswith("(ROOT (")


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_tags_are_iob2(split: str) -> None:
    for sentence in read_conll(split):
        for column in (2, 3):
            last = "O"
            for row in sentence:
                tag = row[column]
                assert tag == "O" or tag[:2] in ("B-", "I-")
                assert tag[0] != "I" or last[1:] == tag[1:], sentence
                last = tag
    assert {kind for _, kind in entities(read_conll(split))} == {"PER", "LOC", "ORG", "MISC"}


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_coreference_chains_open_and_close(split: str) -> None:
    for document in read_coref(split):
        sizes: dict[str, int] = defaultdict(int)
        for sentence in document:
            opened: list[str] = []
            for cell in (row[-1] for row in sentence):
                for mark in cell.split("|") if cell != "-" else []:
                    cluster = mark.strip("()")
                    if mark.startswith("("):
                        opened.append(cluster)
                        sizes[cluster] += 1
                    if mark.endswith(")"):
                        opened.remove(cluster)
            assert not opened
        assert all(size > 1 for size in sizes.values())
        assert sorted(map(int, sizes)) == list(range(len(sizes)))


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_libsvm_counts_the_words_of_the_columns(split: str) -> None:
    names: dict[str, str] = {}
    for earlier in datasets.SPLITS[: datasets.SPLITS.index(split) + 1]:
        for rows in read_conll(earlier):
            for word, *_ in rows:
                names.setdefault(word.lower(), str(len(names) + 1))
    lines = [
        line.split(" ")
        for line in datasets.path(split, "libsvm").read_text(encoding="utf8").splitlines()
    ]
    assert {theme for theme, *_ in lines} == set(THEMES)
    for (_, *pairs), rows in zip(lines, read_conll(split), strict=True):
        expected = Counter(names[word.lower()] for word, *_ in rows)
        assert pairs == [f"{index}:{expected[index]}" for index in sorted(expected, key=int)]


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_libsvm_has_one_theme_a_document(split: str) -> None:
    themes = [
        line.split(" ")[0]
        for line in datasets.path(split, "libsvm").read_text(encoding="utf8").splitlines()
    ]
    start = 0
    for document in read_coref(split):
        assert len(set(themes[start : start + len(document)])) == 1
        start += len(document)
    assert start == len(themes)
    assert min(Counter(themes).values()) > 0.05 * len(themes)


@pytest.mark.parametrize("split", datasets.SPLITS)
def test_multilabel_has_the_theme_and_the_kinds_of_entities(split: str) -> None:
    plain = datasets.path(split, "libsvm").read_text(encoding="utf8").splitlines()
    lines = datasets.path(split, "multilabel").read_text(encoding="utf8").splitlines()
    sizes = Counter()
    for line, one, rows in zip(lines, plain, read_conll(split), strict=True):
        labels, _, counts = line.partition(" ")
        theme, _, expected = one.partition(" ")
        assert counts == expected
        assert labels.split(",") == [*sorted({row[-1][2:] for row in rows} - {""}), theme]
        sizes[len(labels.split(","))] += 1
    assert min(sizes[2], sizes[3], sizes[4]) > 0.15 * len(lines)


def test_some_dependency_trees_cross() -> None:
    crossing = 0
    sentences = read_conllu("train")
    for sentence in sentences:
        arcs = [tuple(sorted((int(row[0]), int(row[6])))) for row in sentence if row[6] != "0"]
        crossing += any(a < c < b < d for a, b in arcs for c, d in arcs)
    assert 0.01 < crossing / len(sentences) < 0.08


def test_names_are_ambiguous_and_partly_unseen() -> None:
    train = entities(read_conll("train"))
    kinds = defaultdict(set)
    for name, kind in train:
        kinds[name].add(kind)
    assert sum(len(types) > 1 for types in kinds.values()) > 50
    for split in ("dev", "test"):
        mentions = entities(read_conll(split))
        unseen = sum(name not in kinds for name, _ in mentions) / len(mentions)
        assert 0.3 < unseen < 0.5
