"""The commands `predict` and `evaluate`: a saved model on a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from structopt.config import compatibility, registry
from structopt.core.ability import Ability
from structopt.core.executor import Executor
from structopt.errors import ConfigError, DataError
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.objective.decoding import decoded, joined
from structopt.objective.examples import Examples

Ranked = list[tuple[float, Any]]
"""Scores and outputs of one instance, the best first."""


def predict(options: Mapping[str, Any]) -> None:
    """Write the input again with what is predicted.

    Tasks of tokens add columns: after the best label come, with ``probabilities``, the labels that have at least a thousandth
    (``label:p``), and with ``k_best=K`` the labels of the 1st to Kth best output. With ``partial``, labels given in the input are
    kept and ``_`` or ``?`` marks free tokens. Other tasks write as their formats have it. With ``picture=FILE`` a task of trees
    draws a ``sentence``. With ``inference=NAME`` the model decodes by another inference than it was trained with.
    """
    model, executor = _model(options), _executor(options["threads"])
    _check_abilities(model, options)
    corpus = model.task.read(options["input"], labelled=False)
    given = _given(model, corpus, options) if options.get("partial") else None
    examples = model.examples(corpus, given, executor)
    outputs, k = model.best_outputs(examples, executor), options["k_best"]
    drawn = options["picture"] and Ability.MARGINALS in model.inference.provides(model.graph.kind)
    tables = model.view_marginals(examples, executor) if options["probabilities"] or drawn else None
    ranked = _ranked_outputs(model, examples, k, executor) if k > 1 else None
    told = tables if options["probabilities"] else None
    model.task.write_outputs(corpus, options["output"], outputs, told, ranked, k)
    if options["picture"]:
        model.task.write_picture(corpus, options["sentence"], options["picture"], outputs, tables)


def evaluate(options: Mapping[str, Any]) -> dict[str, float]:
    """Print the task's table and, on the last line, the metrics as JSON."""
    model = _model(options)
    metrics, table = model.report(options["input"], _executor(options["threads"]))
    print(table)
    print(json.dumps(metrics))
    return metrics


def _model(options: Mapping[str, Any]) -> Model:
    """The model, with the inference that was asked for in the place of its own."""
    model = Model.load(find_model(options["model"]))
    if not options["inference"]:
        return model
    node = {"name": options["inference"]}
    inference = registry.create("inference", node)
    compatibility.check_solves(inference, model.graph)
    config = {**model.config, "inference": node}
    rest = model.scorer, model.weights, model.temperature, model.pruner
    return Model(config, model.task, model.graph, inference, *rest)


def _check_abilities(model: Model, options: Mapping[str, Any]) -> None:
    """Refuse options that the task or the inference cannot serve, before anything is computed."""
    if options["picture"] and not model.task.pictures:
        name = model.config["task"]["name"]
        raise ConfigError(f"picture={options['picture']} draws trees, and task={name} has none. Leave it out.")
    if options["probabilities"]:
        compatibility.check_option("probabilities=true", Ability.MARGINALS, model.inference, model.graph)
    if options["k_best"] > 1:
        compatibility.check_option(f"k_best={options['k_best']}", Ability.K_BEST, model.inference, model.graph)


def _executor(threads: int) -> Executor:
    executor: Executor = registry.create("executor", {"name": "threads", "workers": threads})
    return executor


def _given(model: Model, corpus: Any, options: Mapping[str, Any]) -> Sequence[str]:
    given: Sequence[str] | None = model.task.given_labels(corpus)
    if given is None:
        raise DataError(options["input"], None, "partial=true needs the label column, with _ for every token that is free.")
    return given


def _ranked_outputs(model: Model, examples: Examples, k: int, executor: Executor) -> list[Ranked]:
    """Scores and outputs of the k best of every instance, the best first."""
    lists = model.k_best_outputs(examples, k, executor)
    ranked: list[Ranked] = [[] for _ in lists]
    for rank in range(k):
        outputs = joined([best.outputs.subset(*_ranks(rank, len(best.scores))) for best in lists])
        written = model.task.written(decoded(model.task, model.graph, examples, outputs))
        for own, best, output in zip(ranked, lists, written, strict=True):
            if rank < len(best.scores):
                own.append((float(best.scores[rank]), output))
    return ranked


def _ranks(rank: int, found: int) -> tuple[int, int]:
    """Bounds of the output of a rank, or of the last one where fewer were found."""
    last = min(rank, found - 1)
    return last, last + 1
