"""The rules of a treebank grammar: symbols, binary rules, unary steps; learnt from trees, and
saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structopt.core.data.encoded import EncodedConstituents
from structopt.core.data.saved_state import SavedState
from structopt.core.storage.record_frame import RecordFrame
from structopt.factor_graph.grammar.binarization import BETWEEN, PARENT, Binarization, Chain, coarse
from structopt.factor_graph.grammar.constituents import TAG, Numbering, Pair, Uses, uses_of
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class Rules:
    """The rules that training trees use, and a step without labels above for every symbol.

    Attributes
    ----------
    categories : tuple of str
        Labels of constituents; the first is the root's.
    tags : tuple of str
    symbols : tuple of str
        The root's, those of constituents and between them, sorted, then those of the tags.
    binary : int32, shape (rules, 3)
        Left and right symbol, and the symbol above; sorted.
    chains : tuple of tuples of str
        The symbols of each unary step, top first; sorted by the numbers of bottom and top.
    """

    categories: tuple[str, ...]
    tags: tuple[str, ...]
    symbols: tuple[str, ...]
    binary: Array
    chains: tuple[Chain, ...]

    @classmethod
    def of(
        cls, encoded: EncodedConstituents, binarization: Binarization, earlier: Rules | None = None
    ) -> Rules:
        """The rules of gold trees, and those of an earlier grammar whose categories and tags these
        trees know; O(words).
        """
        steps: dict[Chain, int] = (
            {} if earlier is None else {chain: u for u, chain in enumerate(earlier.chains)}
        )
        rules: dict[Pair, int] = (
            {} if earlier is None else {pair: r for r, pair in enumerate(earlier.pairs)}
        )
        uses_of(encoded, binarization, Numbering(steps, rules, grows=True))
        root, tags = encoded.categories[0], tuple(TAG + tag for tag in encoded.labels)
        named = {symbol for key in rules for symbol in key} | {
            end for chain in steps for end in (chain[0], chain[-1])
        }
        symbols = (root, *sorted(named - {root, *tags}), *tags)
        steps |= {(symbol,): 0 for symbol in symbols[1:]}
        return cls._numbered(encoded.categories, encoded.labels, symbols, list(rules), list(steps))

    @classmethod
    def named(
        cls, root: str, tags: Sequence[str], rules: Sequence[Pair], steps: Sequence[Chain]
    ) -> Rules:
        """Return a grammar of given rules and steps; `TAG` begins the tags in them."""
        own = tuple(TAG + tag for tag in tags)
        named = {symbol for rule in rules for symbol in rule}
        named |= {end for chain in steps for end in (chain[0], chain[-1])}
        between = sorted(named - {root, *own})
        symbols = (root, *between, *own)
        return cls._numbered((root, *between), tuple(tags), symbols, list(rules), list(steps))

    @classmethod
    def _numbered(
        cls,
        categories: tuple[str, ...],
        tags: tuple[str, ...],
        symbols: tuple[str, ...],
        rules: list[Pair],
        chains: list[Chain],
    ) -> Rules:
        number = {symbol: k for k, symbol in enumerate(symbols)}
        binary = sorted(
            (number[left], number[right], number[above]) for above, left, right in rules
        )
        ordered = sorted(chains, key=lambda chain: (number[chain[-1]], number[chain[0]], chain))
        return cls(
            categories, tags, symbols, np.array(binary, np.int32).reshape(-1, 3), tuple(ordered)
        )

    @property
    def pairs(self) -> list[Pair]:
        """The symbols of each binary rule: above, left, right."""
        symbols = self.symbols
        return [
            (symbols[above], symbols[left], symbols[right])
            for left, right, above in self.binary.tolist()
        ]

    @cached_property
    def number(self) -> dict[str, int]:
        """Numbers of the symbols."""
        return {symbol: k for k, symbol in enumerate(self.symbols)}

    @cached_property
    def numbering(self) -> Numbering:
        """Numbers of steps and rules."""
        steps = {chain: u for u, chain in enumerate(self.chains)}
        rules = {pair: r for r, pair in enumerate(self.pairs)}
        return Numbering(steps, rules)

    @cached_property
    def bottoms(self) -> Array:
        """The symbol below each step, int64."""
        return np.array([self.number[chain[-1]] for chain in self.chains], np.int64)

    @cached_property
    def tops(self) -> Array:
        """The symbol above each step, int64."""
        return np.array([self.number[chain[0]] for chain in self.chains], np.int64)

    @property
    def first_tag(self) -> int:
        """The number of the first tag's symbol."""
        return len(self.symbols) - len(self.tags)

    @cached_property
    def category(self) -> Array:
        """The category of each symbol, int64; -1 for those between constituents and for tags."""
        number = {name: c for c, name in enumerate(self.categories)}
        return np.array([self._category(symbol, number) for symbol in self.symbols], np.int64)

    @cached_property
    def chain_categories(self) -> tuple[Array, Array]:
        """The categories on each step's chain, from the top: where those of each step begin, and
        their numbers.
        """
        number = {name: c for c, name in enumerate(self.categories)}
        listed = [
            [c for c in (self._category(symbol, number) for symbol in chain) if c >= 0]
            for chain in self.chains
        ]
        flat = [c for chain in listed for c in chain]
        return np.cumsum([0, *map(len, listed)]), np.array(flat, np.int64)

    @cached_property
    def coarse(self) -> tuple[str, ...]:
        """Each symbol without what it remembers."""
        return tuple(
            symbol if symbol.startswith(TAG) else coarse(symbol) for symbol in self.symbols
        )

    def reachable_tops(self, bottoms: Array) -> Array:
        """Symbols, ascending and without the root, to which some step leads from any of these."""
        return np.flatnonzero(self.reachable[bottoms].any(axis=0))

    @cached_property
    def reachable(self) -> Array:
        """Whether some step leads from each symbol to another one, except the root, bool, shape
        (symbols, symbols).
        """
        reachable = np.zeros((len(self.symbols), len(self.symbols)), bool)
        reachable[self.bottoms, self.tops] = True
        reachable[:, 0] = False
        return reachable

    @cached_property
    def frames(self) -> dict[Any, RecordFrame]:
        """Frames of the records of charts and forests, by their settings."""
        return {}

    @cached_property
    def expansions(self) -> dict[tuple[str, ...], tuple[Array, Array]]:
        """Sizes and symbols of `expanded`, by the symbols of the coarser grammar."""
        return {}

    def expanded(self, names: tuple[str, ...]) -> tuple[Array, Array]:
        """Return the number of symbols that become each symbol of a coarser grammar, and these."""
        if names not in self.expansions:
            fine: dict[str, list[int]] = {}
            for number, name in enumerate(self.coarse):
                fine.setdefault(name, []).append(number)
            every = [fine.get(name, []) for name in names]
            sizes = np.array([len(one) for one in every])
            self.expansions[names] = sizes, np.array([k for one in every for k in one], np.int64)
        return self.expansions[names]

    def ends(self, uses: Uses, trees: EncodedConstituents) -> tuple[Array, Array]:
        """The symbols below and above the step of each span of gold trees; -1 where the grammar has
        none there.
        """
        assert trees.gold is not None
        word, sentence = uses.split == 0, uses.sentence
        bottom = np.append(self.binary[:, 2], -1).astype(np.int64)[uses.rule]
        tag = trees.gold[trees.offsets[sentence[word]] + uses.begin[word]]
        bottom[word] = np.where(tag >= 0, self.first_tag + tag, -1)
        return bottom, np.where(uses.step >= 0, self.tops[uses.step], -1)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """As JSON values and arrays."""
        values = {
            "categories": list(self.categories),
            "tags": list(self.tags),
            "symbols": list(self.symbols),
            "chains": [list(chain) for chain in self.chains],
        }
        return values, {"binary": self.binary}

    @classmethod
    def restore(cls, state: SavedState) -> Rules:
        """Undo `state`."""
        categories, tags, symbols = (
            tuple(state.strings(name, least=1)) for name in ("categories", "tags", "symbols")
        )
        if symbols[0] != categories[0] or symbols[-len(tags) :] != tuple(TAG + tag for tag in tags):
            state.refuse("symbols", "the root's symbol, others, and those of the tags")
        binary = state.array("binary", np.int32, (None, 3))
        if binary.size and not (binary.min() >= 0 and binary.max() < len(symbols)):
            state.refuse_array("binary", f"numbers of symbols, below {len(symbols)}")
        chains = [tuple(chain) for chain in state.lists("chains")]
        if not all(chain and {chain[0], chain[-1]} <= {*symbols} for chain in chains):
            state.refuse("chains", "lists that begin and end with symbols")
        rules = [
            (symbols[above], symbols[left], symbols[right])
            for left, right, above in binary.tolist()
        ]
        return cls._numbered(categories, tags, symbols, rules, chains)

    @staticmethod
    def _category(symbol: str, number: dict[str, int]) -> int:
        """The category of a symbol; -1 for tags and symbols between."""
        return -1 if symbol.startswith((BETWEEN, TAG)) else number[symbol.partition(PARENT)[0]]
