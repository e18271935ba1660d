"""Trees of phrases over sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from structopt.estimators.estimator import COMMON, Estimator
from structopt.formats.trees.nested import brackets


@dataclass(kw_only=True, eq=False, repr=False)
class ConstituencyParser(Estimator):
    """A tree of labelled phrases.

    X is a list of sentences: lists of words, of pairs (word, tag), or mappings with ``tokens`` and
    ``tags``. y is a list of trees: text in brackets, ``(S (NP (NNP Ann)) (VP (VBD slept)))``;
    nested tuples, ``("S", ("NP", ("NNP", "Ann")), ...)``; or `Node`s, which `predict` returns,
    whose text is brackets.

    Parameters
    ----------
    tags : str or None
        Where tags come from: ``gold``, ``column``, ``free`` (``structopt components task``).
    factor_graph : str or None
        ``grammar``, or ``span``.
    optimizer, loss, inference, C, epochs, beta, gamma, cost, cost_weights, seed, threads,
    overrides, verbose, folder
        See `structopt.estimators.estimator.Estimator`.
    """

    keys: ClassVar[Mapping[str, str]] = {
        "factor_graph": "factor_graph",
        **COMMON,
        "tags": "task.tags",
    }

    tags: str | None = None
    factor_graph: str | None = None

    @property
    def task_name(self) -> str:
        """Constituent trees."""
        return "constituency"

    def _outputs(self, y: Sequence[Any], X: Any) -> Any:
        listed = isinstance(y, Iterable) and not isinstance(y, (str, Mapping))
        return [brackets(tree) for tree in y] if listed else y
