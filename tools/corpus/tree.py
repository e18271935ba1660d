"""Derivation trees, from which all annotations of the corpus are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-", "$"})
_POSTNOMINAL = frozenset({"NP", "PP", "SBAR", "VP", "S", "PRN"})
AUXILIARIES = frozenset({"VBD", "VBZ", "VBP", "VB", "VBN", "VBG", "MD", "TO"})


@dataclass(eq=False)
class Node:
    """A phrase or a token of a derivation.

    Attributes
    ----------
    label : str
        Phrase label or part-of-speech tag; a leading ``~`` marks a group that brackets do not show.
    children : list of Node
        Empty for a token.
    word : str
        The token, empty for a phrase.
    head : int
        Which child is the head.
    relation : str
        Dependency label towards the parent's head (or towards `governor`).
    entity : str
        Entity type when the node's tokens are a name.
    referent : str
        Who or what the node's tokens mention, for coreference.
    governor : Node, optional
        The phrase this one depends on when that is not its parent, as with an extraposed clause.
    """

    label: str
    children: list[Node] = field(default_factory=list)
    word: str = ""
    head: int = 0
    relation: str = ""
    entity: str = ""
    referent: str = ""
    governor: Node | None = None

    @property
    def phrase(self) -> str:
        """The label without the group mark."""
        return self.label.lstrip("~")

    def leaves(self) -> Iterator[Node]:
        """The tokens below this node, in order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def walk(self) -> Iterator[Node]:
        """Every node of the tree, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def lexical_head(self) -> Node:
        """The token that heads this phrase."""
        node = self
        while node.children:
            node = node.children[node.head]
        return node


def token(word: str, tag: str, relation: str = "") -> Node:
    """Return a leaf."""
    return Node(tag, word=word, relation=relation)


def phrase(label: str, children: list[Node], head: int | None = None) -> Node:
    """Return a phrase; its head and the relations of its children are determined where the rule
    names none.
    """
    if len(children) == 1 and children[0].label == label:
        return children[0]
    top = None if head is None else children[head]
    children = _nest(label, children)
    node = Node(label, children)
    node.head = (
        _head(node) if top is None else next(i for i, c in enumerate(children) if top in c.walk())
    )
    for i, child in enumerate(children):
        if child.label == "CC" and i + 1 < len(children) and i != node.head:
            child.governor = next(c for c in children[i + 1 :] if c.label not in PUNCTUATION)
        if i != node.head and not child.relation:
            child.relation = _relation(node, i)
    return node


def _nest(label: str, children: list[Node]) -> list[Node]:
    """The children of a phrase, with a noun phrase around nominal tokens and names unless the
    phrase is one itself.
    """
    kind = label.lstrip("~")
    if kind == "NP":
        post = next(
            (
                i
                for i, c in enumerate(children)
                if i and c.label in _POSTNOMINAL and children[i - 1].label != "CC"
            ),
            0,
        )
        core = children[:post]
        while core and core[-1].label == ",":
            core.pop()
        if core and not any(c.label in ("NP", "``", "CC") for c in core):
            return [phrase("NP", core), *children[len(core) :]]
        return children
    if kind not in ("VP", "PP", "S", "SINV", "FRAG"):
        return children
    nested: list[Node] = []
    i = 0
    while i < len(children):
        end = i
        while (
            kind != "FRAG"
            and end < len(children)
            and children[end].label in ("DT", "PRP$", "JJ", "CD", "$")
        ):
            end += 1
        if end < len(children) and children[end].label == "~NP":
            end += 1
        else:
            while end < len(children) and children[end].label in (
                "NN",
                "NNS",
                "NNP",
                "NNPS",
                "PRP",
                "EX",
            ):
                end += 1
        if end == i:
            child = children[i]
            if kind != "FRAG" and child.label == "RB" and child.word not in ("not", "never"):
                child = Node("ADVP", [child], relation=child.relation or "advmod")
            nested.append(child)
            i += 1
            continue
        run = children[i:end]
        relation, governor = run[-1].relation, run[-1].governor
        run[-1].relation, run[-1].governor = "", None
        nested.append(phrase("NP", run))
        nested[-1].relation, nested[-1].governor = relation, governor
        i = end
    return nested


def drop_commas(tree: Node) -> None:
    """Take out commas that another punctuation mark follows, as after an apposition that ends the
    sentence.
    """
    leaves = list(tree.leaves())
    spare = {
        id(leaf)
        for leaf, after in zip(leaves, leaves[1:], strict=False)
        if leaf.label == ","
        and (after.label in (",", ".") or (after.label == "''" and leaves[-1] is after))
    }
    for node in tree.walk():
        head = node.children[node.head] if node.children else node
        node.children[:] = [child for child in node.children if id(child) not in spare]
        node.head = node.children.index(head) if node.children else 0


def _last(node: Node, labels: tuple[str, ...]) -> int | None:
    return next(
        (i for i, child in reversed(list(enumerate(node.children))) if child.label in labels), None
    )


def _first(node: Node, labels: tuple[str, ...]) -> int | None:
    return next((i for i, child in enumerate(node.children) if child.label in labels), None)


def _head(node: Node) -> int:
    """Which child of a phrase is its head, by the label of the phrase; the first where no rule
    applies.
    """
    kind, head = node.phrase, None
    if kind in ("NP", "WHNP", "NML"):
        head = _last(node, ("NN", "NNS", "NNP", "NNPS", "~NP", "PRP", "NML"))
        head = _first(node, ("NP",)) if head is None else head
        head = len(node.children) - 1 if head is None else head
    elif kind == "VP":
        head = _first(node, ("VP",))
        if head is None or any(c.label == "CC" for c in node.children):
            verb = _first(node, ("VBD", "VBZ", "VBP", "VB", "VBN", "VBG"))
            head = head if verb is None else verb
    elif kind == "PP":
        head = _first(node, ("NP", "S", "PP"))
    elif kind == "SBAR":
        head = _first(node, ("S",))
    elif kind in ("S", "FRAG", "SINV"):
        for labels in (("~S",), ("VP",), ("S",), ("NP", "~NP")):
            head = _first(node, labels) if head is None else head
    elif kind in ("QP", "ADJP", "ADVP"):
        head = _last(node, ("CD", "JJ", "JJR", "VBN", "RB", "RBR", "NN"))
    return head or 0


_BY_LABEL = {
    "DT": "det",
    "PDT": "det:predet",
    "PRP$": "nmod:poss",
    "JJ": "amod",
    "JJS": "amod",
    "JJR": "amod",
    "CD": "nummod",
    "QP": "nummod",
    "ADJP": "amod",
    "CC": "cc",
    "MD": "aux",
    "RB": "advmod",
    "RBR": "advmod",
    "POS": "case",
    "RP": "compound:prt",
    "PRT": "compound:prt",
    "EX": "expl",
    "WRB": "advmod",
    "ADVP": "advmod",
    "WHADVP": "advmod",
    "NN": "compound",
    "NNS": "compound",
    "NNP": "compound",
    "NNPS": "compound",
    "NML": "compound",
    "~NP": "compound",
    "VBN": "amod",
    "VBG": "amod",
    "IN": "case",
    "TO": "case",
    "SBAR": "advcl",
    "FRAG": "parataxis",
}


def _relation(node: Node, i: int) -> str:
    child, kind, before = node.children[i], node.phrase, i < node.head
    coordinated = any(c.label == "CC" for c in node.children)
    if child.label in PUNCTUATION:
        return "punct"
    if coordinated and not before and child.phrase == node.children[node.head].phrase:
        return "conj"
    if kind == "VP" and before and child.label in AUXILIARIES:
        passive = (
            child.word in ("was", "were", "been", "be", "is", "are")
            and node.children[node.head].children[0].label == "VBN"
        )
        return "mark" if child.label == "TO" else "aux:pass" if passive else "aux"
    if kind == "SBAR":
        return {"IN": "mark", "WHNP": "nsubj"}.get(child.label, "advmod")
    if child.label == "NP":
        if kind in ("S", "SINV"):
            verb = node.children[node.head]
            return "nsubj:pass" if is_passive(verb) else "nsubj"
        if kind == "NP":
            return "nmod:poss" if before else "appos"
        return "obj"
    if child.label == "PP":
        return "nmod" if kind in ("NP", "FRAG") else "obl"
    if child.label in ("S", "~S"):
        return "xcomp" if kind == "VP" else "parataxis"
    if child.label == "VP":
        return "acl" if kind == "NP" else "xcomp"
    if child.label == "ADJP" and kind == "VP":
        return "xcomp"
    if child.label == "SBAR" and kind == "NP":
        return "acl:relcl"
    return _BY_LABEL.get(child.label, "dep")


def is_passive(node: Node) -> bool:
    """Whether the finite verb phrase below this node is a passive."""
    while node.children:
        if any(child.relation == "aux:pass" for child in node.children):
            return True
        node = node.children[node.head]
    return False
