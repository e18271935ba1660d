"""The signatures of the kernels: what all families of kernels and all drivers agree on.

A driver takes the kernels as one named tuple of first-class functions of these types. Because every
record has the one type `structopt.kernels.waist.record.Record`, a driver is compiled once for all
features, graphs, inferences and losses. The same driver called un-compiled (``driver.py_func``)
takes plain Python functions of the same form.

Letters: i instance, s part scores (nats), z marginals, r residual z - gold, theta flat weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Concatenate, NamedTuple

import numba
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError, NumbaExperimentalFeatureWarning
from numba.core.typeinfer import register_dispatcher
from numba.extending import register_jitable, typeof_impl

from structopt.kernels.waist import (
    addresses,
    compiled_halting,  # noqa: F401  # tells Numba of it
    compiling,
    debug,
    disk_cache,
)
from structopt.kernels.waist.drivers import Driver, P, Result
from structopt.kernels.waist.record import Array, Record

# Numba calls functions as arguments experimental, also when it types a call. Here they are compiled
# once, cached on disk, and tested.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)

OWNED = "NRT required but not enabled", "Only accept returning of array"
"""What Numba says of drivers that make arrays, and of functions of theirs that return views."""

VECTOR = types.float64[::1]
LONGS = types.int64[::1]
INTS = types.int32[::1]
FROZEN: Any = types.Array(types.float64, 1, "C", readonly=True)
RECORD: Any = types.NamedTuple((INTS, LONGS, VECTOR, LONGS), Record)

# Features: a linear operator with one sparse column per part.
# features, theta, i, s, scratch: features may note in `scratch` what PULLBACK of instance i needs;
# EMPTY: nothing to note it in
SCORES = types.void(RECORD, VECTOR, types.int64, VECTOR, RECORD)
# features, i, r, gradient (the same record as `scratch`) -> squared norm
PULLBACK = types.float64(RECORD, types.int64, VECTOR, RECORD)
# features, theta, gradient, step: theta += step * gradient
ADD = types.void(RECORD, VECTOR, RECORD, types.float64)
# features, theta, lag, gradient, step, share: theta += step * gradient, and unless lag is empty
# lag += share * gradient
ADD_BOTH = types.void(RECORD, VECTOR, VECTOR, RECORD, types.float64, types.float64)
# features, theta, gradient -> inner product
DOT = types.float64(RECORD, VECTOR, RECORD)
# features, gradient, indices, values -> how many coordinates
FLATTEN = types.int64(RECORD, RECORD, LONGS, VECTOR)
# features, i, r, dense: dense += F r, without regard to the support
ACCUMULATE = types.void(RECORD, types.int64, VECTOR, VECTOR)
# features, i, starts, widths, scratch -> how many: the runs of weights that the scores of instance
# i read, perhaps repeated. SCORES again are the *listed scores*: of the instance that SPANS has
# just listed with this scratch, and may have noted in it
SPANS = types.int64(RECORD, types.int64, LONGS, LONGS, RECORD)
# features, order, n: prefetch what the scores of the instances behind order[n] will read
PREFETCH = types.void(RECORD, LONGS, types.int64)

# Inference: a convex function of the scores together with a (sub)gradient of it.
# structure, i, s, temperature, z, memory, work -> value
SOLVE = types.float64(RECORD, types.int64, VECTOR, types.float64, VECTOR, VECTOR, RECORD)
# structure, i, s, k, values, offsets (k + 1), parts, counts, work -> how many outputs there are.
# Output q has the score values[q] and the parts parts[offsets[q] : offsets[q + 1]], each as often
# as counts says; offsets[0] is 0.
K_BEST = types.int64(RECORD, types.int64, VECTOR, types.int64, VECTOR, LONGS, INTS, VECTOR, RECORD)
# structure, i, z, work: z becomes the indicators of an output
ROUND = types.void(RECORD, types.int64, VECTOR, RECORD)

SOLVER: Any = types.FunctionType(SOLVE)
# solve, structure, target, parameters, i, s (overwritten), r, two part vectors of scratch, memory,
# work -> loss
EVALUATE = types.float64(
    SOLVER,
    RECORD,
    RECORD,
    VECTOR,
    types.int64,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    RECORD,
)

# Calculus of the marginals of a structure whose factors have untied parts: the closed forms that
# the graph knows.
# structure, i, z -> H(z), the largest entropy with these marginals
ENTROPY = types.float64(RECORD, types.int64, VECTOR)
# structure, i, z, d, t, out: first and second derivative of H(z + t d) by t, and H(z + t d) itself
# if `out` has a third entry
SLOPE = types.void(RECORD, types.int64, VECTOR, VECTOR, types.float64, VECTOR)
# structure, i, z, out: scores whose Gibbs distribution has the marginals z (logs of conditional
# probabilities)
CONDITIONALS = types.void(RECORD, types.int64, VECTOR, VECTOR)


class _Kernels(NamedTuple):
    scores: Any
    pullback: Any
    add: Any
    add_both: Any
    dot: Any
    flatten: Any
    accumulate: Any
    spans: Any
    listed_scores: Any
    prefetch: Any
    evaluate: Any
    solve: Any
    k_best: Any
    round: Any
    entropy: Any
    slope: Any
    conditionals: Any


class Kernels(_Kernels):
    """The functions that a driver is composed of."""

    @cached_property
    def compiled(self) -> bool:
        """Whether all are compiled. If not, drivers run un-compiled."""
        return all(map(is_compiled, self))

    @property
    def address(self) -> int:
        """The place in memory of the addresses of the compiled functions."""
        held = vars(self)
        if "_addresses" not in held:  # of two threads that come here, only one's may be kept
            held.setdefault("_addresses", _addresses(self))
        return int(held["_addresses"].ctypes.data)

    def __getstate__(self) -> None:
        """Leave the addresses out of copies, which another process may read."""


@lru_cache(maxsize=256)
def _addresses(kernels: Kernels) -> Array:
    """Return the addresses of the functions, looked up once for equal tuples."""
    return addresses.addresses_of(kernels, KERNELS)


class Data(NamedTuple):
    """What the kernels read, and the messages that a stateful inference keeps for each instance.

    Attributes
    ----------
    features, structure, target : Record
    parameters : float64 vector
        Of the loss.
    parts, memory : int64, shape (instances + 1,)
        Offsets of the instances in vectors over all parts, and in `messages`.
    messages : float64 vector
    weights : float64, shape (instances,)
        w_i, by which the loss of each instance counts; empty where all are 1.
    """

    features: Record
    structure: Record
    target: Record
    parameters: Array
    parts: Array
    memory: Array
    messages: Array
    weights: Array


class Space(NamedTuple):
    """Scratch of one thread, large enough for any instance.

    Attributes
    ----------
    scores, residual, answer, direction : float64 vectors over parts
    second_scores, second_answer : float64 vectors over parts
        For a second inference of the loss at an instance.
    work : Record
        The inference's tables.
    gradient : Record
        A sparse gradient of the features, empty between visits, and what they note there of the
        instance last scored.
    starts, widths : int64 vectors
        Runs of weights, for `SPANS`.
    indices : int64 vector, and values : float64 vector
        Coordinates of a gradient, for `FLATTEN`.
    """

    scores: Array
    residual: Array
    answer: Array
    direction: Array
    second_scores: Array
    second_answer: Array
    work: Record
    gradient: Record
    starts: Array
    widths: Array
    indices: Array
    values: Array


KERNELS: Any = addresses.Functions(
    [
        types.FunctionType(signature)
        for signature in (
            SCORES,
            PULLBACK,
            ADD,
            ADD_BOTH,
            DOT,
            FLATTEN,
            ACCUMULATE,
            SPANS,
            SCORES,
            PREFETCH,
            EVALUATE,
            SOLVE,
            K_BEST,
            ROUND,
            ENTROPY,
            SLOPE,
            CONDITIONALS,
        )
    ],
    Kernels,
)


@typeof_impl.register(Kernels)
def _typeof_kernels(kernels: Kernels, context: Any) -> Any:
    """Return the one type that all kernels have: Numba takes longer to infer it at each call than
    to predict a sentence.
    """
    return KERNELS


DATA: Any = types.NamedTuple((RECORD, RECORD, RECORD, VECTOR, LONGS, LONGS, VECTOR, VECTOR), Data)
SPACE: Any = types.NamedTuple((*[VECTOR] * 6, RECORD, RECORD, LONGS, LONGS, LONGS, VECTOR), Space)


def is_compiled(function: Any) -> bool:
    """Whether a kernel is compiled, or plain Python."""
    return isinstance(function, Dispatcher)


def driver(
    returns: Any, *arguments: Any
) -> Callable[[Callable[Concatenate[Any, Any, Any, P], Result]], Driver[P, Result]]:
    """Compile a driver: a kernel whose first arguments are the kernels, the data and the scratch of
    one thread.

    A driver owns no arrays: its scratch is among its arguments. So it is compiled without Numba's
    counts of references, which take longer than many a visit: two atomic additions for each of the
    35 arrays of `data` and `space`, at every call that is handed them.

    Raises
    ------
    numba.core.errors.NumbaError
        If the function does not compile. One that makes an array does not, nor one that copies one
        by assigning it to a slice (`structopt.kernels.arrays.rows.set_row` copies).
    """
    signature = returns(KERNELS, DATA, SPACE, *arguments)

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return _compiled(function, signature, _nrt=False)
        except NumbaError as error:
            if any(reason in str(error) for reason in OWNED):
                error.add_note(
                    f"{function.__name__} is a driver, which owns no arrays: let its callers "
                    "hand it those that it needs, "
                    "copy by set_row(target, source), and return no views."
                )
            raise

    return compiled


def thread(function: Callable[[int], None]) -> Any:
    """Compile a function that a thread of the system runs, with the address of its arguments.

    It owns no arrays, as a `driver`.
    """
    return _compiled(function, types.void(types.intp), _nrt=False)


driven = register_jitable(_nrt=False, forceinline=True)
"""Mark a function that drivers call with kernels among its arguments: plain Python to an
un-compiled driver.

