"""The contract of tasks: the only component that knows words, files and what an output means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypedDict

from structopt.core.component import Component
from structopt.core.data.attribute_table import Entries, EntryReader
from structopt.core.data.boundaries import Boundary
from structopt.core.data.encoded import Encoded
from structopt.core.data.file_sets import DataPath
from structopt.core.data.table_schema import Schema
from structopt.core.storage.learner import Learner
from structopt.errors import ConfigError, DataError
from structopt.kernels.waist.record import Array

Ranked = list[tuple[float, Any]]
"""Scores and outputs of one instance, the best first."""


class Reading(TypedDict, total=False):
    """Keys of the config's node ``features`` that a task reads, with their types, where it has no
    such class of its own.
    """

    templates: list[str]
    transitions: list[str]
    lists: dict[str, str] | None
    min_count: int
    bias: bool
    normalize: Literal["none", "unit"]
    standardize: Literal["none", "columns"]


class Outcomes(Protocol):
    """The counts of each instance; metrics are functions of their sums."""

    def __len__(self) -> int:
        """Number of instances."""

    def scores(self, times: Array | None = None) -> dict[str, float]:
        """Metrics of the corpus that has instance i ``times[i]`` times, fractions in [0, 1]; once
        each by default.
        """


class Task(Component):
    """Reads and writes files, encodes instances, decodes outputs, and scores them.

    A saved model keeps no paths: a constructor's ``train``, ``dev``, ``test``, ``limit`` and
    ``labels`` need defaults.

    Attributes
    ----------
    limit : int or None
        Training instances to read.
    labels : tuple of str
        The label set, after `fit`.
    unit : str
        What a variable is to a user, in the plural.
    instance : str
        What an instance is to a user.
    view : str
        What it decodes of an output: one of the views that factor graphs offer
        (`FactorGraph.views`).
    partial : bool
        Whether training data may leave gold outputs open (``task.partial=true``).
    pictures : bool
        Whether there is a `write_picture`.
    rounds_marginals : bool
        Whether outputs are made of the marginals by the inference
        (`structopt.core.structure_kind.InferenceKernels.round`), and not the best ones.
    reads_blocks : bool
        Whether training data may be read in blocks, for ``storage=disk``.
    missing : str
        Whether input that lacks columns of training is refused (``refuse``), or these columns count
        as empty (``pad``).
    late : tuple of str
        Parameters that may be typed anew when a model is applied: how files are read, and what
        outputs are to be.
    reading : TypedDict
        The keys of the config's node ``features`` that its constructor takes as ``features``, if it
        does; the others are the scorer's.
    """

    kind_of_component: ClassVar[str] = "task"
    reading: ClassVar[type[Any]] = Reading

    limit: int | None
    labels: tuple[str, ...]
    unit: str = "tokens"
    instance: str = "instance"
    view: str = "labels"
    partial: bool = False
    pictures: bool = False
    rounds_marginals: bool = False
    reads_blocks: bool = False
    missing: Literal["refuse", "pad"] = "pad"
    late: ClassVar[tuple[str, ...]] = ()

    @property
    def open_gold(self) -> str:
        """The setting that leaves gold outputs open, so that targets are sets of outputs; empty
        where they are known in full.
        """
        return "task.partial=true" if self.partial else ""

    @property
    def unlearned(self) -> Mapping[str, Mapping[str, float]]:
        """Weights of a model that learns nothing, by part group and attribute, for
        ``warm_start=counts``; by default none.
        """
        return {}

    @property
    @abstractmethod
    def files(self) -> Mapping[str, DataPath]:
        """The data by split: train, dev, test."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns."""

    @property
    @abstractmethod
    def main_metric(self) -> str:
        """The metric that early stopping and pictures look at."""

    @property
    @abstractmethod
    def input_schema(self) -> Schema:
        """Columns of a table of inputs, one row an instance; they may depend on what `fit`
        learnt.
        """

    @property
    @abstractmethod
    def output_schema(self) -> Schema:
        """Columns of a table of outputs, one row an instance."""

    @abstractmethod
    def input_example(self) -> dict[str, list[Any]]:
        """Some rows in the input schema, of values that training has shown; no path, time or
        host.
        """

    @abstractmethod
    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Instances, as `corpus` takes them, of a table that ``input_schema.checked`` has
        returned.
        """

    @abstractmethod
    def output_table(self, outputs: Sequence[Any]) -> dict[str, list[Any]]:
        """Outputs, as `written` returns them, as the columns of the output schema."""

    @abstractmethod
    def read(self, path: Any, limit: int | None = None, labelled: bool = True) -> Any:
        """Read a file, or one of `files`, or raise `DataError` with file and line; unlabelled input
        may lack columns.
        """

    @abstractmethod
    def corpus(self, instances: Sequence[Any]) -> Any:
        """Make an unlabelled corpus of instances given in memory."""

    def entry_reader(self, missing: Collection[str] = ()) -> EntryReader:
        """Return a function that writes the attributes of the positions of a few instances into
        buffers, as `encode` numbers them, and returns their size.

        Predictions of a few sentences use it, because a corpus takes longer than the inference. The
        function returns None for instances for which the task has no such shortcut, or which
        `corpus` refuses. It is for one thread. If the size exceeds the space, the content of the
        buffers is undefined.

        Parameters
        ----------
        missing : collection of str
            Input columns that the instances may lack.
        """
        return lambda _instances, _buffers: None

    def corpus_entries(
        self, corpus: Any, most: int, missing: Collection[str] = ()
    ) -> Entries | None:
        """Return the same of an unlabelled corpus; None also if it has more than `most`
        positions.
        """
        return None

    def labelled(self, instances: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Make a corpus of instances and their gold outputs in memory, as `read` makes one of a
        labelled file.

        It is what `fit` learns from, before which nothing is known of columns and labels, and what
        `evaluate` scores by.

        Parameters
        ----------
        instances : sequence
            As `corpus` takes them.
        outputs : sequence
            One an instance, in the form that `written` returns, or another that can be taken for
            it.

        Raises
        ------
        DataError
            Outputs of another form, or not as many as there are instances.
        ConfigError
            By default: where the task learns from files alone.
        """
        raise ConfigError(
            "This task learns from files, and not from instances in memory.",
            remedy="Set `train=FILE`.",
            kinds={"train": "task"},
        )

    def subset(self, corpus: Any, first: int, last: int) -> Any:
        """The instances first <= i < last of a labelled corpus, in their order, to be encoded and
        scored as those of `read` are.

        It takes a share of the training file apart (``tail=0.2``); the corpus then has a length. By
        default that of a list is known, and no other.

        Raises
        ------
        ConfigError
            By default: where the corpus is no list.
        """
        if isinstance(corpus, list | tuple):
            return corpus[first:last]
        raise ConfigError(
            "This task's training data cannot be divided.",
            remedy="Give `dev` and `test`, and leave out `tail`.",
            kinds=dict.fromkeys(("dev", "test", "tail"), "task"),
        )

    @property
    def empty_output(self) -> Any:
        """The output of an instance without variables, as `decode` returns it; an empty list by
        default.
        """
        return []

    @property
    def annotator(self) -> str | None:
        """A run or model folder whose predictions this task takes for a column of its inputs; None,
        the default: none.

        A run loads that model and hands its predictions in (`annotated`): of all splits but the
        training split, and of all inputs afterwards. The model is saved with this one.
        """
        return None

    @property
    def annotates(self) -> bool:
        """Whether inputs have to be `annotated` before they are encoded; a restored task knows no
        folder any more.
        """
        return self.annotator is not None

    def unannotated(self, corpus: Any) -> list[Any]:
        """The instances of a corpus as the annotator takes them: for example lists of words."""
        raise ConfigError("This task takes no columns from another model.")

    def annotated(self, corpus: Any, outputs: Sequence[Any]) -> Any:
        """A corpus with the annotator's predictions, one an instance, instead of what it had."""
        raise ConfigError("This task takes no columns from another model.")

    @abstractmethod
    def fit(self, corpus: Any, earlier: Any = None) -> Encoded:
        """Make labels and vocabulary from the training corpus, and encode it.

        Of an `earlier` task, fitted and of the same class, all labels, attributes and values are
        kept: their weights go on being used (``warm_start.vocabulary=union``). A value that is
        known by its code keeps it.
        """

    def blocks(self, path: Any, limit: int | None = None) -> Iterator[Any]:
        """Read training data as corpora of consecutive instances, one after the other, of which
        each fits into memory.

        Only tasks that declare `reads_blocks` are asked; these also have a `learner`. The path may
        be one of its `stretches`.
        """
        raise NotImplementedError

    def stretches(self, path: Any) -> list[Any]:
        """Divide training data into consecutive stretches, whose `blocks` may be read apart,
        without reading all of them.

        By default the data are one stretch.
        """
        return [path]

    def learner(self, first: Any, earlier: Any = None) -> Learner:
        """Return what makes labels and vocabulary as `fit` does, of a corpus in `blocks`, given the
        `first` of them.
        """
        raise NotImplementedError

    @abstractmethod
    def vocabulary(self) -> Mapping[str, Sequence[str]]:
        """Names of what `fit` learnt beside attributes, by kind, ``labels`` among them: warm starts
        count them.
        """

    @abstractmethod
    def encode(self, corpus: Any, given: Sequence[Any] | None = None) -> Encoded:
        """Encode a corpus with the vocabulary of `fit`, without what that does not know.

        Outputs keep what is `given`: as `given_labels` or `kept_outputs` return it.
        """

    @abstractmethod
    def decode(self, encoded: Any, view: Any) -> list[Any]:
        """Turn the graph's view of outputs into outputs, one an instance."""

    @abstractmethod
    def outcomes(self, gold: Any, predicted: Sequence[Any]) -> Outcomes:
        """What every instance of a corpus with gold adds to the scores of predicted outputs."""

    @property
    def comparable_metric(self) -> str:
        """The metric of estimators, which is the same for all training data; `main_metric` by
        default.
        """
        return self.main_metric

    def comparable_outcomes(self, gold: Any, predicted: Sequence[Any]) -> Outcomes:
        """Return the counts for `comparable_metric`; `outcomes` by default."""
        return self.outcomes(gold, predicted)

    @abstractmethod
    def report(self, corpus: Any, predicted: Sequence[Any]) -> str:
        """Return the scores as a table to read."""

    @abstractmethod
    def attribute_names(self, group: str = "label") -> list[str]:
        """Readable names of the attributes of a part group; warm starts match weights by them."""

    @property
    def hashes_attributes(self) -> bool:
        """Whether `attribute_names` are slots of a hash table, each of several attributes."""
        return False

    @abstractmethod
    def write_outputs(
        self,
        corpus: Any,
        target: str | Path,
        outputs: Sequence[Any],
        probabilities: Sequence[Array] | None = None,
        ranked: Sequence[Ranked] | None = None,
        k_best: int = 1,
    ) -> None:
        """Write the corpus again with what was predicted.

        Parameters
        ----------
        corpus : as `read` gave it
        target : str or Path
        outputs : one an instance, as `written` returns them
        probabilities : one array an instance, or None
            The probability of every configuration of every variable; of trees, of every head of
            every word.
        ranked : one list an instance, or None
            Scores and outputs of its k best.
        k_best : int
            How many of them were asked for; an instance may have fewer.
        """

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that `fit` learnt, as JSON values and arrays; no path, time or host."""

    def numbering(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What a coarser model must number alike to prune for this task; by default the whole
        `state`.
        """
        return self.state()

    @abstractmethod
    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Undo `state`: the task is fitted as it was."""

    def evaluate(self, gold: Any, predicted: Sequence[Any]) -> dict[str, float]:
        """Metrics of predicted outputs against a corpus with gold, fractions in [0, 1]."""
        return self.outcomes(gold, predicted).scores()

    def boundary(self, probabilities: bool = False) -> Boundary | None:
        """Where instances end in the text that `read` and `write_outputs` have, so that it can be
        predicted as it comes.

        By default None: the task reads no text, or one that has to be known as a whole, or writes
        more than one file.
        """
        return None

    def written(self, outputs: Sequence[Any]) -> list[Any]:
        """Outputs in the form of the files."""
        return list(outputs)

    def pruned(self, kept: Mapping[str, Array]) -> tuple[Task, Mapping[str, Array]]:
        """The same fitted task without attributes that have no weights, which encodes corpora
        without them; and which it kept.

        By default itself, with all. That is right where an attribute has a part in what the others
        are, as in vectors that are scaled to length 1.

        Parameters
        ----------
        kept : mapping of part group name to bool array
            Which attributes have weights, of the groups whose weights are tables.

        Returns
        -------
        (Task, mapping of part group name to bool array)
            Of the groups of which it left attributes out, which of the rows are left, in their
            order.
        """
        return self, {}

    def configuration_names(self, group: str) -> list[Any] | None:
        """Names of the configurations of a part group, by which warm starts match weights; None:
        tuples of labels.
        """
        return None

    def missing_columns(self, corpus: Any) -> list[str]:
        """Names of the columns that were known in training and that a corpus lacks."""
        return []

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The columns without which input is refused, after `fit`; by default none is known."""
        return ()

    def read_features_from(self, sources: Mapping[str, Any]) -> None:
        """Take files of features when a model is applied, by the keys of the config's node
        ``features``, such as ``vectors``.

        Raises `ConfigError` for those that the model does not read; by default it reads none.
        """
        raise ConfigError(
            "this model reads no features from files of their own.",
            where=f"features.{next(iter(sources))}",
            remedy="Leave it out.",
        )

    def given_labels(self, corpus: Any) -> Sequence[Any] | None:
        """The labels that an input has already, for ``predict partial=true``; None where it has no
        column of them.
        """
        raise ConfigError(
            "This task predicts everything and keeps nothing that is given.",
            remedy="Leave out partial=true.",
        )

    def kept_outputs(self, corpus: Any, outputs: Sequence[Any]) -> Sequence[Any]:
        """What `encode` takes as ``given``, of outputs in memory, one an instance, with None where
        they are open.

        Raises `DataError` for outputs of another form, and for labels that the model does not have.
        """
        raise ConfigError(
            "This task predicts everything and keeps nothing that is given.",
            remedy="Leave out given.",
        )

    def marginal_columns(
        self, encoded: Any, index: int, choices: Mapping[str, Array]
    ) -> dict[str, Any]:
        """The marginals of an instance as named columns, of the graph's `choices`
        (`FactorGraph.choices`).

        By default ``variable``, from 1, ``label`` by its name, and ``probability``.
        """
        labels = [self.labels[y] for y in choices["label"].tolist()]
        return {
            "variable": choices["variable"] + 1,
            "label": labels,
            "probability": choices["probability"],
        }

    def write_picture(
        self,
        corpus: Any,
        number: int,
        target: str | Path,
        outputs: Sequence[Any],
        probabilities: Sequence[Array] | None,
    ) -> None:
        """Draw the output of one instance, counted from 1."""
        raise ConfigError("This task draws no pictures.", remedy="Leave out picture=FILE.")

    def shown_tokens(self, corpus: Any, index: int) -> list[str]:
        """What stands above the labels of an instance where notebooks show them; by default
        nothing.
        """
        return []

    def drawn(self, corpus: Any, number: int) -> int:
        """Return the index of the instance to draw, given its number, counted from 1; DataError
        where a corpus has none of it.
        """
        if not 1 <= number <= len(corpus):
            message = (
                f"there is no {self.instance} {number} to draw: the file has {len(corpus)}, "
                "counted from 1."
            )
            raise DataError(corpus.path, None, message)
        return number - 1
