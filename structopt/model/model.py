"""A trained model: weights with all that is needed to use them, saved and loaded. Loading runs
nothing from the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structopt.config import compatibility, registry
from structopt.core.data.config_keys import Purpose, relevant
from structopt.core.data.saved_state import SavedState
from structopt.core.entry_points import plugins
from structopt.core.executor import Executor
from structopt.core.factor_graph import FactorGraph
from structopt.core.scorer import SparseFeatures
from structopt.core.task import Task
from structopt.errors import ConfigError, did_you_mean
from structopt.kernels.waist.record import Array
from structopt.model.annotation import FOLDER, Annotator
from structopt.model.folder import SavedModel, read_folder, write_folder
from structopt.model.predictor import Inputs, Predictor
from structopt.model.pruning import Pruner
from structopt.model.restoring import (
    PLUGINS,
    check_together,
    create,
    graph_state,
    restore_graph,
    restored_scorer,
    restoring,
    weights_of,
)
from structopt.model.trained import Trained
from structopt.objective import scoring

if TYPE_CHECKING:  # they use models
    from structopt.model.exchange.exporting import Format
    from structopt.model.explanation.explanation import Explanation
    from structopt.model.explanation.rivals import Against


class Model(Predictor):
    """Weights that can be saved, loaded, and used with another inference; what it predicts:
    `Predictor`.

    Attributes
    ----------
    trained : Trained or None
        Of a model that this process has trained, what further training goes on from
        (`structopt.partial_fit`). It is not saved with the model: the folder of the run has it.
    """

    trained: Trained | None = None

    def with_inference(self, name: str, **options: Any) -> Model:
        """The same model with another inference, by its name, and its options:
        ``model.with_inference("ad3", exact=True)``.

        Raises
        ------
        ConfigError, CompatibilityError
            If there is none of this name, it has no such option, or it cannot solve the model's
            graphs.
        """
        node = {"name": name, **options}
        inference = registry.create("inference", node)
        compatibility.check_solves(inference, self.graph)
        compatibility.check_rounding(self.task, inference.decoder(), self.graph)
        rest = self.scorer, self.weights, self.temperature, self.pruner, self.annotator
        return Model({**self.config, "inference": node}, self.task, self.graph, inference, *rest)

    def explain(
        self,
        instances: Inputs | None = None,
        *,
        sentence: int = 1,
        top: int = 20,
        against: Against = "auto",
        names: str | Path | None = None,
        executor: Executor | None = None,
    ) -> Explanation:
        """What the model has learnt; or, given an input, what decided the prediction for one
        instance of it.

        Parameters
        ----------
        instances : sequence, str, Path or None
            See `predict`. None: the highest and the lowest weights, by label and by pair of labels.
        sentence : int
            Which instance, from 1.
        top : int
            Rows of each table.
        against : str
            What the prediction is compared with: ``runner_up``, the second best output; ``gold``;
            ``change``, the best output that differs in the label of one variable; ``auto``: the
            first of these that there is.
        names : str, Path or None
            A labelled file, such as the training file, whose features give hashed weights their
            names.
        executor : Executor or None
            None: one thread.

        Returns
        -------
        Explanation
            A `TopWeights` or a `Difference`, whose shares add up to the difference of the two
            scores; printed, it is a text.

        Raises
        ------
        ConfigError
            Where scores are no sums of weights, or no output can be compared; for numbers and words
            that are out of range.
        DataError
            See `predict`.
        """
        from structopt.model.explanation import corpora, differences, rivals, top_weights

        if top < 1:
            raise ConfigError("must be at least 1.", parameter="top", value=top)
        if against not in rivals.CHOICES:
            listed = ", ".join(rivals.CHOICES)
            raise ConfigError(
                f"is none of: {listed}.{did_you_mean(against, rivals.CHOICES)}",
                parameter="against",
                value=against,
            )
        executor = executor or registry.serial()
        if instances is None:
            known = [] if names is None else corpora.occurring(self, names, executor)
            return top_weights.top_weights(
                self, top, known, "" if names is None else Path(names).name
            )
        examples = corpora.one_instance(self, instances, sentence, against, executor)
        return differences.explained(self, examples, sentence, against, top, executor)

    def pruned(self) -> Model:
        """The same model without weights that are 0, and without attributes that are left with
        none: equal predictions of less.

        Attributes go where the task can do without them (`Task.pruned`), and the scorer has a row
        of weights for each.
        """
        tables = (
            self.scorer.tables_of(self.weights) if isinstance(self.scorer, SparseFeatures) else None
        )
        task, kept = self.task.pruned(
            {group: np.asarray(table.any(axis=1)) for group, table in (tables or {}).items()}
        )
        scorer, weights = self.scorer.pruned(self.weights, kept)
        rest = self.temperature, self.pruner, self.annotator
        return Model(self.config, task, self.graph, self.inference, scorer, weights, *rest)

    def export(
        self,
        output: str | Path,
        format: Format = "crfsuite",
        *,
        instances: Inputs | None = None,
        encoding: str = "utf8",
    ) -> None:
        """Write a file for other programs.

        Parameters
        ----------
        output : str or Path
            The file; it is replaced at once.
        format : str
            ``crfsuite``: a model file of CRFsuite, of linear chains of order 1 on named attributes;
            the weights are divided by the temperature. ``json``: the weights by
            the names of attributes and labels. ``attributes``: the attributes of the tokens of
            `instances`, in CRFsuite's text format, which ``crfsuite tag`` reads.
        instances : sequence, str, Path or None
            For ``attributes`` only: see `predict`.
        encoding : str
            The encoding of names and text; JSON is ASCII.

        Raises
        ------
        ArgumentError
            For an unknown format; if `instances` are missing, or have no effect.
        ConfigError
            If the format cannot express the model, with the reason.
        ModelError
            If a name cannot be written in the format.
        DataError
            If a file cannot be read or written.
        """
        from structopt.model.exchange.exporting import export

        export(self, output, format, instances, encoding)

    def save(self, folder: str | Path) -> None:
        """Write the model folder, which `structopt.load` reads; equal models give equal bytes."""
        folder = Path(folder)
        task_values, task_arrays = self.task.state()
        layout, scorer_arrays = scoring.stored(self.scorer)
        vocabulary = {"task": task_values, "features": layout, "temperature": self.temperature}
        arrays = {"weights": self.scorer.compress(self.weights), **scorer_arrays}
        learnt, graph_arrays = graph_state(self.graph)
        vocabulary, arrays = vocabulary | learnt, arrays | graph_arrays
        if self.pruner is not None:
            vocabulary["pruner"], pruner_arrays = self.pruner.state()
            arrays |= _named("pruner", pruner_arrays)
        if self.annotator is not None:
            self.annotator.save(folder)
        write_folder(
            folder,
            SavedModel(self.config, vocabulary, arrays | _named("task", task_arrays)),
            self._schema(),
        )

    def _schema(self) -> dict[str, Any]:
        """The columns of inputs and outputs as tables, with an example, for programs that serve the
        model.
        """
        task = self.task
        return {
            "input": task.input_schema.state(),
            "output": task.output_schema.state(),
            "example": task.input_example(),
        }

    @classmethod
    def load(
        cls,
        folder: Path,
        late: Mapping[str, Any] | None = None,
        sources: Mapping[str, Any] | None = None,
    ) -> Model:
        """Read a model folder.

        Parameters
        ----------
        folder : Path
        late : mapping or None
            Parameters of the task to be changed, among those that it lets change (`Task.late`).
        sources : mapping or None
            Files of features, by the keys of the config's node ``features``
            (`Task.read_features_from`).

        Raises
        ------
        ModelError
            If a file is missing, truncated, altered, or of a later format; if the files do not
            belong together; if weights are not finite.
        ConfigError
            If a component that the model was made with is not installed, or the task does not let a
            parameter change, or reads no such features.
        """
        saved = read_folder(folder)
        config, vocabulary = with_late(saved.config, late or {}), saved.vocabulary
        task, graph, inference = (
            create(folder, kind, config) for kind in ("task", "factor_graph", "inference")
        )
        name = config["task"]["name"]
        with restoring(folder, f"task={name}"):
            task.restore(vocabulary["task"], saved.arrays_of("task"))
        if sources:
            task.read_features_from(sources)
        with restoring(folder, f"factor_graph={config['factor_graph']['name']}"):
            restore_graph(graph, vocabulary, saved.arrays)
        with restoring(folder, "the features"):
            scorer = restored_scorer(vocabulary["features"], saved.arrays)
            weights = weights_of(scorer, saved.arrays)
            temperature = SavedState(vocabulary, {}).positive("temperature")
        with restoring(folder, "the model"):
            check_together(task, graph, inference.decoder(), scorer, weights, name)
        with restoring(folder, "the pruner"):
            pruner = _restored_pruner(saved, graph, task, name)
        annotator = Annotator(cls.load(folder / FOLDER)) if task.annotates else None
        return cls(config, task, graph, inference, scorer, weights, temperature, pruner, annotator)


def with_late(config: Mapping[str, Any], late: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the config with other parameters of the task, which it must let change."""
    if not late:
        return config
    name = config["task"]["name"]
    known = registry.load("task", name).late
    for key in late:
        if key not in known:
            listed = (
                f"Those that may: {', '.join(known)}.{did_you_mean(key, known)}"
                if known
                else "Leave it out."
            )
            raise ConfigError(
                f"task.{key} cannot change when a model of task={name} is applied. {listed}"
            )
    node = {**config["task"], **late}
    registry.checked("task", node, {})
    return {**config, "task": node}


def _restored_pruner(saved: SavedModel, graph: FactorGraph, task: Task, name: str) -> Pruner | None:
    """The pruner of a saved model; None where the graph asks for none."""
    if graph.pruning is None:
        return None
    state = SavedState(saved.vocabulary, saved.arrays_of("pruner")).within("pruner")
    pruner = Pruner.restore(graph.pruning, state.values, state.arrays)
    check_together(task, pruner.graph, pruner.inference, pruner.scorer, pruner.weights, name)
    return pruner


def model_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's config that a model needs: components without paths, times or
    hosts; and the versions of the run's plugins, if any.
    """
    nodes = {
        kind: relevant(config[kind], Purpose.SAVING, kind)
        for kind in ("task", "factor_graph", "inference", "loss")
    }
    versions = plugins(config)
    return nodes | ({PLUGINS: versions} if versions else {})


def _named(component: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of a component by the names that they have in a model folder."""
    return {f"{component}.{name}": array for name, array in arrays.items()}
