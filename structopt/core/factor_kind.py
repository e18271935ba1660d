"""The contract of factor kinds: which joint states of its variables a factor allows, and what
belongs to each of them.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import Flag, auto
from typing import Any, ClassVar, NamedTuple

from structopt.core.component import Component
from structopt.core.data.polytope import Rows
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


class FactorAbility(Flag):
    """Functions of a factor kind that an inference may need, next to its configurations.

    ROWS: a linear description. MAXIMUM: its best configuration, compiled. MARGINALS: its
    log-partition function and marginals, compiled. MESSAGES: those of belief propagation, compiled.
    """

    ROWS = auto()
    MAXIMUM = auto()
    MARGINALS = auto()
    MESSAGES = auto()


COMPILED = FactorAbility.MAXIMUM | FactorAbility.MARGINALS | FactorAbility.MESSAGES


class FactorKernels(NamedTuple):
    """Compiled functions of one factor, of the signatures in `structopt.kernels.loopy.open_kinds`;
    None where there is none.

    Their arguments are the extra numbers of the factor, scores s of the parts of its linked
    variables, one variable after the other, and scores p of its private parts; scores of -inf
    forbid parts. `floats` and `ints` are scratch of the sizes that the kind's `scratch` returns.
    They raise nothing.

    Attributes
    ----------
    extend : FACTOR_EXTEND
        (extra, x, private) -> whether the factor allows the states x of its variables, 0 or 1 a
        part. `private`, zero before, becomes the indicators of the private parts. All the others
        need it.
    maximum : FACTOR_LOCAL
        (extra, s, p, out, private_out, floats, ints) -> max_y s(y) + p(y); the outs, zero before,
        become the indicators of a maximiser y. -inf, and zeros, where nothing is allowed.
    marginals : FACTOR_LOCAL
        The same for log sum_y exp(s(y) + p(y)) and the marginals.
    messages : FACTOR_MESSAGES
        (extra, n, p, hot, out, floats, ints) -> whether the factor allows anything. `out` becomes
        the messages to its variables, n being those from them: to a binary variable the log-odds,
        on against off, to a wider one the log weights of its states, the greatest 0, both without n
        itself; within 1e5. Sums of configurations where `hot`, else maxima.
    project : FACTOR_PROJECT
        (extra, a, p, eta, out, private_out, floats, ints) -> whether the factor allows anything.
        `out` and `private_out` become the q and c of max a^T q + p^T c / eta - ||q||^2 / 2 over the
        convex hull of the configurations; entries of a of -inf forbid parts. Dual decomposition,
        which asks for `maximum` alone, is faster with it.
    """

    extend: Any = None
    maximum: Any = None
    marginals: Any = None
    messages: Any = None
    project: Any = None


class FactorKind(Component):
    """A kind of factor. Hard factors forbid joint states of their variables, soft factors have
    parts for them.

    A factor links variables, and may have *private* parts beside theirs: indicators that follow
    from the states of its variables. All other differences between factors of a kind are in their
    *extra* numbers. Kinds have no parameters. The methods see a factor alone: widths, the parts of
    each linked variable (1: a binary one, whose part is on or off); x, 0 or 1 for the parts of the
    linked variables, one variable after the other; and extra, int32.

    Attributes
    ----------
    hard : bool
        Whether it forbids any joint states. Inferences that round let such factors choose.
    relaxed : bool
        Whether its compiled functions know no more than the polytope of its rows, which is wider
        than the convex hull of its configurations: `maximum` and `project` then are those over the
        polytope, and their points may be fractional.
    built_in : FactorAbility
        What the core's own kernels do for it; nothing for kinds of plugins.
    declared : FactorAbility or None
        Its abilities, for graphs that name it in `FactorGraph.factor_kinds`: components are checked
        before compiled functions are loaded. None: those of its functions.
    """

    kind_of_component: ClassVar[str] = "factor_kind"

    hard: ClassVar[bool] = True
    relaxed: ClassVar[bool] = False
    built_in: ClassVar[FactorAbility] = FactorAbility(0)
    declared: ClassVar[FactorAbility | None] = None

    @abstractmethod
    def extend(self, x: Array, private: Array, widths: Array, extra: Array) -> bool:
        """Say whether the states x are allowed, and write the private parts that are on with them;
        `private` is zero before.
        """

    def describe(self, rows: Rows, z: Array, own: Array, widths: Array, extra: Array) -> None:
        """Add rows whose points with integral linked parts are the configurations, with their
        private parts.

        At best all their points are the configurations' convex hull. Where there are others, the
        value of a linear program is an upper bound still, and that of an integer program exact. By
        default a kind has no rows.

        Parameters
        ----------
        rows : Rows
            Receives them, and has further columns, which are continuous in [0, 1]
            (`Rows.more_columns`).
        z, own : int64
            Columns of the linked parts, and of the private ones.
        widths, extra
            As of `extend`. Of a variable with several parts exactly one is on, as rows of its own
            say.

        Raises
        ------
        ConfigError
            Where it has none.
        """
        raise ConfigError(
            f"{type(self).__name__} has no linear description, which LP() and ILP() need."
        )

    @property
    def kernels(self) -> FactorKernels:
        """Return its compiled functions; by default there are none."""
        return FactorKernels()

    def scratch(self, parts: Array, first: Array, extra: Array) -> tuple[int, int]:
        """Return how many floats and ints its kernels need for any of some factors; by default
        none.

        Parameters
        ----------
        parts : int64, shape (factors,)
            How many parts the linked variables of each factor have.
        first : int64, shape (factors,)
            Where the extra numbers of each factor begin in `extra`.
        extra : int32
        """
        return 0, 0

    def exclusive(self, extra: Array) -> list[Array] | None:
        """Return groups of links to binary variables, all links together, of which exactly one each
        is on in what it allows.

        A listing of outputs then tries one link of each group. None, the default: there are no such
        groups.
        """
        return None

    @property
    def provides(self) -> FactorAbility:
        """What it has beside its configurations, for inferences to compare with what they ask
        for.
        """
        return self.abilities_of_functions if self.declared is None else self.declared

    @property
    def abilities_of_functions(self) -> FactorAbility:
        """Derive the abilities from its functions, which are loaded."""
        abilities, kernels = self.built_in, self.kernels
        if type(self).describe is not FactorKind.describe:
            abilities |= FactorAbility.ROWS
        if kernels.extend is not None:
            for ability, function in zip(COMPILED, kernels[1:4], strict=True):
                abilities |= ability if function is not None else FactorAbility(0)
        return abilities
