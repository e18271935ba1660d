"""What each kind of component promises. The protocols are structural: a plugin need not inherit from anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Flag, auto
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from structopt.core.data import Encoded, SparseVectors, Structure
from structopt.core.table_schema import Schema
from structopt.kernels.record import Array, Record


class Ability(Flag):
    """What an inference provides, and what a loss or an optimizer requires of it.

    EXACT: the value is the maximum, or log Z. UPPER: it is never below. CONVEX: it is a convex function of the scores, the
    same at every visit, and the marginals are a subgradient of it; so that their planes lie below the loss.
    """

    MAP = auto()
    MARGINALS = auto()
    K_BEST = auto()
    EXACT = auto()
    UPPER = auto()
    CONVEX = auto()


class Task(Protocol):
    """The only component that knows words and files.

    A task whose outputs are no labels of tokens has ``write_outputs(corpus, target, outputs, probabilities, ranked)`` instead of
    ``write``; ``configuration_names(group)`` names the configurations of a
    part where they are no tuples of labels, so that warm starts can match them. ``outcomes(gold, predicted)`` is what each
    instance adds to the counts that scores are made of: it has a length, and ``scores(times=None)``, the metrics of the corpus in
    which instance i stands ``times[i]`` often; ``evaluate`` is ``outcomes(...).scores()``. A task without it cannot be tested
    for significance. ``missing_columns(corpus)`` names the columns that were known in training and are not there;
    ``given_labels(corpus)`` gives the labels that stand in an input, for ``predict partial=true``.

    A saved model keeps no paths: a constructor's ``train``, ``dev``, ``test``, ``limit`` and ``labels`` need defaults.

    Attributes
    ----------
    files : mapping of role (train, dev, test) to path
    limit : int or None
        Training instances to read.
    labels : tuple of str
    columns : tuple of str
        Names of the input columns.
    main_metric : str
        The metric that early stopping and pictures look at.
    input_schema, output_schema : Schema
        The columns of inputs and of outputs as tables, one row an instance. All that serves a model (`Model.predict_columns`,
        `Model.predict_table`, MLflow's signature and pyfunc) is made of them. They may depend on what `fit` learnt.
    """

    files: Mapping[str, Path]
    limit: int | None
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    main_metric: str

    @property
    def input_schema(self) -> Schema:
        """See above."""

    @property
    def output_schema(self) -> Schema:
        """See above."""

    def instances(self, table: Mapping[str, list[Any]]) -> list[Any]:
        """Instances, as `corpus` takes them, of a table that ``input_schema.checked`` has returned."""

    def input_example(self) -> dict[str, list[Any]]:
        """Some rows in the input schema, of values that training has shown; no path, time or host."""

    def output_table(self, outputs: Sequence[Any]) -> dict[str, list[Any]]:
        """Outputs, as `written` returns them, as the columns of the output schema."""

    def read(self, path: str | Path, limit: int | None = None, labelled: bool = True) -> Any:
        """Read a file into a corpus, or raise `DataError` with file and line; unlabelled input may lack columns."""

    def corpus(self, instances: Sequence[Any]) -> Any:
        """Make an unlabelled corpus of instances given in memory."""

    def fit(self, corpus: Any, earlier: Any = None) -> Encoded:
        """Make labels and vocabulary from the training corpus, and encode it.

        Of an `earlier` task, fitted and of the same class, all labels, attributes and values are kept: their weights go on being
        used (``warm_start.vocabulary=union``). A value that is known by its code keeps it.
        """

    def vocabulary(self) -> Mapping[str, Sequence[str]]:
        """Names of what `fit` learnt beside attributes, by kind, ``labels`` among them: warm starts count them."""

    def encode(self, corpus: Any, given: Sequence[str] | None = None) -> Encoded:
        """Encode a corpus with the vocabulary made by `fit`; what is unknown is left out, `given` labels are kept."""

    def decode(self, encoded: Encoded, assignments: Array) -> list[Any]:
        """Turn label numbers, shape (variables,), into outputs, one an instance."""

    def evaluate(self, gold: Any, predicted: Sequence[Any]) -> dict[str, float]:
        """Metrics of predicted outputs against a corpus with gold, fractions in [0, 1]."""

    def report(self, corpus: Any, predicted: Sequence[Any]) -> str:
        """Return the scores as a table to read."""

    def written(self, outputs: Sequence[Any]) -> list[Any]:
        """Outputs in the form of the files."""

    def attribute_names(self, group: str = "label") -> list[str]:
        """Readable names of the attributes of a part group; warm starts match weights by them."""

    def write(self, source: str | Path, target: str | Path, columns: Sequence[Sequence[Sequence[str]]]) -> None:
        """Write the input file again with further columns: for each instance, for each variable, the cells to add."""

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that `fit` learnt, as JSON values and arrays; no path, time or host."""

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take back what `state` gave."""


class FactorGraph(Protocol):
    """Builds structures: variables, soft factors, hard factors; no scores.

    Beyond what is listed, a graph may have ``admit(encoded)`` (the training corpus as the graph can represent it, and a
    sentence that says what was changed, or the empty string), ``outputs(encoded, structure, assignments)`` (turns the
    numbers of chosen configurations into what the task decodes) and ``rounding`` (a kernel of signature
    `structopt.kernels.signatures.ROUND` that makes an output of fractional marginals), and ``anchored`` (true where no part is
    tied, whatever is asked).

    Attributes
    ----------
    kind : str
        The kind of the structures it builds, by which an inference finds its algorithms.
    calculus : Calculus or None
        Closed forms of its positional structures, in which locally consistent marginals are marginals; None where it has
        none.
    """

    kind: str
    calculus: Calculus | None

    def build(self, encoded: Encoded, positional: bool = False) -> Structure:
        """Lay out the parts of every instance; `positional`: every factor has parts of its own, none are tied."""

    def gold(self, encoded: Encoded, structure: Structure) -> SparseVectors:
        """Part indicators of the gold outputs."""

    def cost(self, encoded: Encoded, structure: Structure, weights: Array, group: str = "") -> SparseVectors:
        """Cost p of eq. (8) up to a constant, from a cost for missing each variable's gold part.

        `group` names the part group that counts (the loss's `part_group`), empty for the first.
        """


class InferenceKernels(NamedTuple):
    """The algorithms of one inference on one kind of structure; None where it has none."""

    solve: Any
    k_best: Any = None
    vertex: Any = None


class FeatureKernels(NamedTuple):
    """The kernels of a feature block (signatures in `structopt.kernels.signatures`)."""

    scores: Any
    pullback: Any
    add: Any
    add_both: Any
    dot: Any
    flatten: Any
    accumulate: Any
    spans: Any


class FeatureScratch(NamedTuple):
    """What one thread needs for the features of any instance of a corpus.

    Attributes
    ----------
    gradient : Record
        An empty sparse gradient.
    runs : int
        The most runs of weights that `SPANS` lists.
    coordinates : int
        The most coordinates that `FLATTEN` writes.
    """

    gradient: Record
    runs: int
    coordinates: int


class BatchMap(Protocol):
    """The features of a corpus for evaluations over all its instances, read through `record` and `widened`.

    Attributes
    ----------
    record : Record
        What the block's `scores` opens, given widened weights.
    coordinates : int64 vector, or None
        Which of the weights that may move the corpus has to do with, ascending, numbered among themselves; None for all.
    """

    record: Record

    @property
    def coordinates(self) -> Array | None:
        """See above."""

    def widened(self, moving: Array) -> AbstractContextManager[Array]:
        """Lend weights as `record` reads them, given all those that may move."""

    def gradient(self, residuals: Array) -> Array:
        """sum_i F_i r_i at the `coordinates`, given residuals over the parts of all instances."""


class Matches(Protocol):
    """Which attributes and labels of two models bear the same names.

    Attributes
    ----------
    keeps_codes : bool
        Whether every value that the earlier model knows by a code has the same code in the new one.
    """

    keeps_codes: bool

    def attributes(self, group: str, earlier: int, size: int) -> tuple[Array, Array]:
        """Numbers of the shared attributes of a part group in the earlier and in the new model, of so many each."""

    def configurations(self, group: str, earlier: int, width: int) -> tuple[Array, Array]:
        """Numbers of the shared configurations of its parts in the earlier and in the new model, of so many each."""


class FeatureMap(Protocol):
    """A linear operator from weights to part scores, with one sparse column per part, never materialised.

    Attributes
    ----------
    kernels : FeatureKernels
    support : bool, shape (dimension,), or None
        Which weights may move; None when all may.
    dimension, count : int
        Number of weights, and of those that may move.
    """

    kernels: FeatureKernels
    support: Array | None
    dimension: int

    @property
    def count(self) -> int:
        """Number of weights that may move."""

    def record(self, encoded: Encoded, structure: Structure) -> Record:
        """Pack what the kernels read of a corpus."""

    def scratch(self, encoded: Encoded, structure: Structure) -> FeatureScratch:
        """Allocate what one thread needs."""

    def batch(self, encoded: Encoded, structure: Structure) -> BatchMap:
        """Make the features of a corpus for evaluations over all its instances."""

    def carried(self, earlier: FeatureMap, matches: Matches, array: Array) -> Array:
        """An array over an earlier map's weights as one over these: each number at the weight of the same name, zeros elsewhere.

        Raises `ConfigError` where the two have nothing in common.
        """

    def widened(self, more: Array) -> FeatureMap:
        """The same features, where the weights that the mask names may move too."""

    def compress(self, weights: Array) -> Array:
        """Keep the weights that may move."""

    def covers(self, array: Array) -> bool:
        """Whether `compress` loses nothing."""

    def expand(self, compressed: Array, out: Array | None = None) -> Array:
        """Undo `compress`, in `out` if it is given."""

    def state(self) -> tuple[dict[str, Any], Array]:
        """Layout as JSON values, its ``block`` among them, and the support as packed bits (empty when all may move)."""


class Calculus(NamedTuple):
    """Closed forms of the marginals of positional structures (signatures in `structopt.kernels.signatures`)."""

    entropy: Any
    slope: Any
    conditionals: Any


class Inference(Protocol):
    """A convex function of the scores with a (sub)gradient.

    An inference may have ``prepare(structure)`` (the structure with the memory and the scratch that it needs),
    ``decoding_temperature`` (at which best outputs are read off its marginals; 0, the maximiser, where it has none),
    ``decoder()`` (another inference to make predictions with, where its own answers are for learning) and
    ``converged(structure=None)``: the stateless inference whose value its own approaches in time. Without a decoder,
    predictions are made by it, so that they do not depend on what training left in memory; given the training structure, it is
    the one by which P is reported, and may then be another and slower one, that is exact.
    ``check_graph(graph)`` raises where it cannot solve the structures of a graph whose kind it knows.
    """

    def kernels(self, structure_kind: str) -> InferenceKernels:
        """Pick the algorithms for a kind of structure."""

    def provides(self, structure_kind: str) -> Ability:
        """What the algorithms for that kind of structure can do."""


class Beginning(NamedTuple):
    """The convex loss that training begins with, and for how many passes."""

    loss: Any  # a Loss
    passes: int


class Loss(Protocol):
    """Scores and gold of one instance to a loss and its residual.

    A loss with bad local minima may have ``begins_with(warm)``, a `Beginning` or None: the convex loss, of the same cost and the
    same needs, that the optimizer minimises first. `warm` tells it that training begins at the weights of a trained model.

    Attributes
    ----------
    requires : Ability
        What it needs of the inference.
    temperature : float
        1/beta; 0 for losses that maximise.
    gamma : float
        Weight of the cost.
    convex : bool
        Whether it is a convex function of the scores.
    in_family : bool
        Whether it is a member of the family L_{beta,gamma}, whose dual the dual methods climb.
    member : str
        What a person would call it.
    part_group : str
        The part group in which the cost counts, empty for the first.
    """

    requires: Ability
    temperature: float
    gamma: float
    convex: bool
    in_family: bool
    member: str
    part_group: str

    def variable_costs(self, labels: Sequence[str], gold: Array, lengths: Array) -> Array:
        """Cost of missing each variable's gold label, shape (variables,)."""

    def kernel(self, variant: str = "max_loss") -> Any:
        """Return the function of signature `structopt.kernels.signatures.EVALUATE` (compiled or plain Python).

        The variant is the optimizer's `loss_variant`: ``max_loss``, or ``prediction`` (the residual at the output that is
        best under the scores alone).
        """

    def parameters(self) -> Array:
        """Return the vector of numbers that the kernel reads (temperature, gamma, ...)."""


@dataclass(frozen=True)
class Report:
    """What one step of an optimizer tells.

    Attributes
    ----------
    loss : float
        Sum of the L_i as met during the pass (nats, or cost units at beta = inf).
    negative_losses : int
        How many L_i were below zero (an inference without a bound) and skipped.
    primal : float or None
        P at the weights that would be returned, where the step knows it to the last bit's rounding.
    dual : float or None
        D at a feasible dual point, a lower bound on the minimum of P.
    inference_seconds : float or None
        Time in the inference, where the step measures it.
    evaluations : tuple of float
        Seconds of each evaluation of loss and gradient over all instances.
    finished : str
        Why further steps would change nothing, or the empty string.
    convex_pass : int or None
        The number of this pass among those that minimise the convex loss which training begins with; None for all others.
    repeated : int
        How often the pass was made again with shorter steps, since it had raised P.
    judging_seconds : float
        Time that the step spent on P, which is no time of the optimizer.
    """

    loss: float
    negative_losses: int = 0
    primal: float | None = None
    dual: float | None = None
    inference_seconds: float | None = None
    evaluations: tuple[float, ...] = ()
    finished: str = ""
    convex_pass: int | None = None
    repeated: int = 0
    judging_seconds: float = 0.0


State = dict[str, Any]


class Optimizer(Protocol):
    """A learning algorithm as init, step and weights over a state of arrays and scalars.

    Of state arrays of shape (dimension,) that are zero wherever a weight may not move, checkpoints keep the rest only.
    Beyond the attributes below, an optimizer may have ``tolerance`` (relative gap at which the trainer stops),
    ``certificate`` (whether the trainer shall bound the optimum after every pass by `Problem.certificate`),
    ``loss_variant`` (which residual it steps by), ``check_loss(loss)`` (raises where it cannot learn by a loss),
    ``check_inference(inference, name)`` and ``check_graph(graph)`` (likewise of an inference that has what it requires, and of a
    graph), ``batch`` (whether all it asks of the data are losses and gradients over all instances), ``mixable`` (whether its
    state is a point and statistics of the way to it, without dual variables of instances, so that the states after passes over
    shards may be averaged), ``positional(loss, graph)`` (whether it needs a structure without tied parts; raises where the graph
    has none), ``shortened(state)`` (the state with shorter steps from here on, where the length of the steps is a number that
    somebody chose: a pass that raises P is then made again with them; an optimizer without it has no step length),
    ``kernel_modules`` (what its steps import: loaded, and compiled where need be, before the clock starts) and
    ``verify(problem, state, instances)`` (largest difference of its steps from the references', for check=true).

    Attributes
    ----------
    requires : Ability
        What it needs of the inference, beyond what the loss needs.
    epochs : int
        Passes over the data.
    C : float
        1/(lambda m), at which the objective is reported.
    """

    requires: Ability
    epochs: int
    C: float

    def init(self, problem: Any, weights: Array) -> State:
        """Return the state before the first pass."""

    def step(self, problem: Any, state: State) -> tuple[State, Report]:
        """Do one pass over the data, or one batch iteration."""

    def weights(self, state: State) -> Array:
        """Return the weights that would be returned now (averaged, if so asked)."""


@dataclass(frozen=True)
class Run:
    """What a tracker is told when a run begins.

    Attributes
    ----------
    folder : Path
        The run folder.
    config : mapping
        The composed config, nested, plain values.
    files : mapping of role (train, dev, test) to path
    label : str
        A short name a person would give the run, such as ``ner-dca-beta1-gamma0``.
    parent : str
        The tracker's own id of the sweep that the run belongs to; empty where there is none.
    job : int or None
        The run's number in its sweep.
    resumed : bool
        Whether an earlier attempt in the same folder is gone on with.
    """

    folder: Path
    config: Mapping[str, Any]
    files: Mapping[str, Path]
    label: str
    parent: str = ""
    job: int | None = None
    resumed: bool = False


class Tracker(Protocol):
    """Records runs. A tracker never raises: when its store is broken it warns once and the run goes on.

    One that knows of runs within runs has three more methods, called in the process that launches a sweep, each on a tracker of
    its own: ``open_sweep(name, folder, command, known) -> str`` makes the run of the sweep, or goes on with the known one, and
    returns its id, which jobs get as `Run.parent` (the empty string after a warning: then the jobs are not recorded);
    ``close_sweep(run_id, status, metrics, files)`` ends it, and ``drop_sweep(run_id)`` deletes it, where no job ever began.
    A tracker may note its run's id as ``run_id`` in ``tracking.json`` in the run's folder, to find it when the run goes on.
    """

    def start(self, run: Run) -> None:
        """Begin a run."""

    def log_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Record the metrics of one pass under their dotted names, with the pass as step."""

    def finish(self, status: str, metrics: Mapping[str, float]) -> None:
        """End the run (status ``FINISHED``, ``FAILED`` or ``KILLED``) with its final metrics; log folder and model."""


class Placement(Protocol):
    """Shards of a corpus where they stay: objects of this process, or of workers elsewhere."""

    def call(self, method: str, *common: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Call a method of every shard k, with `common`, and with ``each[k]`` if given; the results come in shard order.

        Results are computed as they are asked for, a few ahead of what was taken, so that no more than that lie about. Arrays
        among the arguments and the results may be read-only.
        """


class Executor(Protocol):
    """Where the work on shards of a corpus is done. What is computed does not depend on it, nor on its workers, to the last bit.

    There are two kinds of work. Functions that look at what this process has anyway, such as decoding, are mapped. Shards of
    the training corpus are placed once; then only arguments go out to them, and results come back.

    An executor that is `remote` has workers in other processes, to which shards, arguments and results must be pickled. It may
    have ``close()``, by which it shuts down what it started.

    Attributes
    ----------
    workers : int
    shards : int
        Into how many shards evaluations of loss and gradient are divided; on which, as sums are made in their order, the last
        bits of results depend.
    mixing : int
        Into how many shards the passes of an online optimizer are divided, whose parameters are then mixed; 0 for none.
    remote : bool
    """

    workers: int
    shards: int
    mixing: int
    remote: bool

    def map(self, function: Any, shards: Sequence[Any]) -> list[Any]:
        """Apply `function` to each shard, in this process; the results come back in shard order."""

    def place(self, make: Any, pieces: Sequence[Any]) -> Placement:
        """Make a shard, ``make(piece)``, of each piece, where it is to stay."""
