"""Local polytopes with few columns: what equations say about two-state variables, their tables and
copies is solved for.

A variable of two states has the column u, the mass of its state 1, and a table over two of them the
column q, the mass of (1, 1). All their parts follow,

    z(0) = 1 - u,    z(1, 0) = u - q,    z(0, 1) = u' - q,    z(0, 0) = 1 - u - u' + q,

and three rows say that those of the table are not negative. The full description has two columns a
variable, and four rows and columns a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structopt.inference.local_polytope import described
from structopt.kernels.loopy.factors import FACTORS, TABLE, Factors
from structopt.kernels.waist.record import Array, Record


class CompactPolytope(NamedTuple):
    """{z = parts x + constant : lower <= matrix x <= upper, 0 <= x <= 1}, the local polytope of an
    instance.

    Attributes
    ----------
    parts : scipy.sparse.csr_array, shape (parts, columns)
    constant : float64, shape (parts,)
    matrix : scipy.sparse.csr_array, shape (rows, columns)
    lower, upper : float64, shape (rows,)
    integral : int
        How many columns, from the first, belong to variables; where these are integers, so are all
        parts.
    ceiling, ground, row : int64, shape (parts,)
        How a part is fixed to 0: by an upper bound 0 of this column, by a lower bound 1 of this
        column, or by an upper bound of this row that is its lower one; -1 where not so.
    spare : tuple of (int64, int64, float64)
        Rows that may be left out where the score of these columns has this sign: see
        `structopt.core.data.polytope.Rows.add`.
    """

    parts: Any
    constant: Array
    matrix: Any
    lower: Array
    upper: Array
    integral: int
    ceiling: Array
    ground: Array
    row: Array
    spare: tuple[Array, Array, Array]


def compact_polytope(structure: Record, i: int, parts: int) -> CompactPolytope:
    """Describe the local polytope of instance i, which has `parts` parts; factors of other kinds as
    `local_polytope` does.
    """
    f = FACTORS.open(structure)
    first, last = f.variables[i], f.variables[i + 1]
    starts, widths = f.starts[first:last], f.widths[first:last]
    tables, others = _two_state_tables(f, i, widths)
    # part of state 0 of both variables
    ends = starts[f.linked[f.links[tables][:, None] + np.arange(2)]]
    # part (0, 0); (0, 1), (1, 0), (1, 1) follow
    corners = f.shared[i] + f.privates[tables] - f.privates[f.factors[i]]
    off = starts[widths == 2]
    derived = (corners[:, None] + np.arange(3)).ravel()

    rows = described(f, i, parts, widths > 2, others)
    copies, originals = rows.take_copies()
    row = np.full(parts, -1)
    row[derived] = rows.count + np.arange(len(derived))
    rows.add(0.0, np.inf, (np.arange(len(derived)), derived, 1.0), count=len(derived))
    full = rows.polytope(int(f.shared[i]))

    kept = np.ones(rows.columns, bool)
    kept[off] = kept[derived] = kept[copies] = False
    column = np.where(kept, np.cumsum(kept) - 1, -1)
    substitution, constant = _substitution(column, off, ends, corners, (copies, originals))
    shift, ground = full.matrix @ constant, np.full(parts, -1)
    ground[off] = column[off + 1]
    ceiling = column.copy()
    ceiling[copies] = column[originals]
    return CompactPolytope(
        parts=substitution[:parts],
        constant=constant[:parts],
        matrix=(full.matrix @ substitution).tocsr(),
        lower=full.lower - shift,
        upper=full.upper - shift,
        integral=int(kept[: full.shared].sum()),
        ceiling=ceiling[:parts],
        ground=ground,
        row=row,
        spare=(rows.spare[0], column[rows.spare[1]], rows.spare[2]),
    )


def _two_state_tables(f: Factors, i: int, widths: Array) -> tuple[Array, Array]:
    """Numbers of the tables over two variables of two states, and those of all other factors of
    instance i.
    """
    factors = np.arange(f.factors[i], f.factors[i + 1])
    small = f.kinds[factors] == TABLE
    linked = f.linked[f.links[factors[small]][:, None] + np.arange(2)]
    small[small] = (widths[linked] == 2).all(axis=1)
    return factors[small], factors[~small]


def _substitution(
    column: Array, off: Array, ends: Array, corners: Array, copies: tuple[Array, Array]
) -> tuple[Any, Array]:
    """Full columns as A x + b: A, shape (full columns, columns), and b.

    Parameters
    ----------
    column : int64, shape (full columns,)
        Number of each full column that is kept; -1 for the others.
    off : int64, shape (variables of two states,)
        Part of the state 0.
    ends : int64, shape (tables, 2)
        Part of the state 0 of both variables.
    corners : int64, shape (tables,)
        Part (0, 0).
    copies : tuple of int64 arrays
        Columns that equal others, and those.
    """
    from scipy.sparse import coo_array

    kept, (a, b), both = np.flatnonzero(column >= 0), (ends + 1).T, corners + 3
    entries = [
        (kept, kept, 1.0),
        (*copies, 1.0),
        (off, off + 1, -1.0),
        (corners, a, -1.0),
        (corners, b, -1.0),
        (corners, both, 1.0),
        (corners + 1, b, 1.0),
        (corners + 1, both, -1.0),
        (corners + 2, a, 1.0),
        (corners + 2, both, -1.0),
    ]
    values = np.concatenate([np.full(len(rows), value) for rows, _, value in entries])
    rows, columns = (
        np.concatenate([entry[k] for entry in entries]).astype(np.int64) for k in (0, 1)
    )
    constant = np.zeros(len(column))
    constant[off] = constant[corners] = 1.0
    return coo_array(
        (values, (rows, column[columns])), shape=(len(column), len(kept))
    ).tocsr(), constant
