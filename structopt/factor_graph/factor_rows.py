"""Factor graphs of any shape as a record for the kernels (`structopt.kernels.loopy.factors` says
what the arrays mean).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from structopt.core.factor_kind_table import number_of
from structopt.kernels.waist.record import Array, Record


@dataclass
class FactorRows:
    """The variables and factors of one instance, gathered one by one.

    Attributes
    ----------
    widths : list of int
        Parts of each variable, 1 for binary ones.
    kinds, links, privates, extras : lists, one entry a factor
        Kind, linked variables, number of private parts, and extra numbers.
    """

    widths: Array
    kinds: list[int] = field(default_factory=list)
    links: list[Array] = field(default_factory=list)
    privates: list[int] = field(default_factory=list)
    extras: list[Array] = field(default_factory=list)

    def add(
        self, kind: int | str, linked: Array, privates: int = 0, extra: Array | None = None
    ) -> None:
        """Add a factor of a kind, by the kind's name or number."""
        self.kinds.append(number_of(kind) if isinstance(kind, str) else kind)
        self.links.append(np.asarray(linked, np.int32))
        self.privates.append(privates)
        self.extras.append(np.zeros(0, np.int32) if extra is None else np.asarray(extra, np.int32))


def pack_factors(rows: list[FactorRows]) -> Record:
    """Pack the factor graphs of a corpus, one `FactorRows` an instance."""
    from structopt.kernels.loopy.factors import FACTORS

    links = [one for row in rows for one in row.links]
    extras = [one for row in rows for one in row.extras]
    nothing = [np.zeros(0, np.int64)]
    return FACTORS.pack(
        variables=_offsets(len(row.widths) for row in rows),
        widths=np.concatenate([row.widths for row in rows] + nothing),
        starts=np.concatenate([np.cumsum(row.widths) - row.widths for row in rows] + nothing),
        factors=_offsets(len(row.kinds) for row in rows),
        kinds=np.array([kind for row in rows for kind in row.kinds], np.int32),
        links=_offsets(map(len, links)),
        linked=np.concatenate([*links, *nothing]),
        privates=_offsets(count for row in rows for count in row.privates),
        extras=_offsets(map(len, extras)),
        extra=np.concatenate([*extras, *nothing]),
        shared=np.array([int(np.sum(row.widths)) for row in rows], np.int64),
    )


def _offsets(counts: Iterable[int]) -> Array:
    return np.cumsum([0, *counts], dtype=np.int64)
