"""Labels of tokens by a network over words, n-grams of characters and dense numbers; pairs of
labels by a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array, ConfigError, Structure
from structopt.plugin.provisional import Encoded, SavedState
from structopt_torch.modules import Inputs, encoder_of, first_numbers
from structopt_torch.options import check_network
from structopt_torch.scorer import TorchScorer
from structopt_torch.tokens import Tokens, TokenSizes


class ChainCorpus(NamedTuple):
    """The tokens of a corpus, and of every part group how many positions each instance has."""

    tokens: Tokens
    positions: list[Array]


class TorchChain(TorchScorer):
    """Scores of the labels of every token from a network, and of other parts from a weight for each
    configuration.

        x_t = (word vector, mean vector of n-grams, dense numbers),    h = encoder(x_1, ..., x_n),
        s_t = W h_t + b

    Pairs of labels (or longer runs, with factor_graph.order) have one table of scores, as with
    linear features.

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
    encoder : str
        ``bilstm``: long short-term memories in both directions; ``window``: layers over a token and
        its neighbours.
    window : int
        Neighbours on each side, with encoder=window.
    hidden : int
        Units of a layer; of both directions together.
    layers : int
        Layers of the encoder.
    dropout : float
        Share of inputs and hidden units that are zero in a step of training.
    sparse : bool
        Whether the sparse features of features=attribute_rows are added.
    support : str
        Of these, as there: ``seen`` or ``all``.
    precision : str
        Of the network's numbers: ``float32`` or ``float64``.
    device : str
        ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
    threads : int
        Threads of the network's operations; a run hands its own on.
    """

    def __init__(
        self,
        word_size: int = 100,
        word_min_count: int = 2,
        lower: bool = True,
        word_dropout: float = 0.05,
        ngram_size: int = 100,
        ngram_longest: int = 4,
        ngram_buckets: int = 20000,
        encoder: Literal["bilstm", "window"] = "bilstm",
        window: int = 2,
        hidden: int = 200,
        layers: int = 1,
        dropout: float = 0.5,
        sparse: bool = False,
        support: Literal["seen", "all"] = "seen",
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
            "encoder": encoder,
            "window": window,
            "hidden": hidden,
            "layers": layers,
            "dropout": dropout,
        }
        check_network(options)
        super().__init__(
            options, {"support": support} if sparse else None, precision, device, threads
        )

    def learn(
        self, encoded: Encoded, structure: Structure
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        """Learn the vocabulary, and the widths of the part groups."""
        _label_group(encoded, structure)
        tokens = TokenSizes.learn(
            encoded, "torch_chain", self.options["word_min_count"], self.options["lower"]
        )
        if not self.options["word_size"] and not self.options["ngram_size"] and not tokens.dense:
            raise ConfigError(
                "features.word_size=0 and features.ngram_size=0 leave nothing to read, without "
                "features.vectors."
            )
        return {**tokens.state(), "groups": _groups(structure)}, {}

    def check_saved(self, state: SavedState) -> None:
        """Check the sizes of a saved model."""
        sizes = state.within("sizes")
        TokenSizes.check_saved(sizes)
        for group in sizes.each("groups"):
            group.string("name")
            group.whole("width", 1)
            group.flag("scored")

    def build(self) -> nn.Module:
        """Inputs, encoder, output layer, and weights of the other part groups."""
        return ChainNetwork(self.options, TokenSizes.of(self.sizes), self.sizes["groups"])

    def start(self, name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Initial numbers of a parameter."""
        numbers = first_numbers(name, shape, generator)
        return super().start(name, shape, generator) if numbers is None else numbers

    def read(self, encoded: Encoded, structure: Structure) -> ChainCorpus:
        """Number the tokens of a corpus.

        Raises
        ------
        ConfigError
            If its part groups are not those that have weights.
        """
        if _groups(structure) != self.sizes["groups"]:
            raise ConfigError(
                "features=torch_chain: this corpus and its graphs have other parts than those of "
                "training. Take the task and "
                "the factor graph that the weights were trained with."
            )
        _label_group(encoded, structure)
        options = self.options
        tokens = TokenSizes.of(self.sizes).read(
            encoded,
            "torch_chain",
            options["lower"],
            options["ngram_longest"],
            options["ngram_buckets"] if options["ngram_size"] else 0,
        )
        return ChainCorpus(tokens, [np.diff(group.offsets) for group in structure.groups])

    def part_scores(self, module: nn.Module, corpus: ChainCorpus, instances: Array) -> Tensor:
        """Scores of the labels of all tokens, and behind those of each instance the scores of its
        other parts.
        """
        batch = corpus.tokens.batch(instances)
        labels = module(batch).split(batch.lengths.tolist())
        pieces = [
            piece
            for k, own in zip(instances.tolist(), labels, strict=True)
            for piece in module.instance_parts(own, [counts[k] for counts in corpus.positions])
        ]
        return torch.cat(pieces)


class ChainNetwork(nn.Module):
    """Inputs, encoder and output layer; and a vector of weights for each part group that is scored
    otherwise.
    """

    def __init__(
        self, options: dict[str, Any], tokens: TokenSizes, groups: Sequence[dict[str, Any]]
    ) -> None:
        super().__init__()
        buckets, dropout, hidden = options["ngram_buckets"], options["dropout"], options["hidden"]
        self.inputs = Inputs(
            len(tokens.words),
            options["word_size"],
            buckets,
            options["ngram_size"],
            (),
            0,
            sum(tokens.dense),
            dropout,
            options["word_dropout"],
        )
        self.encoder = encoder_of(
            options["encoder"],
            self.inputs.size,
            options["window"],
            hidden,
            options["layers"],
            dropout,
        )
        self.names = [group["name"] for group in groups]
        self.widths = [group["width"] for group in groups]
        self.output = nn.Linear(hidden, self.widths[self.names.index("label")])
        for k, group in enumerate(groups):
            if group["scored"] and group["name"] != "label":
                self.register_parameter(f"table_{k}", nn.Parameter(torch.zeros(group["width"])))

    def forward(self, batch: Any) -> Tensor:
        """Scores of labels, shape (tokens, labels)."""
        return self.output(self.encoder(self.inputs(batch, self.output.weight), batch.lengths))

    def instance_parts(self, labels: Tensor, positions: Sequence[int]) -> list[Tensor]:
        """Part scores of an instance, a vector a group: the labels', and elsewhere the group's
        weights at every position.
        """
        pieces = []
        for k, (name, width, count) in enumerate(
            zip(self.names, self.widths, positions, strict=True)
        ):
            table = getattr(self, f"table_{k}", None)
            if name == "label":
                pieces.append(labels.reshape(-1))
            elif table is None:
                pieces.append(labels.new_zeros(int(count) * width))
            else:
                pieces.append(table.expand(int(count), width).reshape(-1))
        return pieces


def _groups(structure: Structure) -> list[dict[str, Any]]:
    """Part groups as JSON values."""
    return [
        {"name": group.name, "width": group.width, "scored": group.scored}
        for group in structure.groups
    ]


def _label_group(encoded: Encoded, structure: Structure) -> None:
    """Refuse graphs whose label parts are not those of every variable, and groups that stand for
    several.
    """
    labels = [group for group in structure.groups if group.name == "label"]
    if (
        not labels
        or not np.array_equal(labels[0].offsets, encoded.offsets)
        or any(one.weights for one in structure.groups)
    ):
        raise ConfigError(
            "features=torch_chain scores the labels of tokens, as of factor_graph=linear_chain "
            "or single. For dependency trees "
            "take features=torch_arc."
        )
