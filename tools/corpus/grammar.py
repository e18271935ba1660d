"""A weighted phrase-structure grammar in a compact notation, and its seeded expansion into
derivation trees.

Notation: a line that starts in the first column opens a symbol (optionally with the dependency
label its phrase takes by default), indented lines are its expansions, each with an optional weight.
The phrase label is the symbol up to the first ``_``. On the right-hand side

* ``word/TAG`` is a token, ``@slot`` a name or pronoun supplied by the document, ``(X)`` an element
  left out half the time;
* ``X*`` is the head, ``X:rel`` depends with label ``rel``, ``X^`` depends on the first element
  (extraposition).

A symbol holding ``%`` stands for one symbol per verb form (D past, B base, G gerund, N participle,
Z present); ``V%_x`` inside is the verb in that form. ``SET = a b c`` opens a word set and ``verbs
SET = b d n g, ...`` a set of verbs. Beyond the depth limit the first expansion is taken, which is
never recursive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tools.corpus.tree import Node, phrase, token

FORMS = {"D": "VBD", "B": "VB", "G": "VBG", "N": "VBN", "Z": "VBZ"}
_ELEMENT = re.compile(
    r"(?P<open>\()?(?P<body>.+?)(?P<head>\*)?(?P<far>\^)?(?::(?P<rel>[a-z][a-z:]*))?(?P<close>\))?"
)


@dataclass(frozen=True)
class Element:
    """One element of a right-hand side."""

    body: str
    head: bool
    far: bool
    relation: str
    optional: bool


class Grammar:
    """Rules and word sets read from the notation above.

    Parameters
    ----------
    text : str
        Rules and word sets.
    depth_limit : int
        Depth at which recursion is cut.
    """

    def __init__(self, text: str, depth_limit: int = 16) -> None:
        self.depth_limit = depth_limit
        self.rules: dict[str, list[tuple[float, list[Element]]]] = {}
        self.relations: dict[str, str] = {}
        self.words: dict[str, list[str]] = {}
        block: list[str] = []
        for line in [*text.splitlines(), "end"]:
            if line.strip() and not line.startswith(" "):
                self._add(block)
                block = []
            if line.strip():
                block.append(line)
        self._check()

    def _add(self, block: list[str]) -> None:
        if not block:
            return
        head, _, words = block[0].partition(" = ")
        if words and head.startswith("verbs "):
            for verb in words.split(", "):
                base, past, participle, gerund = verb.split()
                present = base + ("es" if re.search(r"(s|sh|ch|x|o)$", base) else "s")
                present = re.sub(r"([^aeiou])ys$", r"\1ies", present)
                for tag, form in zip(
                    ("VB", "VBD", "VBN", "VBG", "VBZ"),
                    (base, past, participle, gerund, present),
                    strict=True,
                ):
                    self.words.setdefault(f"{tag}_{head[6:]}", []).append(form)
        elif words:
            self.words[head] = words.split()
        elif "%" in block[0]:
            for letter, tag in FORMS.items():
                self._add([line.replace("V%", tag).replace("%", letter) for line in block])
        else:
            symbol, _, relation = head.partition(" :")
            self.relations[symbol] = relation
            self.rules[symbol] = [_rule(line) for line in block[1:]]

    def _check(self) -> None:
        for symbol, rules in self.rules.items():
            for element in (e for _, elements in rules for e in elements):
                known = element.body in self.rules or element.body in self.words
                if not (known or "/" in element.body or element.body[0] == "@"):
                    raise ValueError(
                        f"the grammar's rule for {symbol} names {element.body}, which has no "
                        "rule and no words"
                    )

    def expand(self, symbol: str, rng: Random, slot: Callable[[str], Node], depth: int = 0) -> Node:
        """Derive a tree from a symbol.

        Parameters
        ----------
        symbol : str
            Where to start.
        rng : random.Random
            Source of every choice.
        slot : callable
            Supplies the node for an ``@slot``.
        depth : int
            Depth of `symbol` in the whole derivation.
        """
        if symbol[0] == "@":
            return slot(symbol[1:])
        if symbol in self.words:
            return token(rng.choice(self.words[symbol]), symbol.split("_")[0])
        if symbol not in self.rules:
            word, _, tag = symbol.rpartition("/")
            return token({"-LRB-": "(", "-RRB-": ")"}.get(word, word), tag)
        rules = self.rules[symbol]
        cut = depth >= self.depth_limit
        elements = (
            rules[0][1] if cut else rng.choices([r for _, r in rules], [w for w, _ in rules])[0]
        )
        children: list[Node] = []
        head = None
        for element in elements:
            if element.optional and (cut or rng.random() < 0.5):
                continue
            child = self.expand(element.body, rng, slot, depth + 1)
            child.relation = (
                element.relation or child.relation or self.relations.get(element.body, "")
            )
            if element.far:
                child.governor = children[0]
            if element.head:
                head = len(children)
            children.append(child)
        return phrase(symbol.split("_")[0], children, head)


def _rule(line: str) -> tuple[float, list[Element]]:
    fields = line.split()
    weight = 1.0
    if re.fullmatch(r"[0-9.]+", fields[0]) and len(fields) > 1:
        weight = float(fields.pop(0))
    elements = []
    for text in fields:
        match = _ELEMENT.fullmatch(text)
        if match is None:
            raise ValueError(f"not an element of the grammar notation: {text}")
        elements.append(
            Element(
                match["body"],
                bool(match["head"]),
                bool(match["far"]),
                match["rel"] or "",
                bool(match["open"]),
            )
        )
    return weight, elements
