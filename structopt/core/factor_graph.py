"""The contract of factor graphs: variables, soft factors and hard factors, laid out as parts; no
scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from structopt.core.component import Component
from structopt.core.data.encoded import Encoded
from structopt.core.data.saved_state import SavedState
from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import PartGroup, Structure
from structopt.core.data.targets import AllowedParts, Targets
from structopt.core.structure_kind import StructureKind
from structopt.errors import ArgumentError, ConfigError
from structopt.kernels.waist.record import Array

if TYPE_CHECKING:
    from structopt.core.parts.batch import Batch
    from structopt.core.scorer import Scorer
    from structopt.kernels.waist.signatures import Kernels


class Calculus(NamedTuple):
    """Closed forms of the marginals of positional structures (signatures in
    `structopt.kernels.waist.signatures`).
    """

    entropy: Any
    slope: Any
    conditionals: Any


@dataclass(frozen=True)
class GraphTraits:
    """Properties that all structures of a factor graph share.

    Attributes
    ----------
    kind : StructureKind
        The form of its records, its exact algorithms, and the listing of its outputs.
    anchored : bool
        Whether no part is ever tied: every factor has parts of its own, whatever is asked.
    pairs_only : bool
        Whether all factors are over two variables.
    covers : bool
        Whether all variables have two states, and every instance has one budget of lengths
        (factor_kind=length_budget or linear_budget) and else COVERAGE factors.
    labeled : bool
        Whether an output says the labels of the task; trees may go without the relations on their
        arcs.
    order : int
        Of chains: how many preceding labels a label depends on.
    closed_forms : bool
        Whether the marginals of its positional structures have closed forms, which
        `FactorGraph.calculus` loads.
    """

    kind: StructureKind
    anchored: bool = False
    pairs_only: bool = False
    covers: bool = False
    labeled: bool = True
    order: int = 1
    closed_forms: bool = False


class Counted(NamedTuple):
    """What a cost counts in a role: units of every instance, each with a gold part.

    Attributes
    ----------
    labels : tuple of str
        Names of what gold says of a unit.
    gold : int32, shape (units,)
        Their numbers.
    lengths : int64, shape (instances,)
        Units of each instance.
    """

    labels: tuple[str, ...]
    gold: Array
    lengths: Array


class Nearest(NamedTuple):
    """How near the outputs that structures allow come to gold, where gold need not be one of them.

    Attributes
    ----------
    scores : SparseVectors
        Of parts: the best outputs under them are the nearest.
    allowed : bool, shape (instances,)
        Whether gold itself is an output.
    """

    scores: SparseVectors
    allowed: Array


class Pruned(NamedTuple):
    """A corpus with few candidates.

    Attributes
    ----------
    encoded : Encoded
    metrics : mapping
        What was pruned, as numbers for metrics.json; None where one is not known.
    summary : str
        The same in words, for the log.
    """

    encoded: Encoded
    metrics: Mapping[str, float | None]
    summary: str


class CandidatePlan(Protocol):
    """Prunes a few sentences; allocated once per model and thread."""

    def takes(self, encoded: Encoded) -> bool:
        """Whether the instances are small, and nothing of their outputs is known."""

    def candidates(self, encoded: Encoded) -> Any | None:
        """Return the field `candidates` of the pruned corpus; None if it needs `Pruning.prune`."""


class ViewPlan(Protocol):
    """Predicts a few instances; allocated once per model and thread."""

    def takes(self, encoded: Encoded) -> bool:
        """Whether the instances are small, and nothing of their outputs is known."""

    def view(self, weights: Array, encoded: Encoded, temperature: float) -> Any | None:
        """Return what `FactorGraph.view` reads off the predictions for instances that the plan
        takes; None if they need the general prediction.
        """


class Pruning(ABC):
    """A coarser model and what its marginals prune, declared by a factor graph
    (`FactorGraph.pruning`).

    A run trains the coarser model with `Exact`, or loads it, and hands its outputs to
    `prune`. Users give that model as ``factor_graph.pruner``, and ``factor_graph.pruner_C`` where
    it is trained.

    Attributes
    ----------
    model : str or None
        A run or model folder; None: the coarser model is trained on the training data.
    epochs : int
        Passes of its training.
    C : float
        1/(lambda m) of its training.
    group : str
        The part group of the coarser graph whose marginals prune.
    features : mapping or None
        The node ``features`` of the coarser model's config; None: that of the finer one.
    features_left_out : tuple of str
        Parameters of features that concern parts which the coarser graph does not have.
    shared_options : tuple of str
        Options of the coarser graph that, where they are true in `graph`, must be true in a model
        that is given: else none of the outputs that are asked for may be left.
    outputs : str
        What outputs are to a user, in the plural.
    numbered : str
        What the task numbers, to a user: a model that is given must number it alike.
    from_counts : bool
        Whether its training begins at relative frequencies (`FactorGraph.classes`), where it may
        also end: with no passes.
    """

    group: ClassVar[str]
    features: ClassVar[Mapping[str, Any] | None] = None
    features_left_out: ClassVar[tuple[str, ...]] = ()
    shared_options: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[str]
    numbered: ClassVar[str]
    from_counts: ClassVar[bool] = False

    model: str | None
    epochs: int
    C: float

    @property
    @abstractmethod
    def graph(self) -> Mapping[str, Any]:
        """The node ``factor_graph`` of the coarser model's config; a model that is given has its
        name.
        """

    @property
    @abstractmethod
    def thresholds(self) -> Mapping[str, float]:
        """The numbers that decide which candidates are kept, which are saved with the coarser
        model.
        """

    @property
    def least(self) -> float:
        """Marginals below this may be taken for 0: see `FactorGraph.coarsened`. All are told apart
        by default.
        """
        return 0.0

    def plan(
        self,
        graph: FactorGraph,
        scorer: Scorer,
        weights: Array,
        solve: Any,
        temperature: float,
        encoded: Encoded,
    ) -> CandidatePlan | None:
        """Return a plan that prunes as `prune` does; None by default.

        Parameters
        ----------
        graph, scorer, weights, solve, temperature
            The coarser model; `solve` is the kernel of its inference.
        encoded : Encoded
            Any corpus that the task has encoded.
        """
        return None

    @abstractmethod
    def prune(
        self, graph: FactorGraph, encoded: Encoded, coarse: CoarseOutputs, keep_gold: bool
    ) -> Pruned:
        """Return the corpus with the candidates that are kept.

        Parameters
        ----------
        graph : FactorGraph
            The coarser one, fitted.
        encoded : Encoded
        coarse : CoarseOutputs
            The coarser model's, on the corpus.
        keep_gold : bool
            Whether the candidates of the gold outputs are kept as well.
        """


class CoarseOutputs(Protocol):
    """What a coarser model says of a corpus, computed when it is asked for.

    Attributes
    ----------
    structure : Structure
        Its graphs.
    """

    @property
    def structure(self) -> Structure:
        """See above."""

    def subset(self, first: int, last: int) -> CoarseOutputs:
        """The same of the instances first <= i < last, so that a large corpus need not be in memory
        at once.
        """

    def marginals(self) -> Array:
        """Of all parts of `Pruning.group`, float64, one instance after the other; as exact as
        `Pruning.least` asks for.
        """

    def without_output(self, encoded: Encoded) -> Array:
        """Numbers of the instances that have no output left, given the same corpus with
        candidates.
        """

    def best(self) -> Array:
        """Indices, among the `marginals`, of the parts of the best outputs."""


class FactorGraph(Component):
    """Builds structures: variables, soft factors, hard factors; no scores.

    An output, gold or predicted, is a sparse vector over the parts of its instance
    (`SparseVectors`). Some part groups are never tied, so that outputs can be read back from them:
    as the *views* that the graph offers, of which a task asks for one.
    """

    kind_of_component: ClassVar[str] = "factor_graph"

    def fit(self, encoded: Encoded, earlier: Any = None) -> None:
        """Learn of the training corpus what its structures are built from, such as the rules of a
        grammar; nothing by default.

        Of an `earlier` graph, fitted and of the same class, all is kept: its weights go on being
        used.

        Raises `ConfigError` for a corpus of which it cannot learn that.
        """

    def coarsened(self, least: float) -> FactorGraph:
        """Return this graph for a pruning that keeps the candidates with marginals of `least` or
        more; by default itself.

        Its marginals may leave out what outputs with less probable candidates contribute, where
        that is faster.
        """
        return self

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that `fit` learnt, as JSON values, and arrays by names without dots; nothing by
        default.
        """
        return {}, {}

    def restore(self, state: SavedState) -> None:
        """Undo `state`: the graph is fitted as it was."""

    @property
    @abstractmethod
    def traits(self) -> GraphTraits:
        """What all its structures have in common."""

    @property
    @abstractmethod
    def views(self) -> Mapping[str, str]:
        """The views of its outputs, and the part group that each is read from.

        ``labels``: the number of every variable's label. ``heads``: of every token its head (0 for
        the root, else counted from 1) and the number of its relation (-1: none), shape (tokens, 2).
        ``selection``: of every variable whether it is in.
        """

    @property
    def factor_kinds(self) -> tuple[str, ...]:
        """Names of the kinds of factors (`structopt.core.factor_kind`) that all its structures
        have, as far as they are known before data are read.
        """
        return ()

    @property
    def roles(self) -> Mapping[str, str]:
        """What costs may count, and the part group in which it counts; in ``variable`` one gold
        part of each variable, in ``label`` all parts of a variable, which has one per label.

        By default ``variable``, in the group that the first view is read from.
        """
        return {"variable": next(iter(self.views.values()))}

    @abstractmethod
    def view(
        self, name: str, encoded: Encoded, structure: Structure, outputs: SparseVectors
    ) -> Any:
        """One of the `views` of outputs, an instance each, as the task decodes it."""

    def view_plan(
        self,
        scorer: Scorer,
        kernels: Kernels,
        candidates: CandidatePlan | None,
        encoded: Encoded,
    ) -> ViewPlan | None:
        """Return a plan of predictions by exact inference; None by default.

        Parameters
        ----------
        scorer, kernels
            The features of the model, and the kernels of features and inference.
        candidates : CandidatePlan or None
            The plan of its pruner.
        encoded : Encoded
            Any corpus that the task has encoded.
        """
        return None

    @abstractmethod
    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of every instance; `positional`: every factor has parts of its own,
        none are tied.
        """

    @abstractmethod
    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Part indicators of the gold outputs."""

    def batch_of(self, sizes: Any, **options: Any) -> Batch:
        """Return a batch of instances of given sizes, with the options of the graph's ``batch``.

        Raises
        ------
        ArgumentError
            By default: the graph makes no batches.
        """
        raise ArgumentError(
            f"must be a graph that makes batches of given sizes, and not {type(self).__name__}.",
            parameter="graph",
            remedy="Build its structures from an encoded corpus.",
        )

    def configuration_order(self, group: str, **options: Any) -> Array | None:
        """Return the place, in arrays of users, of each configuration of a group; None: the same
        place.

        Parameters
        ----------
        group : str
        **options
            Arguments of `batch_of` that all instances share.
        """
        return None

    def allowed(
        self, encoded: Encoded, structure: Structure, role: str = "variable"
    ) -> AllowedParts:
        """The parts of a role that the gold outputs may have, where the corpus says them in part
        only (`gold_sets`).

        Raises
        ------
        ConfigError
            By default: the graph cannot be restricted.
        """
        raise ConfigError(
            "Some gold outputs are open, and this factor graph does not say which parts they may "
            "have.",
            remedy="Set `partial=False`, or take another factor graph.",
            kinds={"partial": "task"},
        )

    def restricted(self, encoded: Encoded, structure: Structure) -> AllowedParts | None:
        """The parts that outputs may have where the corpus keeps labels (`Encoded.allowed`).

        None, the default: `build` has put these constraints into the structure, or has refused
        them.
        """
        return None

    def targets(self, encoded: Encoded, structure: Structure) -> Targets:
        """The gold outputs, or for instances that are labelled in part the sets of outputs that
        agree with their labels.
        """
        points = self.gold(encoded, structure)
        if encoded.gold_sets is None:
            return Targets.of_points(points)
        allowed = self.allowed(encoded, structure)
        known = np.diff(allowed.offsets) == 1
        sets = (
            np.bincount(
                np.repeat(np.arange(len(encoded)), np.diff(allowed.variables))[~known],
                minlength=len(encoded),
            )
            > 0
        )
        kept = np.repeat(~sets, np.diff(points.offsets))
        offsets = np.concatenate(
            [[0], np.cumsum(np.where(sets, 0, np.diff(points.offsets)))]
        ).astype(np.int64)
        points = SparseVectors(offsets, points.parts[kept], points.values[kept])
        return Targets(points, sets, allowed.of_instances(sets))

    def check_role(self, role: str) -> None:
        """Refuse what is none of the `roles`, with a `ConfigError`."""
        if role not in self.roles:
            raise ConfigError(
                f"The cost counts parts of the role {role}, and this graph has: "
                f"{', '.join(self.roles)}.",
                remedy=f"Use a cost that counts one of these, or a graph that has the role {role}.",
            )

    def counted(self, role: str, encoded: Encoded) -> Counted:
        """What costs count in a role, whose prices `cost` takes: by default the variables."""
        assert encoded.gold is not None
        return Counted(encoded.labels, encoded.gold, np.diff(encoded.offsets))

    def cost(
        self,
        encoded: Encoded,
        structure: Structure,
        weights: Array,
        role: str = "variable",
        gold: SparseVectors | None = None,
    ) -> SparseVectors:
        """Cost p of equation (8) of Martins et al. (2010), up to a constant q:  sum_v weights_v
        [y'_v is not allowed] = p^T z' + q.

        That is -weights_v at the parts of the role that gold may have of variable v: at one part,
        where it is known.

        Parameters
        ----------
        encoded, structure : the corpus and its graphs
        weights : float64, shape (units,)
            What it costs to miss each unit that is `counted`: by default, each variable.
        role : str
            What counts, one of `roles`.
        gold : SparseVectors or None
            What `gold` returned, if it was called before; used where all gold outputs are known.

        Raises
        ------
        ConfigError
            For a role that the graph does not have.
        """
        self.check_role(role)
        if encoded.gold_sets is not None:
            return self.allowed(encoded, structure, role).weighted(-weights)
        gold = self.gold(encoded, structure) if gold is None else gold
        _, inside = structure.numbered_in(self.roles[role], gold)
        ends = np.cumsum(np.concatenate([[0], self.counted(role, encoded).lengths]))
        return SparseVectors(ends.astype(np.int64), gold.parts[inside], -weights)

    def probabilities(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[Array]:
        """The probabilities that users read, an array an instance, of the marginals of the group
        that a view is read from.

        By default one row a variable: the probabilities of its labels.
        """
        return [table.reshape(-1, len(encoded.labels)) for table in marginals]

    def no_probabilities(self, encoded: Encoded) -> Array:
        """Return the `probabilities` of an instance without variables: no rows, and by default one
        column per label.
        """
        return np.zeros((0, len(encoded.labels)))

    def choices(
        self, name: str, encoded: Encoded, structure: Structure, marginals: list[Array]
    ) -> list[dict[str, Array]]:
        """The same marginals as columns of a table, one an instance: a row is a choice, and its
        ``probability``.

        By default ``variable`` and ``label``, both numbers from 0. Of trees ``modifier`` and
        ``head``, from 1 (0: the root), and ``label``, the number of the relation (-1: none).
        """
        tables = self.probabilities(name, encoded, structure, marginals)
        numbers = [np.indices(table.shape).reshape(2, -1) for table in tables]
        return [
            {"variable": variable, "label": label, "probability": table.ravel()}
            for (variable, label), table in zip(numbers, tables, strict=True)
        ]

    @property
    def kind(self) -> StructureKind:
        """Kind of the structures."""
        return self.traits.kind

    @property
    def calculus(self) -> Calculus | None:
        """Closed forms of its positional structures, where locally consistent marginals are
        marginals; else None.
        """
        return None

    @property
    def rounding(self) -> Any:
        """Kernel of the signature `ROUND` that makes an output of fractional marginals; None where
        it has none.
        """
        return None

    @property
    def pruning(self) -> Pruning | None:
        """The coarser model that is to prune its structures; None: nothing is pruned."""
        return None

    @property
    def classes(self) -> Mapping[str, Array]:
        """Of part groups whose configurations are choices of a generative model: the class of each,
        int64, shape (width,).

        The relative frequency of attribute a with configuration c is n(a, c) / n(class of c),
        counted over the gold outputs: of the rules of a grammar, with the symbol above as the
        class. Empty, the default: there is no such model.
        """
        return {}

    def nearest(self, encoded: Encoded, structure: Structure) -> Nearest | None:
        """By which scores the best outputs are the nearest to gold; None, the default: gold outputs
        are allowed, or not known.
        """
        return None

    def configuration_names(self, group: str) -> list[Any] | None:
        """Names of the configurations of a part group that `fit` learnt, by which warm starts match
        weights; None: the task's.
        """
        return None

    def place(self, encoded: Encoded, structure: Structure, group: PartGroup, position: int) -> str:
        """Where the parts at a position of a group stand, to a reader, in a corpus of one instance.

        By default the number of the position, counted from 1, and its word where there are as many
        words; of tied parts, which stand for many places, nothing.
        """
        if group.tied:
            return ""
        words, positions = encoded.words, int(group.offsets[-1])
        return (
            f"{position + 1} {words[position]}"
            if len(words) == positions
            else f"{group.name} {position + 1}"
        )

    def admit(self, encoded: Encoded) -> tuple[Encoded, str]:
        """Return the training corpus as the graph can represent it, and a sentence on what was
        changed, or the empty string.
        """
        return encoded, ""
