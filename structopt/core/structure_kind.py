"""Kinds of structures: the form of their records, the algorithms that are exact on them, and the
listing of their outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array, Record


class InferenceKernels(NamedTuple):
    """The algorithms of one inference on one kind of structure, with the signatures of
    `structopt.kernels.waist.signatures`.

    Attributes
    ----------
    solve, k_best
    round
        Makes an output of the marginals that `solve` has just left, with all that it has left in
        its work record.
    load_k_best : callable, or None
        Loads `k_best` instead, which then compiles when lists are first read.
    """

    solve: Any
    k_best: Any = None
    round: Any = None
    load_k_best: Callable[[], Any] | None = None

    @property
    def lists(self) -> Any:
        """`k_best`, loaded; None if there is none."""
        return self.k_best if self.load_k_best is None else self.load_k_best()


def algorithms(module: str, lists: str, rounding: str = "") -> InferenceKernels:
    """Load the algorithms of a module of `structopt.kernels`.

    Parameters
    ----------
    module : str
        Its kernel `solve` is compiled if it is not on disk.
    lists : str
        The module of `k_best`.
    rounding : str
        The name of the kernel of `module` that makes outputs of marginals; empty if there is none.
    """
    loaded = import_module(f"structopt.kernels.{module}")

    def k_best() -> Any:
        return import_module(f"structopt.kernels.{lists}").k_best

    round = getattr(loaded, rounding) if rounding else None
    return InferenceKernels(loaded.solve, round=round, load_k_best=k_best)


@dataclass(frozen=True)
class StructureKind:
    """Properties that all structures of one kind share; factor graphs name the kind, and inferences
    choose their algorithms by it.

    Attributes
    ----------
    name : str
        The form of the record. Kinds of the same name are the same, also in another process,
        although one may name exact algorithms and the other none.
    exact : callable, or None
        Loads the algorithms of `Exact`; None where there are none.
    vertices : callable, or None
        Given a record, the number i of an instance, how many parts it has, and a largest number of
        outputs, the part vectors of all outputs of instance i, shape (outputs, parts): the
        reference for every inference. It raises `TooManyOutputs` where it would have to look at
        more. None where outputs cannot be listed.
    loopy : bool
        Whether the record is one of variables and factors (`structopt.kernels.loopy.factors`),
        which the inferences on loopy graphs read.
    lists : bool
        Whether the algorithms of `Exact` list the k best outputs
        (`InferenceKernels.k_best`). Said here, so that components are checked against each other
        before anything compiled is loaded.
    rounds : bool
        Likewise, whether they make outputs of marginals (`InferenceKernels.round`).
    incomplete : bool
        Whether an instance may have no output at all, as a sentence that no tree of a grammar
        spans. It is then predicted by the empty vector, which the graph's views and the task read
        as a fallback; elsewhere that is an error.
    eliminates : bool
        Whether `Exact` eliminates the variables of its records, which are records of
        variables and factors.
    """

    name: str
    exact: Callable[[], InferenceKernels] | None = field(default=None, compare=False)
    vertices: Callable[[Record, int, int, int], Array] | None = field(default=None, compare=False)
    loopy: bool = False
    lists: bool = field(default=False, compare=False)
    rounds: bool = False
    incomplete: bool = False
    eliminates: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.name


class TooManyOutputs(ConfigError):
    """An instance has more outputs than can be listed."""


def check_count(i: int, count: float, what: str, most: int) -> None:
    """Refuse to list more than `most` outputs of instance i.

    Parameters
    ----------
    i : int
    count : float
        How many there are, or at least have to be looked at.
    what : str
        What they are, in the plural.
    most : int

    Raises
    ------
    TooManyOutputs
    """
    if count > most:
        shown = f"{int(count):,}" if count < 1e12 else f"{count:.1e}"
        raise TooManyOutputs(
            f"Enumeration(): instance {i + 1} has {shown} {what}, more than {most:,}. "
            "Take another inference, or shorter instances."
        )
