"""A document as a page of HTML: its mentions in the colours of their entities, and where gold is
known what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from structopt.formats.coreference.documents import Documents
from structopt.kernels.waist.record import Array

Span = tuple[int, int]
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 16px/2.1 Georgia, serif; max-width: 52em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff; }}
h1, p.key {{ font-family: sans-serif; }}
h1 {{ font-size: 1.1em; }}
p.key {{ font-size: .8em; line-height: 1.6; color: #555; }}
span.m {{ border-radius: .3em; padding: .1em .15em; border: 1px solid rgba(0, 0, 0, .15); }}
span.alone {{ background: none; border: 1px dotted #bbb; }}
span.wrong {{ border-bottom: 3px solid #c00; }}
span.missed {{ border-bottom: 3px dashed #c00; }}
sub {{ font: .6em sans-serif; color: #555; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="key">{key}</p>
{body}
</body>
</html>
"""
_KEY = (
    "Mentions of one entity have one colour and number; dotted: an entity with one mention. "
    "Point at a mention to read its "
    "antecedent."
)
_MARKS = (
    " Underlined in red: no earlier mention of its entity here is one in the file; dashed: it "
    "has one in the file and none here."
)


def draw(
    corpus: Documents, index: int, clusters: Sequence[Sequence[Span]], links: Array | None = None
) -> str:
    """Return the page of one document.

    Parameters
    ----------
    corpus : Documents
        Where it has entities, wrong mentions are marked.
    index : int
        The document, from 0.
    clusters : sequence of entities, each a sequence of mentions (first word, and the one after the
    last, within the document) links : float64, shape (mentions, mentions + 1), or None
        Probabilities that each mention starts an entity (column 0), and of its antecedents.
    """
    begin, end = corpus.documents[index : index + 2].tolist()
    spans = [
        (a - begin, b - begin)
        for a, b in corpus.mentions[slice(*corpus.offsets[index : index + 2].tolist())].tolist()
    ]
    entity = {
        (first, last): number for number, cluster in enumerate(clusters) for first, last in cluster
    }
    sizes = [len(cluster) for cluster in clusters]
    colours = _colours(sizes)
    marks = _marks(corpus, index, spans, entity)
    words, opening, closing = (
        corpus.cells["form"][begin:end],
        dict[int, list[str]](),
        dict[int, list[str]](),
    )
    for number, (span, last) in enumerate(zip(spans, _nested(spans), strict=True)):
        own = entity[span]
        style = f' style="background: {colours[own]}"' if own in colours else ""
        kind = " alone" if sizes[own] == 1 else ""
        title = escape(_title(number, own, spans, words, links))
        opening.setdefault(span[0], []).append(
            f'<span class="m{kind}{marks[number]}"{style} title="{title}">'
        )
        closing.setdefault(last, []).insert(
            0, "</span>" if sizes[own] == 1 else f"<sub>{own + 1}</sub></span>"
        )
    lines = []
    sentences = corpus.sentences[(corpus.sentences >= begin) & (corpus.sentences < end)].tolist()
    for first, after in zip(sentences, [*sentences[1:], end], strict=True):
        cells = [
            "".join([*opening.get(place, []), escape(words[place]), *closing.get(place + 1, [])])
            for place in range(first - begin, after - begin)
        ]
        lines.append(f"<p>{' '.join(cells)}</p>")
    known = corpus.clusters is not None
    title = escape(corpus.names[index] or f"document {index + 1}")
    return _PAGE.format(title=title, key=_KEY + (_MARKS if known else ""), body="\n".join(lines))


def _colours(sizes: Sequence[int]) -> dict[int, str]:
    """A light colour for every entity with several mentions; neighbours in number are far apart in
    hue.
    """
    several = [number for number, size in enumerate(sizes) if size > 1]
    return {
        number: f"hsl({137.508 * k % 360:.0f}, 70%, {86 - 6 * (k // 8 % 2)}%)"
        for k, number in enumerate(several)
    }


def _nested(spans: Sequence[Span]) -> list[int]:
    """Where each mention's frame ends: at its end, or where it crosses the end of one around it,
    there.
    """
    ends: list[int] = []
    around: list[int] = []
    for first, end in spans:
        while around and around[-1] <= first:
            around.pop()
        ends.append(min(end, around[-1]) if around else end)
        around.append(ends[-1])
    return ends


def _marks(
    corpus: Documents, index: int, spans: Sequence[Span], entity: dict[Span, int]
) -> list[str]:
    """What is wrong with each mention, as a class of the style sheet."""
    if corpus.clusters is None:
        return [""] * len(spans)
    gold = corpus.clusters[slice(*corpus.offsets[index : index + 2].tolist())].tolist()
    marks = []
    for m, span in enumerate(spans):
        here = {gold[a] for a in range(m) if entity[spans[a]] == entity[span]}
        wrong, missed = bool(here) and gold[m] not in here, not here and gold[m] in gold[:m]
        marks.append(" wrong" if wrong else " missed" if missed else "")
    return marks


def _title(
    number: int, own: int, spans: Sequence[Span], words: Sequence[str], links: Array | None
) -> str:
    """What the reader is told of a mention."""
    text = f"mention {number + 1}, entity {own + 1}"
    if links is None:
        return text
    choices = sorted(enumerate(links[number].tolist()), key=lambda pair: -pair[1])[:3]
    shown = [
        f"{_antecedent(choice, spans, words)}: {probability:.2f}"
        for choice, probability in choices
        if probability >= 0.005
    ]
    return f"{text}; antecedent {'; '.join(shown)}"


def _antecedent(choice: int, spans: Sequence[Span], words: Sequence[str]) -> str:
    if choice == 0:
        return "none"
    first, end = spans[choice - 1]
    return f"{choice} ({' '.join(words[first:end][:6])})"
