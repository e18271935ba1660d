"""Anchored rules of constituent trees by a network over the words around their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor, nn

from structopt.plugin import Array, ConfigError, Structure
from structopt.plugin.provisional import DenseTable, Encoded, EncodedConstituents, SavedState
from structopt_torch.scorer import TorchScorer
from structopt_torch.span_corpus import Anchors, Grammar, WordSizes
from structopt_torch.span_network import SpanCorpus, SpanNetwork

LEAST = {"hidden": 1, "embeddings": 0, "word_min_count": 1, "tag_size": 0}
"""The least that each whole number may be."""


class TorchSpan(TorchScorer):
    """Scores of rules, unary steps and tags at their places, from the words around the begin, the
    end and the split.

        h = relu(sum over slots of V_slot x_word + b),    s = sum_{f in phi} (O_f h + c_f)

    There are twelve slots: two words on each side of the begin, the end and the split; steps and
    tags have no split. phi are the rule (or step) and the symbol above it, or the tag. x are the
    dense numbers of a word where the task gives any, as with features.vectors; they stay as they
    are. Else they are learnt, of frequent words and of classes of the others.

    Parameters
    ----------
    hidden : int
        Units of the hidden layer.
    embeddings : int
        Length of the learnt vectors of words, where the task gives no dense numbers of words.
    word_min_count : int
        Words that are rarer in training have the vector of a class: of their shape and last two
        letters, or their shape.
    tag_size : int
        Length of learnt vectors of the words' tags, beside those of words; 0: none. Where the model
        chooses tags, all words have the same.
    dropout : float
        Share of the hidden units that are zero throughout a sentence, in a step of training.
    init_scale : float
        Deviation of the first layer's initial numbers; those of the output layer are zero.
    rate : float
        The network's parameters are its weights times this. Steps of adagrad, adadelta and
        torch_adamw are as long for the weights of the network as for those of the sparse features,
        and for the network too long where they suit these.
    sparse : bool
        Whether the sparse features of features=anchored_templates are added.
    hash_bits, unseen, joined, lengths, spans, splits, words
        Of these, as there.
    precision : str
        Of the network's numbers: ``float32`` or ``float64``.
    device : str
        ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
    threads : int
        Threads of the network's operations; a run hands its own on.

    Notes
    -----
    Durrett and Klein (2015), "Neural CRF parsing", sections 2 and 3; Kummerfeld, Berg-Kirkpatrick
    and Klein (2015).
    """

    beside_name: ClassVar[str] = "anchored_templates"

    def __init__(
        self,
        hidden: int = 200,
        embeddings: int = 50,
        word_min_count: int = 2,
        tag_size: int = 0,
        dropout: float = 0.0,
        init_scale: float = 0.01,
        rate: float = 1.0,
        sparse: bool = False,
        hash_bits: int = 24,
        unseen: float = 0.5,
        joined: Sequence[str] = ("rule", "parent"),
        lengths: Sequence[int] = (1, 2, 3, 4, 5, 10, 20),
        spans: Sequence[str] = (),
        splits: Sequence[str] = (),
        words: Sequence[str] = (),
        precision: Literal["float32", "float64"] = "float32",
        device: Literal["cpu", "cuda", "auto"] = "cpu",
        threads: int = 1,
    ) -> None:
        options: dict[str, Any] = {
            "hidden": hidden,
            "embeddings": embeddings,
            "word_min_count": word_min_count,
            "tag_size": tag_size,
            "dropout": float(dropout),
            "init_scale": float(init_scale),
            "rate": float(rate),
        }
        _check(options)
        templates = {
            "hash_bits": hash_bits,
            "unseen": unseen,
            "joined": joined,
            "lengths": lengths,
            "spans": spans,
            "splits": splits,
            "words": words,
        }
        super().__init__(options, templates if sparse else None, precision, device, threads)
        self.rate = float(rate)

    def learn(
        self, encoded: Encoded, structure: Structure
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """Take the grammar of the forests, and the vocabulary or the sizes of dense tables."""
        grammar = Grammar.of(structure)
        sizes = WordSizes.learn(_trees(encoded), self.options["word_min_count"])
        if not sizes.dense and not self.options["embeddings"] and not self.options["tag_size"]:
            raise ConfigError(
                "features.embeddings=0 and features.tag_size=0 leave nothing to read, without "
                "numbers of words. Set "
                "features.vectors=FILE, or features.embeddings=50."
            )
        return {**sizes.state(), "symbols": grammar.symbols}, {"above": grammar.above}

    def check_saved(self, state: SavedState) -> None:
        """Check the sizes and the grammar of a saved model."""
        sizes = state.within("sizes")
        sizes.strings("words")
        sizes.strings("classes")
        sizes.wholes("dense", 1)
        sizes.whole("tags", 0)
        symbols, above = sizes.whole("symbols", 1), state.array("above", np.int32, (None,))
        if above.size and not (above.min() >= 0 and above.max() < symbols):
            state.refuse_array("above", f"numbers of symbols, below {symbols}")

    def build(self) -> nn.Module:
        """Vectors of words, first layer, and the output layer of the grammar."""
        return SpanNetwork(self.options, WordSizes.of(self.sizes), self._grammar)

    @property
    def _grammar(self) -> Grammar:
        return Grammar(self.sizes["symbols"], self.arrays["above"])

    def start(self, name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Initial weights: vectors of words and tags are normal with variance 1, the first layer as
        `init_scale` says, zeros.
        """
        spread = {"words.weight": 1.0, "tags.weight": 1.0, "slots": self.options["init_scale"]}
        if name not in spread:
            return np.zeros(shape)
        return generator.normal(size=shape) * (spread[name] / self.options["rate"])

    def read(self, encoded: Encoded, structure: Structure) -> SpanCorpus:
        """List the anchored rules of a corpus, and find the kinds of its words.

        Raises
        ------
        ConfigError
            If its grammar is not the one that has weights.
        """
        grammar, own = Grammar.of(structure), self._grammar
        if grammar.symbols != own.symbols or not np.array_equal(grammar.above, own.above):
            raise ConfigError(
                "features=torch_span: this corpus has another grammar than the one of training."
            )
        trees = _trees(encoded)
        words = WordSizes.of(self.sizes).read(trees, self.options["tag_size"] > 0)
        ends = np.cumsum([0, *(table.rows.shape[1] for table in trees.dense.get("word", ()))])
        dense = tuple(
            DenseTable(words.rows[:, a:b].astype(np.int32), table.matrix)
            for a, b, table in zip(ends[:-1], ends[1:], trees.dense.get("word", ()), strict=True)
        )
        return SpanCorpus(words, dense, Anchors.listed(structure), np.diff(structure.parts))

    def part_scores(self, module: nn.Module, corpus: SpanCorpus, instances: Array) -> Tensor:
        """Scores of the edges, and zeros for the symbols at spans."""
        scores: Tensor = module(corpus, instances)
        return scores


def _check(options: dict[str, Any]) -> None:
    """Refuse numbers out of range."""
    for name, least in LEAST.items():
        if not least <= options[name] <= 2**20:
            raise ConfigError(
                f"features.{name}={options[name]} must be a whole number from {least} to {2**20}."
            )
    if not 0.0 <= options["dropout"] < 1.0:
        raise ConfigError(f"features.dropout={options['dropout']} must be at least 0 and below 1.")
    for name in ("init_scale", "rate"):
        if not 1e-6 <= options[name] <= 1e3:
            raise ConfigError(f"features.{name}={options[name]} must be from 1e-6 to 1000.")


def _trees(encoded: Encoded) -> EncodedConstituents:
    """The corpus, which is one of constituent trees where its structures are forests."""
    assert isinstance(encoded, EncodedConstituents)
    return encoded
