"""The stage that reads: from files to a training problem, its first weights, and the splits to
evaluate on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structopt.config.wording import in_words
from structopt.core.data.encoded import Encoded
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.loss import Beginning
from structopt.core.optimizer import Earlier
from structopt.core.scorer import Scorer
from structopt.errors import ConfigError, DataError
from structopt.kernels.waist.compiling import Stopwatch
from structopt.kernels.waist.record import Array
from structopt.learning import mixing
from structopt.learning.visits import VisitOrder
from structopt.model.model import Model
from structopt.model.warm_start import WarmStart, asks_for_counts
from structopt.objective import unlearned_weights
from structopt.objective.problem import Problem, Settings
from structopt.progress import phases
from structopt.run import featurised, kernels_beside
from structopt.run.components import Components
from structopt.run.continuing.earlier_runs import EarlierRun, earlier_run
from structopt.run.held_out import HeldOut
from structopt.run.pruned_splits import PrunedSplits

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingData:
    """What a run trains and is evaluated on.

    Attributes
    ----------
    problem : Problem
        Of the training split.
    initial : float64, shape (dimension,)
        The first weights: of an earlier model, or the scorer's own.
    earlier : Earlier or None
        The state that training goes on from, instead of the first weights.
    beginning : Beginning or None
        The convex loss that training begins with.
    held_out : HeldOut
    pruned : PrunedSplits
    seconds : float
        Time to read and encode the training split, and to build the problem.
    new_labels : tuple of str
        Labels that the earlier run did not have.
    """

    problem: Problem
    initial: Array
    earlier: Earlier | None
    beginning: Beginning | None
    held_out: HeldOut
    pruned: PrunedSplits
    seconds: float
    new_labels: tuple[str, ...] = ()


class _Weights:
    """Lays out the weights of a problem, and carries over those of an earlier model."""

    initial: Array

    def __init__(
        self, components: Components, warm_start: WarmStart | None, from_counts: bool, seed: int
    ) -> None:
        self.components, self.warm_start, self.from_counts, self.seed = (
            components,
            warm_start,
            from_counts,
            seed,
        )

    def lay_out(self, encoded: Encoded, structure: Structure, gold: SparseVectors) -> Scorer:
        """Fit the scorer; `initial` are then the first weights."""
        scorer = self.components.scorer.fit(encoded, structure, gold)
        if scorer.note:
            log.info("features: %s", scorer.note)
        if self.from_counts:
            of = self.components
            self.initial = unlearned_weights.weights(
                of.task, scorer, encoded, structure, gold, of.graph
            )
            return scorer
        if self.warm_start is None:
            self.initial = scorer.initial(self.seed)
            return scorer
        widened, self.initial = self.warm_start.transfer(
            self.components.task, self.components.graph, scorer
        )
        log.warning("warm start: %s", self.warm_start.counts)
        return widened


def read(
    config: Mapping[str, Any],
    components: Components,
    model: Model | None = None,
    alone: bool = True,
) -> TrainingData:
    """Read and encode the training split, build the problem, then read the dev and test splits.

    Parameters
    ----------
    config : mapping
    components : Components
    model : Model or None
        Whose training goes on, where it is in memory.
    alone : bool
        Whether no other jobs run beside it.
    """
    watch, node, name = Stopwatch(), config.get("warm_start"), components.files["train"].name
    run = earlier_run(node, model)
    if run is not None:
        run.check(config, components.optimizer, components.fit)
    warm_start = WarmStart.of(node, None if run is None else run.model)
    with kernels_beside.compiling(config, components.composed, alone):
        in_files = featurised.in_files(config)
        encoded = (
            featurised.featurised(config, components, warm_start)
            if in_files
            else _encoded(components, warm_start)
        )
        pruned, held_out = PrunedSplits(components), HeldOut(components)
        with phases.phase("featurising", name):
            components.graph.fit(
                encoded, *([] if warm_start is None else warm_start.kept_graph(components.graph))
            )
            pruned.fit(config, encoded)
            weights = _Weights(components, warm_start, asks_for_counts(node), config["seed"])
            judge = held_out.dev_score if "dev" in components.files else None
            before = 0 if run is None else run.before
            problem = _problem(
                config, components, pruned.prune("train", encoded), weights, judge, before
            )
        seconds = watch.seconds
        held_out.read(problem.scorer, pruned)
    log.info(
        "%s: %d instances, %d weights; %s; C = %g, read in %.1f s",
        name,
        problem.m,
        problem.scorer.count,
        components.loss.member,
        components.fit.C,
        seconds,
    )
    beginning = components.loss.begins_with(warm_start is not None)
    earlier = (
        None
        if run is None or warm_start is None
        else _earlier(run, problem, components, warm_start)
    )
    known = set() if run is None else set(run.model.labels)
    labels = () if run is None else components.task.vocabulary()["labels"]
    return TrainingData(
        problem,
        weights.initial,
        earlier,
        beginning,
        held_out,
        pruned,
        seconds,
        tuple(label for label in labels if label not in known),
    )


def _earlier(
    run: EarlierRun, problem: Problem, components: Components, warm_start: WarmStart
) -> Earlier:
    """The state that training goes on from."""
    run.check_size(problem.m)
    of = components
    return run.state(
        problem, of.optimizer, warm_start, of.optimizer.needs(of.loss, of.graph).positional
    )


def _encoded(components: Components, warm_start: WarmStart | None) -> Encoded:
    """Read and encode the training split in memory; the task is then fitted."""
    task, name = components.task, components.files["train"].name
    with phases.phase("reading", name):
        corpus = components.read("train")
    with phases.phase("featurising", name):
        fitted = warm_start.fit(task, corpus) if warm_start else task.fit(corpus)
        return _admitted(components, _without_empty(components, components.weighted(fitted)))


def _without_empty(components: Components, encoded: Encoded) -> Encoded:
    """Return the training split without empty instances, and log how many there were."""
    kept, places = encoded.without_empty()
    if not len(kept):
        what = components.task.instance
        path = str(components.files["train"])
        problem = f"every {what} is empty" if places.count else f"there is no {what}"
        raise DataError(path, None, f"{problem}.", remedy="Give at least one with variables.")
    if len(places.empty):
        log.warning(
            "%s: %d empty %ss are skipped in training; the first is number %d.",
            components.files["train"],
            len(places.empty),
            components.task.instance,
            places.empty[0] + 1,
        )
    return kept


def _admitted(components: Components, encoded: Encoded) -> Encoded:
    """The training split as the graph can represent it."""
    admitted, changes = components.graph.admit(encoded)
    if changes:
        log.warning("%s: %s", components.files["train"], in_words(changes))
    return admitted


def visit_order(config: Mapping[str, Any]) -> VisitOrder:
    """The order of the instances in a pass that a config asks for; shuffled, in configs of earlier
    versions.
    """
    storage = config.get("storage") or {}
    blocks = (
        config.get("order") or ("blocks" if storage.get("name") == "disk" else "shuffled")
    ) == "blocks"
    return (
        VisitOrder(blocks, *(storage[key] for key in ("block", "window")))
        if blocks
        else VisitOrder()
    )


def _settings(config: Mapping[str, Any], components: Components, before: int) -> Settings:
    """Of the problem; passes that another optimizer is wrapped around, which counts them, are not
    divided.
    """
    of = components
    wrapped = mixing.shards_of(of.executor, of.optimizer) or of.loss.begins_with(False)
    return Settings.of(
        of.optimizer,
        of.fit.C,
        of.fit.regulariser,
        config["seed"],
        before,
        visit_order(config),
        divided=not wrapped,
    )


def _problem(
    config: Mapping[str, Any],
    components: Components,
    encoded: Encoded,
    weights: _Weights,
    judge: Any,
    before: int,
) -> Problem:
    of = components
    positional = of.optimizer.needs(of.loss, of.graph).positional
    problem = Problem.of(
        encoded,
        of.graph,
        of.loss,
        of.inference,
        weights.lay_out,
        _settings(config, of, before),
        positional,
        of.executor,
        judge,
    )
    read = problem.scorer.dense_groups(problem.structure)
    if any(tables and name not in read for name, tables in encoded.dense.items()):
        name = config["features"]["name"]
        raise ConfigError(
            f"features.vectors and features.dense are not read by features={name} with "
            "this factor graph.",
            remedy="Leave them out, or take features that read them: attribute_rows, for "
            "labels of tokens; networks of a plugin, such as structopt-torch's.",
        )
    return problem
