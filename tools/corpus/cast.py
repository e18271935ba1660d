"""The people, places and bodies of one document, and the words each mention of them takes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tools.corpus.names import Stock
from tools.corpus.patterns import (
    CAST_SIZE,
    ENTITY,
    GENERIC,
    INNER_TAGS,
    NUMBERS,
    PATTERNS,
    PLURALS,
    RELATIONS,
    ROLE,
    WHOLE_KINDS,
    WHOLE_STARTS,
)
from tools.corpus.tree import Node, phrase, token


@dataclass(eq=False)
class Referent:
    """Someone or something a document names.

    Attributes
    ----------
    key : str
        Identity within the document.
    kind : str
        Its kind of slot (person, club, town, ...).
    entity : str
        PER, LOC, ORG or MISC.
    full, short : list of str
        Its name at first mention and later.
    gender : str
        m, f or n.
    mentions : int
        How often it has been named.
    """

    key: str
    kind: str
    entity: str
    full: list[str]
    short: list[str]
    gender: str = "n"
    mentions: int = 0


_PRONOUNS = {
    "m": ("he", "him", "his", "himself"),
    "f": ("she", "her", "her", "herself"),
    "n": ("it", "it", "its", "itself"),
}
FAME = 0.8  # how often a document takes a name that an earlier document has


class Cast:
    """Supplies the grammar's ``@slots`` for one document.

    Parameters
    ----------
    rng : random.Random
        Source of every choice.
    stock, fresh : Stock
        Names of all splits, and names used with probability `fresh_rate` instead.
    fresh_rate : float
        Share of referents that take a fresh name.
    formal : bool
        Whether repeated mentions of people are "Mr. Falk" rather than "Falk".
    """

    def __init__(
        self, rng: Random, stock: Stock, fresh: Stock, fresh_rate: float, formal: bool
    ) -> None:
        self.rng, self.stock, self.fresh, self.fresh_rate, self.formal = (
            rng,
            stock,
            fresh,
            fresh_rate,
            formal,
        )
        self.known: dict[str, list[Referent]] = {}
        self.focus: Referent | None = None
        self.used: set[Referent] = set()
        self.headline = False

    def start_sentence(self, headline: bool = False) -> None:
        """Forget which referents the sentence has used; the focus stays for pronouns."""
        self.used = set()
        self.headline = headline

    def __call__(self, slot: str) -> Node:
        """Return the node for a slot."""
        if slot in ("he", "him", "his", "himself"):
            return self._pronoun(slot)
        if slot == "subject":
            return self._subject("person")
        if slot.endswith("-subject"):
            return self._subject(slot.removesuffix("-subject"))
        if slot.endswith("-bare"):
            return self.mention(self._pick(slot.removesuffix("-bare")), bare=True)
        if slot.endswith("-full"):
            self.focus = self._pick(slot.removesuffix("-full"))
            return self.mention(self.focus, full=True)
        return self.mention(self._pick(slot))

    def _subject(self, kind: str) -> Node:
        old = self.focus
        if (
            old
            and old.kind == kind
            and not self.used
            and not self.headline
            and self.rng.random() < 0.35
        ):
            self.used.add(old)
            if kind != "person" and self.rng.random() < 0.6:
                noun = self.rng.choice(GENERIC.get(kind, ["place"]))
                node = phrase("~NP", [token("the", "DT"), token(noun, "NN")])
                node.referent = old.key
                return node
            return self._pronoun("he")
        self.focus = self._pick(kind)
        return self.mention(self.focus)

    def _pronoun(self, slot: str) -> Node:
        column = ("he", "him", "his", "himself").index(slot)
        if self.focus is None:
            self.focus = self._pick("person")
        node = token(_PRONOUNS[self.focus.gender][column], "PRP$" if slot == "his" else "PRP")
        if self.focus.mentions:
            node.referent = self.focus.key
        return node

    def _pick(self, kind: str) -> Referent:
        known = self.known.setdefault(kind, [])
        free = [referent for referent in known if referent not in self.used]
        if not free or (len(known) < CAST_SIZE.get(kind, 2) and self.rng.random() < 0.5):
            new = self._make(kind)
            for _ in range(5):
                if any(new.short[-1] == old.short[-1] for old in known):
                    new = self._make(kind)
            free = [new]
            known.append(new)
        referent = self.rng.choice(free)
        self.used.add(referent)
        return referent

    def _make(self, kind: str) -> Referent:
        rng = self.rng
        stock = self.fresh if rng.random() < self.fresh_rate else self.stock
        gender, full = "n", [""]
        known = stock.known.setdefault(kind, [])
        if known and rng.random() < FAME * min(1.0, len(known) / 25):
            full, short, gender = rng.choice(known)
        elif kind == "person":
            gender = rng.choice("mmf")
            first_name = rng.choice(stock.men if gender == "m" else stock.women)
            short = [rng.choice(stock.roots["surname"])]
            if rng.random() < 0.07:
                short = [rng.choice(["van", "de", "al", "von"]), *short]
            middle = [rng.choice("ABCDEFHJKLMPRST") + "."] if rng.random() < 0.08 else []
            full = [first_name, *middle, *short]
        elif kind in ("country", "national", "nationals", "language"):
            country, adjective = rng.choice(stock.countries)
            people = adjective if adjective[-1] in "he" else adjective + "s"
            full = short = [{"country": country, "nationals": people}.get(kind, adjective)]
        elif kind == "agency":
            full = short = [rng.choice(stock.acronyms)]
        else:
            role = ROLE.get(kind, "town")
            if kind in ("event", "company", "measure") and rng.random() < 0.3:
                role = "surname"
            full, short = self._compose(kind, rng.choice(stock.roots[role]), stock)
        if len(known) < 60:
            known.append((full, short, gender))
        number = sum(map(len, self.known.values()))
        return Referent(f"{kind}{number}", kind, ENTITY[kind], full, short, gender)

    def _compose(self, kind: str, root: str, stock: Stock) -> tuple[list[str], list[str]]:
        words = {
            "R": root,
            "S": self.rng.choice(stock.roots["surname"]),
            "C": self.rng.choice(stock.countries)[0],
            "N": self.rng.choice(NUMBERS),
        }
        full = [words.get(word, word) for word in self.rng.choice(PATTERNS[kind]).split("_")]
        whole = kind in WHOLE_KINDS or full[0] in WHOLE_STARTS or root not in full
        return full, full if whole else [root]

    def mention(self, referent: Referent, full: bool = False, bare: bool = False) -> Node:
        """Return the name of a referent, at full length the first time."""
        first = referent.mentions == 0
        referent.mentions += 1
        person = referent.kind == "person"
        rate = 0.6 if self.headline else 0.94 if person else 0.75
        names = (
            referent.full
            if full or (first and self.rng.random() < rate) or self.rng.random() < 0.2
            else referent.short
        )
        tag = {"national": "JJ", "nationals": "NNPS"}.get(referent.kind, "NNP")
        leaves = []
        for i, name in enumerate(names):
            inner = (
                "CD"
                if name.isdigit()
                else "NNPS"
                if name in PLURALS
                else "DT"
                if name in ("A", "The")
                else tag
            )
            leaves.append(token(name, INNER_TAGS.get(name, inner), "flat" if i else ""))
        head = 0
        if names is referent.full and len(leaves) > 1 and leaves[1].label == "IN":
            leaves[1].relation, leaves[2].relation = "case", "nmod"
            leaves[1].governor = leaves[2]
        elif referent.entity != "PER" and len(leaves) > 1:
            head = len(leaves) - 1
            for leaf in leaves:
                leaf.relation = RELATIONS.get(leaf.label, "compound")
        group = phrase("~NP", leaves, head)
        if tag == "JJ":
            group.relation = "amod"
        group.entity = referent.entity
        if referent.entity != "MISC" or tag != "JJ":
            group.referent = referent.key
        if (
            person
            and self.formal
            and not bare
            and names is referent.short
            and not self.headline
            and self.rng.random() < 0.75
        ):
            title = token(
                "Mr." if referent.gender == "m" else self.rng.choice(["Ms.", "Mrs."]), "NNP"
            )
            group.referent, group.relation = "", "flat"
            group = phrase("~NP", [title, group], 0)
            group.referent = referent.key
        return group
