"""Networks that several scorers share: the inputs of tokens, and their encoders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array
from structopt_torch.recurrence import Recurrence
from structopt_torch.tokens import Batch, runs
from structopt_torch.words import UNKNOWN


def on(array: Array, like: Tensor) -> Tensor:
    """An array as a tensor where another one is; whole numbers stay whole, others get its type."""
    tensor = torch.from_numpy(np.ascontiguousarray(array)).to(like.device)
    return tensor.to(like.dtype) if tensor.is_floating_point() else tensor


class Inputs(nn.Module):
    """The vector of a token: learnt vectors of its word, its n-grams (their mean) and its codes,
    and its dense numbers.

    Parameters
    ----------
    vocabulary : int
        Known words.
    words : int
        Length of their vectors; 0: none.
    buckets : int
        Rows of n-grams.
    ngrams : int
        Their length; 0: none.
    codes : sequence of int
        How many codes each column has.
    columns : int
        Length of the vectors of codes.
    dense : int
        Dense numbers of a token.
    dropout : float
        Share of the vector's numbers that are zero in training, scaled up otherwise.
    word_dropout : float
        Share of the words that count as unknown in training.
    """

    def __init__(
        self,
        vocabulary: int,
        words: int,
        buckets: int,
        ngrams: int,
        codes: Sequence[int],
        columns: int,
        dense: int,
        dropout: float,
        word_dropout: float,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary + 1, words) if words else None
        self.ngrams = nn.EmbeddingBag(buckets, ngrams, mode="mean") if ngrams else None
        self.columns = nn.ModuleList(nn.Embedding(count, columns) for count in codes)
        self.size = words + ngrams + columns * len(codes) + dense
        self.dropout, self.word_dropout = nn.Dropout(dropout), word_dropout

    def forward(self, batch: Batch, like: Tensor) -> Tensor:
        """Vectors, shape (tokens, size), of the type of `like` and where it is."""
        pieces = [on(batch.dense, like)] if batch.dense.shape[1] else []
        if self.words is not None:
            numbers = on(batch.words, like)
            if self.training and self.word_dropout:
                numbers = numbers.masked_fill(
                    torch.rand(len(numbers), device=like.device) < self.word_dropout, UNKNOWN
                )
            pieces.append(self.words(numbers))
        if self.ngrams is not None:
            spelt = self.ngrams(on(batch.ngrams, like), on(batch.begins, like))
            pieces.append(spelt[on(batch.spellings, like)])
        pieces += [table(on(batch.codes[:, k], like)) for k, table in enumerate(self.columns)]
        return self.dropout(torch.cat(pieces, dim=1))


class Window(nn.Module):
    """One hidden layer over the vectors of a token and its neighbours, which are zero beyond the
    sentence.

        h_t = relu(W (x_{t-w}, ..., x_{t+w}) + b)

    Further layers read h_t alone.
    """

    def __init__(self, inputs: int, width: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [inputs * (2 * width + 1), *[hidden] * layers]
        self.layers = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.width, self.dropout = width, nn.Dropout(dropout)

    def forward(self, x: Tensor, lengths: Array) -> Tensor:
        """Hidden vectors of all tokens, shape (tokens, hidden)."""
        tokens, place = int(lengths.sum()), runs(np.zeros(len(lengths), np.int64), lengths)
        shifts = np.arange(-self.width, self.width + 1)
        neighbours, inside = np.arange(tokens)[:, None] + shifts, place[:, None] + shifts
        outside = (inside < 0) | (inside >= np.repeat(lengths, lengths)[:, None])
        padded = torch.cat([x, x.new_zeros(1, x.shape[1])])
        h = padded[on(np.where(outside, tokens, neighbours), x)].reshape(tokens, -1)
        for layer in self.layers:
            h = self.dropout(torch.relu(layer(h)))
        return h


class BiLSTM(nn.Module):
    """Layers of long short-term memories from left to right and from right to left, of half the
    hidden units each.

    Sentences are packed: a step of all of them is one product, and none is longer for the others.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.ModuleList(
            LSTMLayer(inputs if k == 0 else hidden, hidden // 2) for k in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, lengths: Array) -> Tensor:
        """Hidden vectors of all tokens, shape (tokens, hidden)."""
        rank = np.empty(len(lengths), np.int64)
        rank[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
        place, from_end = (
            runs(np.zeros(len(lengths), np.int64), lengths),
            runs(1 - lengths, lengths),
        )
        # by step, the longest sentence first
        packed = np.lexsort((np.repeat(rank, lengths), place))
        mirrored = (np.arange(len(packed)) - place - from_end)[packed]
        orders = [(on(order, x), on(np.argsort(order), x)) for order in (packed, mirrored)]
        steps = np.bincount(place).tolist()
        for layer in self.lstm:
            x = self.dropout(layer(x, orders, steps))
        return x


class LSTMLayer(nn.Module):
    """Both directions of one layer."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs, 2 * 4 * units)
        self.recurrent = nn.Parameter(torch.zeros(2, units, 4 * units))

    def forward(
        self, x: Tensor, orders: Sequence[tuple[Tensor, Tensor]], steps: Sequence[int]
    ) -> Tensor:
        """Hidden vectors, shape (tokens, 2 units), given the tokens' order in each direction with
        its inverse, and the steps.
        """
        directions = self.gates(x).chunk(2, dim=1)
        gates = torch.stack(
            [own.index_select(0, order) for own, (order, _) in zip(directions, orders, strict=True)]
        )
        hidden = Recurrence.apply(gates, self.recurrent, steps)
        return torch.cat(
            [own.index_select(0, back) for own, (_, back) in zip(hidden, orders, strict=True)],
            dim=1,
        )


def encoder_of(
    name: str, inputs: int, window: int, hidden: int, layers: int, dropout: float
) -> nn.Module:
    """The encoder ``window`` or ``bilstm``."""
    if name == "window":
        return Window(inputs, window, hidden, layers, dropout)
    return BiLSTM(inputs, hidden, layers, dropout)


def first_numbers(
    name: str, shape: tuple[int, ...], generator: np.random.Generator
) -> Array | None:
    """Initial numbers of the vectors of inputs and of LSTMs; None for other parameters.

    Vectors have numbers of variance 1 / length; LSTMs are uniform up to 1 / sqrt(units), and
    remember at first: the bias of the gate that forgets is 1.
    """
    if name.startswith("inputs."):
        return generator.uniform(-1.0, 1.0, shape) * np.sqrt(3.0 / shape[1])
    if ".lstm." not in name:
        return None
    units = shape[1] if name.endswith("recurrent") else shape[0] // 8
    if "bias" in name:
        return np.repeat([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], units)
    return generator.uniform(-1.0, 1.0, shape) / np.sqrt(units)
