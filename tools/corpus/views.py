"""Columns, dependencies, brackets and coreference, each read off a derivation tree."""
from __future__ import annotations

from collections.abc import Sequence

from tools.corpus.tree import PUNCTUATION, Node

_VERBAL = frozenset({"VB", "VBD", "VBZ", "VBP", "VBN", "VBG", "MD", "TO", "RB", "ADVP"})
_BASE = {"ADVP": "ADVP", "ADJP": "ADJP", "PRT": "PRT", "WHNP": "NP", "WHADVP": "ADVP", "NP": "NP", "QP": "NP", "NML": "NP"}
_PRENOMINAL = frozenset({"ADJP", "QP", "NML"})
_UNIVERSAL = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "RB": "ADV",
    "RBR": "ADV", "WRB": "ADV", "IN": "ADP", "DT": "DET", "PDT": "DET", "WDT": "PRON", "WP": "PRON", "PRP": "PRON",
    "PRP$": "PRON", "CD": "NUM", "CC": "CCONJ", "MD": "AUX", "TO": "PART", "POS": "PART", "RP": "ADP", "EX": "PRON", "$": "SYM",
}


def words(tree: Node) -> list[str]:
    """The tokens."""
    return [leaf.word for leaf in tree.leaves()]


def entity_tags(tree: Node) -> list[str]:
    """IOB2 entity tags."""
    tags: dict[int, str] = {}
    for node in tree.walk():
        if node.entity:
            for i, leaf in enumerate(node.leaves()):
                tags[id(leaf)] = ("B-" if i == 0 else "I-") + node.entity
    return [tags.get(id(leaf), "O") for leaf in tree.leaves()]


def chunk_tags(tree: Node) -> list[str]:
    """IOB2 base chunks: a phrase's own tokens without its post-modifiers."""
    found: list[tuple[str, int]] = []
    _chunks(tree, found)
    tags, last = [], 0
    for label, key in found:
        tags.append("O" if not label else ("I-" if key == last else "B-") + label)
        last = key if label else 0
    return tags


def _flat(node: Node) -> list[Node]:
    parts: list[Node] = []
    for child in node.children:
        parts.extend(_flat(child) if child.label.startswith("~") else [child])
    return parts


def _chunks(node: Node, found: list[tuple[str, int]], verbal: int = 0) -> None:
    parts = _flat(node)
    kind, key = node.phrase, id(node)
    if kind == "VP":
        key = verbal or key
    for i, part in enumerate(parts):
        later = any(p.label == "VP" or p.label in _VERBAL - {"RB", "ADVP"} for p in parts[i + 1:i + 2])
        if kind == "VP" and part.label == "VP" and i and parts[i - 1].label in _VERBAL:
            _chunks(part, found, key)
        elif kind == "VP" and part.label == "ADVP" and later:
            found.extend(("VP", key) for _ in part.leaves())
        elif kind in ("NP", "WHNP") and part.label in _PRENOMINAL:
            found.extend(("NP", key) for _ in part.leaves())
        elif kind == "NP" and part.label == "NP" and part.children and part.children[-1].label == "POS":
            _chunks(part, found)
            key = id(part.children[-1])
            found[-1] = ("NP", key)
        elif part.children:
            _chunks(part, found)
            key = -id(part)
        else:
            label = _token_chunk(kind, part, parts)
            found.append((label, key if label else 0))


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
    """Head (1-based, 0 for the root) and label of every token."""
    number = {id(leaf): i for i, leaf in enumerate(tree.leaves(), 1)}
    heads: dict[int, tuple[int, str]] = {id(tree.lexical_head()): (0, "root")}
    for node in tree.walk():
        for i, child in enumerate(node.children):
            if i != node.head:
                governor = child.governor or node
                heads[id(child.lexical_head())] = (number[id(governor.lexical_head())], child.relation)
    return [heads[id(leaf)] for leaf in tree.leaves()]


def universal_tags(tree: Node) -> list[str]:
    """Universal part-of-speech tags, from the Penn tag and the dependency label."""
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
    """The constituent tree on one line."""
    return "(ROOT " + _bracket(tree) + ")"


def _bracket(node: Node) -> str:
    if not node.children:
        return f"({node.label} {node.word.replace('(', '-LRB-').replace(')', '-RRB-')})"
    inner = " ".join(_bracket(child) for child in node.children)
    return inner if node.label.startswith("~") else f"({node.label} {inner})"


def mentions(tree: Node) -> list[tuple[int, int, str]]:
    """First token, last token (both 0-based) and referent of every mention."""
    number = {id(leaf): i for i, leaf in enumerate(tree.leaves())}
    spans = []
    for node in tree.walk():
        if node.referent:
            inside = [number[id(leaf)] for leaf in node.leaves()]
            spans.append((inside[0], inside[-1], node.referent))
    return spans


def coreference(trees: Sequence[Node]) -> list[list[str]]:
    """The coreference column of a document's sentences; referents mentioned once are left out."""
    spans = [mentions(tree) for tree in trees]
    order = [referent for found in spans for *_, referent in found]
    clusters: dict[str, int] = {}
    for referent in order:
        if order.count(referent) > 1:
            clusters.setdefault(referent, len(clusters))
    columns = []
    for tree, found in zip(trees, spans, strict=True):
        cells: list[list[str]] = [[] for _ in tree.leaves()]
        for first, last, referent in found:
            if referent in clusters:
                cluster = clusters[referent]
                if first == last:
                    cells[first].append(f"({cluster})")
                else:
                    cells[first].append(f"({cluster}")
                    cells[last].append(f"{cluster})")
        columns.append(["|".join(cell) or "-" for cell in cells])
    return columns
