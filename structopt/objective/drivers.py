"""Kernels put side by side for the drivers."""

from __future__ import annotations

from typing import Any, NamedTuple

from structopt.core.factor_graph import Calculus, FactorGraph
from structopt.core.inference import Inference
from structopt.core.scorer import FeatureKernels, Scorer
from structopt.core.structure_kind import InferenceKernels
from structopt.kernels.waist.signatures import Kernels, is_compiled
from structopt.objective import scoring


class GraphKernels(NamedTuple):
    """What a graph knows in closed form of its marginals, and how it makes outputs of fractional
    ones; None: nothing.
    """

    calculus: Calculus | None = None
    rounding: Any = None

    @classmethod
    def of(cls, graph: FactorGraph, positional: bool) -> GraphKernels:
        """Those of a graph; closed forms of its positional structures alone."""
        return cls(graph.calculus if positional else None, graph.rounding)


NO_CLOSED_FORMS = GraphKernels()


def compose(
    features: FeatureKernels,
    inference: InferenceKernels,
    evaluate: Any = None,
    graph: GraphKernels = NO_CLOSED_FORMS,
) -> Kernels:
    """Put the kernels side by side; where the inference is plain Python, so is the loss, which
    calls it.
    """
    from structopt.kernels.waist import stand_ins

    evaluate = evaluate or stand_ins.no_loss
    if is_compiled(evaluate) and not is_compiled(inference.solve):
        evaluate = evaluate.py_func
    closed_forms = graph.calculus or Calculus(
        stand_ins.no_entropy, stand_ins.no_slope, stand_ins.no_conditionals
    )
    rounding = inference.round or graph.rounding or stand_ins.no_rounding
    features = features._replace(
        listed_scores=features.listed_scores or features.scores,
        prefetch=features.prefetch or stand_ins.no_prefetch,
    )
    lists = inference.k_best or stand_ins.no_k_best
    return Kernels(*features, evaluate, inference.solve, lists, rounding, *closed_forms)


def with_lists(kernels: Kernels, inference: InferenceKernels) -> Kernels:
    """Add the kernel that lists the k best outputs, if there is one. Loading it compiles it."""
    lists = inference.lists
    return kernels if lists is None else kernels._replace(k_best=lists)


def predicting(scorer: Scorer, graph: FactorGraph, inference: Inference) -> Kernels:
    """Kernels for outputs and marginals, without a loss."""
    return compose(
        scoring.kernels_of(scorer),
        inference.kernels(graph.kind),
        graph=GraphKernels(rounding=graph.rounding),
    )
