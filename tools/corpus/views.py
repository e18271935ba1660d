"""Annotations of a derivation tree: tags, chunks, entities, dependencies, brackets and
coreference.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.corpus.tree import PUNCTUATION, Node

_VERBAL = frozenset({"VB", "VBD", "VBZ", "VBP", "VBN", "VBG", "MD", "TO", "RB", "ADVP"})
_BASE = {
    "ADVP": "ADVP",
    "ADJP": "ADJP",
    "PRT": "PRT",
    "WHNP": "NP",
    "WHADVP": "ADVP",
    "NP": "NP",
    "QP": "NP",
    "NML": "NP",
}
_PRENOMINAL = frozenset({"ADJP", "QP", "NML"})
_UNIVERSAL = {
    "NN": "NOUN",
    "NNS": "NOUN",
    "NNP": "PROPN",
    "NNPS": "PROPN",
    "JJ": "ADJ",
    "JJR": "ADJ",
    "JJS": "ADJ",
    "RB": "ADV",
    "RBR": "ADV",
    "WRB": "ADV",
    "IN": "ADP",
    "DT": "DET",
    "PDT": "DET",
    "WDT": "PRON",
    "WP": "PRON",
    "PRP": "PRON",
    "PRP$": "PRON",
    "CD": "NUM",
    "CC": "CCONJ",
    "MD": "AUX",
    "TO": "PART",
    "POS": "PART",
    "RP": "ADP",
    "EX": "PRON",
    "$": "SYM",
}


def words(tree: Node) -> list[str]:
    """Return the tokens."""
    return [leaf.word for leaf in tree.leaves()]


def entity_tags(tree: Node) -> list[str]:
    """Return IOB2 entity tags."""
    tags: dict[int, str] = {}
    for node in tree.walk():
        if node.entity:
            for i, leaf in enumerate(node.leaves()):
                tags[id(leaf)] = ("B-" if i == 0 else "I-") + node.entity
    return [tags.get(id(leaf), "O") for leaf in tree.leaves()]


def chunk_tags(tree: Node) -> list[str]:
    """Return IOB2 tags of base chunks: the tokens of a phrase without its post-modifiers."""
    chunks: list[tuple[str, int]] = []
    _chunks(tree, chunks)
    tags, last = [], 0
    for label, key in chunks:
        tags.append("O" if not label else ("I-" if key == last else "B-") + label)
        last = key if label else 0
    return tags


def _flat(node: Node) -> list[Node]:
    """The children of a phrase, those of groups in the place of the groups."""
    elements: list[Node] = []
    for child in node.children:
        elements.extend(_flat(child) if child.label.startswith("~") else [child])
    return elements


def _chunks(node: Node, chunks: list[tuple[str, int]], verbal: int = 0) -> None:
    """Append the label and identity of the chunk of each token of a phrase; a verb phrase may go on
    with the chunk `verbal`.
    """
    elements = _flat(node)
    kind, key = node.phrase, id(node)
    if kind == "VP":
        key = verbal or key
    for i, element in enumerate(elements):
        later = any(
            p.label == "VP" or p.label in _VERBAL - {"RB", "ADVP"} for p in elements[i + 1 : i + 2]
        )
        if kind == "VP" and element.label == "VP" and i and elements[i - 1].label in _VERBAL:
            _chunks(element, chunks, key)
        elif kind == "VP" and element.label == "ADVP" and later:
            chunks.extend(("VP", key) for _ in element.leaves())
        elif kind in ("NP", "WHNP") and element.label in _PRENOMINAL:
            chunks.extend(("NP", key) for _ in element.leaves())
        elif (
            kind == "NP"
            and element.label == "NP"
            and element.children
            and element.children[-1].label == "POS"
        ):
            _chunks(element, chunks)
            key = id(element.children[-1])
            chunks[-1] = ("NP", key)
        elif element.children:
            _chunks(element, chunks)
            key = -id(element)
        else:
            label = _token_chunk(kind, element, elements)
            chunks.append((label, key if label else 0))


def _token_chunk(kind: str, leaf: Node, siblings: Sequence[Node]) -> str:
    if leaf.label == "$":
        return "NP"
    if leaf.label in PUNCTUATION:
        return ""
    if leaf.label == "CC":
        joined = any(s.children for s in siblings) or kind not in _BASE
        return "" if joined else _BASE[kind]
    if kind == "VP":
        return "VP" if leaf.label in _VERBAL else ""
    if leaf.label in ("IN", "TO", "VBG") and kind in ("PP", "SBAR"):
        return kind
    return _BASE.get(kind, "")


def dependencies(tree: Node) -> list[tuple[int, str]]:
    """Return the head (from 1, 0 for the root) and the relation of every token."""
    number = {id(leaf): i for i, leaf in enumerate(tree.leaves(), 1)}
    heads: dict[int, tuple[int, str]] = {id(tree.lexical_head()): (0, "root")}
    for node in tree.walk():
        for i, child in enumerate(node.children):
            if i != node.head:
                governor = child.governor or node
                heads[id(child.lexical_head())] = (
                    number[id(governor.lexical_head())],
                    child.relation,
                )
    return [heads[id(leaf)] for leaf in tree.leaves()]


def universal_tags(tree: Node) -> list[str]:
    """Return universal part-of-speech tags, from the Penn tag and the relation."""
    tags = []
    for leaf, (_, relation) in zip(tree.leaves(), dependencies(tree), strict=True):
        tag = _UNIVERSAL.get(leaf.label, "PUNCT" if leaf.label in PUNCTUATION else "VERB")
        if relation.partition(":")[0] in ("aux", "cop"):
            tag = "AUX"
        elif leaf.label == "IN" and relation == "mark":
            tag = "SCONJ"
        tags.append(tag)
    return tags


def brackets(tree: Node) -> str:
    """Return the constituent tree on one line."""
    return "(ROOT " + _bracket(tree) + ")"


def _bracket(node: Node) -> str:
    if not node.children:
        return f"({node.label} {node.word.replace('(', '-LRB-').replace(')', '-RRB-')})"
    inner = " ".join(_bracket(child) for child in node.children)
    return inner if node.label.startswith("~") else f"({node.label} {inner})"


def mentions(tree: Node) -> list[tuple[int, int, str]]:
    """Return the first token, last token (both from 0) and referent of every mention."""
    number = {id(leaf): i for i, leaf in enumerate(tree.leaves())}
    spans = []
    for node in tree.walk():
        if node.referent:
            inside = [number[id(leaf)] for leaf in node.leaves()]
            spans.append((inside[0], inside[-1], node.referent))
    return spans


def coreference(trees: Sequence[Node]) -> list[list[str]]:
    """Return the coreference column of a document's sentences; referents mentioned once are left
    out.
    """
    spans = [mentions(tree) for tree in trees]
    order = [referent for sentence in spans for *_, referent in sentence]
    clusters: dict[str, int] = {}
    for referent in order:
        if order.count(referent) > 1:
            clusters.setdefault(referent, len(clusters))
    columns = []
    for tree, sentence in zip(trees, spans, strict=True):
        cells: list[list[str]] = [[] for _ in tree.leaves()]
        for first, last, referent in sentence:
            if referent in clusters:
                cluster = clusters[referent]
                if first == last:
                    cells[first].append(f"({cluster})")
                else:
                    cells[first].append(f"({cluster}")
                    cells[last].append(f"{cluster})")
        columns.append(["|".join(cell) or "-" for cell in cells])
    return columns
