"""Scores of tags as conlleval counts them in a file: accuracy in the file's own scheme, and what
makes an entity.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from structopt.formats import tag_schemes
from structopt.formats.tag_schemes import Span, spans
from structopt.task.sequence_labelling import SequenceLabelling

# token, gold tag in IOB1, predicted tag in IOB2
ROWS = """\
Ann I-PER B-PER
Falk I-PER I-PER
and O O
New O B-LOC
Oslo I-LOC I-LOC
met O O

Per I-PER B-PER
Bo B-PER I-PER
Rome I-LOC B-LOC
Inc I-ORG I-LOC
. O O
"""


@pytest.fixture
def rows() -> list[list[list[str]]]:
    return [[line.split() for line in block.splitlines()] for block in ROWS.split("\n\n")]


def written(path: Path, rows: list[list[list[str]]], scheme: str) -> Path:
    """The gold column as a file in a scheme."""
    blocks = []
    for block in rows:
        gold = tag_schemes.convert([tag for _, tag, _ in block], "iob1", scheme)
        blocks.append("".join(f"{row[0]} {tag}\n" for row, tag in zip(block, gold, strict=True)))
    path.write_text("\n".join(blocks))
    return path


def counted(path: Path) -> tuple[int, int]:
    """Lines with tokens, and those whose last two cells are equal: conlleval's accuracy."""
    cells = [line.split()[-2:] for line in path.read_text(encoding="latin-1").splitlines()]
    pairs = [pair for pair in cells if len(pair) == 2]
    return len(pairs), sum(gold == found for gold, found in pairs)


@pytest.mark.parametrize(
    ("scheme", "right"),
    [
        # wrong: New, which is none; Bo, which goes on where B-PER begins; Inc, I-LOC for I-ORG
        ("iob1", 8),
        ("iob2", 7),  # wrong: also Oslo, I-LOC for B-LOC
        # wrong: also Per, which ends with Bo; Rome, which does not end; Oslo, an end for a single
        # one
        ("bioes", 5),
    ],
)
def test_accuracy_is_counted_in_the_scheme_of_the_file(
    scheme: str, right: int, rows: list[list[list[str]]], tmp_path: Path
) -> None:
    path = written(tmp_path / "gold.txt", rows, scheme)
    task = SequenceLabelling(scheme=scheme)
    corpus = task.read(path)
    task.fit(corpus)
    outputs = [[found for _, _, found in block] for block in rows]
    scores = task.evaluate(corpus, outputs)
    assert scores["accuracy"] == right / 11
    # Ann Falk; found: New Oslo, Per Bo, Rome Inc
    assert (scores["precision"], scores["recall"]) == (1 / 4, 1 / 6)
    assert task.outcomes(corpus, outputs).scores() == scores
    assert f"accuracy: {100 * right / 11:6.2f}%" in task.report(corpus, outputs)
    task.write(
        path, tmp_path / "out.txt", [[[tag] for tag in output] for output in task.written(outputs)]
    )
    assert counted(tmp_path / "out.txt") == (11, right)


def test_gold_tags_are_compared_as_they_stand(tmp_path: Path) -> None:
    """A file's own slips stay: B- where IOB1 has I- is an entity, but no prediction in the scheme
    has that tag.
    """
    (tmp_path / "gold.txt").write_text("Ann B-PER\nmet O\nBo I-PER\n")
    task = SequenceLabelling(scheme="iob1")
    corpus = task.read(tmp_path / "gold.txt")
    task.fit(corpus)
    scores = task.evaluate(corpus, [["B-PER", "O", "B-PER"]])
    assert (scores["f1"], scores["accuracy"]) == (1.0, 2 / 3)


@pytest.mark.nightly("data")
@pytest.mark.skipif(
    "STRUCTOPT_DATA" not in os.environ, reason="STRUCTOPT_DATA is not set: the folder of real data"
)
@pytest.mark.parametrize(
    ("name", "scheme"), [("conll2003/eng.testa.gz", "iob1"), ("conll2002/esp.testa.gz", "iob2")]
)
def test_accuracy_of_real_files_is_that_of_what_is_written(
    name: str, scheme: str, tmp_path: Path
) -> None:
    source = Path(os.environ["STRUCTOPT_DATA"]) / name
    task = SequenceLabelling(encoding="latin-1")
    corpus = task.read(source)
    encoded = task.fit(corpus)
    assert task.scheme == scheme
    generator = random.Random(0)
    gold = task.decode(encoded, encoded.gold)
    outputs = [
        [tag if generator.random() < 0.9 else generator.choice(task.labels) for tag in one]
        for one in gold
    ]
    task.write(
        source,
        tmp_path / "out.txt",
        [[[tag] for tag in output] for output in task.written(outputs)],
    )
    (tmp_path / "tokens.txt").write_text(
        "".join(
            line + "\n"
            for line in (tmp_path / "out.txt").read_text(encoding="latin-1").split("\n")
            if not line.startswith("-DOCSTART-")
        ),
        encoding="latin-1",
    )
    tokens, right = counted(tmp_path / "tokens.txt")
    assert tokens == len(encoded.gold)
    assert task.evaluate(corpus, outputs)["accuracy"] == pytest.approx(right / tokens, abs=1e-15)


