"""The second tier: compiled functions, and the records that they read.

`kernel` and `driver` compile functions. Records are flat arrays, declared as named tuples
(`RecordLayout`). Signatures, such as `SOLVE` and `EVALUATE`, are the types of the functions that
inferences and losses define. These names may change in every minor version; the changelog says how
to port a plugin.
"""

from __future__ import annotations

from structopt.core.factor_graph import Calculus
from structopt.core.factor_kind import FactorAbility
from structopt.core.inference import Messages
from structopt.core.structure_kind import StructureKind, check_count
from structopt.factor_graph.grammar.forests import sentences as forest_sentences
from structopt.factor_graph.kinds import ARBORESCENCE, INDEPENDENT, PROJECTIVE, SINGLE
from structopt.kernels.arrays.ranked_lists import insert
from structopt.kernels.arrays.rows import set_row
from structopt.kernels.chain.constraints import constrain as constrain_chain
from structopt.kernels.chain.record import open_chain
from structopt.kernels.decorators import driver, kernel
from structopt.kernels.forest.record import FORESTS
from structopt.kernels.loopy.factors import FACTORS, open_factors
from structopt.kernels.loopy.open_kinds import (
    FACTOR_EXTEND,
    FACTOR_LOCAL,
    FACTOR_MESSAGES,
    FACTOR_PROJECT,
)
from structopt.kernels.waist.ahead import ask_ahead
from structopt.kernels.waist.fields import Flag, Float, Floats, Int, Ints, Long, Longs, Wide, Words
from structopt.kernels.waist.halting import halted
from structopt.kernels.waist.layout import RecordLayout
from structopt.kernels.waist.record import EMPTY, Record
from structopt.kernels.waist.signatures import (
    EVALUATE,
    INTS,
    K_BEST,
    LONGS,
    RECORD,
    ROUND,
    SOLVE,
    VECTOR,
    Data,
    Kernels,
    Space,
)
from structopt.kernels.waist.target import (
    add_cost,
    add_gold,
    gold_score,
    is_set,
    list_parts,
    open_target,
    restrict,
)
from structopt.kernels.waist.visit import size, visit

__all__ = [
    "ARBORESCENCE",
    "Calculus",
    "Data",
    "EMPTY",
    "EVALUATE",
    "FACTORS",
    "FACTOR_EXTEND",
    "FACTOR_LOCAL",
    "FACTOR_MESSAGES",
    "FACTOR_PROJECT",
    "FORESTS",
    "FactorAbility",
    "Flag",
    "Float",
    "Floats",
    "INDEPENDENT",
    "INTS",
    "Int",
    "Ints",
    "K_BEST",
    "Kernels",
    "LONGS",
    "Long",
    "Longs",
    "Messages",
    "PROJECTIVE",
    "RECORD",
    "ROUND",
    "Record",
    "RecordLayout",
    "SINGLE",
    "SOLVE",
    "Space",
    "StructureKind",
    "VECTOR",
    "Wide",
    "Words",
    "add_cost",
    "add_gold",
    "ask_ahead",
    "check_count",
    "constrain_chain",
    "driver",
    "forest_sentences",
    "gold_score",
    "halted",
    "insert",
    "is_set",
    "kernel",
    "list_parts",
    "open_chain",
    "open_factors",
    "open_target",
    "restrict",
    "set_row",
    "size",
    "visit",
]
