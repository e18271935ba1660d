"""The record of variables without factors between them: where the variables of instances begin, and
the parts of each.
"""

from __future__ import annotations

from typing import NamedTuple

from structopt.kernels.waist.fields import Longs
from structopt.kernels.waist.layout import RecordLayout


class Independent(NamedTuple):
    """The structure record, opened; m instances, V variables.

    Attributes
    ----------
    variables : (m + 1,) where the variables of each instance begin
    parts : (V + 1,) where the parts of each variable begin, counted over all instances; every
    output has one of them
    """

    variables: Longs
    parts: Longs


INDEPENDENT = RecordLayout(Independent)
open_independent = INDEPENDENT.compiled
