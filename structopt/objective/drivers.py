"""Kernels put side by side for the drivers, and how a driver is called."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

from structopt.core.factor_graph import Calculus, FactorGraph
from structopt.core.inference import Inference
from structopt.core.scorer import FeatureKernels, Scorer
from structopt.core.structure_kind import InferenceKernels
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.drivers import Driver, P, Result
from structopt.kernels.waist.signatures import Data, Kernels, Space, is_compiled
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
FEW_PARTS = 4096
"""Parts of the instances that are decoded in the thread of the caller."""


def compose(
    features: FeatureKernels,
    inference: InferenceKernels,
    evaluate: Any = None,
    graph: GraphKernels = NO_CLOSED_FORMS,
) -> Kernels:
    """Put the kernels side by side; where the inference is plain Python, so is the loss, which
    calls it.
    """
    from structopt.kernels.loss import family as loss
    from structopt.kernels.waist import stand_ins

    evaluate = evaluate or loss.family
    if is_compiled(evaluate) and not is_compiled(inference.solve):
        evaluate = evaluate.py_func
    closed_forms = graph.calculus or Calculus(
        stand_ins.no_entropy, stand_ins.no_slope, stand_ins.no_conditionals
    )
    lists = inference.k_best or stand_ins.no_k_best
    rounding = inference.round or graph.rounding or stand_ins.no_rounding
    features = features._replace(
        listed_scores=features.listed_scores or features.scores,
        prefetch=features.prefetch or stand_ins.no_prefetch,
    )
    return Kernels(*features, evaluate, inference.solve, lists, rounding, *closed_forms)


def run_driver(
    driver: Driver[P, Result],
    kernels: Kernels,
    data: Data,
    space: Space,
    *arguments: P.args,
    **named: P.kwargs,
) -> Result:
    """Call a driver: compiled, or its Python source when a kernel is a plain Python function.
    Interrupts end either.
    """
    if all(map(is_compiled, kernels)):
        call = partial(driver, kernels, data, space, *arguments, **named)
        return cast(Result, interruptible.call(call))
    result = driver.py_func(kernels, data, space, *arguments, **named)
    interruptible.obey()
    return result


def run_decoder(
    driver: Driver[P, Result],
    kernels: Kernels,
    data: Data,
    space: Space,
    *arguments: P.args,
    **named: P.kwargs,
) -> Result:
    """Call a driver that decodes, in this thread if the instances have few parts.

    A call in another thread, as of `run_driver`, takes longer than inference on one sentence. An
    interrupt waits for the end of a call in this thread, which takes less than 0.2 s.
    """
    if data.parts[-1] > FEW_PARTS or not all(map(is_compiled, kernels)):
        return run_driver(driver, kernels, data, space, *arguments, **named)
    result = driver(kernels, data, space, *arguments, **named)
    interruptible.obey()
    return result


def predicting(scorer: Scorer, graph: FactorGraph, inference: Inference) -> Kernels:
    """Kernels for outputs and marginals, without a loss."""
    return compose(
        scoring.kernels_of(scorer),
        inference.kernels(graph.kind),
        graph=GraphKernels(rounding=graph.rounding),
    )
