"""The dev and test splits of a run: read, encoded, and the scores of weights on them."""

from __future__ import annotations

import logging
from typing import Any

from structopt.core.data.encoded import Encoded
from structopt.core.scorer import Scorer
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.objective.decoding import predicted
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
    """

    kernels: Kernels
    """Of the features and of the inference that predicts."""

    def __init__(self, components: Components) -> None:
        self.components = components
        self.splits: dict[str, tuple[Any, Examples]] = {}

    def read(self, scorer: Scorer, pruned: PrunedSplits) -> None:
        """Read and encode the splits that the task has, for the fitted scorer."""
        task, graph, decoder = self.components.task, self.components.graph, self.components.inference.decoder()
        self.kernels = predicting(scorer, graph, decoder)
        for split in ("dev", "test"):
            if split in task.files:
                name = task.files[split].name
                with phases.phase("reading", name):
                    corpus = task.read(task.files[split])
                with phases.phase("featurising", name):
                    encoded = task.encode(corpus)
                    self._warn_unseen(split, encoded)
                    self.splits[split] = corpus, Examples.build(pruned.prune(split, encoded), graph, scorer, decoder)

    def scores(self, split: str, weights: Array) -> dict[str, float]:
        """Metrics of the predictions on a split."""
        corpus, examples = self.splits[split]
        of = self.components
        decoder, temperature = of.inference.decoder(), of.loss.temperature
        outputs = predicted(examples, of.task, of.graph, decoder, self.kernels, weights, of.executor, temperature)
        return of.task.evaluate(corpus, outputs)

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
                task.files[split], unseen, task.unit,
            )  # fmt: skip
