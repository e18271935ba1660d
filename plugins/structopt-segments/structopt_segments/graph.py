"""Semi-Markov chains: segments of tokens have labels, and factors over whole segments and their
neighbours.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from structopt.plugin import (
    AllowedParts,
    Array,
    ConfigError,
    FactorGraph,
    GraphTraits,
    InferenceKernels,
    PartGroup,
    SparseVectors,
    Structure,
    part_offsets,
)
from structopt.plugin.kernels import StructureKind
from structopt.plugin.provisional import Encoded, allowed_labels, chosen_labels
from structopt_segments.constraints import excluded_parts, forbidden_pairs
from structopt_segments.labels import (
    Segmentation,
    SegmentLabels,
    mistakes,
    segment_labels,
    segmentation,
)
from structopt_segments.listing import active_parts, segment_vertices


def lists() -> Any:
    """Load the kernel that lists the k best outputs; importing it compiles it."""
    from structopt_segments.k_best import k_best

    return k_best


def algorithms() -> InferenceKernels:
    """The exact algorithms; importing them compiles them."""
    from structopt_segments.kernels import solve

    return InferenceKernels(solve, load_k_best=lists)


KIND = StructureKind("segments", algorithms, segment_vertices, lists=True)


class Segments(FactorGraph):
    r"""A semi-Markov chain: a sequence is cut into segments of at most M tokens, and each has a
    label.

        score(y) = sum_t s_t(y_t) + sum_segments s_seg(length, y) + sum_neighbours s_tr(y, y')

    y_t is the label of token t, and a segment is named by the label of its first token. With IOB2
    and BIOES labels a segment is an entity, or one token ``O``; with plain labels a run of one
    label, where runs of more than M tokens are cut every M tokens. Thus a labelling has at most one
    segmentation. Labellings without one, such as ``O I-PER``, are not outputs.

    The parts of n tokens: n x L labels; then, tied, a group of L for each length up to M, and L x L
    transitions between consecutive segments. Inference costs O(n (M L + L^2)).

    Parameters
    ----------
    max_length : int
        Tokens M of the longest segment, at least 1.

    Notes
    -----
    Sarawagi and Cohen (2004), "Semi-Markov conditional random fields for information extraction",
    NIPS 17. With M = 1 and plain labels it is a linear chain.
    """

    traits = GraphTraits(KIND)
    views = MappingProxyType({"labels": "label", "segments": "label"})

    def __init__(self, max_length: int = 8) -> None:
        if max_length < 1:
            raise ConfigError(f"factor_graph.max_length={max_length} must be at least 1.")
        self.max_length = max_length

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of labels, segments and transitions, and the hard constraints;
        `positional` changes nothing.

        Raises
        ------
        ConfigError
            For a corpus without labelled sequences, for features on transitions, and for
            constraints that the graph cannot keep.
        """
        from structopt_segments.chain import CHAIN, SCRATCH

        _check(encoded)
        L, M, scheme = (
            len(encoded.labels),
            self.max_length,
            segment_labels(encoded.labels, self.max_length),
        )
        n = int(np.diff(encoded.offsets).max(initial=1))
        scheme, forbidden = forbidden_pairs(scheme, encoded)
        excluded_offsets, excluded = excluded_parts(encoded)
        groups, row = self._groups(encoded), (n + 1) * L
        record = CHAIN.pack(
            labels=L,
            max_length=M,
            runs=scheme.runs,
            tokens=encoded.offsets,
            first=np.flatnonzero(scheme.longest >= scheme.shortest),
            shortest=scheme.shortest,
            longest=scheme.longest,
            inner=scheme.inner,
            last=scheme.last,
            forbidden=forbidden,
            excluded_offsets=excluded_offsets,
            excluded=excluded,
        )
        work = SCRATCH.pack(
            weight=n * L * M,
            enter=row,
            best=row,
            after=row,
            full=row,
            out=row,
            source=row,
            length=row,
        )
        memory = np.zeros(len(encoded) + 1, np.int64)
        return Structure(
            record, groups, part_offsets(groups), self.kind, memory, work, active=3 * n
        )

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Indicators of the gold labels, and counts of the gold segments and transitions.

        Raises
        ------
        ConfigError
            For gold labels that are no segmentation, and for segments that are too long.
        """
        assert encoded.gold is not None
        L, labels = len(encoded.labels), encoded.gold.astype(np.int64)
        scheme = segment_labels(encoded.labels, self.max_length)
        segments = segmentation(scheme, self.max_length, encoded.offsets, labels)
        self._check_gold(encoded, scheme, segments)
        owners, parts = active_parts(segments, labels, encoded.offsets, L, self.max_length)
        size = int(np.diff(structure.parts).max(initial=1))
        numbers, counts = np.unique(owners * size + parts, return_counts=True)
        offsets = np.searchsorted(numbers, np.arange(len(encoded) + 1) * size).astype(np.int64)
        return SparseVectors(offsets, (numbers % size).astype(np.int32), counts.astype(np.float64))

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """Label parts that the gold labels may have."""
        return allowed_labels(encoded)

    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Array:
        """``labels``: the number of every token's label. ``segments``: one row per segment, int64
        of shape (segments, 3).

        The row is the first token of the segment and the one after its last, both counted over the
        whole corpus, and the number of its first token's label.
        """
        labels = chosen_labels(encoded, structure, outputs)
        if name == "labels":
            return labels
        scheme = segment_labels(encoded.labels, self.max_length)
        return np.stack(segmentation(scheme, self.max_length, encoded.offsets, labels), axis=1)

    def _groups(self, encoded: Encoded) -> tuple[PartGroup, ...]:
        L, once = len(encoded.labels), np.arange(len(encoded) + 1, dtype=np.int64)
        lengths = [
            PartGroup(f"segment_{length}", L, once, tied=True)
            for length in range(1, self.max_length + 1)
        ]
        return (
            PartGroup("label", L, encoded.offsets),
            *lengths,
            PartGroup("transition", L * L, once, tied=True),
        )

    def _check_gold(self, encoded: Encoded, scheme: SegmentLabels, segments: Segmentation) -> None:
        """Refuse gold labels that are not an output; partial labels need not be one."""
        instance = np.searchsorted(encoded.offsets, segments.begins, side="right") - 1
        complete = np.ones(len(encoded), bool)
        if encoded.gold_sets is not None:
            partial = np.flatnonzero(encoded.gold_sets.sum(axis=1) > 1)
            complete[np.searchsorted(encoded.offsets, partial, side="right") - 1] = False
        assert encoded.gold is not None
        lengths, complete = segments.ends - segments.begins, complete[instance]
        wrong = np.flatnonzero(complete & mistakes(scheme, segments, encoded.gold))
        if len(wrong):
            raise ConfigError(_mistake(encoded, int(instance[wrong[0]]), segments, int(wrong[0])))
        long = np.flatnonzero(complete & (lengths > scheme.longest[segments.labels]))
        if len(long):
            first, most = long[0], int(lengths[long].max())
            raise ConfigError(
                f"factor_graph.max_length={self.max_length}: instance {instance[first] + 1} of "
                "the training data has a segment "
                f"of {lengths[first]} tokens ({encoded.labels[segments.labels[first]]}). Set "
                f"factor_graph.max_length={most}."
            )


def _check(encoded: Encoded) -> None:
    """Refuse corpora that are not labelled sequences, and features on transitions."""
    if type(encoded).subset is not Encoded.subset:
        raise ConfigError(
            "factor_graph=segments labels sequences, and this task has other outputs. Take the "
            "task's own factor graph, or "
            "task=ner, chunking or tagging."
        )
    if "transition" in encoded.tables:
        raise ConfigError(
            "features.transitions weigh pairs of neighbouring tokens, and factor_graph=segments "
            "joins segments. "
            "Set features.transitions=[], or take factor_graph=linear_chain."
        )


def _mistake(encoded: Encoded, i: int, segments: Segmentation, k: int) -> str:
    """The message about gold labels that are not a segment."""
    assert encoded.gold is not None
    first, end = int(segments.begins[k]), int(segments.ends[k])
    labels = " ".join(encoded.labels[y] for y in encoded.gold[first:end][:10])
    return (
        f"factor_graph=segments: instance {i + 1} of the training data has labels that are no "
        "segments, from its token "
        f"{first - int(encoded.offsets[i]) + 1} on: {labels}. Correct them, check task.scheme "
        "and task.target_scheme, or take "
        "factor_graph=linear_chain."
    )
