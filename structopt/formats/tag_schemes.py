"""Tag schemes of segmentation tasks: IOB1, IOB2, BIOES, BILUO and BMES, their spans, conversions
and constraints.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

from structopt.errors import ConfigError, DataError, did_you_mean, meaning

SCHEMES = ("iob1", "iob2", "bioes", "biluo", "bmes", "none")
PREFIXES = {"iob1": "BI", "iob2": "BI", "bioes": "BIES", "biluo": "BILU", "bmes": "BMES"}
IN_BIOES = {
    "iob1": {"B": "BS", "I": "BIES"},
    "iob2": {"B": "BS", "I": "IE"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "biluo": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "bmes": {"B": "B", "M": "I", "E": "E", "S": "S"},
}
"""The prefixes of BIOES that a token may have whose tag has a prefix of another scheme."""
FIRST, INSIDE, LAST, SINGLE = "B", "IM", "EL", "SU"
"""The prefixes of all schemes by the place of a token in an entity of BIOES, BILUO or BMES."""
CONTINUING = INSIDE + LAST
"""The prefixes of tokens that need not begin an entity."""
MOST_MALFORMED = 0.2
"""The largest fraction of malformed tags, among tags other than O, that counts as an error of the
file. Above it, labels are plain.
"""
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
    or S; it ends before the next start and before O. M counts as I, L as E and U as S, which
    conlleval does not know. Tags without a hyphen other than these letters and brackets (plain
    labels) make no entity.
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
def as_tag(label: str) -> str:
    """Return O and tags of any scheme unchanged, and a plain label as the tag of one token."""
    plain = label != "O" and not _is_tag(label, FIRST + INSIDE + LAST + SINGLE)
    return f"S-{label}" if plain else label


@lru_cache(maxsize=PAIRS)
def opens(before: str, tag: str) -> bool:
    """Whether an entity begins at a tag that comes after another one, ``O`` at the start of a
    sentence.
    """
    prefix = tag.partition("-")[0]
    if prefix in ("B", "S", "U", "[", "]"):
        return True
    if prefix in ("I", "M", "E", "L") and before.partition("-")[0] in ("O", "E", "L", "S", "U"):
        return True
    return prefix not in ("O", ".") and kind_of(before) != kind_of(tag)


@lru_cache(maxsize=PAIRS)
def closes(before: str, tag: str) -> bool:
    """Whether an entity that a tag belongs to ends before the tag that comes next."""
    prefix = before.partition("-")[0]
    ends = tag.partition("-")[0] == "O" or prefix in ("E", "L", "S", "U", "[", "]")
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
            "scheme 'none' has plain labels and no entities",
            remedy="name the scheme of the tags (iob1, iob2 or bioes).",
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
    """Counts of tags by which the scheme of a file is detected, from sentences in several blocks.

    A tag is malformed if it is neither O nor PREFIX-TYPE with a prefix of the scheme. The scheme is
    the one with the fewest malformed tags. `scheme` is ``none`` if more than `MOST_MALFORMED` of
    the tags other than O are malformed; a smaller number is an error (`check`). Tags with B- and I-
    only are iob2 or iob1: the one that forbids fewer of the sentences, since files have slips (one
    entity of CoNLL-2002's Spanish files begins with I-); iob2 if both forbid as many, or if all
    tags are O.
    """

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._first: dict[str, tuple[str, int | None]] = {}
        self._slips = {"iob2": 0, "iob1": 0}

    def add(
        self,
        sentences: Sequence[Sequence[str]],
        path: str = "",
        lines: Sequence[int] = (),
        split: Callable[[str], Sequence[str]] | None = None,
        runs: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Count the tags of sentences.

        Parameters
        ----------
        sentences : sequence of sequence of str
            Their cells.
        path : str
            The file.
        lines : sequence of int
            The line of each token.
        split : callable, optional
            Returns the tags that a cell names; by default a cell is a tag.
        runs : sequence of sequence of str, optional
            Neighbouring tags, which distinguish iob1 from iob2; by default `sentences`.
        """
        cells = list(chain.from_iterable(sentences))
        first = dict(zip(reversed(cells), range(len(cells) - 1, -1, -1), strict=True))
        for cell, count in Counter(cells).items():
            for tag in (cell,) if split is None else split(cell):
                self._counts[tag] += count
                if tag not in self._first:
                    place = int(lines[first[cell]]) if len(lines) else None
                    self._first[tag] = (path, place)
        if self._by_prefixes() is None:
            for scheme in self._slips:
                self._slips[scheme] += sum(
                    valid(sentence, scheme) is not None
                    for sentence in (sentences if runs is None else runs)
                )

    def merge(self, other: SchemeEvidence) -> None:
        """Add the counts of later sentences."""
        self._counts.update(other._counts)
        self._first = other._first | self._first
        for scheme, slips in other._slips.items():
            self._slips[scheme] += slips

    @property
    def only_outside(self) -> bool:
        """Whether no tag is another than O."""
        return self._counts.keys() <= {"O"}

    @property
    def path(self) -> str:
        """The file of the first tag."""
        return next((path for path, _ in self._first.values()), "")

    @property
    def scheme(self) -> str:
        """The scheme of all tags so far."""
        scheme = self._by_prefixes()
        return scheme or min(self._slips, key=self._slips.__getitem__)

    @property
    def tags(self) -> int:
        """The number of tokens with another tag than O."""
        return self._counts.total() - self._counts["O"]

    @property
    def malformed(self) -> dict[str, int]:
        """The number of tokens with each malformed tag, given the scheme with the fewest."""
        prefixes = PREFIXES[self._closest()]
        return {
            tag: count
            for tag, count in self._counts.items()
            if tag != "O" and not _is_tag(tag, prefixes)
        }

    def check(self) -> None:
        """Raise DataError at the first malformed tag, unless so many are malformed that labels are
        plain.
        """
        malformed = self.malformed
        if not malformed or self.scheme == "none":
            return
        tag = next(tag for tag in self._first if tag in malformed)
        scheme, (path, line) = self.scheme, self._first[tag]
        example = f"{PREFIXES[scheme][0]}-PER"
        known = sorted((self._counts.keys() - malformed.keys()) | {"O"})
        raise DataError(
            path,
            line,
            f"the tag {legible_tag(tag)} is neither O nor a tag of {scheme} such as {example}; "
            f"{sum(malformed.values()):,} of {self.tags:,} tags other than O are "
            f"malformed.{_correction(tag, known)}",
            value=tag,
            remedy="Correct the tag, or set task.scheme=none to learn plain labels.",
        )

    def _closest(self) -> str:
        """The scheme with the fewest malformed tags; iob2 if it is iob1."""
        letters = Counter[str]()
        for tag, count in self._counts.items():
            if _is_tag(tag, FIRST + INSIDE + LAST + SINGLE):
                letters[tag[0]] += count
        return max(
            ("iob2", "bioes", "biluo", "bmes"),
            key=lambda scheme: sum(letters[prefix] for prefix in PREFIXES[scheme]),
        )

    def _by_prefixes(self) -> str | None:
        """The scheme if the prefixes of the tags decide; None: it is iob2 or iob1."""
        if sum(self.malformed.values()) > MOST_MALFORMED * self.tags:
            return "none"
        scheme = self._closest()
        return None if scheme == "iob2" else scheme


LIKE_O = frozenset("0oQ\u039f\u03bf\u041e\u043e\u0555\u0585\uff2f\uff10")
"""Characters that look like O: zero, and letters of other alphabets."""


def legible_tag(tag: str) -> str:
    """Return a tag in quotation marks, with the names of characters beyond ASCII."""
    if tag.isascii():
        return repr(tag)
    names = [unicodedata.name(one, f"U+{ord(one):04X}") for one in tag if not one.isascii()]
    return f"{tag!r} ({', '.join(names[:3])})"


def _correction(tag: str, known: Sequence[str]) -> str:
    """Return ``" Did you mean 'O'?"`` for a malformed tag, or the empty string."""
    if tag.strip() in LIKE_O or tag.strip() == "O":
        return meaning(["O"])
    return did_you_mean(tag, known)


def detect_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """Detect the scheme of tags: see `SchemeEvidence`."""
    evidence = SchemeEvidence()
    evidence.add(sentences)
    return evidence.scheme


def _has_prefix(tag: str, prefixes: str) -> bool:
    return tag[:1] in prefixes and tag[1:2] == "-"


def _is_tag(tag: str, prefixes: str) -> bool:
    """Whether a tag has one of the prefixes and a type."""
    return _has_prefix(tag, prefixes) and len(tag) > 2


def _prefixes(scheme: str, length: int, adjacent: bool) -> str:
    if scheme in ("bioes", "biluo", "bmes"):
        inside, last, single = (
            next(letter for letter in letters if letter in PREFIXES[scheme])
            for letters in (INSIDE, LAST, SINGLE)
        )
        return single if length == 1 else "B" + inside * (length - 2) + last
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
    return now in CONTINUING and same if before in FIRST + INSIDE else now not in CONTINUING
