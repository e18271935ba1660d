"""Tag schemes: spans, conversions, violations, constraints."""

import random

import pytest

from structopt.errors import ConfigError, DataError
from structopt.formats import tag_schemes
from structopt.formats.tag_schemes import (
    SchemeEvidence,
    TagError,
    constraints,
    convert,
    detect_scheme,
    from_spans,
    to_spans,
    valid,
)
from tests.messages import raises

BILUO = ["B-A", "L-A", "U-A", "U-B", "O", "U-B", "O", "U-A"]
BMES = ["B-A", "E-A", "S-A", "S-B", "O", "S-B", "O", "S-A"]
IOB1 = ["I-A", "I-A", "B-A", "I-B", "O", "I-B", "O", "I-A"]
IOB2 = ["B-A", "I-A", "B-A", "B-B", "O", "B-B", "O", "B-A"]
BIOES = ["B-A", "E-A", "S-A", "S-B", "O", "S-B", "O", "S-A"]
SEQUENCES = {"iob1": IOB1, "iob2": IOB2, "bioes": BIOES, "biluo": BILUO, "bmes": BMES}


def random_spans(generator, length):
    spans, position = [], 0
    while position < length:
        end = min(length, position + generator.randint(1, 3))
        if generator.random() < 0.7:
            spans.append((position, end, generator.choice("AB")))
        position = end
    return spans


@pytest.mark.parametrize("source", SEQUENCES)
@pytest.mark.parametrize("target", SEQUENCES)
def test_converts_between_all_schemes(source, target):
    assert convert(SEQUENCES[source], source, target) == SEQUENCES[target]


@pytest.mark.parametrize("scheme", SEQUENCES)
def test_spans_survive_the_round_trip(scheme):
    generator = random.Random(3)
    for length in range(12):
        spans = random_spans(generator, length)
        written = from_spans(spans, length, scheme)
        assert valid(written, scheme) is None
        assert to_spans(written, scheme) == spans


def test_none_keeps_labels_as_they_are():
    assert convert(["NN", "O", "X"], "none", "none") == ["NN", "O", "X"]
    assert convert(["I-A"], "iob2", "none") == ["I-A"]
    assert valid(["NN", "I-A"], "none") is None
    assert constraints(["NN", "VB"], "none") == ((), (), ())


@pytest.mark.parametrize(
    ("tags", "source", "repaired"),
    [
        ("I-A I-A O", "iob2", "B-A I-A O"),
        ("B-A I-B I-B", "iob2", "B-A B-B I-B"),
        ("B-A I-A", "iob1", "B-A I-A"),
        ("E-A I-A O", "bioes", "B-A B-A O"),
        ("B-A O B-A B-A", "bioes", "B-A O B-A B-A"),
        ("S-A I-A", "bioes", "B-A B-A"),
        ("L-A I-A O", "biluo", "B-A B-A O"),
        ("B-A I-A L-A U-A", "biluo", "B-A I-A I-A B-A"),
        ("B-A M-A M-A E-A S-A", "bmes", "B-A I-A I-A I-A B-A"),
        ("M-A O", "bmes", "B-A O"),
    ],
)
def test_irregular_sequences_are_repaired_as_conlleval_reads_them(tags, source, repaired):
    assert convert(tags.split(), source, "iob2") == repaired.split()


@pytest.mark.parametrize(
    ("tags", "scheme", "position"),
    [
        ("O B-A I-A", "iob2", None),
        ("O I-A", "iob2", 1),
        ("B-A I-B", "iob2", 1),
        ("I-A B-A B-A", "iob1", None),
        ("B-A", "iob1", 0),
        ("I-A B-B", "iob1", 1),
        ("B-A I-A E-A S-A O", "bioes", None),
        ("B-A", "bioes", 0),
        ("B-A I-A", "bioes", 1),
        ("B-A O", "bioes", 1),
        ("B-A E-B", "bioes", 1),
        ("E-A", "bioes", 0),
        ("S-A E-A", "bioes", 1),
        ("O PER", "iob2", 1),
        ("", "bioes", None),
        ("B-A I-A L-A U-A O", "biluo", None),
        ("B-A M-A O", "bmes", 2),
    ],
)
def test_first_violation(tags, scheme, position):
    assert valid(tags.split(), scheme) == position


@pytest.mark.parametrize("scheme", SEQUENCES)
def test_constraints_forbid_exactly_the_invalid_sequences(scheme):
    labels = [
        "O",
        *(f"{prefix}-{kind}" for prefix in tag_schemes.PREFIXES[scheme] for kind in "AB"),
    ]
    starts, pairs, ends = constraints(labels, scheme)
    generator = random.Random(5)
    for _ in range(2000):
        path = [generator.randrange(len(labels)) for _ in range(generator.randint(1, 4))]
        forbidden = set(pairs).intersection(zip(path, path[1:], strict=False))
        allowed = path[0] not in starts and path[-1] not in ends and not forbidden
        assert allowed == (valid([labels[i] for i in path], scheme) is None)


def test_constraints_of_iob2():
    assert constraints(["O", "B-A", "I-A"], "iob2") == ((2,), ((0, 2),), ())


