"""Components in this process: made by their words, and words for classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from structopt.config import fit_settings, registry
from structopt.config.presets import values_of
from structopt.core import entry_points
from structopt.core.component import Component, lacking
from structopt.errors import ArgumentError, did_you_mean

Class = TypeVar("Class", bound=type[Component])


def component(kind: str, word: str, **parameters: Any) -> Any:
    """Make a component by its word, as the command line does.

    Parameters
    ----------
    kind : str
        ``loss``, ``optimizer``, ``inference``, ``factor_graph``, ``features``, ``task``, ...
    word : str
        ``svm``, ``dca``, ...
    **parameters
        Arguments of its constructor, in place of the values of its config file.

    Raises
    ------
    ConfigError
        For unknown kinds, words and parameters, for values of another type, and for C and other
        settings of a fit.

    Examples
    --------
    >>> component("loss", "svm").temperature
    0.0
    """
    cls = registry.load(kind, word)
    if kind == "optimizer":
        fit_settings.refuse_arguments(word, parameters, registry.schema(cls))
    return registry.create(kind, {"name": word, **values_of(kind, word), **parameters})


def registered_nodes() -> dict[tuple[str, str], dict[str, Any]]:
    """Return what a config file would have, for the classes that this process has registered: the
    node of a config by kind and word.
    """
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, word in entry_points.registered():
        nodes[kind, word] = {"name": word}
        if kind == "optimizer":
            nodes[kind, word] |= fit_settings.stored(registry.schema(registry.load(kind, word)))
    return nodes


def register(kind: str, word: str) -> Callable[[Class], Class]:
    """Give a word to a class, in this process.

    Afterwards ``component(kind, word)``, ``structopt.train(["loss=WORD"])`` and saved models know
    it. Packages declare words by entry points instead.

    Parameters
    ----------
    kind : str
    word : str
        Letters, digits and underscores; of no other class.

    Returns
    -------
    callable
        Decorates the class, and returns it.

    Raises
    ------
    ArgumentError
        For a word that is taken, and a class that lacks methods of its kind.
    """
    if kind not in registry.CONTRACTS:
        raise ArgumentError(
            f"must be a kind of component.{did_you_mean(kind, registry.CONTRACTS)}",
            parameter="kind",
            value=kind,
            remedy=f"Choose one of: {', '.join(registry.CONTRACTS)}.",
        )
    if not isinstance(word, str) or not word.isidentifier():
        raise ArgumentError(
            "must consist of letters, digits and underscores.", parameter="word", value=word
        )
    contract = registry.contract(kind)

    def decorate(cls: Class) -> Class:
        if not isinstance(cls, type) or not issubclass(cls, contract):
            raise ArgumentError(
                f"must inherit from {contract.__name__}.", parameter="cls", value=cls
            )
        if absent := lacking(cls, contract):
            raise ArgumentError(
                f"{cls.__name__} lacks {', '.join(absent)}, which every {kind} has.",
                parameter="cls",
            )
        known = registry.installed(kind).get(word)
        again = known is not None and known.registered is not None and known.is_of(cls)
        if known is not None and not again:  # a notebook may define its class again
            raise ArgumentError(
                f"is a {kind} of {known.distribution}.",
                parameter="word",
                value=word,
                remedy="Take another word.",
            )
        entry_points.register(kind, word, cls)
        return cls

    return decorate
