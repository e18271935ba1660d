"""Arcs of dependency trees, and relations on them, by biaffine forms over an encoder of the
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array, ConfigError, Structure
from structopt.plugin.provisional import Encoded, EncodedTrees, SavedState
from structopt_torch.biaffine import ArcNetwork
from structopt_torch.modules import first_numbers
from structopt_torch.options import check_network
from structopt_torch.scorer import TorchScorer
from structopt_torch.tokens import Tokens, TokenSizes, runs


class ArcCorpus(NamedTuple):
    """The tokens of a corpus; the arcs of each sentence and where they begin; whether their
    relations come before the arcs.

    Attributes
    ----------
    tokens : Tokens
    offsets : int64, shape (sentences + 1,)
    arcs : int64, shape (arcs, 2)
        Head (-1: the root) and modifier, by their positions in the sentence.
    groups : tuple of str
        Names of the part groups: ``arc``, or also ``label``.
    """

    tokens: Tokens
    offsets: Array
    arcs: Array
    groups: tuple[str, ...]


class TorchArc(TorchScorer):
    """Scores of arcs and of relations on them, from a network over words, n-grams of characters,
    tags and dense numbers.

        x_t = (word vector, mean vector of n-grams, vectors of tags, dense numbers),    h =
        BiLSTM(x_1, ..., x_n) arc h -> m:                p_h^T U q_m + u^T p_h,     p_t = f(P h_t +
        c), q_t = f(Q h_t + d) relation r on it:          v_h^T V_r w_m + a_r^T v_h + b_r^T w_m +
        e_r,    v, w from h likewise

    Parts of arcs alone have the first score, parts of a relation on an arc the second: a labelled
    tree has the sum of both. f(z) = max(z, z / 10). The root has learnt vectors p and v of its own.

    Parameters
    ----------
    word_size : int
        Length of the learnt vectors of words; 0: none.
    word_min_count : int
        Words that are rarer in training share the vector of unknown words.
    lower : bool
        Whether these vectors belong to words in lower case.
    word_dropout : float
        Share of the words that count as unknown in a step of training.
    ngram_size : int
        Length of the learnt vectors of n-grams of characters, of which a word has the mean; 0:
        none.
    ngram_longest : int
        The most characters of an n-gram.
    ngram_buckets : int
        N-grams are hashed to so many vectors.
    tags : list of str
        Columns whose values have learnt vectors, where the task's templates look at them.
    tag_size : int
        Length of these vectors.
    hidden : int
        Units of a layer of the BiLSTM, of both directions together.
    layers : int
        Layers of the BiLSTM.
    arc_size, relation_size : int
        Lengths of p and q, and of v and w.
    dropout : float
        Share of inputs and hidden units that are zero in a step of training.
    sparse : bool
        Whether the sparse features of features=hashed_templates are added.
    support, hash_bits, label_bits, distances, templates, labels, siblings, grandparents
        Of these, as there.
    precision : str
        Of the network's numbers: ``float32`` or ``float64``.
    device : str
        ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
    threads : int
        Threads of the network's operations; a run hands its own on.

    Notes
    -----
    Dozat and Manning (2017), sections 2.2 and 2.3, where losses are those of single heads; here
    they are of trees.
    """

    beside_name = "hashed_templates"

    def __init__(
        self,
        word_size: int = 100,
        word_min_count: int = 2,
        lower: bool = True,
        word_dropout: float = 0.1,
        ngram_size: int = 100,
        ngram_longest: int = 4,
        ngram_buckets: int = 20000,
        tags: Sequence[str] = ("upos", "xpos"),
        tag_size: int = 50,
        hidden: int = 400,
        layers: int = 2,
        arc_size: int = 200,
        relation_size: int = 100,
        dropout: float = 0.33,
        sparse: bool = False,
        support: Literal["seen", "all"] = "seen",
        hash_bits: int = 22,
        label_bits: int = 15,
        distances: Sequence[int] = (1, 2, 3, 4, 5, 10),
        templates: Sequence[str] = (),
        labels: Sequence[str] = (),
        siblings: Sequence[str] = (),
        grandparents: Sequence[str] = (),
        precision: Literal["float32", "float64"] = "float32",
        device: Literal["cpu", "cuda", "auto"] = "cpu",
        threads: int = 1,
    ) -> None:
        options: dict[str, Any] = {
            "word_size": word_size,
            "word_min_count": word_min_count,
            "lower": lower,
            "word_dropout": word_dropout,
            "ngram_size": ngram_size,
            "ngram_longest": ngram_longest,
            "ngram_buckets": ngram_buckets,
            "tags": list(tags),
            "tag_size": tag_size,
            "hidden": hidden,
            "layers": layers,
            "arc_size": arc_size,
            "relation_size": relation_size,
            "dropout": dropout,
        }
        check_network(options)
        hashed = {
            "support": support,
            "hash_bits": hash_bits,
            "label_bits": label_bits,
            "distances": distances,
            "templates": templates,
            "labels": labels,
            "siblings": siblings,
            "grandparents": grandparents,
        }
        super().__init__(options, hashed if sparse else None, precision, device, threads)

    def learn(
        self, encoded: Encoded, structure: Structure
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """Learn the vocabulary, which tags there are, and how many relations."""
        trees, options = _checked(encoded, structure), self.options
        tags = [name for name in options["tags"] if options["tag_size"] and name in trees.columns]
        tokens = TokenSizes.learn(
            trees, "torch_arc", options["word_min_count"], options["lower"], tags
        )
        if not options["word_size"] and not options["ngram_size"] and not tags and not tokens.dense:
            raise ConfigError(
                "features.word_size=0, features.ngram_size=0 and features.tag_size=0 leave "
                "nothing to read."
            )
        return {**tokens.state(), "relations": _relations(structure)}, {}

    def check_saved(self, state: SavedState) -> None:
        """Check the sizes of a saved model."""
        TokenSizes.check_saved(sizes := state.within("sizes"))
        sizes.whole("relations")

    def build(self) -> nn.Module:
        """Inputs, BiLSTM, and biaffine forms of arcs and relations."""
        return ArcNetwork(self.options, TokenSizes.of(self.sizes), self.sizes["relations"])

    def start(self, name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Initial numbers of a parameter."""
        numbers = first_numbers(name, shape, generator)
        return super().start(name, shape, generator) if numbers is None else numbers

    def read(self, encoded: Encoded, structure: Structure) -> ArcCorpus:
        """Number the tokens of a corpus.

        Raises
        ------
        ConfigError
            If it has another number of relations than the training corpus.
        """
        trees, options = _checked(encoded, structure), self.options
        if _relations(structure) != self.sizes["relations"]:
            raise ConfigError(
                f"features: the model has weights for {self.sizes['relations']} labels, the "
                f"corpus has {_relations(structure)}."
            )
        tokens = TokenSizes.of(self.sizes).read(
            trees,
            "torch_arc",
            options["lower"],
            options["ngram_longest"],
            options["ngram_buckets"] if options["ngram_size"] else 0,
        )
        arcs = structure.part_tokens["arc"].astype(np.int64)
        return ArcCorpus(
            tokens,
            structure.groups[0].offsets,
            arcs,
            tuple(group.name for group in structure.groups),
        )

    def part_scores(self, module: nn.Module, corpus: ArcCorpus, instances: Array) -> Tensor:
        """Scores of the arcs of every sentence, behind or before those of the relations on them."""
        batch, counts = corpus.tokens.batch(instances), np.diff(corpus.offsets)[instances]
        chosen = corpus.arcs[runs(corpus.offsets[instances], counts)]
        sentence = np.repeat(np.arange(len(instances)), counts)
        # rows 0 of heads are the roots
        scores = module(batch, sentence, chosen[:, 0] + 1, chosen[:, 1])
        if len(corpus.groups) == 1:
            return scores["arc"].reshape(-1)
        pieces = zip(*(scores[name].split(counts.tolist()) for name in corpus.groups), strict=True)
        return torch.cat(
            [piece.reshape(-1) for sentence_pieces in pieces for piece in sentence_pieces]
        )


def _relations(structure: Structure) -> int:
    return next((group.width for group in structure.groups if group.name == "label"), 0)


def _checked(encoded: Encoded, structure: Structure) -> EncodedTrees:
    """Refuse corpora that are no dependency trees, and graphs with other parts than arcs and their
    relations.
    """
    if not isinstance(encoded, EncodedTrees) or not {group.name for group in structure.groups} <= {
        "arc",
        "label",
    }:
        raise ConfigError(
            "features=torch_arc scores the arcs of dependency trees and the relations on them: "
            "task=dependency "
            "factor_graph=arc_factored. For labels of tokens take features=torch_chain."
        )
    return encoded
