"""Features of batches that are given as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse

from structopt.core import checks
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.factor_graph import FactorGraph
from structopt.core.parts.batch import Batch
from structopt.core.scorer import SparseFeatures
from structopt.errors import ArgumentError
from structopt.features.attribute_rows import AttributeRows
from structopt.features.sparse_map import SparseMap


@dataclass(frozen=True)
class ArrayFeatures:
    """Features of the positions of groups of parts, or a map from weights to part scores.

    Attributes
    ----------
    tables : mapping of str to AttributeTable
        By groups.
    map : SparseMap or None
    """

    tables: Mapping[str, AttributeTable]
    map: SparseMap | None = None

    @classmethod
    def of(cls, batch: Batch, x: Mapping[str, Any], features: SparseMap | None) -> Self:
        """Read the arrays of users.

        Raises
        ------
        ArgumentError
            For unknown and tied groups, other shapes, NaN and infinite numbers; for edges that are
            given with the higher variable first, unless `features` has their weights.
        """
        if features is None:
            _refuse_turned(batch)
            return cls({name: _table(batch, name, value) for name, value in x.items()})
        if x:
            raise ArgumentError("Give x or features, and not both.", parameter="features")
        if not isinstance(features, SparseMap):
            raise ArgumentError(
                "must be SparseMap(A) or None.", parameter="features", value=features
            )
        if features.parts != int(batch.offsets[-1]):
            raise ArgumentError(
                f"maps to {features.parts} parts, and the batch has {int(batch.offsets[-1])}.",
                parameter="features",
            )
        return cls({}, features)

    def laid_out(self, encoded: Encoded, structure: Structure) -> SparseFeatures:
        """Return the layout of the weights."""
        if self.map is not None:
            if int(structure.parts[-1]) != self.map.parts:
                raise ArgumentError(
                    "maps to parts that this optimizer does not have: it needs parts of its own "
                    "for every factor.",
                    parameter="features",
                    remedy="Make the batch with tied=False, or take x.",
                )
            return self.map
        scored = [group.name for group in structure.groups if group.scored]
        for name in self.tables:
            if name not in scored:
                raise ArgumentError(
                    "has features of parts that have no weights of their own. Parts with weights "
                    f"are: {', '.join(scored)}.",
                    parameter=f"x[{name!r}]",
                    remedy="If the optimizer needs parts of its own for every factor, take another "
                    "one, such as LBFGS().",
                )
        nothing = SparseVectors(
            np.zeros(len(encoded) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)
        )
        return AttributeRows("all").fit(encoded, structure, nothing)


def described(
    graph: FactorGraph, positional: bool, groups: Sequence[str], encoded: Encoded
) -> Structure:
    """Return the factor graphs of instances, with the features of the positions of `groups`."""
    tables = {name: encoded.tables[name] for name in groups}
    return with_tables(graph.build(encoded, positional), tables)


def with_tables(structure: Structure, tables: Mapping[str, AttributeTable]) -> Structure:
    """Return factor graphs with features of the positions of groups, and no others."""
    return replace(structure, attributes={**structure.attributes, **tables})


def _refuse_turned(batch: Batch) -> None:
    """Refuse edges whose table of weights would be read the other way round."""
    for layout in batch.layouts.values():
        if layout.joined is None or layout.joined.shape[1] != 2:
            continue
        turned = np.flatnonzero(layout.joined[:, 0] > layout.joined[:, 1])
        if len(turned):
            instance = int(np.searchsorted(layout.offsets, turned[0], side="right")) - 1
            one, other = layout.joined[turned[0]].tolist()
            raise ArgumentError(
                f"joins the variables {one} and {other} of instance {instance}. The rows of the "
                "weights of an edge are the labels of the lower variable.",
                parameter="edges",
                remedy="Give the lower variable first, or features=SparseMap(A).",
            )


def _table(batch: Batch, group: str, value: Any) -> AttributeTable:
    """Return the features of the positions of a group as a table."""
    layout = batch.layout(group)
    name = f"x[{group!r}]"
    if not layout.sides:
        raise ArgumentError(
            "has one position per instance, which has no features.",
            parameter=name,
            remedy="Make the batch with tied=False.",
        )
    if scipy.sparse.issparse(value):
        return _sparse(name, value, layout.positions)
    shape = np.shape(
        next((v for v in value if np.size(v)), ()) if isinstance(value, list) else value
    )
    if len(shape) < 2:
        raise ArgumentError(
            f"has the shape {shape}, and not (positions, features).", parameter=name
        )
    wide = replace(layout, name=name, cells=(shape[-1],))
    dense = wide.read(value, forbids=False)
    count, width = dense.shape
    ids = np.tile(np.arange(width, dtype=np.int32), count)
    return AttributeTable(np.arange(count + 1, dtype=np.int64) * width, ids, dense.ravel(), width)


def _sparse(name: str, value: Any, positions: int) -> AttributeTable:
    rows = scipy.sparse.csr_array(value, copy=True)
    if rows.shape[0] != positions:
        raise ArgumentError(
            f"has {rows.shape[0]} rows, and the group has {positions} positions.", parameter=name
        )
    rows.sum_duplicates()
    values = checks.floats(name, rows.data)
    ends, ids = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    return AttributeTable(ends, ids, values, int(rows.shape[1]))
