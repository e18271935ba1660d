"""Predictions of a model: best outputs, lists of the k best, marginals, tables, scores on files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import compatibility, registry
from structopt.core import checks
from structopt.core.ability import Ability
from structopt.core.data.attribute_table import EntryBuffers
from structopt.core.data.encoded import Encoded
from structopt.core.data.in_memory import read_once
from structopt.core.data.places import Places
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph, ViewPlan
from structopt.core.inference import Inference
from structopt.core.loss import Loss
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.errors import ArgumentError, ConfigError, DataError
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.model.annotation import Annotator
from structopt.model.marginals import Marginals
from structopt.model.pruning import Pruner
from structopt.model.ranking import Scored, ranked_outputs, scored
from structopt.model.sentence_plan import (
    BLOCK,
    POSITIONS,
    Plans,
    SentencePlan,
    Solve,
    Solved,
    plan_of,
)
from structopt.model.showing import model_html
from structopt.objective.decoding import (
    KBest,
    best_outputs,
    decoded,
    decoding_temperature,
    k_best,
    log_partitions,
    marginals,
    output_scores,
    predicted_outputs,
    proved,
)
from structopt.objective.drivers import predicting, with_lists
from structopt.objective.examples import Examples

PROVED = "proved_optimal"
PROVED_BEFORE = "proved_optimal_before_tightening"
Inputs = Sequence[Any] | str | PathLike[str]
"""Instances in memory, or a file of them."""
Given = Sequence[Any] | bool | None
"""Outputs that are known in part, with None where they are open; True: the labels of the file."""

log = logging.getLogger(__name__)


class Predictor:
    """Weights with everything needed to predict by them.

    Parameters
    ----------
    config : mapping
        The nodes task, features, factor_graph, inference and loss, without paths.
    task, graph, inference : components
        `task` is fitted.
    scorer : Scorer
    weights : float64, shape (dimension,)
    temperature : float
        1/beta of the loss, at which probabilities are given (1 where beta = inf).
    pruner : Pruner or None
        What leaves few candidates, where the graph asks for one.
    annotator : Annotator or None
        What gives inputs a column, where the task asks for one.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        task: Task,
        graph: FactorGraph,
        inference: Inference,
        scorer: Scorer,
        weights: Array,
        temperature: float,
        pruner: Pruner | None = None,
        annotator: Annotator | None = None,
    ) -> None:
        self.config, self.task, self.graph, self.inference = (
            config,
            task,
            graph,
            inference.decoder(),
        )
        checks.check_vector("weights", weights, scorer.dimension, writable=False)
        self.scorer, self.weights, self.temperature = scorer, weights, temperature or 1.0
        self.pruner, self.annotator = pruner, annotator
        self._warned: set[str] = set()
        self._plans, self._view_plans = Plans(), Plans()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns."""
        return tuple(self.task.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set: of tokens, cells, classes; the relations of trees; of sets of labels all
        that there are.
        """
        return tuple(self.task.vocabulary()["labels"])

    def __repr__(self) -> str:
        """Name the components, and count labels and weights."""
        names = ", ".join(
            f"{kind}={self.config[kind]['name']}" for kind in ("task", "factor_graph", "inference")
        )
        loss = self.config["loss"]
        numbers = "".join(
            f", {name}={float(loss[name]):g}" for name in ("beta", "gamma") if name in loss
        )
        return (
            f"Model({names}, loss={loss['name']}{numbers}; {len(self.labels)} labels, "
            f"{self.scorer.count} weights)"
        )

    def _repr_html_(self) -> str:
        """The summary that notebooks show."""
        return model_html(self)

    @cached_property
    def gibbs(self) -> bool:
        """Whether the loss gives a distribution over outputs: its beta is finite."""
        loss: Loss = registry.create("loss", self.config["loss"])
        return loss.temperature > 0.0

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels of features and inference."""
        return predicting(self.scorer, self.graph, self.inference)

    @cached_property
    def list_kernels(self) -> Kernels:
        """The kernels, with the one that lists the k best outputs."""
        return with_lists(self.kernels, self.inference.kernels(self.graph.kind))

    def examples(
        self, corpus: Any, given: Sequence[Any] | None = None, executor: Executor | None = None
    ) -> Examples:
        """Encode a corpus for this model.

        With ``task.missing=pad`` columns that the corpus lacks are read as padding, with a warning
        for each.

        Raises
        ------
        DataError
            If the corpus lacks columns that the model's features read.
        """
        return self._built(*self._encoded(corpus, given, executor), executor)

    def _encoded(
        self, corpus: Any, given: Sequence[Any] | None, executor: Executor | None
    ) -> tuple[Encoded, Places]:
        """Encode a corpus; return its instances that are not empty, and their places in it."""
        missing = self.task.missing_columns(corpus)
        if missing and self.task.missing == "refuse":
            raise DataError(
                corpus.path,
                None,
                f"missing columns: {', '.join(missing)}. The model's features read the columns "
                f"{', '.join(self.task.needed_columns)}.",
                remedy="Give all of them, or set task.missing=pad to read missing columns as "
                "empty.",
            )
        for name in missing:
            if name not in self._warned:
                self._warned.add(name)
                log.warning(
                    "%s has no column '%s'; the model reads it as padding.", corpus.path, name
                )
        if self.annotator is not None:
            corpus = self.annotator.annotated(self.task, corpus, executor)
        return self.task.encode(corpus, given).without_empty()

    def _built(self, encoded: Encoded, places: Places, executor: Executor | None) -> Examples:
        """Build the graphs of an encoded corpus, and pack its features."""
        if self.pruner is not None:
            encoded = self.pruner.pruned(encoded, executor)
        return Examples.build(
            encoded, self.graph, self.scorer, self.inference, places, trusted=True
        )

    def given_labels(self, corpus: Any) -> Sequence[Any]:
        """The labels that a corpus read from a file has already, for `examples` to keep.

        Raises
        ------
        DataError
            If it has no column of labels.
        ConfigError
            If the task's files have no place for labels that are known in part.
        """
        labels = self.task.given_labels(corpus)
        if labels is None:
            raise DataError(
                corpus.path,
                None,
                "partial=true needs the label column, with _ for every token that is free.",
            )
        return labels

    def predict(
        self, instances: Inputs, executor: Executor | None = None, *, given: Given = None
    ) -> list[Any]:
        """Best output of every instance, as the task writes it: for example a list of labels, one a
        token, or a label.

        Parameters
        ----------
        instances : sequence, or str or Path
            As the task's ``corpus`` takes them. For example sentences, each a sequence of words, of
            tuples of cells in the order of `columns`, or a mapping from column name to sequence;
            mappings from index to value, or rows of values. A string or a path is a file, whose
            labels need not be known.
        executor : Executor or None
            None: one thread.
        given : sequence, bool or None
            What is known of the outputs, and kept: one output an instance, with None where it is
            open. Lists of labels, heads or pairs (head, relation), one a word; a class; mappings
            from label to True or False; rows of labels of cells. Of a file, True keeps its labels,
            where ``_`` is open.

        Raises
        ------
        DataError
            For instances or given outputs of another form than the task's.
        ArgumentError
            For a given label that the model does not have.
        InfeasibleError
            If no output agrees with what is given.
        """
        solved = self._solved(
            instances, given, executor, lambda plan, *read: plan.solve(self.weights, *read, 0.0)
        )
        if solved is None:
            encoded, places = self._read_encoded(instances, given, executor)
            return self.task.written(self._decoded(encoded, places, executor))
        others = self.predict(solved.rest, registry.serial()) if solved.rest else []
        return solved.merged(self.task.written(solved.found), others)

    def _solved(
        self,
        instances: Inputs,
        given: Given,
        executor: Executor | None,
        solve: Solve,
    ) -> Solved | None:
        """Return the results of a method of the plan for sentences in memory; None if they need the
        general prediction.
        """
        if given is not None or executor is not None:
            return None
        if not isinstance(instances, (list, tuple)) or not instances:
            return None
        plans = self._plans
        if plans.reader is None:
            plans.reader = self.task.entry_reader(self._warned)
        if not plans.made and plans.reader(instances[:1], EntryBuffers.of(0, 0, 1)) is None:
            return None
        plan = self._plan(lambda: self.task.corpus(instances[:1]))
        return None if plan is None else plan.solve_each(plans.reader, instances, solve)

    def _plan(self, corpus: Callable[[], Any]) -> SentencePlan | None:
        """Return this thread's plan of the model, if it has one; the corpus shows the form."""

        def plan() -> SentencePlan | None:
            if self.pruner or self.annotator or self.task.rounds_marginals:
                return None
            encoded, _ = self._encoded(corpus(), None, None)
            return plan_of(self.config, encoded, self.graph, self.scorer)

        made: SentencePlan | None = self._plans.get(plan)
        return made

    def _decoded(self, encoded: Encoded, places: Places, executor: Executor | None) -> list[Any]:
        """Return the predictions for an encoded corpus as the task decodes them."""
        found = self._planned(encoded, places)
        if found is None:
            return self.outputs(self._built(encoded, places, executor), executor)
        return found

    def _planned(self, encoded: Encoded, places: Places) -> list[Any] | None:
        """Return the predictions for a few short sentences by the plan of views; None if they need
        the general prediction.
        """
        view = self._view(encoded)
        if view is None:
            return None
        return places.spread(self.task.decode(encoded, view), self.task.empty_output)

    def _view(self, encoded: Encoded) -> Any | None:
        """Return the view of the predictions for a few short sentences; None if they need the
        general prediction.
        """

        def plan() -> ViewPlan | None:
            if self.config["inference"]["name"] != "exact":
                return None
            candidates = None if self.pruner is None else self.pruner.plan(encoded)
            return self.graph.view_plan(self.scorer, self.kernels, candidates, encoded)

        if not 0 < len(encoded) <= BLOCK:
            return None
        made: ViewPlan | None = self._view_plans.get(plan)
        if made is None or not made.takes(encoded):
            return None
        at = decoding_temperature(self.task, self.inference, self.temperature)
        view = made.view(self.weights, encoded, at)
        interruptible.obey()
        return view

    def small_outputs(self, corpus: Any) -> list[Any] | None:
        """Best outputs of an unlabelled corpus of a few sentences, in the scheme of the files.

        They are those of `best_outputs`, in less time; None if the model or the corpus needs it.
        """
        if self._plans.made and self._plans.plan is None:
            return self._few_outputs(corpus)
        entries = self.task.corpus_entries(corpus, POSITIONS, self._warned)
        plan = None if entries is None else self._plan(lambda: corpus)
        if entries is None or plan is None:
            return self._few_outputs(corpus)
        size = plan.write(entries)
        starts = plan.starts(len(entries.starts) - 1, size)
        if starts is None:
            return self._few_outputs(corpus)
        found = plan.solve(self.weights, starts, size[2], 0.0)
        return None if found is None else self.task.written(found)

    def _few_outputs(self, corpus: Any) -> list[Any] | None:
        """Return `small_outputs` by the plan of views."""
        has_plan = type(self.graph).view_plan is not FactorGraph.view_plan
        if not has_plan or len(corpus) > BLOCK:
            return None
        found = self._planned(*self._encoded(corpus, None, None))
        return None if found is None else self.task.written(found)

    def predict_k_best(
        self, instances: Inputs, k: int, executor: Executor | None = None, *, given: Given = None
    ) -> list[list[Scored]]:
        """The k best outputs of every instance, the best first; fewer where there are fewer.

        Parameters
        ----------
        k : int
            At least 1.
        instances, executor, given
            See `predict`.

        Returns
        -------
        list of lists of Scored
            Tuples (score, output, probability).

        Raises
        ------
        CompatibilityError
            If the inference makes no such lists; the message names those that do.
        ConfigError
            For a k below 1.
        DataError
            See `predict`.
        """
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ConfigError("must be an integer, at least 1.", parameter="k", value=k)
        T = self.temperature
        solved = self._solved(
            instances,
            given,
            executor,
            lambda plan, *read: plan.k_best(self.weights, *read, int(k), T if self.gibbs else 0.0),
        )
        if solved is not None:
            others = self.predict_k_best(solved.rest, k, registry.serial()) if solved.rest else []
            found = [
                scored(list(zip(scores, self.task.written(labels), strict=True)), value, T)
                for labels, scores, value in solved.found
            ]
            return solved.merged(found, others)
        provided = compatibility.check_option(f"k={k}", Ability.K_BEST, self.inference, self.graph)
        examples, executor = self._read(instances, given, executor), executor or registry.serial()
        lists = self.k_best_outputs(examples, int(k), executor)
        ranked = ranked_outputs(self.task, self.graph, examples, lists, int(k))
        if not self.gibbs or Ability.MARGINALS not in provided:
            return [scored(pairs, None, T) for pairs in ranked]
        values = log_partitions(examples, self.kernels, self.weights, executor, T).tolist()
        return [
            scored(pairs, value, T)
            for value, pairs in zip(examples.spread(values, 0.0), ranked, strict=True)
        ]

    def predict_columns(self, columns: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Best outputs of a table's rows, as of `predict`; the task's ``input_schema`` says which
        columns there are.

        Parameters
        ----------
        columns : mapping of column name to sequence of cells
            For example ``tokens`` and further columns of sentences; a column that is missing or all
            empty counts as padding.

        Raises
        ------
        DataError
            For a table that is not as the schema says.
        """
        return self._predict_rows(self.task.input_schema.checked(columns))

    def predict_table(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Best outputs of a table's rows as a table, with columns as the task's ``output_schema``
        says.

        Raises
        ------
        DataError
            For a table that is not as the ``input_schema`` says, or outputs that are not as many as
            theirs says.
        """
        table = self.task.input_schema.checked(columns)
        outputs = self.output_table(self._predict_rows(table))
        self.task.output_schema.check_outputs(outputs, table)
        return outputs

    def output_table(self, outputs: Sequence[Any]) -> dict[str, list[Any]]:
        """Outputs as columns of the task's ``output_schema``: for example ``labels``, or ``heads``
        and ``relations``.
        """
        return self.task.output_table(outputs)

    def _predict_rows(self, table: Mapping[str, list[Any]]) -> list[Any]:
        return self.predict(self.task.instances(table))

    def marginals(
        self, instances: Inputs, executor: Executor | None = None, *, given: Given = None
    ) -> Marginals:
        """Probabilities of the choices that outputs are made of, one array an instance, and a table
        that names them all.

        At the temperature 1/beta of the loss; at 1, where beta = inf. With `given` they are those
        of the outputs that agree.

        Parameters
        ----------
        instances, executor, given
            See `predict`.

        Returns
        -------
        Marginals
            A list of arrays; its `table` has named columns.

        Raises
        ------
        CompatibilityError
            If the inference gives no marginals; the message names those that do.
        DataError, InfeasibleError
            See `predict`.
        """
        T = self.temperature
        solved = self._solved(
            instances, given, executor, lambda plan, *read: plan.solve(self.weights, *read, T)
        )
        if solved is not None and not solved.rest:
            return self._sentence_marginals(solved)
        compatibility.check_option("model.marginals", Ability.MARGINALS, self.inference, self.graph)
        examples = self._read(instances, given, executor)
        of_parts = self._part_marginals(examples, executor)
        arrays = self._probabilities(examples, of_parts)

        @cache
        def choices() -> list[dict[str, Array]]:
            of = self.task.view, examples.encoded, examples.structure
            return self.graph.choices(*of, of_parts)

        def columns(instance: int) -> dict[str, Any]:
            index = examples.index(instance)
            if index is None:
                return {"probability": np.zeros(0)}
            return self.task.marginal_columns(examples.encoded, index, choices()[index])

        return Marginals(arrays, self.labels, self.task.instance, columns)

    def _sentence_marginals(self, solved: Solved) -> Marginals:
        """Return the marginals of sentences, shape (tokens, labels), with their table."""
        plan, tables = solved.plan, solved.found

        def columns(index: int) -> dict[str, Any]:
            encoded, table = plan.encoded(len(tables[index])), tables[index]
            choices = self.graph.choices(self.task.view, encoded, plan.structure, [table.ravel()])
            return self.task.marginal_columns(encoded, 0, choices[0])

        return Marginals(tables, self.labels, self.task.instance, columns)

    def best_outputs(self, examples: Examples, executor: Executor | None = None) -> list[Any]:
        """Best outputs of an encoded corpus, in the scheme of the files."""
        return self.task.written(self.outputs(examples, executor))

    def view_marginals(self, examples: Examples, executor: Executor | None = None) -> list[Array]:
        """Probabilities of an encoded corpus, as of `marginals`."""
        return self._probabilities(examples, self._part_marginals(examples, executor))

    def _probabilities(self, examples: Examples, of_parts: list[Array]) -> list[Array]:
        """Return an array per instance of the corpus; that of an empty instance has no rows."""
        of = self.task.view, examples.encoded, examples.structure
        arrays = self.graph.probabilities(*of, of_parts)
        if len(arrays) == examples.count:
            return arrays
        return examples.spread(arrays, self.graph.no_probabilities(examples.encoded))

    def _part_marginals(self, examples: Examples, executor: Executor | None) -> list[Array]:
        """Marginals of the parts that the task's view is read from."""
        group, executor = self.graph.views[self.task.view], executor or registry.serial()
        return marginals(examples, self.kernels, self.weights, group, executor, self.temperature)

    def _read(self, instances: Inputs, given: Given, executor: Executor | None) -> Examples:
        """Encode instances in memory, or those of a file, with what is given and kept."""
        return self._built(*self._read_encoded(instances, given, executor), executor)

    def _read_encoded(
        self, instances: Inputs, given: Given, executor: Executor | None
    ) -> tuple[Encoded, Places]:
        if isinstance(instances, (str, PathLike)):
            corpus = self.task.read(instances, labelled=False)
            if given is True:
                return self._encoded(corpus, self.given_labels(corpus), executor)
        else:
            corpus = self.task.corpus(read_once("instances", instances))
        given = read_once("given", given)
        if given is True:
            raise ConfigError(
                "given=True keeps the labels of a file, and these instances are in memory.",
                remedy="Give a list of outputs.",
            )
        kept = None if given is None or given is False else self.task.kept_outputs(corpus, given)
        return self._encoded(corpus, kept, executor)

    def k_best_outputs(
        self, examples: Examples, k: int, executor: Executor | None = None
    ) -> list[KBest]:
        """The k best outputs of every instance of an encoded corpus."""
        return k_best(examples, self.list_kernels, self.weights, k, executor or registry.serial())

    def scores(
        self, instances: Inputs, executor: Executor | None = None, *, given: Given = None
    ) -> Array:
        """The scores of the outputs that `predict` returns: s(y) = theta^T f(x, y), float64, shape
        (instances,).
        """
        examples, executor = self._read(instances, given, executor), executor or registry.serial()
        of = self.task, self.inference, self.kernels, self.weights
        outputs = predicted_outputs(examples, *of, executor, self.temperature)
        return np.array(examples.spread(output_scores(examples, self.weights, outputs), 0.0))

    def compare(
        self, instances: Sequence[Any], outputs: Sequence[Any], times: Array | None = None
    ) -> dict[str, float]:
        """Metrics of the predictions on instances in memory with their gold outputs; instance i
        counts ``times[i]``, or once.
        """
        corpus = self.task.labelled(
            read_once("instances", instances), read_once("outputs", outputs)
        )
        return self.task.outcomes(corpus, self.outputs(self.examples(corpus))).scores(times)

    def score(
        self, instances: Sequence[Any], outputs: Sequence[Any], times: Array | None = None
    ) -> float:
        """The metric by which models of different parts of the data are compared
        (`structopt.core.task.Task.comparable_metric`); arguments as of `compare`.
        """
        corpus = self.task.labelled(instances, outputs)
        predicted = self.outputs(self.examples(corpus))
        scores = self.task.comparable_outcomes(corpus, predicted).scores(times)
        return scores[self.task.comparable_metric]

    def evaluate(self, path: str | Path, executor: Executor | None = None) -> dict[str, float]:
        """Metrics on a labelled file; `compare` has those on instances in memory."""
        return self.report(path, executor)[0]

    def report(
        self, path: str | Path, executor: Executor | None = None
    ) -> tuple[dict[str, float], str]:
        """Metrics on a labelled file, and the task's table of them.

        On loopy graphs, an inference with an upper bound adds ``proved_optimal``: the share of the
        predictions whose score is the bound. One that tightens its bounds adds
        ``proved_optimal_before_tightening``.
        """
        if not isinstance(path, (str, PathLike)):
            raise ArgumentError(
                "must be the path of a labelled file.",
                parameter="path",
                value=path,
                remedy="For instances in memory use compare(instances, outputs).",
            )
        corpus, executor = self.task.read(path), executor or registry.serial()
        examples = self.examples(corpus, executor=executor)
        if not self._bounds or not len(examples):
            outputs = self.outputs(examples, executor)
            return self.task.evaluate(corpus, outputs), self.task.report(corpus, outputs)
        best, share = self._proved_outputs(examples, executor)
        outputs = decoded(self.task, self.graph, examples, best)
        metrics = self.task.evaluate(corpus, outputs) | {PROVED: share}
        table = f"{self.task.report(corpus, outputs)}\nproved optimal: {share:.1%}"
        if (plain := self.inference.untightened()) is None:
            return metrics, table
        rest = self.scorer, self.weights, self.temperature, self.pruner, self.annotator
        other = Predictor(self.config, self.task, self.graph, plain, *rest)
        examples = other.examples(corpus, executor=executor)
        metrics[PROVED_BEFORE] = other._proved_outputs(examples, executor)[1]
        return metrics, f"{table} (before tightening: {metrics[PROVED_BEFORE]:.1%})"

    def _proved_outputs(
        self, examples: Examples, executor: Executor
    ) -> tuple[SparseVectors, float]:
        """The best outputs, and the share whose score is the upper bound."""
        upper = np.full(len(examples), np.inf)
        best = best_outputs(examples, self.kernels, self.weights, executor, values=upper)
        return best, float(proved(upper, output_scores(examples, self.weights, best)).mean())

    def outputs(self, examples: Examples, executor: Executor | None = None) -> list[Any]:
        """Predictions of an encoded corpus as the task decodes them, which are compared with
        gold.
        """
        executor = executor or registry.serial()
        of = self.task, self.inference, self.kernels, self.weights
        outputs = predicted_outputs(examples, *of, executor, self.temperature)
        return decoded(self.task, self.graph, examples, outputs)

    @property
    def _bounds(self) -> bool:
        """Whether the inference gives the best output of a loopy graph, with an upper bound."""
        kind = self.graph.kind
        if self.task.rounds_marginals or self.inference.decoding_temperature > 0:
            return False
        return kind.loopy and Ability.UPPER in self.inference.provides(kind)
