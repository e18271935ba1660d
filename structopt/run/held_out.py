"""The dev and test splits of a run: read, encoded, and the scores of weights on them."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.model.annotation import Annotator
from structopt.model.model import Model
from structopt.objective.decoding import best_at_scores, decoded, predicted_outputs
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples
from structopt.progress import phases
from structopt.run.components import Components
from structopt.run.pruned_splits import PrunedSplits

log = logging.getLogger(__name__)


class HeldOut:
    """The splits that weights are evaluated on.

    Parameters
    ----------
    components : Components

    Attributes
    ----------
    splits : dict
        By name, dev and test: the corpus as it was read, and its instances ready for inference.
    annotator : Annotator or None
        What gives inputs a column, where the task asks for one.
    """

    kernels: Kernels
    """Of the features and of the inference that predicts."""

    def __init__(self, components: Components) -> None:
        self.components = components
        self.splits: dict[str, tuple[Any, Examples]] = {}
        self.annotator = Annotator.of(components.task, Model.load)

    def read(self, scorer: Scorer, pruned: PrunedSplits) -> None:
        """Read and encode the splits that the task has, for the fitted scorer."""
        task, graph, decoder = (
            self.components.task,
            self.components.graph,
            self.components.inference.decoder(),
        )
        self.kernels = predicting(scorer, graph, decoder)
        for split in ("dev", "test"):
            if split in self.components.files:
                name = self.components.files[split].name
                with phases.phase("reading", name):
                    corpus = self.components.read(split)
                with phases.phase("featurising", name):
                    with_columns = (
                        self.annotator.annotated(task, corpus) if self.annotator else corpus
                    )
                    encoded = task.encode(with_columns)
                    self._warn_unseen(split, encoded)
                    encoded, places = encoded.without_empty()
                    encoded = pruned.prune(split, encoded)
                    examples = Examples.build(encoded, graph, scorer, decoder, places, trusted=True)
                    self.splits[split] = corpus, examples

    def scores(self, split: str, weights: Array, lasting: bool = False) -> dict[str, float]:
        """Compute the metrics of the predictions on a split, in a phase of its own.

        Parameters
        ----------
        split : str
        weights : float64, shape (dimension,)
        lasting : bool
            Whether the line of the phase stays on the terminal.

        Returns
        -------
        dict of str to float
            ``fallbacks`` counts the instances without an output, if the graph allows them.
        """
        (corpus, examples), of = self.splits[split], self.components
        decoder, temperature = of.inference.decoder(), of.loss.temperature
        with phases.phase("evaluating", f"the {split} split", len(examples), lasting=lasting):
            outputs = predicted_outputs(
                examples, of.task, decoder, self.kernels, weights, of.executor, temperature
            )
            metrics = of.task.evaluate(corpus, decoded(of.task, of.graph, examples, outputs))
        if examples.structure.kind.incomplete:
            metrics["fallbacks"] = float(np.count_nonzero(np.diff(outputs.offsets) == 0))
        return metrics

    def limits(self, split: str) -> dict[str, float]:
        """What the graphs of a split allow at best: the main metric of the outputs nearest to gold,
        and the share that gold is.

        Empty where the graph does not say (`FactorGraph.nearest`).
        """
        (corpus, examples), of = self.splits[split], self.components
        nearest = of.graph.nearest(examples.encoded, examples.structure)
        if nearest is None:
            return {}
        with phases.phase("evaluating", f"the limits of the {split} split", len(examples)):
            outputs = best_at_scores(examples, nearest.scores, of.inference.decoder(), of.executor)
            metrics = of.task.evaluate(corpus, decoded(of.task, of.graph, examples, outputs))
        name = of.task.main_metric
        return {f"oracle_{name}": metrics[name], "reachable": float(np.mean(nearest.allowed))}

    def dev_score(self, weights: Array) -> float:
        """The task's main metric on the dev split."""
        return self.scores("dev", weights)[self.components.task.main_metric]

    def _warn_unseen(self, split: str, encoded: Encoded) -> None:
        """Warn of gold labels that training never showed."""
        task = self.components.task
        if not self.components.graph.traits.labeled or encoded.gold is None:
            return
        if unseen := int((encoded.gold < 0).sum()):
            log.warning(
                "%s: %d %s have a label that the training split never shows; they count as errors.",
                self.components.files[split],
                unseen,
                task.unit,
            )