RULES = [
    # tags; entities by conlleval, seqeval and here; by seqeval's strict mode, in the scheme named
    ("O I-A I-A", {(1, 3, "A")}, set(), "IOB2"),
    ("B-A I-B I-B", {(0, 1, "A"), (1, 3, "B")}, {(0, 1, "A")}, "IOB2"),
    ("I-A B-A", {(0, 1, "A"), (1, 2, "A")}, {(1, 2, "A")}, "IOB2"),
    ("B-A I-A B-A", {(0, 2, "A"), (2, 3, "A")}, {(0, 2, "A"), (2, 3, "A")}, "IOB2"),
    ("B-A I-A", {(0, 2, "A")}, {(1, 2, "A")}, "IOB1"),
    ("I-A B-A I-A", {(0, 1, "A"), (1, 3, "A")}, {(0, 1, "A"), (1, 3, "A")}, "IOB1"),
    ("B-A O", {(0, 1, "A")}, set(), "IOBES"),
    ("B-A I-A", {(0, 2, "A")}, set(), "IOBES"),
    ("O E-A", {(1, 2, "A")}, set(), "IOBES"),
    ("I-A E-A", {(0, 2, "A")}, set(), "IOBES"),
    ("S-A E-A", {(0, 1, "A"), (1, 2, "A")}, {(0, 1, "A")}, "IOBES"),
    ("B-A E-B", {(0, 1, "A"), (1, 2, "B")}, set(), "IOBES"),
    ("B-A I-A E-A S-B", {(0, 3, "A"), (3, 4, "B")}, {(0, 3, "A"), (3, 4, "B")}, "IOBES"),
]


@pytest.mark.parametrize(("tags", "expected", "strict", "scheme"), RULES)
def test_what_makes_an_entity(
    tags: str, expected: set[Span], strict: set[Span], scheme: str
) -> None:
    """Here and in seqeval's default mode as in conlleval: whatever begins; in the strict mode what
    the scheme allows only.
    """
    labelling = pytest.importorskip("seqeval.metrics.sequence_labeling")
    schemes = pytest.importorskip("seqeval.scheme")
    sequence = tags.split()
    assert set(spans(sequence)) == expected
    assert {
        (first, last + 1, kind) for kind, first, last in labelling.get_entities(sequence)
    } == expected
    found = schemes.Tokens(sequence, getattr(schemes, scheme)).entities
    assert {(entity.start, entity.end, entity.tag) for entity in found} == strict


@pytest.mark.parametrize(("scheme", "name"), [("iob2", "IOB2"), ("bioes", "IOBES")])
def test_strict_mode_agrees_on_valid_sequences(scheme: str, name: str) -> None:
    """So with task.valid_tags=true, and for gold tags without slips, the two modes are one."""
    schemes = pytest.importorskip("seqeval.scheme")
    generator = random.Random(1)
    for _ in range(200):
        drawn = [
            generator.choice(["O", "B-A", "I-A", "B-B", "I-B"])
            for _ in range(generator.randint(1, 9))
        ]
        sequence = tag_schemes.convert(drawn, "iob2", scheme)
        found = schemes.Tokens(sequence, getattr(schemes, name)).entities
        assert {(entity.start, entity.end, entity.tag) for entity in found} == set(spans(sequence))


def test_prefixes_of_other_schemes() -> None:
    """BILUO and BMES have the entities of BIOES; conlleval has no rules for their letters."""
    assert spans(["U-A", "U-A", "B-B", "L-B", "U-B"]) == spans(["S-A", "S-A", "B-B", "E-B", "S-B"])
    assert spans(["B-A", "M-A", "E-A", "S-A"]) == spans(["B-A", "I-A", "E-A", "S-A"])
