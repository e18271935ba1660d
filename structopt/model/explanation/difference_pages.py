"""The text, the data and the page of what decided a prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.formats import html_pages, tables
from structopt.model.explanation.explanation import signed
from structopt.model.explanation.rivals import MEANING

if TYPE_CHECKING:  # it shows itself with this module
    from structopt.model.explanation.differences import Difference, Share

Sums = Sequence[tuple[str, float]]


def text(one: Difference) -> str:
    """Outputs, scores, sums by attribute, place and configuration, and the shares that these are
    of.
    """
    pieces = ["\n".join(_outputs(one)), tables.columns(_scores(one), sides="<>")]
    for name, sums in _sums(one):
        lines = [
            ["share", name],
            *([signed(amount), label or "everywhere"] for label, amount in _most(sums, one.top)),
        ]
        pieces.append(tables.columns(lines, sides="><"))
    shares = [["share", "times", "weight", "attribute", "at"]]
    shares += [
        [
            signed(share.amount),
            f"{share.times:+g}",
            signed(share.weight),
            _attribute(share),
            _at(share),
        ]
        for share in one.shares[: one.top]
    ]
    pieces.append(tables.columns(shares, sides=">>><"))
    if len(one.shares) > one.top:
        rest = sum(share.amount for share in one.shares[one.top :])
        pieces[-1] += f"\n{signed(rest)}  the other {len(one.shares) - one.top}"
    return "\n\n".join(pieces)


def data(one: Difference) -> dict[str, Any]:
    """Everything, as JSON values; sums and shares in full."""
    shares = [
        {
            "share": share.amount,
            "times": share.times,
            "weight": share.weight,
            "place": share.place,
            "configuration": share.configuration,
            **{f"feature_{k}": v for k, v in share.feature._asdict().items()},
        }
        for share in one.shares
    ]
    sums = {
        f"by_{name}": [{name: label, "share": amount} for label, amount in own]
        for name, own in _sums(one)
    }
    return {
        "kind": "difference",
        "instance": one.title,
        "words": one.words,
        "prediction": _plain(one.chosen),
        "other": _plain(one.other),
        "against": one.which,
        "scores": list(one.scores),
        "difference": one.difference,
        **sums,
        "shares": shares,
        "remarks": one.remarks,
    }


def _plain(output: Any) -> Any:
    """An output as JSON values: arrays as lists."""
    if isinstance(output, (np.ndarray, np.generic)):
        return output.tolist()
    if isinstance(output, Mapping):
        return {str(key): _plain(value) for key, value in output.items()}
    if isinstance(output, (list, tuple)):
        return [_plain(value) for value in output]
    return output


def body(one: Difference) -> Iterator[str]:
    """Outputs side by side, scores, and tables with bars."""
    yield from _html_outputs(one)
    yield html_pages.table(
        ["", "score"], [[escape(name), number] for name, number in _scores(one)], numbers=[1]
    )
    yield '<div class="pair">'
    for name, sums in _sums(one):
        most = _most(sums, one.top)
        largest = max((abs(amount) for _, amount in most), default=0.0)
        rows = [
            [signed(amount), html_pages.bar(amount, largest), escape(label or "everywhere")]
            for label, amount in most
        ]
        yield (
            "<div><h2>By "
            f"{name}</h2>{html_pages.table(['share', '', name], rows, numbers=[0])}</div>"
        )
    yield "</div>"
    shown = one.shares[: one.top]
    largest = max((abs(share.amount) for share in shown), default=0.0)
    rows = [
        [
            signed(share.amount),
            html_pages.bar(share.amount, largest),
            f"{share.times:+g}",
            signed(share.weight),
            escape(_attribute(share)),
            escape(_at(share)),
        ]
        for share in shown
    ]
    yield f"<h2>The {len(shown)} largest of {len(one.shares)} shares</h2>"
    yield html_pages.table(
        ["share", "", "times", "weight", "attribute", "at"], rows, numbers=[0, 2, 3]
    )


def _outputs(one: Difference) -> Iterator[str]:
    """The two outputs: a row a word where they have one label a word, else a line each."""
    other = MEANING[one.which]
    if aligned := _aligned(one):
        rows = [[word, chosen, label if label != chosen else ""] for word, chosen, label in aligned]
        yield tables.columns([["word", "prediction", f"where {other} differs"], *rows])
    else:
        yield f"prediction: {one.chosen}"
        yield f"{other}: {one.other}"


def _html_outputs(one: Difference) -> Iterator[str]:
    other = MEANING[one.which]
    if aligned := _aligned(one):
        marked = [
            (*row[:2], f"<b>{escape(row[2])}</b>" if row[1] != row[2] else "") for row in aligned
        ]
        rows = [[escape(word), escape(chosen), label] for word, chosen, label in marked]
        yield html_pages.table(["word", "prediction", f"where {other} differs"], rows)
    else:
        yield (
            f"<p>prediction: {escape(str(one.chosen))}</p><p>{escape(other)}: "
            f"{escape(str(one.other))}</p>"
        )


def _aligned(one: Difference) -> list[tuple[str, str, str]]:
    """Words with their labels in both outputs, where every word has one; else none."""
    lists = [one.chosen, one.other]
    if not one.words or not all(
        isinstance(output, list) and len(output) == len(one.words) for output in lists
    ):
        return []
    return list(zip(one.words, *(list(map(_shown, output)) for output in lists), strict=True))


def _shown(label: Any) -> str:
    """A label; of an arc its head and its relation, where it has one."""
    return (
        " ".join(str(value) for value in label if value is not None)
        if isinstance(label, tuple)
        else str(label)
    )


def _scores(one: Difference) -> list[list[str]]:
    rows = [
        ("prediction", one.scores[0]),
        (MEANING[one.which], one.scores[1]),
        ("difference", one.difference),
    ]
    return [[name, signed(number)] for name, number in rows]


def _sums(one: Difference) -> list[tuple[str, Sums]]:
    return [
        ("attribute", one.by_attribute),
        ("place", one.by_place),
        ("configuration", one.by_configuration),
    ]


def _most(sums: Sums, top: int) -> Sums:
    """The largest sums, and that of the others, so that they add up to the difference."""
    rest = sums[top:]
    return (
        [*sums[:top], (f"({len(rest)} others)", sum(amount for _, amount in rest))]
        if rest
        else sums
    )


def _attribute(share: Share) -> str:
    return share.feature.attribute or share.feature.group


def _at(share: Share) -> str:
    """Where a share stands, and for which configuration."""
    configuration = share.configuration or share.feature.configuration
    return " ".join(text for text in (share.place, configuration and f"[{configuration}]") if text)
