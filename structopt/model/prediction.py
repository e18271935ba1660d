"""A saved model applied to a file: predictions are written, or scored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os.path import basename
from pathlib import Path
from typing import Any

from structopt.config import compatibility, registry
from structopt.core.ability import Ability
from structopt.core.executor import Executor
from structopt.errors import ConfigError
from structopt.formats.in_memory.texts import OUTPUT, output_held
from structopt.model import streaming
from structopt.model.folder import find_model
from structopt.model.model import Model
from structopt.model.ranking import ranked_outputs
from structopt.progress import phases


def predict(options: Mapping[str, Any]) -> None:
    """Write the input again with what is predicted.

    Tasks of tokens add columns: after the best label come, with ``probabilities``, the labels that
    have at least a thousandth (``label:p``), and with ``k_best=K`` the labels of the 1st to Kth
    best output. With ``partial``, labels given in the input are kept and ``_`` or ``?`` marks free
    tokens. Other tasks write as their formats have it. With ``picture=FILE`` a task of trees draws
    a ``sentence``. With ``inference=NAME`` the model decodes by another inference than it was
    trained with. The input ``-`` is a stream (`structopt.model.streaming`), the output ``-`` is
    standard output.

    Parameters
    ----------
    options : mapping
        ``model`` (see `structopt.model.folder.find_model`), ``input``, ``output``, ``inference``
        and ``picture`` (empty where there is none), ``threads``, ``probabilities``, ``k_best``,
        ``partial``, ``sentence``.

    Raises
    ------
    ConfigError, CompatibilityError
        If the task or the inference cannot serve an option.
    DataError
        If the input cannot be read, or has no labels that ``partial`` could keep.
    """
    model, executor = loaded(options), executor_of(options["threads"])
    _check_abilities(model, options)
    predict_file = partial(_predict_file, model, executor, options)
    if options["input"] == streaming.STREAM:
        with streaming.written_to(options["output"]) as write:
            streaming.stream(model.task, options, predict_file, streaming.standard_input, write)
    elif options["output"] == streaming.STREAM:
        with output_held(OUTPUT) as kept, streaming.written_to(streaming.STREAM) as write:
            predict_file(options["input"], OUTPUT)
            write(b"".join(kept))
    else:
        predict_file(options["input"], options["output"])


def _predict_file(
    model: Model, executor: Executor, options: Mapping[str, Any], source: str, target: str
) -> int:
    """Predict one file, and return the number of its instances."""
    k = options["k_best"]
    with phases.phase("reading", basename(source)):
        corpus = model.task.read(source, labelled=False)
    if k == 1 and not (options["partial"] or options["probabilities"] or options["picture"]):
        few = model.small_outputs(corpus)
        if few is not None:
            model.task.write_outputs(corpus, target, few)
            return len(few)
    kept_labels = model.given_labels(corpus) if options.get("partial") else None
    with phases.phase("featurising", basename(source)):
        examples = model.examples(corpus, kept_labels, executor)
    with phases.phase("predicting", visits=examples.count):
        outputs = model.best_outputs(examples, executor)
    marginals = ranked = None
    if options["probabilities"] or (
        options["picture"] and Ability.MARGINALS in model.inference.provides(model.graph.kind)
    ):
        with phases.phase("computing", "probabilities", examples.count):
            marginals = model.view_marginals(examples, executor)
    if k > 1:
        with phases.phase("listing", f"the {k} best"):
            ranked = ranked_outputs(
                model.task, model.graph, examples, model.k_best_outputs(examples, k, executor), k
            )
    probabilities = marginals if options["probabilities"] else None
    with phases.phase("writing", basename(target)):
        model.task.write_outputs(corpus, target, outputs, probabilities, ranked, k)
    if options["picture"]:
        model.task.write_picture(
            corpus, options["sentence"], options["picture"], outputs, marginals
        )
    return examples.count


def evaluate(options: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Return the metrics of a model on a labelled file, and the task's table of them.

    Parameters
    ----------
    options : mapping
        ``model``, ``input``, ``inference`` (empty for the model's own), ``threads``.
    """
    model = loaded(options)
    with phases.phase("evaluating", Path(options["input"]).name):
        return model.report(options["input"], executor_of(options["threads"]))


def loaded(options: Mapping[str, Any]) -> Model:
    """Load the model, with the options of task and features and the inference that were asked for
    instead of its own.
    """
    with phases.phase("loading", options["model"]):
        model = Model.load(
            find_model(options["model"]), options.get("task"), options.get("features")
        )
    settings = options.get("inference_settings") or {}
    if not options["inference"] and not settings:
        return model
    name = options["inference"] or model.config["inference"]["name"]
    return model.with_inference(name, **settings)


def _check_abilities(model: Model, options: Mapping[str, Any]) -> None:
    """Refuse options that the task or the inference cannot serve, before anything is computed."""
    if options["picture"] and not model.task.pictures:
        name = model.config["task"]["name"]
        raise ConfigError(
            f"draws trees, and task={name} has none.",
            parameter="picture",
            value=options["picture"],
            remedy="Leave it out.",
        )
    if options["probabilities"]:
        compatibility.check_option(
            "probabilities=true", Ability.MARGINALS, model.inference, model.graph
        )
    if options["k_best"] > 1:
        compatibility.check_option(
            f"k_best={options['k_best']}", Ability.K_BEST, model.inference, model.graph
        )


def executor_of(threads: int) -> Executor:
    """So many threads of this process."""
    executor: Executor = registry.create("executor", {"name": "threads", "workers": threads})
    return executor
