"""The commands `predict` and `evaluate`: a saved model on a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structopt import compatibility, registry
from structopt.core.ability import Ability
from structopt.core.data import ROOT, Structure
from structopt.core.executor import Executor
from structopt.decoding import chosen
from structopt.errors import ConfigError, DataError
from structopt.kernels.record import Array
from structopt.model import Model, find_model
from structopt.problem import Examples

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
    tables = _tables(model, examples, executor) if options["probabilities"] or drawn else None
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


def _tables(model: Model, examples: Examples, executor: Executor) -> list[Array]:
    """Probabilities as the task writes them: of every label of every variable; of trees, of every word's heads."""
    tables = model.label_marginals(examples, executor)
    return _head_tables(examples.structure, tables) if "arc" in examples.structure.places else tables


def _head_tables(structure: Structure, marginals: Sequence[Array]) -> list[Array]:
    """Probability of every head of every word, shape (words, words + 1) for each sentence; column 0 is the root."""
    arcs = next(group for group in structure.groups if group.name == "arc").offsets.tolist()
    tables = []
    for begin, end, found in zip(arcs, arcs[1:], marginals, strict=False):
        head, modifier = structure.places["arc"][begin:end].T
        words = int(modifier[-1]) + 1
        table = np.zeros((words, words + 1))
        table[modifier, np.where(head == ROOT, 0, head + 1)] = found.reshape(end - begin, -1).sum(axis=1)
        tables.append(table)
    return tables


def _ranked_outputs(model: Model, examples: Examples, k: int, executor: Executor) -> list[Ranked]:
    """Scores and outputs of the k best of every instance, the best first."""
    lists = model.k_best_outputs(examples, k, executor)
    ranked: list[Ranked] = [[] for _ in lists]
    for rank in range(k):
        numbers = np.concatenate([best.assignments[min(rank, len(best.scores) - 1)] for best in lists])
        outputs = model.task.written(model.task.decode(examples.encoded, chosen(model.graph, examples, numbers)))
        for own, best, output in zip(ranked, lists, outputs, strict=True):
            if rank < len(best.scores):
                own.append((float(best.scores[rank]), output))
    return ranked
