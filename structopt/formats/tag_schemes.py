"""Tag schemes of segmentation tasks: IOB1, IOB2 and BIOES, their spans, conversions and
constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from structopt.errors import ConfigError, did_you_mean

SCHEMES = ("iob1", "iob2", "bioes", "none")
PREFIXES = {"iob1": "BI", "iob2": "BI", "bioes": "BIES"}
IN_BIOES = {
    "iob1": {"B": "BS", "I": "BIES"},
    "iob2": {"B": "BS", "I": "IE"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
}
"""The prefixes of BIOES that a token may have whose tag has a prefix of another scheme."""
PAIRS = 4096  # of neighbouring tags whose answers are remembered: a corpus has few

Span = tuple[int, int, str]
"""An entity: its first token, the token after its last one, its type."""


class TagError(ValueError):
    """A tag that does not belong to the scheme.

    Parameters
    ----------
    position : int
        Its index in the sequence, from 0.
    tag : str
        The tag.
    scheme : str
        The scheme it was read in.
    """

    def __init__(self, position: int, tag: str, scheme: str) -> None:
        self.position, self.tag, self.scheme = position, tag, scheme
        begins = ", ".join(f"{prefix}-" for prefix in PREFIXES[scheme])
        super().__init__(
            f"tag {tag!r} is neither O nor begins with one of {begins} as {scheme} asks: "
            f"check the column and the scheme ({', '.join(SCHEMES)}; none takes labels as they are)"
        )


def check_scheme(scheme: str) -> None:
    """Raise ConfigError for an unknown scheme."""
    if scheme not in SCHEMES:
        raise ConfigError(
            f"tag scheme {scheme!r} is unknown.{did_you_mean(scheme, SCHEMES)} Schemes: "
            f"{', '.join(SCHEMES)}."
        )


def check_tags(tags: Sequence[str], scheme: str) -> None:
    """Raise TagError at the first tag that is neither ``O`` nor has a prefix of the scheme;
    ``none`` takes any tag.
    """
    check_scheme(scheme)
    if scheme == "none":
        return
    prefixes = PREFIXES[scheme]
    unknown = {tag for tag in set(tags) if tag != "O" and not _has_prefix(tag, prefixes)}
    if unknown:
        position = next(i for i, tag in enumerate(tags) if tag in unknown)
        raise TagError(position, tags[position], scheme)


def spans(tags: Sequence[str]) -> list[Span]:
    """Return the entities ``(start, end, type)``, end exclusive, of one sentence, in order, by
    conlleval's rules.

    An entity starts at B, S or a bracket, at a change of type, and at an I or E that follows O, E
    or S; it ends before the next start and before O. Tags without a hyphen other than B, I, E, S
    and brackets (plain labels) make no entity.
    """
    entities: list[Span] = []
    start, before = -1, "O"
    for position, tag in enumerate(tags):
        if tag == "O" and before == "O":
            continue
        opening = opens(before, tag)
        if start >= 0 and (opening or closes(before, tag)):
            entities.append((start, position, kind_of(before)))
            start = -1
        if opening:
            start = position
        before = tag
    if start >= 0:
        entities.append((start, len(tags), kind_of(before)))
    return entities


def kind_of(tag: str) -> str:
    """The type that a tag names: PER of B-PER."""
    return tag.partition("-")[2]


@lru_cache(maxsize=PAIRS)
def opens(before: str, tag: str) -> bool:
    """Whether an entity begins at a tag that comes after another one, ``O`` at the start of a
    sentence.
    """
    prefix = tag.partition("-")[0]
    if prefix in ("B", "S", "[", "]"):
        return True
    if prefix in ("I", "E") and before.partition("-")[0] in ("O", "E", "S"):
        return True
    return prefix not in ("O", ".") and kind_of(before) != kind_of(tag)


@lru_cache(maxsize=PAIRS)
def closes(before: str, tag: str) -> bool:
    """Whether an entity that a tag belongs to ends before the tag that comes next."""
    prefix = before.partition("-")[0]
    ends = tag.partition("-")[0] == "O" or prefix in ("E", "S", "[", "]")
    return ends or (prefix not in ("O", ".") and kind_of(before) != kind_of(tag))


def to_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """Return the entities ``(start, end, type)``, end exclusive, of one sentence, in order.

    Irregular sequences are read the conlleval way: a stray ``I-`` starts a new entity.

    Raises
    ------
    TagError
        A tag outside the scheme, with its position.
    ConfigError
        An unknown scheme, or ``none``, which has no spans.
    """
    check_tags(tags, scheme)
    if scheme == "none":
        raise ConfigError(
            "scheme 'none' has plain labels and no entities: name the scheme of the tags (iob1, "
            "iob2 or bioes)."
        )
    return spans(tags)


def from_spans(entities: Sequence[Span], length: int, scheme: str) -> list[str]:
    """Return the tags of a sentence of `length` tokens with these entities (in order, disjoint, end
    exclusive).
    """
    check_scheme(scheme)
    tags, before = ["O"] * length, (0, 0, "")
    for start, end, kind in entities:
        adjacent = before[1] == start and before[0] < start and before[2] == kind
        tags[start:end] = [
            f"{prefix}-{kind}" for prefix in _prefixes(scheme, end - start, adjacent)
        ]
        before = (start, end, kind)
    return tags


def convert(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Return the tags of one sentence in another scheme; irregular ones come out repaired (see
    `to_spans`).

    To or from ``none`` means as they are, except that plain labels cannot become a scheme's tags.

    Raises
    ------
    TagError
        A tag outside the source scheme, with its position.
    ConfigError
        An unknown scheme, or a conversion from ``none`` to another one.
    """
    check_tags(tags, source)
    check_scheme(target)
    if target == "none":
        return list(tags)
    return from_spans(to_spans(tags, source), len(tags), target)


