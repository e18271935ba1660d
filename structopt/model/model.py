"""A trained model: weights, vocabularies and config; save, load, predict. Loading runs nothing from the files."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from structopt.config import registry
from structopt.core.data import ranges
from structopt.core.data.config_keys import Purpose, relevant
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.inference import Inference
from structopt.core.scorer import Scorer
from structopt.core.task import Task
from structopt.errors import ModelError
from structopt.formats import durable_files
from structopt.kernels.waist.record import Array
from structopt.kernels.waist.signatures import Kernels
from structopt.model.pruning import Pruner
from structopt.objective import scoring
from structopt.objective.decoding import KBest, k_best, marginals, predicted
from structopt.objective.drivers import predicting
from structopt.objective.examples import Examples

log = logging.getLogger(__name__)

FORMAT = 1
FILES = ("config.json", "vocabulary.json", "weights.safetensors")
SCHEMA = "schema.json"
"""The columns of the model's inputs and outputs; models of version 0.1.0 lack it, and are read all the same."""


class Model:
    """Weights with everything needed to use them.

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
    ) -> None:
        self.config, self.task, self.graph, self.inference = config, task, graph, inference.decoder()
        self.scorer, self.weights, self.temperature = scorer, weights, temperature or 1.0
        self.pruner = pruner
        self._warned: set[str] = set()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns."""
        return tuple(self.task.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set, in the order of the columns of `marginals`."""
        return tuple(self.task.labels)

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels of features and inference."""
        return predicting(self.scorer, self.graph, self.inference)

    def examples(self, corpus: Any, given: Sequence[str] | None = None, executor: Executor | None = None) -> Examples:
        """Encode a corpus for this model; say once of each column that it lacks that this counts as padding."""
        for name in self.task.missing_columns(corpus):
            if name not in self._warned:
                self._warned.add(name)
                log.warning("%s has no column '%s'; the model reads it as padding.", corpus.path, name)
        encoded = self.task.encode(corpus, given)
        if self.pruner is not None:
            encoded = self.pruner.prune(encoded, executor=executor).encoded
        return Examples.build(encoded, self.graph, self.scorer, self.inference)

    def predict(self, instances: Sequence[Any], executor: Executor | None = None) -> list[Any]:
        """Best output of every instance: a list of labels, one a token; for ``multiclass`` a label.

        Parameters
        ----------
        instances : sequence
            For sequence labelling: sentences, each a sequence of words, of tuples of cells in the order of `columns`, or a
            mapping from column name to sequence. For ``attributes``: each token a list of names or a mapping to values.
            For ``multiclass``: mappings from index to value, or rows of values, as in a matrix.
        """
        return self.best_outputs(self.examples(self.task.corpus(instances), executor=executor), executor)

    def predict_columns(self, columns: Mapping[str, Sequence[Any]]) -> list[Any]:
        """Best outputs of a table's rows, as of `predict`; the task's ``input_schema`` says which columns there are.

        Parameters
        ----------
        columns : mapping of column name to sequence of cells
            Of sentences ``tokens`` and further columns, of which one that is missing or all empty counts as padding.

        Raises
        ------
        DataError
            For a table that is not as the schema says.
        """
        return self._predict_rows(self.task.input_schema.checked(columns))

    def predict_table(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Best outputs of a table's rows as a table, with columns as the task's ``output_schema`` says.

        Raises
        ------
        DataError
            For a table that is not as the ``input_schema`` says, or outputs that are not as many as theirs says.
        """
        table = self.task.input_schema.checked(columns)
        made = self.output_table(self._predict_rows(table))
        self.task.output_schema.check_outputs(made, table)
        return made

    def output_table(self, outputs: Sequence[Any]) -> dict[str, list[Any]]:
        """Outputs as columns: ``labels``; of trees ``heads`` and ``relations``."""
        return self.task.output_table(outputs)

    def _predict_rows(self, table: Mapping[str, list[Any]]) -> list[Any]:
        return self.predict(self.task.instances(table))

    def marginals(self, instances: Sequence[Any], executor: Executor | None = None) -> list[Array]:
        """Probability of every label of every variable: one array of shape (variables, labels) an instance.

        Of trees the probability of every head of every word, shape (words, words + 1); column 0 is the root.
        """
        return self.view_marginals(self.examples(self.task.corpus(instances), executor=executor), executor)

    def best_outputs(self, examples: Examples, executor: Executor | None = None) -> list[Any]:
        """Best outputs of an encoded corpus, in the scheme of the files."""
        return self.task.written(self._outputs(examples, executor))

    def view_marginals(self, examples: Examples, executor: Executor | None = None) -> list[Array]:
        """Marginals of an encoded corpus as of `marginals`, in the parts that the task's view is read from."""
        view, rest = self.task.view, (executor or registry.serial(), self.temperature)
        found = marginals(examples, self.kernels, self.weights, self.graph.views[view], *rest)
        return self.graph.probabilities(view, examples.encoded, examples.structure, found)

    def k_best_outputs(self, examples: Examples, k: int, executor: Executor | None = None) -> list[KBest]:
        """The k best outputs of every instance of an encoded corpus."""
        return k_best(examples, self.kernels, self.weights, k, executor or registry.serial())

    def evaluate(self, path: str | Path, executor: Executor | None = None) -> dict[str, float]:
        """Metrics on a labelled file."""
        return self.report(path, executor)[0]

    def report(self, path: str | Path, executor: Executor | None = None) -> tuple[dict[str, float], str]:
        """Metrics on a labelled file, and the task's table of them."""
        corpus = self.task.read(path)
        predicted = self._outputs(self.examples(corpus, executor=executor), executor)
        return self.task.evaluate(corpus, predicted), self.task.report(corpus, predicted)

    def _outputs(self, examples: Examples, executor: Executor | None) -> list[Any]:
        rest = self.inference, self.kernels, self.weights, executor or registry.serial()
        return predicted(examples, self.task, self.graph, *rest)

    def save(self, folder: Path) -> None:
        """Write the model folder; equal models give equal bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        values, arrays = self.task.state()
        layout, arrays_of_scorer = scoring.stored(self.scorer)
        task_arrays = {f"task.{name}": array for name, array in arrays.items()}
        weights = {"weights": self.scorer.compress(self.weights), **arrays_of_scorer}
        vocabulary = {"task": values, "features": layout, "temperature": self.temperature}
        if self.pruner is not None:
            vocabulary["pruner"], pruner_arrays = self.pruner.state()
            weights |= {f"pruner.{name}": array for name, array in pruner_arrays.items()}
        durable_files.write_json(folder / "config.json", self.config)
        durable_files.write_json(folder / "vocabulary.json", vocabulary)
        durable_files.write_json(folder / SCHEMA, self._tables())
        durable_files.write_arrays(folder / "weights.safetensors", weights | task_arrays)
        manifest = {"format": FORMAT, "sha256": {name: durable_files.digest(folder / name) for name in (*FILES, SCHEMA)}}
        durable_files.write_json(folder / "manifest.json", manifest)

    def _tables(self) -> dict[str, Any]:
        """What the model takes and gives as tables, for whoever serves it."""
        task = self.task
        return {"input": task.input_schema.state(), "output": task.output_schema.state(), "example": task.input_example()}

    @classmethod
    def load(cls, folder: Path) -> Model:
        """Read a model folder.

        Raises
        ------
        ModelError
            If a file is missing, truncated, altered, or of a later format; if weights are not finite.
        ConfigError
            If a component that the model was made with is not installed.
        """
        _verify(folder)
        config = json.loads((folder / "config.json").read_text(encoding="utf8"))
        vocabulary = json.loads((folder / "vocabulary.json").read_text(encoding="utf8"))
        arrays, _ = durable_files.read_arrays(folder / "weights.safetensors")
        _refuse_overflow(folder, arrays)
        task = registry.create("task", config["task"])
        task.restore(vocabulary["task"], _under("task", arrays))
        scorer = scoring.restored(vocabulary["features"], arrays)
        weights = scorer.expand(arrays["weights"])
        graph, inference = (registry.create(kind, config[kind]) for kind in ("factor_graph", "inference"))
        pruner = None
        if graph.pruning is not None:
            pruner = Pruner.restore(graph.pruning, vocabulary["pruner"], _under("pruner", arrays))
        return cls(config, task, graph, inference, scorer, weights, vocabulary["temperature"], pruner)


def model_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's config that a model needs: components without paths, times or hosts."""
    return {kind: relevant(config[kind], Purpose.SAVING, kind) for kind in ("task", "factor_graph", "inference", "loss")}


def _under(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays whose names begin so, without that beginning."""
    return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}


def find_model(address: str) -> Path:
    """Return the model folder of a run folder, a model folder, or an MLflow address (``runs:/...``, ``models:/...``).

    Raises
    ------
    ModelError
        If there is no model there.
    """
    if address.startswith(("runs:/", "models:/")):
        return _download(address)
    folder = Path(address)
    for candidate in (folder, folder / "model", folder / "artifacts" / "model"):
        if (candidate / "manifest.json").is_file():
            return candidate
    what = "has no model in it" if folder.is_dir() else "does not exist"
    raise ModelError(
        f"{address}: {what}. Give a run folder, a model folder (with manifest.json), or an MLflow address such as runs:/ID/model."
    )


def _download(address: str) -> Path:
    from structopt.tracker.logged_model import download_model

    folder = download_model(address)
    for found in sorted(folder.rglob("manifest.json")):
        return found.parent
    raise ModelError(f"{address}: this MLflow model was not saved by structopt.")


def _refuse_overflow(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Refuse weights that are not finite, the model's own or its pruner's: they predict nothing."""
    for name in ("weights", "pruner.weights"):
        if name in arrays and not ranges.finite(arrays[name]):
            count = int(np.count_nonzero(~np.isfinite(arrays[name])))
            raise ModelError(
                f"{folder / 'weights.safetensors'}: {count} of {len(arrays[name])} {name} are not finite numbers: the training "
                "of this model overflowed. Train again, with a smaller optimizer.C or optimizer.eta, or features scaled down."
            )


def _verify(folder: Path) -> None:
    """Compare every file with the digest in the manifest."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf8"))
        expected, version = dict(manifest["sha256"]), int(manifest["format"])
    except FileNotFoundError:
        raise ModelError(f"{folder}: there is no model here (manifest.json is missing).") from None
    except (ValueError, KeyError, TypeError):
        raise ModelError(f"{folder / 'manifest.json'}: truncated or altered. Take it from a backup, or train again.") from None
    if version > FORMAT:
        raise ModelError(f"{folder}: the model has format {version}; this version reads {FORMAT}. Update structopt.")
    for name in dict.fromkeys((*FILES, *expected)):
        if not (folder / name).is_file():
            raise ModelError(f"{folder / name}: the file is missing; the model is not complete.")
        if durable_files.digest(folder / name) != expected.get(name):
            raise ModelError(f"{folder / name}: truncated or altered since it was saved. Take it from a backup, or train again.")
