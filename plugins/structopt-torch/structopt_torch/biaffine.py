"""Biaffine forms of pairs of words, over an encoder of the sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from structopt.plugin import Array
from structopt_torch.modules import BiLSTM, Inputs, on
from structopt_torch.tokens import Batch, TokenSizes

# slope of units below zero: rectified ones all died under margins, whose first steps are large
LEAK = 0.1


class Biaffine(nn.Module):
    """p_h^T U_r q_m + a_r^T p_h + b_r^T q_m + e_r of every head (or the root) and modifier, for
    each of some r.

    The last two terms are left out where there is one r alone: they are the same for all heads of a
    modifier.
    """

    def __init__(self, inputs: int, size: int, count: int, dropout: float, modifiers: bool) -> None:
        super().__init__()
        self.head, self.modifier = nn.Linear(inputs, size), nn.Linear(inputs, size)
        self.root = nn.Parameter(torch.zeros(1, size))
        self.form = nn.Parameter(torch.zeros(count, size, size))
        self.of_head = nn.Linear(size, count, bias=modifiers)
        self.of_modifier = nn.Linear(size, count, bias=False) if modifiers else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor) -> Tensor:
        """Scores, shape (sentences, count, words + 1, words), given encoded words of shape
        (sentences, words, inputs).
        """
        root = self.root.expand(len(h), 1, -1)
        p = self.dropout(torch.cat([root, leaky_relu(self.head(h), LEAK)], dim=1))
        q = self.dropout(leaky_relu(self.modifier(h), LEAK))
        scores = torch.einsum("bhi,rij->brhj", p, self.form) @ q.transpose(1, 2).unsqueeze(1)
        scores = scores + self.of_head(p).transpose(1, 2).unsqueeze(3)
        if self.of_modifier is not None:
            scores = scores + self.of_modifier(q).transpose(1, 2).unsqueeze(2)
        return scores


class ArcNetwork(nn.Module):
    """Inputs and BiLSTM, with a biaffine form for arcs and, where there are relations, one for each
    of them.
    """

    def __init__(self, options: Mapping[str, Any], tokens: TokenSizes, relations: int) -> None:
        super().__init__()
        dropout, hidden = options["dropout"], options["hidden"]
        self.inputs = Inputs(
            len(tokens.words),
            options["word_size"],
            options["ngram_buckets"],
            options["ngram_size"],
            list(tokens.columns.values()),
            options["tag_size"],
            sum(tokens.dense),
            dropout,
            options["word_dropout"],
        )
        self.encoder = BiLSTM(self.inputs.size, hidden, options["layers"], dropout)
        self.arc = Biaffine(hidden, options["arc_size"], 1, dropout, modifiers=False)
        self.label = (
            Biaffine(hidden, options["relation_size"], relations, dropout, modifiers=True)
            if relations
            else None
        )

    def forward(
        self, batch: Batch, sentence: Array, heads: Array, modifiers: Array
    ) -> dict[str, Tensor]:
        """Scores of arcs, shape (arcs, 1), and of relations, (arcs, relations), each arc given by
        its sentence and words.
        """
        like = self.arc.root
        flat = self.encoder(self.inputs(batch, like), batch.lengths)
        h = nn.utils.rnn.pad_sequence(flat.split(batch.lengths.tolist()), batch_first=True)
        chosen = on(sentence, like), slice(None), on(heads, like), on(modifiers, like)
        forms = {"arc": self.arc, "label": self.label}
        return {name: form(h)[chosen] for name, form in forms.items() if form is not None}
