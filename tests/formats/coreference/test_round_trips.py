"""What is written is read again to the same mentions and entities: random ones, and those of real
corpora.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structopt.formats.coreference import coreference_files
from structopt.formats.coreference.brackets import sorted_order
from structopt.formats.coreference.documents import Documents, crossing_pairs

ATTRIBUTES = (
    "names",
    "documents",
    "sentences",
    "lines",
    "cells",
    "heads",
    "offsets",
    "mentions",
    "clusters",
    "crossing",
)


def conll(documents: list[list[int]], nothing: str, separator: str) -> str:
    lines = []
    for number, sentences in enumerate(documents):
        lines.append(f"#begin document (d{number}); part 000")
        for length in sentences:
            lines += [
                separator.join((f"d{number}", "0", str(word), "w", "t", nothing))
                for word in range(length)
            ] + [""]
        lines.append("#end document")
    return "\n".join(lines) + "\n"


def conllu(documents: list[list[int]], misc: str) -> str:
    lines = []
    for number, sentences in enumerate(documents):
        lines.append(f"# newdoc id = d{number}")
        for length in sentences:
            lines += [f"{word}\tw" + "\t_" * 7 + f"\t{misc}" for word in range(1, length + 1)] + [
                ""
            ]
    return "\n".join(lines) + "\n"


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[list[int]], list[list[tuple[int, int, int]]]]:
    """Lengths of the sentences of documents, and of each document mentions with entities, of which
    none cross in an entity.
    """
    documents = draw(
        st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3), min_size=1, max_size=3)
    )
    mentions: list[list[tuple[int, int, int]]] = []
    for sentences in documents:
        bounds = list(accumulate(sentences, initial=0))
        possible = [
            (a, b)
            for x, y in zip(bounds, bounds[1:], strict=False)
            for a in range(x, y)
            for b in range(a + 1, y + 1)
        ]
        spans = draw(st.lists(st.sampled_from(possible), unique=True, max_size=12))
        kept: list[tuple[int, int, int]] = []
        for first, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            entity = draw(st.integers(0, 3))
            if not any(entity == other and a < first < b < end for a, b, other in kept):
                kept.append((first, end, entity))
        mentions.append(kept)
    return documents, mentions


LAYOUTS = [
    ("conll", "-", " "),
    ("conll", "_", "\t"),
    ("conll", "", "\t"),
    ("conllu", "_", ""),
    ("conllu", "A=b|Z=_", ""),
]


@pytest.mark.nightly("fuzzing")
@given(corpora(), st.sampled_from(LAYOUTS), st.sampled_from(["\n", "\r\n"]))
def test_random_mentions(
    corpus: tuple[list[list[int]], list[list[tuple[int, int, int]]]],
    layout: tuple[str, str, str],
    end: str,
) -> None:
    documents, mentions = corpus
    form, nothing, separator = layout
    text = conllu(documents, nothing) if form == "conllu" else conll(documents, nothing, separator)
    begins = accumulate(map(sum, documents), initial=0)
    spans = [
        (first + begin, last + begin)
        for begin, kept in zip(begins, mentions, strict=False)
        for first, last, _ in kept
    ]
    entities = np.array([entity for kept in mentions for _, _, entity in kept], int)
    offsets = np.array(list(accumulate(map(len, mentions), initial=0)))
    with TemporaryDirectory() as folder:
        plain, target, again = (Path(folder) / name for name in ("plain", "target", "again"))
        plain.write_bytes(text.replace("\n", end).encode())
        read = coreference_files.read(plain, labelled=False)
        assert read.format == form and len(read.mentions) == 0
        given_mentions = replace(
            read, mentions=np.array(spans, np.int32).reshape(-1, 2), offsets=offsets
        )
        coreference_files.write(given_mentions, target, entities)
        if spans:
            result = coreference_files.read(target)
            assert (
                result.mentions.tolist() == list(map(list, spans))
                and result.offsets.tolist() == offsets.tolist()
            )
            assert (
                result.cells == read.cells and result.sentences.tolist() == read.sentences.tolist()
            )
            assert_same_entities(result, entities)
            coreference_files.write(result, again, entities)
            assert again.read_bytes() == target.read_bytes()


def assert_same_entities(read: Documents, entities: np.ndarray) -> None:
    bounds = read.offsets.tolist()
    for begin, end in zip(bounds, bounds[1:], strict=False):
        numbers: dict[int, int] = {}
        first_mentions = [
            numbers.setdefault(entity, len(numbers)) for entity in entities[begin:end].tolist()
        ]
        assert read.gold_clusters()[begin:end].tolist() == first_mentions


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), unique=True, max_size=12))
def test_crossing_pairs_are_all_pairs_that_cross(spans: list[tuple[int, int]]) -> None:
    mentions = np.array([(first, first + length) for first, length in spans], np.int32).reshape(
        -1, 2
    )
    mentions = mentions[sorted_order(mentions)]
    listed = mentions.tolist()
    expected = [
        (i, j)
        for j, (c, d) in enumerate(listed)
        for i, (a, b) in enumerate(listed)
        if a < c < b < d
    ]
    assert sorted(crossing_pairs(mentions)) == sorted(expected)


REAL = [
    ("litbank/coref_conll.tar.gz:*.conll", "conll", 80, 166_604, 23_182, 1),
    ("gum/dep.dev.conllu.gz", "conllu", 30, 28_119, 7_897, 0),
]


@pytest.mark.nightly("data")
@pytest.mark.parametrize(("name", "form", "documents", "words", "mentions", "crossing"), REAL)
def test_real_corpora(
    tmp_path: Path, name: str, form: str, documents: int, words: int, mentions: int, crossing: int
) -> None:
    folder = os.environ.get("STRUCTOPT_DATA")
    if not folder:
        pytest.skip("STRUCTOPT_DATA is not set")
    read = coreference_files.read(f"{folder}/{name}")
    assert (read.format, len(read), len(read.lines), len(read.mentions)) == (
        form,
        documents,
        words,
        mentions,
    )
    assert len(read.crossing) == crossing
    assert sum(len(entity) for i in range(len(read)) for entity in read.entities(i)) == mentions
    coreference_files.write(read, tmp_path / "out", read.gold_clusters())
    again = coreference_files.read(tmp_path / "out")
    for attribute in ATTRIBUTES:
        one, other = getattr(again, attribute), getattr(read, attribute)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other, (
            attribute
        )
    coreference_files.write(again, tmp_path / "again", again.gold_clusters())
    assert (tmp_path / "again").read_bytes() == (tmp_path / "out").read_bytes()
    changed = [
        line
        for line, other in zip(read.text.split("\n"), again.text.split("\n"), strict=True)
        if line != other
    ]
    assert all(
        "(" in line or ")" in line or "global.Entity" in line or "=" in line for line in changed
    )
