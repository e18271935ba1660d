"""A saved model applied to a file: predictions are written, or scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.config import compatibility, registry
from structopt.core.ability import Ability
from structopt.core.executor import Executor
from structopt.errors import ConfigError, DataError
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.objective.decoding import decoded, joined
from structopt.objective.examples import Examples
from structopt.progress import phases

Ranked = list[tuple[float, Any]]
"""Scores and outputs of one instance, the best first."""


def predict(options: Mapping[str, Any]) -> None:
    """Write the input again with what is predicted.

    Tasks of tokens add columns: after the best label come, with ``probabilities``, the labels that have at least a thousandth
    (``label:p``), and with ``k_best=K`` the labels of the 1st to Kth best output. With ``partial``, labels given in the input are
    kept and ``_`` or ``?`` marks free tokens. Other tasks write as their formats have it. With ``picture=FILE`` a task of trees
    draws a ``sentence``. With ``inference=NAME`` the model decodes by another inference than it was trained with.

    Parameters
    ----------
    options : mapping
        ``model`` (see `structopt.model.folder.find_model`), ``input``, ``output``, ``inference`` and ``picture`` (empty where
        there is none), ``threads``, ``probabilities``, ``k_best``, ``partial``, ``sentence``.

    Raises
    ------
    ConfigError, CompatibilityError
        If the task or the inference cannot serve an option.
    DataError
        If the input cannot be read, or has no labels that ``partial`` could keep.
    """
    model, executor = _model(options), _executor(options["threads"])
    _check_abilities(model, options)
    name, k = Path(options["input"]).name, options["k_best"]
    with phases.phase("reading", name):
        corpus = model.task.read(options["input"], labelled=False)
    kept_labels = _kept_labels(model, corpus, options) if options.get("partial") else None
    with phases.phase("featurising", name):
        examples = model.examples(corpus, kept_labels, executor)
    with phases.phase("predicting", visits=len(examples)):
        outputs = model.best_outputs(examples, executor)
    marginals = ranked = None
    if options["probabilities"] or (options["picture"] and Ability.MARGINALS in model.inference.provides(model.graph.kind)):
        with phases.phase("computing", "probabilities", len(examples)):
            marginals = model.view_marginals(examples, executor)
    if k > 1:
        with phases.phase("listing", f"the {k} best"):
            ranked = _ranked_outputs(model, examples, k, executor)
    probabilities = marginals if options["probabilities"] else None
    with phases.phase("writing", Path(options["output"]).name):
        model.task.write_outputs(corpus, options["output"], outputs, probabilities, ranked, k)
    if options["picture"]:
        model.task.write_picture(corpus, options["sentence"], options["picture"], outputs, marginals)


def evaluate(options: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Return the metrics of a model on a labelled file, and the task's table of them.

    Parameters
    ----------
    options : mapping
        ``model``, ``input``, ``inference`` (empty for the model's own), ``threads``.
    """
    model = _model(options)
    with phases.phase("evaluating", Path(options["input"]).name):
        return model.report(options["input"], _executor(options["threads"]))


def _model(options: Mapping[str, Any]) -> Model:
    """Load the model, with the inference that was asked for instead of its own."""
    with phases.phase("loading", options["model"]):
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


def _kept_labels(model: Model, corpus: Any, options: Mapping[str, Any]) -> Sequence[str]:
    """Return the labels of the input, which predictions are to keep."""
    labels: Sequence[str] | None = model.task.given_labels(corpus)
    if labels is None:
        raise DataError(options["input"], None, "partial=true needs the label column, with _ for every token that is free.")
    return labels


def _ranked_outputs(model: Model, examples: Examples, k: int, executor: Executor) -> list[Ranked]:
    """Return scores and outputs of the k best of every instance, the best first."""
    lists = model.k_best_outputs(examples, k, executor)
    ranked: list[Ranked] = [[] for _ in lists]
    for rank in range(k):
        outputs = joined([best.outputs.subset(*_bounds(rank, len(best.scores))) for best in lists])
        written = model.task.written(decoded(model.task, model.graph, examples, outputs))
        for of_instance, best, output in zip(ranked, lists, written, strict=True):
            if rank < len(best.scores):
                of_instance.append((float(best.scores[rank]), output))
    return ranked


def _bounds(rank: int, count: int) -> tuple[int, int]:
    """Return the bounds of the output of a rank in a list, or of the last one where the list is shorter."""
    last = min(rank, count - 1)
    return last, last + 1
