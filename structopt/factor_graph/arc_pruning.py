"""Arc pruning: a model whose arcs are scored one by one leaves each token of a dependency tree few
heads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from structopt.core.data.encoded import ROOT, Encoded
from structopt.core.factor_graph import CoarseOutputs, FactorGraph, Pruned, Pruning
from structopt.core.parts.ragged import ends_of
from structopt.factor_graph.tree_corpora import trees_of
from structopt.kernels.waist.record import Array


@dataclass(frozen=True)
class ArcPruning(Pruning):
    """Keeps the heads h of each token m with p(h, m) >= ratio * max_g p(g, m), the max_heads most
    probable of them at most.

    p are the arc marginals of a model of `ArcFactored`. The arcs of its best tree are
    always kept, so that a tree survives whatever is pruned.

    Parameters
    ----------
    model, epochs, C : see `Pruning`
    ratio : float
    max_heads : int
        0: any number.
    projective, single_root : bool
        Which trees the model is trained on.

    Notes
    -----
    Martins et al. (2009), section 5; thresholds relative to the best head as in Rush and Petrov
    (2012).
    """

    model: str | None
    ratio: float
    max_heads: int
    epochs: int
    C: float
    projective: bool
    single_root: bool

    group: ClassVar[str] = "arc"
    features_left_out: ClassVar[tuple[str, ...]] = ("labels", "siblings", "grandparents")
    shared_options: ClassVar[tuple[str, ...]] = ("projective", "single_root")
    outputs: ClassVar[str] = "trees"
    numbered: ClassVar[str] = "words or relations"

    @property
    def graph(self) -> dict[str, Any]:
        """Trees of the same kind, without relations, whose arcs are scored one by one."""
        return {
            "name": "arc_factored",
            "projective": self.projective,
            "labeled": False,
            "single_root": self.single_root,
        }

    @property
    def thresholds(self) -> dict[str, float]:
        """The least probability, as a share of the best head's, and the most heads of a token."""
        return {"ratio": self.ratio, "max_heads": self.max_heads}

    def prune(
        self, graph: FactorGraph, encoded: Encoded, coarse: CoarseOutputs, keep_gold: bool
    ) -> Pruned:
        """See `Pruning`.

        The metrics are the candidate heads a token, and the share of the gold arcs that are kept
        without `keep_gold`.
        """
        trees, structure = trees_of(encoded), coarse.structure
        head, modifier = structure.part_tokens["arc"].T
        heads = np.where(head == ROOT, modifier, head)
        token = np.repeat(trees.offsets[:-1], np.diff(structure.spans("arc")[1])) + modifier
        tokens = int(trees.offsets[-1])
        keep = probable(
            coarse.marginals(),
            ends_of(np.bincount(token, minlength=tokens)),
            self.ratio,
            self.max_heads,
        )
        keep[coarse.best()] = True
        recall = None
        if trees.heads is not None:
            gold = heads == trees.heads[token]
            recall = float((gold & keep).sum()) / max(len(trees.heads), 1)
            keep |= gold & keep_gold
        arcs = ends_of(np.bincount(token[keep], minlength=tokens))
        mean = float(arcs[-1]) / max(tokens, 1)
        summary = f"{mean:.1f} heads a token" + (
            "" if recall is None else f", {100 * recall:.2f} % of gold arcs"
        )
        pruned = replace(trees, candidates=(arcs, heads[keep].astype(np.int32)))
        return Pruned(pruned, {"pruner_heads": mean, "pruner_recall": recall}, summary)


def probable(p: Array, arcs: Array, ratio: float, max_heads: int) -> Array:
    """Which arcs are at least so probable as a share of the token's best, and among its `max_heads`
    most probable.

    Parameters
    ----------
    p : float64, shape (arcs,)
    arcs : int64, shape (tokens + 1,)
        Offsets of the arcs of each token, which has at least one.
    ratio : float
    max_heads : int
        0: any number.

    Returns
    -------
    bool array of shape (arcs,)
    """
    if len(arcs) == 1:
        return np.zeros(0, bool)
    counts = np.diff(arcs)
    keep = p >= ratio * np.repeat(np.maximum.reduceat(p, arcs[:-1]), counts)
    if max_heads == 0:
        return keep
    # token by token, the most probable first
    order = np.lexsort((-p, np.repeat(np.arange(len(counts)), counts)))
    rank = np.empty(len(p), np.int64)
    rank[order] = np.arange(len(p)) - np.repeat(arcs[:-1], counts)
    chosen: Array = keep & (rank < max_heads)
    return chosen