It owns no arrays either, and returns none. LLVM puts its body where it is called: a call would hand
over 260 numbers.
"""


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one declared signature, or for each of a list, and cache it on disk.

    The GIL is released, so that kernels run in threads. Without a usable cache folder the function
    is compiled again in every process. With ``NUMBA_DISABLE_JIT=1`` it stays plain Python.
    """
    return lambda function: _compiled(function, signature)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that other kernels call; its types are inferred at the call."""
    # given, since Numba would take it from the caller that is compiled first
    return _compiled(function, _nrt=True)


def embedded(function: Callable[..., Any]) -> Any:
    """Compile a function as `inlined` does, and have LLVM put its body into every kernel that calls
    it.

    For functions that kernels hand records to while they visit an instance: a call hands over seven
    numbers for each array of a record, and counts references to them. `merged` has Numba do it,
    before it infers types; which of the two makes the faster code, or compiles sooner, depends on
    the kernel.
    """
    return _compiled(function, _nrt=True, forceinline=True)


def merged(function: Callable[..., Any]) -> Any:
    """Put the body of a function into every kernel that calls it: a call takes a reference count of
    each array, a body none.

    That costs time to compile, and pays where records of many arrays are handed over in inner
    loops.
    """
    return numba.njit(inline="always", nogil=True, error_model="numpy")(function)


def _compiled(function: Callable[..., Any], *signature: Any, **more: Any) -> Any:
    if numba.config.DISABLE_JIT:
        python: Any = debug.checking(function) if signature else function
        python.py_func = python  # drivers are called through it
        return python
    kernel = numba.njit(nogil=True, error_model="numpy", **more)(function)
    cached = disk_cache.attach(kernel)
    if not signature:
        return kernel
    try:
        with compiling.under_way(function.__name__), register_dispatcher(kernel):
            for one in signature[0] if isinstance(signature[0], list) else signature:
                kernel.compile(one)
    finally:
        if cached:
            cached.release()
    kernel.disable_compile()
    compiling.STATE.compiled += bool(kernel.stats.cache_misses)
    return kernel
