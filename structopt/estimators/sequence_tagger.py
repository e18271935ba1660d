"""Labels of the tokens of sequences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from structopt.core import checks
from structopt.core.data.in_memory import EITHER, is_missing, is_open, read_once
from structopt.errors import ArgumentError, ConfigError
from structopt.estimators.estimator import COMMON, Estimator
from structopt.formats.forbidden_pairs import checked_pairs, unknown_warning
from structopt.formats.in_memory.instances import shown
from structopt.model.explanation.naming import ModelNames, weight_rows
from structopt.model.marginals import Marginals


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceTagger(Estimator):
    """One label for every token of a sequence: a chain, whose neighbouring labels depend on each
    other.

    X is a list of sequences. Without `templates`, a token is what python-crfsuite takes: a mapping
    of features (text, numbers, booleans, nested lists, sets and mappings) or a list of their names;
    or a sequence is a matrix, dense or sparse, a row a token. With `templates` a sequence is a list
    of words, a list of tuples of cells, or a mapping from column to cells; the columns are those of
    ``task=ner``: word, pos, chunk. y is a list of lists of labels: text, integers or
    booleans. A set of labels says that each of them is right, and None then allows all labels.

    Parameters
    ----------
    templates : sequence of str or None
        Templates of features (``word[-1..1]``); ``"default"`` stands for those of ``task=ner``.
    order : int or None
        Of the chain: on how many labels before it a label depends.
    support : str or None
        ``seen``: weights for the pairs of feature and label that occur in training; ``all``.
    min_count : int or None
        Features that are rarer are left out.
    valid_tags : bool or None
        Forbid sequences that the scheme of the labels (IOB, IOB2, BIOES) forbids.
    constraints : list of pairs, or None
        Label sequences that no output has, in training and prediction: (A, B) forbids label B
        after A, (None, B) B at the start, (A, None) A at the end. Labels of single tokens are
        restricted by `allowed` of the methods that predict.
    c1, c2 : float or None
        Regularisation as CRFsuite counts it: m P = c1 ||theta||_1 + c2 ||theta||^2 + sum_i L_i.
        None is 0, and one of them must be above 0. They replace `C`, and choose
        ``optimizer="lbfgs"`` and ``loss="crf"`` unless you name others.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.

    Attributes
    ----------
    classes_ : array
        The labels.
    state_features_, transition_features_ : dict
        Weights by names; the others of `structopt.estimators.estimator.Estimator`.

    Examples
    --------
    >>> SequenceTagger(optimizer="lbfgs").fit([[{"word": "Ann"}, {"word": "slept"}]], [["PER", "O"]])
    """

    keys: ClassVar[Mapping[str, str]] = {
        **COMMON,
        "order": "factor_graph.order",
        "support": "features.support",
        "min_count": "features.min_count",
        "valid_tags": "task.valid_tags",
    }

    templates: Sequence[str] | str | None = None
    order: int | None = None
    support: str | None = None
    min_count: int | None = None
    valid_tags: bool | None = None
    constraints: Sequence[tuple[Any, Any]] | None = None
    c1: float | None = None
    c2: float | None = None

    @property
    def task_name(self) -> str:
        """Attributes that are given, or sentences of which templates make them."""
        return "attributes" if self.templates is None else "ner"

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the config that parameters set, with the templates."""
        settings = {
            **super().settings,
            "features.templates": self._listed_templates(),
            "task.forbidden": self._forbidden(),
        }
        chosen = self._regularisation()
        return settings | {key: value for key, value in chosen.items() if settings.get(key) is None}

    def _listed_templates(self) -> list[str] | None:
        """The templates as a list; None for ``default`` and for features of tokens."""
        return None if self.templates in (None, "default") else list(self.templates or ())

    def _forbidden(self) -> list[list[str | None]] | None:
        """The constraints as the task takes them.

        Raises
        ------
        ArgumentError
            If they are not pairs of labels.
        """
        if self.constraints is None:
            return None
        pairs = checked_pairs("constraints", self.constraints, ArgumentError, _text)
        return list(map(list, pairs))

    def _computed_settings(self) -> list[tuple[str, str, Any]]:
        templates, penalty = self._listed_templates(), self._regularisation()
        listed: list[tuple[str, str, Any]] = []
        if templates is not None:
            listed.append(("templates", "features.templates", templates))
        if self.constraints is not None:
            listed.append(("constraints", "task.forbidden", self._forbidden()))
        return listed + [
            ("c1" if self.c1 and key != "optimizer.c2" else "c2", key, value)
            for key, value in penalty.items()
            if key.startswith("optimizer.")
        ]

    def _regularisation(self) -> dict[str, Any]:
        """The keys that c1 and c2 set.

        Raises
        ------
        ArgumentError
            For numbers below 0, for zeros only, and for C with c1 or c2.
        """
        numbers = {"c1": self.c1, "c2": self.c2}
        typed = {
            name: float(checks.floats(name, value, (), least=0.0))
            for name, value in numbers.items()
            if value is not None
        }
        if not typed:
            return {}
        name, value = list(typed.items())[-1]
        if self.C is not None:
            raise ArgumentError(
                f"has no effect with {name}={value:g}, which sets the same penalty.",
                parameter="C",
                value=self.C,
                remedy="Leave one of them out: C is 1 / (2 c2).",
            )
        c1, c2 = (typed.get(name, 0.0) for name in numbers)
        if not c1 and not c2:
            raise ArgumentError(
                "leaves the weights free to grow without bound.",
                parameter=name,
                value=value,
                remedy="Set c1 or c2 above 0.",
            )
        choice: dict[str, Any] = {"optimizer": "lbfgs", "loss": "crf"}
        if not c1:
            return choice | {"optimizer.C": 0.5 / c2}
        penalty: dict[str, Any] = {"optimizer.penalty": "l1"}
        if c2:
            penalty = {"optimizer.penalty": "elastic", "optimizer.c2": c2}
        return choice | penalty | {"optimizer.c1": c1}

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights of attributes and labels that are not 0: (attribute, label) -> weight, as
        sklearn-crfsuite has them.
        """
        self._check_fitted()
        table, names = self._tables()["label"], self.model_.task.attribute_names()
        labels = self.classes_.tolist()
        return {
            (names[a], labels[b]): float(table[a, b])
            for a, b in np.argwhere(table[: len(names)]).tolist()
        }

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of neighbouring labels that are not 0: (label, next label) -> weight; none of
        chains without these.
        """
        self._check_fitted()
        table, labels = self._tables().get("transition"), self.classes_.tolist()
        if table is None:
            return {}
        # behind those of attributes, where pairs have some
        always = len(self.model_.task.attribute_names("transition"))
        pairs = table[always].reshape(len(labels), len(labels))
        return {(labels[a], labels[b]): float(pairs[a, b]) for a, b in np.argwhere(pairs).tolist()}

    def _tables(self) -> Mapping[str, Any]:
        """The weights by part group, shape (attributes, configurations)."""
        model = self.model_
        try:
            names = ModelNames(model.task, model.graph)
            rows = weight_rows(names, model.scorer, model.weights)
        except ConfigError as error:
            raise ConfigError(error.problem, remedy="Call explain(X).") from None
        return {one.group: one.table for one in rows}

    def predict_marginals(
        self, X: Sequence[Any], *, allowed: Any = None
    ) -> list[list[dict[Any, float]]]:
        """Return the probability of every label of every token: a mapping a token, as
        sklearn-crfsuite does.
        """
        marginals: Marginals = super().predict_marginals(X, allowed=allowed)
        names = self.classes_.tolist()
        return [
            [dict(zip(names, row, strict=True)) for row in array.tolist()] for array in marginals
        ]

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """See `Estimator`; each token needs one label."""
        y = read_once("y", y)
        if self._typed(y):
            raise ArgumentError(
                "has sets of labels, and scores need single labels.",
                parameter="y",
                remedy="Give one label per token.",
            )
        return super().score(X, y, sample_weight)

    def predict_single(self, x: Any) -> list[Any]:
        """Return the labels of one sequence."""
        labels: list[Any] = self.predict([x])[0]
        return labels

    def predict_marginals_single(self, x: Any) -> list[dict[Any, float]]:
        """Return the probability of every label of every token of one sequence."""
        return self.predict_marginals([x])[0]

    def _instances(self, X: Any) -> Any:
        return list(X) if isinstance(X, np.ndarray) and X.dtype == object else X

    def _outputs(self, y: Any, X: Any) -> Any:
        """Integers and booleans as text."""
        if isinstance(y, (str, Mapping)) or not isinstance(y, Iterable):
            return y
        texts = partial(_texts, open_labels=bool(self._typed(y)))
        return [
            labels
            if isinstance(labels, (str, bytes, Mapping, set, frozenset))
            or not isinstance(labels, Iterable)
            else texts(labels)
            for labels in y
        ]

    def _typed(self, y: Any) -> dict[str, Any]:
        """Open labels, where y has sets of labels."""
        sequences = y if isinstance(y, Iterable) and not isinstance(y, (str, Mapping)) else ()
        listed = (labels for labels in sequences if isinstance(labels, (list, tuple)))
        open_labels = any(not SETS.isdisjoint(map(type, labels)) for labels in listed)
        return {"task.partial": True} if open_labels else {}

    def _returned(self, outputs: list[Any]) -> list[Any]:
        if self._kind == "text":
            return outputs
        return [list(map(READ[self._kind], labels)) for labels in outputs]

    def _allowed(self, allowed: Any) -> Any:
        """A label, a collection of labels or None for every token."""
        if allowed is None or isinstance(allowed, (str, bool)):
            return allowed
        cells = partial(_cell, known=frozenset(map(str, self.model_.labels)))
        return [None if labels is None else list(map(cells, labels)) for labels in allowed]

    def _note(self, X: Any, y: Any) -> None:
        self._kind = _kind(y) or "text"
        self._set_classes()

    def _check_more(self, y: Any) -> None:
        kind = _kind(y) or self._kind
        if kind != self._kind:
            raise ArgumentError(
                f"has labels that are {PLURALS[kind]}, and the labels of the first call are "
                f"{PLURALS[self._kind]}.",
                parameter="y",
                remedy="Give labels of one type in all calls.",
            )
        if self._typed(y) and not self.model_.config["task"]["partial"]:
            raise ArgumentError(
                "has sets of labels, and the labels of the first call were single ones.",
                parameter="y",
                remedy="Set overrides={'task.partial': True} for the first call.",
            )

    def _note_more(self, X: Any, y: Any) -> None:
        self._set_classes()

    def _set_classes(self) -> None:
        names: list[Any] = list(self.model_.labels)
        pairs = checked_pairs("constraints", self.constraints or (), ArgumentError, _text)
        if warning := unknown_warning(pairs, names):
            warnings.warn(warning, stacklevel=4)
        self.classes_ = np.array(list(map(READ[self._kind], names)))