@pytest.mark.parametrize("tag", ["Q-PER", "PER", "E-PER", "B", "", "-PER", "i-PER"])
def test_a_tag_outside_the_scheme_is_named_with_its_position(tag):
    with pytest.raises(
        TagError, match=r"is neither O nor begins with one of B-, I- as iob2 asks: check the column"
    ) as error:
        convert(["O", tag], "iob2", "bioes")
    assert (error.value.position, error.value.tag, error.value.scheme) == (1, tag, "iob2")


def test_types_may_contain_hyphens():
    assert to_spans(["B-geo-loc", "I-geo-loc"], "iob2") == [(0, 2, "geo-loc")]


def test_unknown_scheme_suggests_a_known_one():
    with pytest.raises(
        ConfigError,
        match=r"'iob3' is unknown\. Did you mean 'iob\d'\? Schemes: iob1, iob2, bioes, biluo, bmes, none\.",
    ):
        convert(["O"], "iob3", "iob2")
    with pytest.raises(ConfigError, match="tag scheme 'iob' is unknown"):
        valid(["O"], "iob")


def test_plain_labels_cannot_become_a_scheme():
    with pytest.raises(
        ConfigError,
        match="scheme 'none' has plain labels and no entities: name the scheme of the tags",
    ):
        convert(["NN"], "none", "iob2")


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["B-X", "I-X", "O"], "iob2"),
        (["I-X", "B-X"], "iob1"),
        (["S-X", "O"], "bioes"),
        (["B-X", "E-X"], "bioes"),
        (["U-X", "O"], "biluo"),
        (["B-X", "L-X"], "biluo"),
        (["B-X", "M-X", "E-X", "S-X"], "bmes"),
        (["NN", "VB"], "none"),
        (["B", "I", "O"], "none"),
        (["O"], "iob2"),
        (["B-X", "NN"], "none"),
    ],
)
def test_detected_scheme(tags, scheme):
    assert detect_scheme([tags]) == scheme


def test_a_slip_does_not_change_the_scheme():
    regular, slip = ["B-X", "I-X", "O", "B-Y"], ["O", "I-Y", "O"]
    assert detect_scheme([regular, regular, slip]) == "iob2"
    assert detect_scheme([slip, slip, ["I-X", "B-X"], regular]) == "iob1"


REGULAR = ["B-PER", "I-PER", "O", "B-LOC"]


@pytest.mark.parametrize(
    ("tag", "problem", "hint"),
    [
        ("0", "the tag '0' is neither O nor a tag of iob2", " Did you mean 'O'?"),
        ("o", "the tag 'o' is", " Did you mean 'O'?"),
        (
            "\u039f",
            "the tag '\u039f' (GREEK CAPITAL LETTER OMICRON) is neither",
            " Did you mean 'O'?",
        ),
        ("B_PER", "the tag 'B_PER' is", " Did you mean 'B-PER'?"),
        ("b-per", "the tag 'b-per' is", " Did you mean 'B-PER'?"),
        ("B\u2013LOC", "the tag 'B\u2013LOC' (EN DASH) is", " Did you mean 'B-LOC'?"),
        ("B", "the tag 'B' is", ""),
        ("B-", "the tag 'B-' is", ""),
        ("PER", "the tag 'PER' is", ""),
        ("X-PER", "the tag 'X-PER' is", ""),
        ("M-PER", "the tag 'M-PER' is", ""),
    ],
)
def test_a_malformed_tag_is_refused(tag: str, problem: str, hint: str) -> None:
    evidence = SchemeEvidence()
    evidence.add([REGULAR] * 4, "train.txt", range(1, 17))
    evidence.add([["O", tag]], "train.txt", [20, 21])
    with raises(
        DataError,
        where="train.txt:21",
        value=tag,
        remedy="Correct the tag, or set task.scheme=none to learn plain labels.",
    ) as error:
        evidence.check()
    assert error.value.problem.startswith(problem)
    assert "1 of 13 tags other than O are malformed." in error.value.problem
    assert hint in error.value.problem


@pytest.mark.parametrize(("regular", "scheme"), [(4, "iob2"), (3, "none")])
def test_one_malformed_tag_in_five_is_an_error(regular: int, scheme: str) -> None:
    evidence = SchemeEvidence()
    evidence.add([["B-A"] * regular, ["PER"], ["O"] * 50])
    assert evidence.scheme == scheme
    if scheme == "none":
        evidence.check()
    else:
        with raises(DataError, value="PER"):
            evidence.check()


def test_a_stray_continuation_is_not_malformed() -> None:
    evidence = SchemeEvidence()
    evidence.add([*[REGULAR] * 4, ["O", "I-PER"], ["I-LOC", "O"]])
    evidence.check()
    assert evidence.scheme == "iob2"


def test_evidence_of_blocks_is_evidence_of_the_whole() -> None:
    blocks = [([REGULAR] * 5, range(1, 21)), ([["0", "B-PER"]], [30, 31]), ([["0"]], [40])]
    whole, merged = SchemeEvidence(), SchemeEvidence()
    for sentences, lines in blocks:
        one = SchemeEvidence()
        one.add(sentences, "t", lines)
        merged.merge(one)
        whole.add(sentences, "t", lines)
    for evidence in (whole, merged):
        assert (evidence.scheme, evidence.malformed, evidence.tags) == ("iob2", {"0": 2}, 18)
        with raises(DataError, where="t:30"):
            evidence.check()
