"""The second tier: tasks, features and encoded corpora.

Plugins need these names today, and they are not promised. A later version divides `Task` into a
reader, an encoder, a decoder and metrics, replaces the classes `Encoded*` by one ragged corpus, and
changes `Scorer` with them. The changelog will say how to port a plugin.
"""

from __future__ import annotations

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
from structopt.core.data.saved_state import SavedState
from structopt.core.data.table_schema import Column, Schema
from structopt.core.scorer import (
    BatchMap,
    FeatureKernels,
    FeatureScratch,
    Matches,
    Scorer,
    SparseFeatures,
)
from structopt.core.task import Outcomes, Task
from structopt.core.weights.coordinates import Coordinate, Named, Names, Occurring
from structopt.factor_graph.label_parts import allowed_labels, chosen_labels
from structopt.features.anchored_templates import AnchoredTemplates
from structopt.features.attribute_rows import AttributeRows
from structopt.features.hashed_templates import HashedTemplates
from structopt.formats.conll_reader import Columns
from structopt.formats.file_format import FileFormat
from structopt.formats.text_files import read_text, write_text
from structopt.task.key_checks import check_keys
from structopt.task.sequence_labelling import SequenceLabelling
from structopt.task.split_files import checked_paths

__all__ = [
    "AnchoredTemplates",
    "AttributeRows",
    "AttributeTable",
    "BatchMap",
    "Column",
    "Columns",
    "Coordinate",
    "DenseTable",
    "Encoded",
    "EncodedConstituents",
    "EncodedGraphs",
    "EncodedMentions",
    "EncodedTrees",
    "FeatureKernels",
    "FeatureScratch",
    "FileFormat",
    "HashedTemplates",
    "Matches",
    "NONE",
    "Named",
    "Names",
    "Occurring",
    "Outcomes",
    "ROOT",
    "SavedState",
    "Schema",
    "Scorer",
    "SequenceLabelling",
    "SparseFeatures",
    "Task",
    "allowed_labels",
    "check_keys",
    "checked_paths",
    "chosen_labels",
    "read_text",
    "write_text",
]
