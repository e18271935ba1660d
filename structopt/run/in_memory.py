"""Training on instances in memory, without a run folder: no checkpoint, log or other file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structopt.core.data.in_memory import InMemory
from structopt.errors import SystemRefusal
from structopt.formats import durable_files
from structopt.learning.training import Training
from structopt.model.model import Model
from structopt.progress import console
from structopt.run.closing import summary
from structopt.run.components import make_components
from structopt.run.evaluation import Metrics, evaluate
from structopt.run.reading import read
from structopt.run.training_run import TrainingRun, surroundings


def train(
    config: Mapping[str, Any], splits: Mapping[str, InMemory], earlier: Model | None = None
) -> tuple[Model, Metrics]:
    """Train as a run does, without its files and its tracker.

    Parameters
    ----------
    config : mapping
        Composed and validated.
    splits : mapping of split to InMemory
        ``train``, and perhaps ``dev``.
    earlier : Model or None
        The model that training continues from.

    Returns
    -------
    Model, Metrics
        The model, and the metrics that a run writes into ``metrics.json``.

    Raises
    ------
    StructoptError
        For invalid settings and data.
    KeyboardInterrupt
        At an interrupt; nothing is left then.
    """
    with surroundings(config):
        run = TrainingRun(config, make_components(config, splits))
        try:
            return _train(run, earlier)
        except OSError as error:
            raise SystemRefusal(error) from error
        finally:
            run.components.executor.close()


def _train(run: TrainingRun, earlier: Model | None) -> tuple[Model, Metrics]:
    data = read(run.config, run.components, earlier)
    optimizer = run.optimizer(data)
    callbacks = [run.development(data, optimizer), *run.followers(data)]
    training = Training(**run.options(data, optimizer), callbacks=callbacks)
    training.start(data.initial, data.earlier)
    weights = training.run()
    model = run.model(data, weights)
    model.trained = run.trained(training)
    metrics = evaluate(run.config, run.components, data, training, weights, run.shards(data))
    console.say(summary(run.label, run.components, data, training, metrics))
    run.check_end(training, weights)
    return model, durable_files.plain(metrics)
