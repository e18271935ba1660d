"""The splits of a run as its pruner leaves them, and the numbers that tell how it did."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from structopt.config import feature_keys
from structopt.core.data.encoded import Encoded
from structopt.core.scorer import SparseFeatures
from structopt.errors import ConfigError
from structopt.kernels.waist.compiling import Stopwatch
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.model.pruning import Pruner
from structopt.progress import phases
from structopt.run.components import Components

log = logging.getLogger(__name__)


class PrunedSplits:
    """Prunes one split after the other; leaves them as they are where the graph asks for no pruner.

    Attributes
    ----------
    pruner : Pruner or None
    metrics : dict
        By split, the numbers that go to ``metrics.json``.
    summaries : list of str
        The same in words, a sentence a split.
    """

    def __init__(self, components: Components) -> None:
        self.components = components
        self.pruner: Pruner | None = None
        self.metrics: dict[str, Mapping[str, float | None]] = {}
        self.summaries: list[str] = []

    def fit(self, config: Mapping[str, Any], encoded: Encoded) -> None:
        """Load the pruner that the graph names, or train one on the training split."""
        request = self.components.graph.pruning
        if request is None:
            return
        if request.model is not None:
            self.pruner = Pruner.of_model(
                Model.load(find_model(request.model)), self.components.task, request
            )
            return
        watch = Stopwatch()
        with phases.phase("training", "the pruner"):
            asked = config if request.features is None else {**config, "features": request.features}
            scorer = feature_keys.scorer_of(asked, request.features_left_out)
            if not isinstance(scorer, SparseFeatures):
                raise ConfigError(
                    f"features={asked['features']['name']}: a pruner is trained with "
                    "features that are linear in the weights.",
                    remedy="Train one in a run of its own, and set factor_graph.pruner=RUN.",
                )
            self.pruner = Pruner.train(encoded, request, scorer, config["seed"])
        log.info("pruner: trained in %.1f s", watch.seconds)

    def prune(self, split: str, encoded: Encoded) -> Encoded:
        """The split with few candidates; the training split keeps those of its gold outputs."""
        if self.pruner is None:
            return encoded
        with phases.phase("pruning", split, visits=len(encoded)):
            encoded, self.metrics[split], summary = self.pruner.prune(
                encoded, split == "train", self.components.executor
            )
        self.summaries.append(f"{summary} on {split}")
        log.info("pruner: %s", self.summaries[-1])
        return encoded
