"""The head child of a constituent, by the rules of Collins (1999, appendix A) for the labels of the
Penn Treebank.
"""

from __future__ import annotations

from collections.abc import Sequence

LEFT, RIGHT = False, True
RULES: dict[str, tuple[bool, str]] = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
}
"""From which side the children are searched, and labels by their rank: for each in turn, all
children.
"""
NOMINAL = (
    (RIGHT, frozenset(["NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"])),
    (LEFT, frozenset({"NP"})),
    (RIGHT, frozenset(["$", "ADJP", "PRN"])),
    (RIGHT, frozenset({"CD"})),
    (RIGHT, frozenset(["JJ", "JJS", "RB", "QP"])),
)
"""The searches of NP and NX, in turn: the first child of any of these labels."""
NOUNS = ("NP", "NX")


def head_of(label: str, children: Sequence[str]) -> int:
    """Index of the head child, given the label and those of the children; the last where no rule
    knows the label.

    After a coordination ``X CC Y`` whose search finds Y, the head is X.
    """
    found = _nominal(children) if label in NOUNS else _ranked(label, children)
    if found >= 2 and children[found - 1] == "CC":
        before = [k for k in range(found - 1) if children[k] not in (",", ":", "``", "''")]
        return before[-1] if before else found
    return found


def _nominal(children: Sequence[str]) -> int:
    last = len(children) - 1
    if children[last] == "POS":
        return last
    for side, labels in NOMINAL:
        for k in _indices(last, side):
            if children[k] in labels:
                return k
    return last


def _ranked(label: str, children: Sequence[str]) -> int:
    last = len(children) - 1
    side, labels = RULES.get(label, (RIGHT, ""))
    for wanted in labels.split():
        for k in _indices(last, side):
            if children[k] == wanted:
                return k
    return last if side == RIGHT else 0


def _indices(last: int, side: bool) -> range:
    return range(last, -1, -1) if side == RIGHT else range(last + 1)