READ: Mapping[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "boolean": {"False": False, "True": True}.__getitem__,
}
"""Functions that convert a label of the model to the kind of y."""
SETS = frozenset({set, frozenset})
PLURALS = {"text": "text", "integer": "integers", "boolean": "booleans"}


def _kind(y: Any) -> str | None:
    """The kind of all labels of y, a key of `READ`; None if y has no label."""
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        return None
    kinds = set[type]()
    for labels in y:
        if not isinstance(labels, Iterable) or isinstance(labels, (str, bytes)):
            continue
        own = set(map(type, labels))
        if not own.isdisjoint(SETS):
            labels = [
                one for label in labels for one in (label if type(label) in SETS else [label])
            ]
        if own != {str} or all(map(is_missing, labels)):
            own = {type(label) for label in labels if not is_missing(label)}
        kinds |= own
    if not kinds:
        return None
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return "boolean"
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return "integer"
    return "text"


def _texts(labels: Iterable[Any], open_labels: bool) -> list[Any]:
    """Return the labels of a sequence as the task takes them.

    Raises
    ------
    ArgumentError
        If labels may be open, and one of them reads as an open label.
    """
    listed = list(labels)
    if open_labels:
        sets = (label if type(label) in SETS else (label,) for label in listed)
        for label in chain.from_iterable(sets):
            if isinstance(label, str) and is_open(label):
                raise ArgumentError(
                    f"has sets of labels and the label {label!r}, which would be read as an open "
                    "label.",
                    parameter="y",
                    remedy="Rename the label; give a set for several labels, and None for an open "
                    "one.",
                )
    return listed if set(map(type, listed)) == {str} else list(map(_gold_text, listed))


