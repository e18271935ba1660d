"""Where the parts of graphs are in those of the same instances with more labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import Matches
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array

OTHER_PARTS = (
    "warm_start.state=all: the graphs of the first instances of these data have not the parts "
    "that their dual variables are of. "
    "Give all instances that the state has seen, in the same order, and new ones after them; "
    "with new labels that change more "
    "than the number of a variable's states, train anew."
)


def with_labels(encoded: Encoded, labels: tuple[str, ...]) -> Encoded:
    """A corpus as it is laid out where there are only these labels: without gold, and without
    constraints.
    """
    return replace(
        encoded,
        labels=labels,
        gold=None,
        gold_sets=None,
        allowed=None,
        forbidden_starts=(),
        forbidden_ends=(),
        forbidden_transitions=(),
    )


def part_matches(
    graph: FactorGraph,
    encoded: Encoded,
    structure: Structure,
    labels: tuple[str, ...],
    matches: Matches,
    positional: bool,
) -> Array:
    """Indices in a vector over all parts of the parts that the first instances had with fewer
    labels.

    Parameters
    ----------
    graph : FactorGraph
        As it was with these labels.
    encoded : Encoded
        The first instances, with all labels.
    structure : Structure
        Of these and further instances.
    labels : tuple of str
        The earlier labels.
    matches : Matches
        Which configurations of the groups bear the same names.
    positional : bool
        Whether every factor has parts of its own.

    Returns
    -------
    int64, shape (earlier parts,)

    Raises
    ------
    ConfigError
        If an earlier part is none of the new ones.
    """
    earlier, m = graph.build(with_labels(encoded, labels), positional), len(encoded)
    indices = np.zeros(int(earlier.parts[-1]), np.int64)
    if [group.name for group in earlier.groups] != [group.name for group in structure.groups]:
        raise ConfigError(OTHER_PARTS)
    for old, new in zip(earlier.groups, structure.groups, strict=True):
        if not np.array_equal(old.offsets, new.offsets[: m + 1]):
            raise ConfigError(OTHER_PARTS)
        before, now = (np.arange(old.width), np.arange(old.width))
        if old.width != new.width:
            before, now = matches.configurations(old.name, old.width, new.width)
        if len(before) < old.width:
            raise ConfigError(OTHER_PARTS)
        starts = (
            _starts(earlier, old, m)[:, None] + before,
            _starts(structure, new, m)[:, None] + now,
        )
        indices[starts[0].ravel()] = starts[1].ravel()
    return indices


def _starts(structure: Structure, group: PartGroup, m: int) -> Array:
    """Where the parts of every position of a group begin, in a vector over all parts; of the first
    m instances.
    """
    lengths, (begins, _) = np.diff(group.offsets[: m + 1]), structure.spans(group.name)
    local = np.arange(int(group.offsets[m])) - np.repeat(group.offsets[:m], lengths)
    starts: Array = np.repeat(structure.parts[:m] + begins[:m], lengths) + local * group.width
    return starts
