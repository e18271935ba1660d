"""The network of span parsing: a hidden vector for every anchor, of which each of its edges has a
linear function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from structopt.plugin import Array
from structopt.plugin.provisional import DenseTable
from structopt_torch.modules import on
from structopt_torch.span_corpus import (
    NEIGHBOURS,
    ROLES,
    SLOTS,
    Anchors,
    Grammar,
    Words,
    WordSizes,
    neighbours,
)


class SpanCorpus(NamedTuple):
    """A corpus as the network reads it.

    Attributes
    ----------
    words : Words
    dense : tuple of DenseTable
        Of the kinds of words.
    anchors : Anchors
    parts : int64, shape (sentences,)
        Parts of each sentence.
    """

    words: Words
    dense: tuple[DenseTable, ...]
    anchors: Anchors
    parts: Array


class Batch(NamedTuple):
    """Some sentences of a corpus.

    Attributes
    ----------
    instances : int64, shape (sentences,)
        Their numbers.
    firsts : int64, shape (sentences,)
        Where the places of each begin, n + 1 of n words.
    outs : int64, shape (sentences + 1,)
        Where the parts of each begin.
    anchors : Anchors
        Of the whole corpus.
    """

    instances: Array
    firsts: Array
    outs: Array
    anchors: Anchors


class SpanNetwork(nn.Module):
    """Scores of rules, steps and tags at their places.

        x_w = (vector of the word, vector of its tag),    u_p,role = sum_o V_role,o x_{p+o},  o =
        -2..1 h_(i,k,j) = relu(u_i,begin + u_j,end + u_k,split + b),    s_(A -> B C, i, k, j) =
        sum_{f in {A -> B C, A}} (O_f h + c_f)

    Words beyond the sentence have a vector for each slot (role, o) in place of V x. Steps have no
    split, and are scored by themselves and the symbol above; tags by themselves alone.

    The products V x are computed once for every kind of word of a batch, and u once for every place
    of a sentence, so that the hidden vector of an anchor is a sum of three: see Durrett and Klein
    (2015), section 2 and 3.

    Parameters
    ----------
    options : dict
        Those of `structopt_torch.span.TorchSpan`.
    sizes : WordSizes
    grammar : Grammar
    """

    def __init__(self, options: dict[str, Any], sizes: WordSizes, grammar: Grammar) -> None:
        super().__init__()
        hidden, length = options["hidden"], 0 if sizes.dense else options["embeddings"]
        self.words = nn.Embedding(sizes.vectors, length) if length else None
        self.tags = (
            nn.Embedding(sizes.tags + 1, options["tag_size"]) if options["tag_size"] else None
        )
        self.slots = nn.Parameter(
            torch.empty(SLOTS * hidden, sum(sizes.dense) + length + options["tag_size"])
        )
        self.outside = nn.Parameter(torch.empty(1, SLOTS * hidden))
        self.bias = nn.Parameter(torch.empty(hidden))
        features = len(grammar.above) + grammar.symbols
        self.output, self.output_bias = (
            nn.Parameter(torch.empty(features, hidden)),
            nn.Parameter(torch.empty(features)),
        )
        self.grammar, self.hidden, self.dropout = grammar, hidden, options["dropout"]

    def forward(self, corpus: SpanCorpus, instances: Array) -> Tensor:
        """Part scores of some sentences, one after the other; zero for symbols at spans."""
        offsets = corpus.words.offsets
        lengths = np.diff(offsets)[instances]
        tokens = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in instances.tolist()])
        outs = np.concatenate([[0], np.cumsum(corpus.parts[instances])]).astype(np.int64)
        firsts = np.cumsum(lengths + 1) - lengths - 1
        batch = Batch(instances.astype(np.int64), firsts, outs, corpus.anchors)
        summands = self.summands(corpus, corpus.words.kinds[tokens], lengths)
        return AnchorScores.apply(summands, *self.rows(), batch)

    def summands(self, corpus: SpanCorpus, kinds: Array, lengths: Array) -> Tensor:
        """The summands u of the hidden vectors at all places of sentences, shape (places, roles,
        hidden).
        """
        distinct, numbers = np.unique(kinds, return_inverse=True)
        products = torch.cat([self.vectors(corpus, distinct) @ self.slots.T, self.outside]).view(
            -1, self.hidden
        )
        # -1 is the last: outside
        around = np.append(numbers.ravel(), len(distinct))[neighbours(lengths)]
        slots = np.arange(SLOTS).reshape(ROLES, len(NEIGHBOURS))
        bags = (around[:, np.newaxis] * SLOTS + slots).reshape(-1, len(NEIGHBOURS))
        sums = F.embedding_bag(on(bags, products), products, mode="sum").view(
            -1, ROLES, self.hidden
        )
        sums = sums + F.pad(self.bias[None], (0, 0, 0, ROLES - 1))
        # relu(m z) = m relu(z): the same units drop out in all of a sentence
        if self.training and self.dropout:
            kept = torch.full(
                (len(lengths), 1, self.hidden),
                1 - self.dropout,
                dtype=sums.dtype,
                device=sums.device,
            )
            mask = torch.bernoulli(kept) / (1 - self.dropout)
            sums = sums * mask[on(np.repeat(np.arange(len(lengths)), lengths + 1), sums)]
        return sums

    def vectors(self, corpus: SpanCorpus, kinds: Array) -> Tensor:
        """x of some kinds of words, shape (kinds, numbers)."""
        pieces = [on(table.values(kinds), self.slots) for table in corpus.dense]
        if self.words is not None:
            pieces.append(self.words(on(corpus.words.words[kinds], self.slots)))
        if self.tags is not None:
            pieces.append(self.tags(on(corpus.words.tags[kinds], self.slots)))
        return torch.cat(pieces, dim=1)

    def rows(self) -> tuple[Tensor, Tensor]:
        """Of each row (rules, steps, symbols as tags) the sums of O_f and of c_f over its
        features.
        """
        above = on(self.grammar.above.astype(np.int64) + len(self.grammar.above), self.slots)
        more = (0, 0, 0, self.grammar.symbols)
        outputs = self.output + F.pad(self.output[above], more)
        return outputs, self.output_bias + F.pad(self.output_bias[above], more[2:])


class AnchorScores(torch.autograd.Function):
    """From summands of hidden vectors, and the output vectors and constants of rows, to part
    scores.

    Hidden vectors are made again for the gradient, and kept nowhere. On the CPU the loops are
    compiled (`span_kernels`); on other devices each sentence is some operations of PyTorch
    (`span_slices`).
    """

    @staticmethod
    def forward(
        ctx: Any, summands: Tensor, outputs: Tensor, constants: Tensor, batch: Batch
    ) -> Tensor:
        """Scores, shape (parts,)."""
        ctx.save_for_backward(summands, outputs, constants)
        ctx.batch = batch
        if summands.device.type != "cpu":
            from structopt_torch import span_slices

            return span_slices.scores(batch, summands, outputs, constants)
        from structopt_torch.span_kernels import score_parts

        scores = summands.new_zeros(int(batch.outs[-1]))
        score_parts(*_flat(batch), *_arrays(summands, outputs, constants, scores))
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, residuals: Tensor) -> Any:
        """Gradients, given those by the scores."""
        summands, outputs, constants = ctx.saved_tensors
        if summands.device.type != "cpu":
            from structopt_torch import span_slices

            return *span_slices.slopes(ctx.batch, summands, outputs, constants, residuals), None
        from structopt_torch.span_kernels import slope_of_parts

        slopes = [
            torch.zeros_like(one, memory_format=torch.contiguous_format)
            for one in (summands, outputs, constants)
        ]
        slope_of_parts(*_flat(ctx.batch), *_arrays(summands, outputs, residuals, *slopes))
        return *slopes, None


def _flat(batch: Batch) -> tuple[Array, ...]:
    """The arrays of a batch and of its corpus, as the kernels take them."""
    return batch.instances, batch.firsts, batch.outs, *batch.anchors


def _arrays(*tensors: Tensor) -> list[Array]:
    """Views of tensors as arrays."""
    return [tensor.detach().contiguous().numpy() for tensor in tensors]
