"""The commands `predict` and `evaluate`: a saved model on a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structopt import registry
from structopt.core.data import ROOT, Structure
from structopt.core.protocols import Executor
from structopt.decoding import KBest, chosen
from structopt.errors import ConfigError, DataError
from structopt.kernels.record import Array
from structopt.model import Model, find_model
from structopt.problem import Examples


def predict(options: Mapping[str, Any]) -> None:
    """Write the input again with predicted columns; or what a task with a method ``write_predictions`` makes of the same.

    After the best label come, with ``probabilities``, the probability of that label (``label:p`` of all labels that have at
    least a thousandth), and with ``k_best=K`` the labels of the 1st to Kth best output. With ``partial``, labels given in the
    input are kept and ``_`` or ``?`` marks free tokens. A task whose outputs are no labels has a method ``write_outputs``,
    which is given the corpus and the outputs as they are; with ``write_picture``, ``picture=FILE`` draws a ``sentence``.
    """
    model, executor = Model.load(find_model(options["model"])), _executor(options["threads"])
    if options["picture"] and not hasattr(model.task, "write_picture"):
        name = model.config["task"]["name"]
        raise ConfigError(f"picture={options['picture']} draws trees, and task={name} has none. Leave it out.")
    corpus = model.task.read(options["input"], labelled=False)
    given = _given(model, corpus, options) if options.get("partial") else None
    examples = model.examples(corpus, given, executor)
    if hasattr(model.task, "write_outputs"):
        _predict_structures(model, corpus, examples, executor, options)
        return
    outputs, k = model.best_outputs(examples, executor), options["k_best"]
    marginals = model.label_marginals(examples, executor) if options["probabilities"] else None
    ranked = _ranked(model, model.k_best_outputs(examples, k, executor), k) if k > 1 else None
    if hasattr(model.task, "write_predictions"):
        model.task.write_predictions(options["output"], outputs, marginals, ranked)
        return
    added = [[[label] for label in labels] for labels in outputs]
    if marginals is not None:
        _extend(added, [_probabilities(model.labels, p) for p in marginals])
    if ranked is not None:
        _extend(added, ranked)
    model.task.write(options["input"], options["output"], added)


def _predict_structures(
    model: Model, corpus: Any, examples: Examples, executor: Executor, options: Mapping[str, Any]
) -> None:
    """Write outputs that are no labels, and the picture of one."""
    outputs, k, tables = model.best_outputs(examples, executor), options["k_best"], None
    if options["probabilities"] or options["picture"]:
        tables = model.label_marginals(examples, executor)
        if "arc" in examples.structure.places:
            tables = _head_tables(examples.structure, tables)
    ranked = _ranked_outputs(model, examples, k, executor) if k > 1 else None
    model.task.write_outputs(corpus, options["output"], outputs, tables if options["probabilities"] else None, ranked)
    if options["picture"]:
        model.task.write_picture(corpus, options["sentence"], options["picture"], outputs, tables)


def evaluate(options: Mapping[str, Any]) -> dict[str, float]:
    """Print the task's table and, on the last line, the metrics as JSON."""
    model = Model.load(find_model(options["model"]))
    metrics, table = model.report(options["input"], _executor(options["threads"]))
    print(table)
    print(json.dumps(metrics))
    return metrics


def _executor(threads: int) -> Executor:
    executor: Executor = registry.create("executor", {"name": "threads", "workers": threads})
    return executor


def _given(model: Model, corpus: Any, options: Mapping[str, Any]) -> Sequence[str]:
    given: Sequence[str] | None = model.task.given_labels(corpus)
    if given is None:
        raise DataError(options["input"], None, "partial=true needs the label column, with _ for every token that is free.")
    return given


def _extend(added: list[list[list[str]]], more: Sequence[Sequence[Sequence[str]]]) -> None:
    for cells, further in zip(added, more, strict=True):
        for cell, extra in zip(cells, further, strict=True):
            cell.extend(extra)


def _probabilities(labels: Sequence[str], table: Array) -> list[list[str]]:
    """One cell a token: its labels with their probabilities, the likeliest first, those of a thousandth or more."""
    cells = []
    for row in table:
        order = (-row).argsort(kind="stable")
        cells.append([",".join(f"{labels[y]}:{row[y]:.4f}" for y in order if row[y] >= 0.001 or y == order[0])])
    return cells


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


def _ranked_outputs(model: Model, examples: Examples, k: int, executor: Executor) -> list[list[tuple[float, Any]]]:
    """Scores and outputs of the k best of every instance, the best first."""
    lists = model.k_best_outputs(examples, k, executor)
    ranked: list[list[tuple[float, Any]]] = [[] for _ in lists]
    for rank in range(k):
        numbers = np.concatenate([best.assignments[min(rank, len(best.scores) - 1)] for best in lists])
        outputs = model.task.written(model.task.decode(examples.encoded, chosen(model.graph, examples, numbers)))
        for own, best, output in zip(ranked, lists, outputs, strict=True):
            if rank < len(best.scores):
                own.append((float(best.scores[rank]), output))
    return ranked


def _ranked(model: Model, lists: Sequence[KBest], k: int) -> list[list[list[str]]]:
    """For every token its label in each of the k best outputs; ``-`` where there are fewer."""
    ranked = []
    for best in lists:
        outputs = model.task.written([[model.labels[y] for y in assignment] for assignment in best.assignments.tolist()])
        length = best.assignments.shape[1]
        outputs += [["-"] * length] * (k - len(outputs))
        ranked.append([list(cells) for cells in zip(*outputs, strict=True)])
    return ranked
