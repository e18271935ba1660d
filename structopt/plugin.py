"""The only module, beside `structopt.testing`, that a plugin imports: the names in `__all__` are
not renamed.

- Contracts, one for each kind of component: `Task`, `FactorGraph`, `FactorKind`, `Inference`,
  `Loss`, `Cost`, `Optimizer`, `Scorer`, `Tracker`, `Executor`. A component inherits from the
  contract of its kind, whose docstrings say what every method does, and which has a default
  wherever one makes sense.
- The data types that methods of contracts take and return, and the errors that a user can mend.
- What compiled kernels are written with: decorators, signatures, records.
- The core's kinds of structures (`StructureKind`), for graphs that use the core's algorithms.
- Components to inherit from: `LossFamily`, `Pairwise` and `SequenceLabelling`; and sparse features
  to stand beside others: `AttributeRows`, `HashedTemplates`, `AnchoredTemplates`.
"""

from __future__ import annotations

from structopt.core.ability import Ability
from structopt.core.cost import Cost
from structopt.core.data.attribute_table import AttributeTable
from structopt.core.data.dense_table import DenseTable
from structopt.core.data.encoded import (
    NONE,
    ROOT,
    Encoded,
    EncodedConstituents,
    EncodedGraphs,
    EncodedMentions,
    EncodedTrees,
)
from structopt.core.data.polytope import Rows
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.table_schema import Column, Schema
from structopt.core.data.targets import AllowedParts, Targets
from structopt.core.executor import Executor, InThisProcess, Placement
from structopt.core.factor_graph import Calculus, FactorGraph, GraphTraits
from structopt.core.factor_kind import FactorAbility, FactorKernels, FactorKind
from structopt.core.inference import Inference, Messages
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import CONVEX, DUAL, FAMILY, MARGINS, Demand, Needs, Property
from structopt.core.objective import Certificate, Objective
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report
from structopt.core.optimizer_state import State
from structopt.core.scorer import (
    BatchMap,
    FeatureKernels,
    FeatureScratch,
    Matches,
    Scorer,
    SparseFeatures,
)
from structopt.core.structure_kind import InferenceKernels, StructureKind, check_count
from structopt.core.task import Outcomes, Task
from structopt.core.tracker import Run, Tracker
from structopt.core.weights.coordinates import Coordinate, Named, Names, Occurring
from structopt.core.weights.penalty import Penalty
from structopt.errors import (
    ArgumentError,
    CompatibilityError,
    ConfigError,
    DataError,
    InfeasibleError,
    ModelError,
    StructoptError,
    did_you_mean,
)
from structopt.factor_graph.factor_rows import FactorRows, pack_factors
from structopt.factor_graph.grammar.forests import sentences as forest_sentences
from structopt.factor_graph.kinds import (
    ARBORESCENCE,
    CHAIN,
    INDEPENDENT,
    LOOPY,
    PROJECTIVE,
    SINGLE,
    TABLES,
)
from structopt.factor_graph.label_parts import allowed_labels, chosen_labels
from structopt.factor_graph.pairwise import Pairwise
from structopt.features.anchored_templates import AnchoredTemplates
from structopt.features.attribute_rows import AttributeRows
from structopt.features.hashed_templates import HashedTemplates
from structopt.formats.conll_reader import Columns
from structopt.formats.text_files import read_text, write_text
from structopt.kernels.arrays.ranked_lists import insert
from structopt.kernels.arrays.rows import set_row
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
from structopt.kernels.waist.record import EMPTY, Array, Record
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
    driven,
    driver,
    embedded,
    inlined,
    kernel,
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
from structopt.loss.family import HAMMING, LossFamily
from structopt.task.key_checks import check_keys
from structopt.task.sequence_labelling import SequenceLabelling
from structopt.task.split_files import checked_paths

__all__ = [
    "ARBORESCENCE",
    "Ability",
    "AllowedParts",
    "AnchoredTemplates",
    "ArgumentError",
    "Array",
    "AttributeRows",
    "AttributeTable",
    "BatchMap",
    "CHAIN",
    "CONVEX",
    "Calculus",
    "Certificate",
    "Column",
    "Columns",
    "CompatibilityError",
    "ConfigError",
    "Coordinate",
    "Cost",
    "DUAL",
    "Data",
    "DataError",
    "Demand",
    "DenseTable",
    "EMPTY",
    "EVALUATE",
    "Earlier",
    "Encoded",
    "EncodedConstituents",
    "EncodedGraphs",
    "EncodedMentions",
    "EncodedTrees",
    "Executor",
    "FACTORS",
    "FACTOR_EXTEND",
    "FACTOR_LOCAL",
    "FACTOR_MESSAGES",
    "FACTOR_PROJECT",
    "FAMILY",
    "FORESTS",
    "FactorAbility",
    "FactorGraph",
    "FactorKernels",
    "FactorKind",
    "FactorRows",
    "FeatureKernels",
    "FeatureScratch",
    "Flag",
    "Float",
    "Floats",
    "Footprint",
    "GraphTraits",
    "HAMMING",
    "HashedTemplates",
    "INDEPENDENT",
    "INTS",
    "InThisProcess",
    "InfeasibleError",
    "Inference",
    "InferenceKernels",
    "Int",
    "Ints",
    "K_BEST",
    "Kernels",
    "LONGS",
    "LOOPY",
    "Long",
    "Longs",
    "Loss",
    "LossFamily",
    "MARGINS",
    "Matches",
    "Messages",
    "ModelError",
    "NONE",
    "Named",
    "Names",
    "Needs",
    "Objective",
    "Occurring",
    "Optimizer",
    "Outcomes",
    "PROJECTIVE",
    "Pairwise",
    "PartGroup",
    "Penalty",
    "Placement",
    "Plan",
    "ProblemSizes",
    "Property",
    "RECORD",
    "ROOT",
    "ROUND",
    "Record",
    "RecordLayout",
    "Report",
    "Rows",
    "Run",
    "SINGLE",
    "SOLVE",
    "SavedState",
    "Schema",
    "Scorer",
    "SequenceLabelling",
    "Space",
    "SparseFeatures",
    "SparseVectors",
    "State",
    "StructoptError",
    "Structure",
    "StructureKind",
    "TABLES",
    "Targets",
    "Task",
    "Tracker",
    "VECTOR",
    "Wide",
    "Words",
    "add_cost",
    "add_gold",
    "allowed_labels",
    "ask_ahead",
    "check_count",
    "check_keys",
    "checked_paths",
    "chosen_labels",
    "did_you_mean",
    "driven",
    "driver",
    "embedded",
    "forest_sentences",
    "gold_score",
    "halted",
    "inlined",
    "insert",
    "is_set",
    "kernel",
    "list_parts",
    "open_factors",
    "open_target",
    "pack_factors",
    "part_offsets",
    "read_text",
    "restrict",
    "set_row",
    "size",
    "visit",
    "write_text",
]
