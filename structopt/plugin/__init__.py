"""The first tier of the interface of plugins: components, and the data of their contracts.

- Contracts, one per kind of component: `FactorGraph`, `FactorKind`, `Inference`, `Loss`, `Cost`,
  `Optimizer`, `Tracker`, `Executor`. A component inherits from the contract of its kind. The
  docstrings of a contract describe each method; most methods have a default.
- The data types that methods of contracts take and return.
- Components to inherit from: `LossFamily` and `Pairwise`.
- Errors that a user can fix.

A name leaves this tier only after a minor version in which it warns. The second tier may change in
every minor version: `structopt.plugin.kernels` has compiled functions and records,
`structopt.plugin.provisional` the contracts of tasks and features, which will be replaced, and
`structopt.plugin.reports` the reports of experiments. All other modules are internal.
docs/plugin_api.md lists the names.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from structopt.core.ability import Ability
from structopt.core.cost import Cost
from structopt.core.data.polytope import Rows
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure, part_offsets
from structopt.core.data.targets import AllowedParts, Targets
from structopt.core.executor import Executor, InThisProcess, Placement
from structopt.core.factor_graph import FactorGraph, GraphTraits
from structopt.core.factor_kind import FactorKernels, FactorKind
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.memory import Footprint, ProblemSizes
from structopt.core.needs import CONVEX, DUAL, FAMILY, MARGINS, Demand, Needs, Property
from structopt.core.objective import Certificate, Objective
from structopt.core.optimizer import Earlier, Optimizer, Plan, Report
from structopt.core.optimizer_state import State
from structopt.core.parts.batch import Gold
from structopt.core.parts.parts import Parts
from structopt.core.structure_kind import InferenceKernels
from structopt.core.tracker import Run, Tracker
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
from structopt.factor_graph.kinds import CHAIN, LOOPY, TABLES
from structopt.factor_graph.pairwise import Pairwise
from structopt.kernels.waist.record import Array
from structopt.loss.family import HAMMING, LossFamily

__all__ = [
    "Ability",
    "AllowedParts",
    "ArgumentError",
    "Array",
    "CHAIN",
    "CONVEX",
    "Certificate",
    "CompatibilityError",
    "ConfigError",
    "Cost",
    "DUAL",
    "DataError",
    "Demand",
    "Earlier",
    "Executor",
    "FAMILY",
    "FactorGraph",
    "FactorKernels",
    "FactorKind",
    "FactorRows",
    "Footprint",
    "Gold",
    "GraphTraits",
    "HAMMING",
    "InThisProcess",
    "InfeasibleError",
    "Inference",
    "InferenceKernels",
    "LOOPY",
    "Loss",
    "LossFamily",
    "MARGINS",
    "ModelError",
    "Needs",
    "Objective",
    "Optimizer",
    "Pairwise",
    "PartGroup",
    "Parts",
    "Penalty",
    "Placement",
    "Plan",
    "ProblemSizes",
    "Property",
    "Report",
    "Rows",
    "Run",
    "SparseVectors",
    "State",
    "StructoptError",
    "Structure",
    "TABLES",
    "Targets",
    "Tracker",
    "did_you_mean",
    "pack_factors",
    "part_offsets",
]

REMOVAL = "0.3"
"""The version that removes the names of version 0.1 that are in the second tier now."""
SECOND = ("structopt.plugin.kernels", "structopt.plugin.provisional")
REPLACED = {
    "driven": "the decorator driver without types",
    "embedded": "the decorator kernel without a signature",
    "inlined": "the decorator kernel without a signature",
}
"""Decorators of version 0.1, and their replacements in `structopt.plugin.kernels`."""


def __getattr__(name: str) -> Any:
    """Return a name of version 0.1 that is in the second tier now, with a warning."""
    if name in REPLACED:
        home = "structopt.kernels.waist.signatures"
        advice = f"use {REPLACED[name]}, from structopt.plugin.kernels"
    else:
        homes = (
            []
            if name.startswith("_")
            else [one for one in SECOND if name in import_module(one).__all__]
        )
        if not homes:
            raise AttributeError(f"module 'structopt.plugin' has no attribute {name!r}")
        home, advice = homes[0], f"import it from {homes[0]}"
    warnings.warn(
        f"structopt.plugin.{name} is deprecated, and version {REMOVAL} removes it: {advice}.",
        DeprecationWarning,
        stacklevel=2,
    )
    return vars(import_module(home))[name]
