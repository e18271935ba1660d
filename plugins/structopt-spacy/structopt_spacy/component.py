"""The base of the components: training, prediction, and storage with the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Token
from spacy.training import Example, validate_get_examples
from spacy.util import minibatch

import structopt
from structopt.plugin import ConfigError, ModelError
from structopt_spacy.sentences import cells, sentences

MODEL = "model"
"""The folder of the model in the folder of the component."""


class Component(Pipe):
    """A component whose model `initialize` trains. It has no `update`.

    Parameters
    ----------
    nlp : Language
    name : str
        The component's name in the pipeline.
    settings : mapping
        ``optimizer``, ``loss``, ``C`` and ``epochs`` of the estimators of `structopt`; None leaves
        a setting to the task.
    overrides : sequence of str
        Further settings, as on the command line: ``["optimizer.eta=0.1"]``.
    columns : mapping or None
        Further columns of the task, and the attributes of `spacy.tokens.Token` that they read.

    Attributes
    ----------
    model : Model or None
        The model of `structopt`; None before training.
    """

    task: ClassVar[str]
    word: ClassVar[str] = "word"
    """The column of the words."""
    estimator: ClassVar[Callable[..., Any]]
    model: Any

    def __init__(
        self,
        nlp: Language,
        name: str,
        settings: Mapping[str, Any],
        overrides: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.vocab, self.name, self.model = nlp.vocab, name, None
        self.settings, self.overrides = dict(settings), list(overrides)
        self.columns = {self.word: "text", **(columns or {})}
        for column, attribute in self.columns.items():
            if not hasattr(Token, attribute):
                raise ConfigError(
                    f"{attribute!r} is not an attribute of spacy.tokens.Token.",
                    parameter=f"columns.{column}",
                    remedy="Choose one such as tag_, pos_, lemma_ or morph.",
                )

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language,
        model: str | None = None,
    ) -> None:
        """Train on all examples.

        The cells of tokens come from `Example.predicted`, after the components in
        ``[training] annotating_components`` that come before this one. Sentences without any gold
        annotation are left out.

        Parameters
        ----------
        get_examples : callable
            Returns the training corpus.
        nlp : Language
        model : str or None
            A run folder or model folder of `structopt`, whose model is used; nothing is trained.

        Raises
        ------
        StructoptError
            If the corpus is streamed or has no annotations, if a column is empty, for settings
            that `structopt` refuses, and for a model of another task.
        """
        if model is not None:
            self.load(model)
            return
        training = nlp.config.interpolate()["training"]
        if training["max_epochs"] == -1:
            raise ConfigError(
                f"Component {self.name!r} needs the whole corpus, and spaCy gives it only 100 "
                "examples of a streamed corpus.",
                parameter="training.max_epochs",
                value=-1,
                remedy="Set it to 1.",
            )
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        examples = list(get_examples())
        X, y = list[dict[str, list[str]]](), list[list[Any]]()
        for doc, example in zip(self._annotated(examples, nlp, training), examples, strict=True):
            gold = self.gold(example)
            for tokens in sentences(doc, example):
                outputs = self.outputs(tokens, gold)
                if any(output is not None for output in outputs):
                    X.append(cells(tokens, self.columns))
                    y.append(outputs)
        self._check(X, y)
        self.model = self._estimator(y).fit(X, y).model_

    def _annotated(
        self, examples: Sequence[Example], nlp: Language, training: Mapping[str, Any]
    ) -> Iterable[Doc]:
        """Return the predicted documents with the annotations of earlier components."""
        earlier = takewhile(lambda named: named[1] is not self, nlp.components)
        others = [pipe for name, pipe in earlier if name in training["annotating_components"]]
        docs: Iterable[Doc] = (one.predicted for one in examples)
        if others:
            docs = (doc.copy() for doc in docs)
        for other in others:
            docs = other.pipe(docs) if hasattr(other, "pipe") else map(other, docs)
        return docs

    def _check(self, X: Sequence[Mapping[str, list[str]]], y: Sequence[Sequence[Any]]) -> None:
        """Refuse training data without annotations, with an empty column, or with labels in which
        structopt would see sets of labels.
        """
        if not X:
            raise ConfigError(
                f"No token of the examples has gold annotations for component {self.name!r}.",
                remedy="Check the training corpus.",
            )
        for column, attribute in self.columns.items():
            if all(cell == "_" for sentence in X for cell in sentence[column]):
                raise ConfigError(
                    f"No token has {attribute} when component {self.name!r} is trained.",
                    parameter=f"columns.{column}",
                    remedy="Add the component that sets it to [training] annotating_components, "
                    "or leave the column out.",
                )
        sets = {one for labels in y for one in labels if isinstance(one, str) and "|" in one}
        if sets and self.is_partial(y):
            raise ConfigError(
                f"Component {self.name!r} has tokens without a gold label, and the label "
                f"{min(sets)!r}, whose | would separate the labels that are possible.",
                remedy="Train on gold tokens (gold_preproc = true), or rename the label.",
            )

    def _estimator(self, y: Sequence[Sequence[Any]]) -> Any:
        """Return the estimator with the settings of this component."""
        chosen = {override.partition("=")[0].lstrip("+") for override in self.overrides}
        if "task" in chosen:
            raise ConfigError(
                f"has no effect on component {self.name!r}, whose task is {self.task}.",
                parameter="task",
                remedy="Leave it out of overrides, or add a component with another factory.",
            )
        further = [f"{key}={value}" for key, value in self.defaults(y).items() if key not in chosen]
        return type(self).estimator(**self.settings, overrides=[*self.overrides, *further])

    def defaults(self, y: Sequence[Sequence[Any]]) -> dict[str, str]:
        """Return settings that the training data need, unless `overrides` has them."""
        return {"task.partial": "true"} if self.is_partial(y) else {}

    def is_partial(self, y: Sequence[Sequence[Any]]) -> bool:
        """Whether some outputs are unknown."""
        return any(output is None for outputs in y for output in outputs)

    def load(self, folder: str | Path) -> None:
        """Use the model of a run folder or model folder of `structopt`.

        Raises
        ------
        ModelError
            If there is none, or it is damaged or has another task.
        """
        model = structopt.load(folder)
        config = getattr(model, "config", {})
        task = config.get("task", {}).get("name", "arrays")
        if task != self.task:
            raise ModelError(
                f"has task={task}, and component {self.name!r} needs task={self.task}.",
                where=str(folder),
                remedy="Name the folder of another run.",
            )
        self.model = model

    def gold(self, example: Example) -> list[Any]:
        """Return the gold annotation of every token of `example.predicted`, or None."""
        raise NotImplementedError

    def outputs(self, tokens: Sequence[Token], gold: Sequence[Any]) -> list[Any]:
        """Return the outputs of a sentence from the annotations of all tokens."""
        return [gold[token.i] for token in tokens]

    def annotate(
        self, doc: Doc, groups: Sequence[Sequence[Token]], outputs: Sequence[Sequence[Any]]
    ) -> None:
        """Set the predicted outputs of the sentences of a document."""
        raise NotImplementedError

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        try:
            self._predict([doc])
        except Exception as error:
            self.get_error_handler()(self.name, self, [doc], error)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, `batch_size` at once."""
        for batch in minibatch(stream, batch_size):
            try:
                self._predict(batch)
                yield from batch
            except Exception as error:
                self.get_error_handler()(self.name, self, batch, error)

    def _predict(self, docs: Sequence[Doc]) -> None:
        if self.model is None:
            raise ConfigError(
                f"Component {self.name!r} has no model.",
                remedy="Call nlp.initialize with examples, or load a folder.",
            )
        groups = list(map(sentences, docs))
        X = [cells(tokens, self.columns) for group in groups for tokens in group]
        outputs = iter(self.model.predict(X) if X else ())
        for doc, group in zip(docs, groups, strict=True):
            self.annotate(doc, group, [next(outputs) for _ in group])

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model, sorted."""
        return () if self.model is None else tuple(sorted(self.label_names(self.model.labels)))

    def label_names(self, labels: Sequence[str]) -> set[str]:
        """Return the names by which spaCy knows labels of the model."""
        return set(labels)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model to a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        if self.model is not None:
            self.model.save(Path(path) / MODEL)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read the model that `to_disk` has written; no code of the folder is run."""
        if (Path(path) / MODEL).exists():
            self.load(Path(path) / MODEL)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the model as bytes."""
        with TemporaryDirectory(prefix="structopt-") as folder:
            self.to_disk(folder)
            files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            content: bytes = srsly.msgpack_dumps(
                {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
            )
        return content

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Undo `to_bytes`.

        Raises
        ------
        ModelError
            If a file has a name that `to_bytes` does not write, or a content that is damaged.
        """
        with TemporaryDirectory(prefix="structopt-") as folder:
            for name, content in srsly.msgpack_loads(data).items():
                path = Path(folder) / name
                if ".." in path.parts or not path.is_relative_to(folder):
                    raise ModelError(f"names a file outside the model: {name}.", where=self.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return self.from_disk(folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the model as its files, as processes of `nlp.pipe` need them."""
        kept = {
            key: one for key, one in vars(self).items() if key not in ("model", "error_handler")
        }
        return _restored, (type(self), self.name, kept, self.to_bytes())


def _restored(kind: type[Component], name: str, kept: Mapping[str, Any], data: bytes) -> Component:
    """Undo `Component.__reduce__`."""
    component = kind.__new__(kind)
    component.name, component.model = name, None
    for key, value in kept.items():
        setattr(component, key, value)
    return component.from_bytes(data)