def valid(tags: Sequence[str], scheme: str) -> int | None:
    """Return the position of the first tag the scheme does not allow there, or None.

    A BIOES entity that the sentence leaves open is a violation at the last position.
    """
    check_scheme(scheme)
    if scheme == "none":
        return None
    previous = "O"
    for position, tag in enumerate(tags):
        if not _follows(previous, tag, scheme):
            return position
        previous = tag
    return None if _follows(previous, "O", scheme) else len(tags) - 1


def constraints(
    labels: Sequence[str], scheme: str
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return what the scheme forbids over a label set: label numbers at the start, pairs (previous,
    next), at the end.

    Raises
    ------
    TagError
        A label outside the scheme, with its number.
    """
    check_tags(labels, scheme)
    if scheme == "none":
        return (), (), ()
    numbers = range(len(labels))
    starts = tuple(i for i in numbers if not _follows("O", labels[i], scheme))
    ends = tuple(i for i in numbers if not _follows(labels[i], "O", scheme))
    pairs = tuple(
        (i, j) for i in numbers for j in numbers if not _follows(labels[i], labels[j], scheme)
    )
    return starts, pairs, ends


def compatible(tag: str, scheme: str, other: str, other_scheme: str) -> bool:
    """Whether a token with a tag of one scheme can have another tag in another scheme: I-PER of
    iob1, B-PER of iob2.
    """
    if tag == other and scheme in ("none", other_scheme):
        return True
    if "none" in (scheme, other_scheme) or "O" in (tag, other):
        return tag == other
    first, second = IN_BIOES[scheme].get(tag[:1], ""), IN_BIOES[other_scheme].get(other[:1], "")
    return tag[1:] == other[1:] and not set(first).isdisjoint(second)


class SchemeEvidence:
    """What tells the scheme of tags, gathered from sentences that need not come at once.

    `scheme` is bioes, iob2 or iob1 by the prefixes of the tags, none when they have no prefixes.
    Tags with B- and I- only are iob2 or iob1: the one that forbids fewer of the sentences, since
    files have slips (one entity of all of CoNLL-2002's Spanish ones begins with I-); iob2 if both
    forbid as many.
    """

    def __init__(self) -> None:
        self._distinct: set[str] = set()
        self._slips = {"iob2": 0, "iob1": 0}

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        """Take up sentences."""
        self._distinct |= {tag for sentence in sentences for tag in sentence}
        if self._by_prefixes() is None:
            for scheme in self._slips:
                self._slips[scheme] += sum(
                    valid(sentence, scheme) is not None for sentence in sentences
                )

    def merge(self, other: SchemeEvidence) -> None:
        """Take up what was gathered from other sentences."""
        self._distinct |= other._distinct
        for scheme, slips in other._slips.items():
            self._slips[scheme] += slips

    @property
    def only_outside(self) -> bool:
        """Whether no tag is another than O."""
        return self._distinct <= {"O"}

    @property
    def scheme(self) -> str:
        """The scheme of all tags so far."""
        return self._by_prefixes() or min(self._slips, key=self._slips.__getitem__)

    def _by_prefixes(self) -> str | None:
        """The scheme where the prefixes of the tags alone decide; None: it is iob2 or iob1."""
        prefixed = {
            tag for tag in self._distinct if tag[1:2] == "-" and tag[:1] in "BIES" and len(tag) > 2
        }
        if not prefixed or any(tag != "O" for tag in self._distinct - prefixed):
            return "none"
        return "bioes" if any(tag[0] in "ES" for tag in prefixed) else None


def detect_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """Detect the scheme of tags: see `SchemeEvidence`."""
    evidence = SchemeEvidence()
    evidence.add(sentences)
    return evidence.scheme


def _has_prefix(tag: str, prefixes: str) -> bool:
    return tag[:1] in prefixes and tag[1:2] == "-"


def _prefixes(scheme: str, length: int, adjacent: bool) -> str:
    if scheme == "bioes":
        return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    return ("B" if scheme == "iob2" or adjacent else "I") + "I" * (length - 1)


@lru_cache(maxsize=PAIRS)
def _follows(previous: str, tag: str, scheme: str) -> bool:
    if tag != "O" and not _has_prefix(tag, PREFIXES[scheme]):
        return False
    same, before, now = previous[2:] == tag[2:], previous[0], tag[0]
    if scheme == "iob1":
        return now != "B" or (before in "BI" and same)
    if scheme == "iob2":
        return now != "I" or (before in "BI" and same)
    return now in "IE" and same if before in "BI" else now not in "IE"