def _gold_text(label: Any) -> Any:
    """A label of y, or a set of labels, as the task takes it.

    Raises
    ------
    ArgumentError
        If a set is empty.
    """
    if type(label) not in SETS:
        return _text(label)
    if not label:
        raise ArgumentError("has an empty set of labels.", parameter="y")
    texts = list(map(_text, label))
    return EITHER.join(sorted(texts)) if set(map(type, texts)) == {str} else label


def _text(label: Any) -> Any:
    """A label as the task takes it."""
    if isinstance(label, (bool, np.bool_)):
        return str(bool(label))
    if isinstance(label, (int, np.integer)):
        return str(int(label))
    return str(label) if isinstance(label, str) else label


def _cell(labels: Any, known: Collection[str]) -> Any:
    """What is allowed of a token, as the task takes it.

    Raises
    ------
    ArgumentError
        If a collection is empty or has anything but labels, or if one of the `known` labels reads
        as several labels or as an open one.
    """
    several = not isinstance(labels, str) and isinstance(labels, Iterable)
    texts = list(map(_text, labels)) if several else [_text(labels)]
    if several and (not texts or set(map(type, texts)) != {str}):
        raise ArgumentError(
            f"has the collection {shown(labels)}, which must have labels, at least one.",
            parameter="allowed",
            remedy="Give None instead of a collection to allow all labels.",
        )
    for one in texts:
        if isinstance(one, str) and one in known and is_open(one):
            raise ArgumentError(
                f"has the label {one!r}, which is read as an open label.",
                parameter="allowed",
                remedy="Rename the label in the training data.",
            )
    return EITHER.join(texts) if several else texts[0]
