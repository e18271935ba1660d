"""Checks of arrays that come from Python, called once at each border of the library.

Each function returns an array that compiled code can read without further checks, or raises
`ArgumentError` with the argument's name, the value, its place and the bound. Valid arrays are
checked without a Python loop over their elements.

Examples
--------
>>> begins = checks.offsets("offsets", [0, 2, 5], length=len(scores))
>>> checks.floats("scores", scores, (None, 3), place=checks.in_instances(begins))
>>> checks.integers("labels", labels, least=-1, most=2, place=checks.in_instances(begins))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NoReturn

import numpy as np

from structopt.errors import NO_VALUE, ArgumentError
from structopt.kernels.waist.record import Array

Place = Callable[[tuple[int, ...]], str]
"""Names the place of an element, given its indices."""
Shape = Sequence[int | None]
"""The length of each axis; None allows any length."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""The range of int64."""
MOST_ELEMENTS = 2**53
"""The largest sum of lengths; sums of float64 are exact up to here."""


def at_index(index: tuple[int, ...]) -> str:
    """Return ``index 3``, or ``index (3, 1)`` for several axes."""
    return f"index {index[0]}" if len(index) == 1 else f"index {index}"


def of_instance(index: tuple[int, ...]) -> str:
    """Return ``instance 3``, for an array with one element per instance."""
    return f"instance {index[0]}"


def in_instances(offsets: Array, axis: str = "column") -> Place:
    """Return a function that names the instance and the position in it.

    Parameters
    ----------
    offsets : int64, shape (instances + 1,)
        Begin of each instance in the first axis, as `offsets` returns it.
    axis : str
        Name of the second axis.

    Returns
    -------
    callable
        For example ``instance 3, position 2``, or ``instance 3, position 2, column 1``. Both count
        from 0.
    """

    def place(index: tuple[int, ...]) -> str:
        instance, position = _range_of(offsets, index[0])
        return in_instance(instance, axis)((position, *index[1:]))

    return place


def in_instance(instance: int, axis: str = "column") -> Place:
    """Return a function that names an instance and the position in it, as `in_instances` does, for
    the array of one instance.
    """

    def place(index: tuple[int, ...]) -> str:
        text = f"instance {instance}, position {index[0]}"
        if len(index) == 1:
            return text
        return f"{text}, {axis} {index[1] if len(index) == 2 else index[1:]}"

    return place


def _range_of(offsets: Array, index: int) -> tuple[int, int]:
    """Return the range that has an element of a flat array, and the position in it."""
    found = int(np.searchsorted(offsets, index, side="right")) - 1
    return found, index - int(offsets[found])


def floats(
    name: str,
    value: Any,
    shape: Shape | None = None,
    *,
    least: float | None = None,
    allow_minus_inf: bool = False,
    place: Place = at_index,
) -> Array:
    """Return real numbers as a new contiguous float64 array.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array-like
        Real numbers of any precision, integers or booleans.
    shape : sequence of int or None, optional
        The required shape, such as ``(None, 3)``; by default any.
    least : float, optional
        The least number, such as 0 for weights.
    allow_minus_inf : bool
        Whether -inf is allowed, as in scores that forbid an output.
    place : callable
        Names the place of an element in messages.

    Returns
    -------
    float64 array

    Raises
    ------
    ArgumentError
        For other types (objects, strings, complex numbers), NaN, +inf and -inf, numbers beyond the
        range of float64 or below `least`, and another shape.
    """
    array = _array(name, value, "a real number", place)
    if array.dtype.kind not in "biuf":
        _refuse_type(name, value, array, "real numbers")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes inf, refused below
        numbers = np.array(array, np.float64, order="C")
    _check_shape(name, numbers, shape)
    _check_range(name, numbers, least, allow_minus_inf, place, array)
    return numbers


def integers(
    name: str,
    value: Any,
    least: int | None = None,
    most: int | None = None,
    shape: Shape | None = None,
    *,
    place: Place = at_index,
    copy: bool = True,
) -> Array:
    """Return integers as a contiguous int64 array.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array-like
        Integers, or floating-point numbers without a fraction. Booleans are refused, also among the
        elements of a list.
    least, most : int, optional
        Bounds, both inclusive; by default the range of int64.
    shape : sequence of int or None, optional
        The required shape; by default any.
    place : callable
        Names the place of an element in messages.
    copy : bool
        Whether to copy an array that already is contiguous int64. Set False only for arrays that
        the caller owns.

    Returns
    -------
    int64 array

    Raises
    ------
    ArgumentError
        For other types, fractions, NaN, values out of bounds, and another shape.
    """
    array = _array(name, value, "an integer", place)
    kind = array.dtype.kind
    if kind == "b":
        remedy = "Convert the array with .astype(int) if these are numbers."
        _refuse_type(name, value, array, "integers", remedy)
    if kind not in "iuf":
        _refuse_type(name, value, array, "integers")
    if isinstance(value, (list, tuple)) and _has_booleans(value):
        _refuse_boolean(name, value, place)
    _check_shape(name, array, shape)
    low, high = LOWEST if least is None else least, HIGHEST if most is None else most
    if kind == "f" and array.size:
        whole = np.rint(array) == array  # false for NaN
        if not whole.all() or np.isinf(array).any():
            _refuse(name, array, ~whole | np.isinf(array), "must be an integer.", place)
        # 2**63 is a float64 and not an int64
        beyond = (array >= 2.0**63) | (array < -(2.0**63))
        if beyond.any():
            _refuse(name, array, beyond, _bounds(least, most, low, high), place)
    elif kind == "u" and array.size and int(array.max()) > HIGHEST:
        _refuse(name, array, array > HIGHEST, _bounds(least, most, low, high), place)
    numbers = np.array(array, np.int64, order="C", copy=copy or None)
    _check_bounds(name, numbers, least, most, (low, high), place, array)
    return numbers


def lengths(
    name: str,
    value: Any,
    *,
    least: int = 0,
    count: int | None = None,
    total: int | None = None,
    copy: bool = True,
) -> Array:
    """Return the lengths of instances as an int64 vector.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array-like of int
    least : int
        The least length: 0 or 1.
    count : int, optional
        The required number of instances.
    total : int, optional
        The required sum.
    copy : bool
        As in `integers`.

    Returns
    -------
    int64 array, shape (instances,)

    Raises
    ------
    ArgumentError
        For whatever `integers` refuses, lengths below `least`, and another sum.
    """
    numbers = integers(name, value, least, shape=(count,), place=of_instance, copy=copy)
    summed = float(numbers.sum(dtype=np.float64))
    if summed > MOST_ELEMENTS:
        raise ArgumentError(f"must sum to at most {MOST_ELEMENTS}.", parameter=name)
    if total is not None and summed != total:
        raise ArgumentError(f"must sum to {total}, but sums to {int(summed)}.", parameter=name)
    return numbers


def offsets(
    name: str, value: Any, length: int, *, count: int | None = None, copy: bool = True
) -> Array:
    """Return the offsets of consecutive ranges in a flat array as an int64 vector.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array-like of int
        Begin of each range, and the end of the last one: 0 first, ascending, `length` last. Ranges
        may be empty.
    length : int
        Length of the flat array.
    count : int, optional
        The required number of ranges.
    copy : bool
        As in `integers`.

    Returns
    -------
    int64 array, shape (ranges + 1,)

    Raises
    ------
    ArgumentError
        For whatever `integers` refuses, another begin or end, and descending offsets.
    """
    numbers = integers(name, value, shape=(None if count is None else count + 1,), copy=copy)
    if not len(numbers):
        raise ArgumentError("must have at least one element, 0.", parameter=name)
    last = len(numbers) - 1
    if numbers[0] != 0:
        _refuse_element(name, numbers, 0, "must be 0, the begin of the first range.")
    if (numbers[1:] < numbers[:-1]).any():  # a difference could overflow
        index = int(np.argmax(numbers[1:] < numbers[:-1])) + 1
        previous = numbers[index - 1]
        _refuse_element(name, numbers, index, f"must be at least {previous}, the offset before it.")
    if numbers[-1] != length:
        _refuse_element(name, numbers, last, f"must be {length}, the end of the last range.")
    return numbers


def in_rows(offsets: Array) -> Place:
    """Return a function that names the row, and the position in it, of an element of a flat array.

    Parameters
    ----------
    offsets : int64, shape (rows + 1,)
        Begin of each row.
    """

    def place(index: tuple[int, ...]) -> str:
        row, element = _range_of(offsets, index[0])
        return f"row {row}, element {element}"

    return place


def check_ids(
    name: str,
    value: Any,
    least: int,
    most: int | None,
    shape: Shape,
    *,
    place: Place = at_index,
) -> None:
    """Refuse an array that does not have integers within bounds; reads it once and copies nothing.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Must be a NumPy array of signed integers.
    least, most : int
        Bounds, both inclusive; None: the largest of int32.
    shape : sequence of int or None
        The required shape.
    place : callable
        Names the place of an element in messages.

    Raises
    ------
    ArgumentError
    """
    array = _typed(name, value, "i", "integers")
    _check_shape(name, array, shape)
    high = np.iinfo(np.int32).max if most is None else most
    _check_bounds(name, array, least, most, (least, high), place)


def check_floats(
    name: str,
    value: Any,
    shape: Shape,
    *,
    least: float | None = None,
    place: Place = at_index,
) -> None:
    """Refuse an array that does not have finite floating-point numbers; copies nothing.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Must be a NumPy array of floating-point numbers.
    shape : sequence of int or None
        The required shape.
    least : float, optional
        The least number.
    place : callable
        Names the place of an element in messages.

    Raises
    ------
    ArgumentError
    """
    array = _typed(name, value, "f", "floating-point numbers")
    _check_shape(name, array, shape)
    _check_range(name, array, least, False, place)


def check_vector(
    name: str, value: Any, length: int, *, finite: bool = True, writable: bool = True
) -> None:
    """Refuse a vector that compiled code cannot read as float64; copies nothing.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Must be a NumPy array of float64, contiguous and, if it is not copied first, writable.
    length : int
        The required length.
    finite : bool
        Whether to refuse NaN and +inf too, which reads the whole vector. -inf is allowed, as in
        `floats`: it forbids an output.
    writable : bool
        Whether the array must be writable, as compiled code asks for.

    Raises
    ------
    ArgumentError
    """
    array = _typed(name, value, "f", "floating-point numbers")
    _check_shape(name, array, (length,))
    flags = array.flags
    usable = flags.c_contiguous and flags.aligned and (flags.writeable or not writable)
    if array.dtype != np.float64 or not usable:
        found = "contiguous" if flags.c_contiguous else "a strided view"
        found = found if flags.writeable else f"{found} and read-only"
        raise ArgumentError(
            f"must be a contiguous, writable array of float64, and is {found}, of {array.dtype}.",
            parameter=name,
            remedy=f"Give np.array({name}, dtype=float).",
        )
    if finite:
        _check_range(name, array, None, True, at_index)


def check_booleans(name: str, value: Any, shape: Shape) -> None:
    """Refuse an array that does not have booleans of a shape, as `check_ids` does of integers."""
    _check_shape(name, _typed(name, value, "b", "booleans"), shape)


def boolean_tables(name: str, tables: Sequence[Any], lengths: Array, width: int) -> Array:
    """Return the tables of all instances, one after the other, bool.

    Parameters
    ----------
    name : str
        Name of the argument.
    tables : sequence of array-like of bool, shape (length, width)
    lengths : int64, shape (instances,)
    width : int

    Raises
    ------
    ArgumentError
    """
    every = [np.zeros((0, width), bool)]
    for i, (one, length) in enumerate(zip(tables, lengths.tolist(), strict=True)):
        table = np.asarray(one)
        if table.dtype != bool or table.shape != (length, width):
            raise ArgumentError(
                f"must be booleans of shape ({length}, {width}), not {table.dtype} of shape "
                f"{table.shape}.",
                parameter=name,
                where=of_instance((i,)),
            )
        every.append(table)
    return np.concatenate(every)


def check_offsets(name: str, value: Any, count: int | None = None) -> None:
    """Refuse an array that is not ascending integers from 0; copies nothing.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Must be a NumPy array of signed integers.
    count : int, optional
        The required number of ranges.

    Raises
    ------
    ArgumentError
    """
    array = _typed(name, value, "i", "integers")
    _check_shape(name, array, (None if count is None else count + 1,))
    offsets(name, array, int(array[-1]) if len(array) else 0, copy=False)


def _typed(name: str, value: Any, kind: str, expected: str) -> Array:
    """Return the argument if it is an array of a kind of types."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind:
        found = f"of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ArgumentError(f"must be a NumPy array of {expected}, and is {found}.", parameter=name)
    return value


def same_length(name: str, one: Any, other_name: str, other: Any) -> None:
    """Refuse two arguments of different lengths.

    Parameters
    ----------
    name, other_name : str
        Names of the arguments; the error is about the first.
    one, other : sized, or array of any kind
        Arguments with one element (row) per instance.

    Raises
    ------
    ArgumentError
        If the lengths differ, or an argument has no length.
    """
    length, other_length = _length(name, one), _length(other_name, other)
    if length != other_length:
        raise ArgumentError(
            f"has the length {length}, but {other_name} has the length {other_length}.",
            parameter=name,
            remedy=f"Give one element of {name} per element of {other_name}.",
        )


def _array(name: str, value: Any, element: str, place: Place) -> Array:
    """Convert an argument to an array, or say why it cannot be converted."""
    if getattr(value, "requires_grad", False):  # a tensor that NumPy would cut from its graph
        raise ArgumentError(
            "is a tensor that requires gradients.",
            parameter=name,
            remedy="Detach it: tensor.detach().cpu().numpy().",
        )
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        index = tuple(int(i[0]) for i in np.nonzero(np.ma.getmaskarray(value)))
        raise ArgumentError(
            "is masked at this element.",
            parameter=name,
            where=place(index) if index else None,
            remedy="Fill masked elements with .filled(VALUE).",
        )
    try:
        array = np.asarray(value)
    except Exception as error:  # an object's own __array__ may raise anything
        _refuse_ragged(name, value, place)
        raise ArgumentError(
            f"cannot be converted to an array ({error}).", parameter=name
        ) from error
    if array.dtype.kind in "OUS" and array.ndim:
        _refuse_elements(name, value, element, place)
    return array


def _refuse_ragged(name: str, value: Any, place: Place) -> None:
    """Refuse the first row of nested lists that has another shape than the first row."""
    shapes = [np.shape(row) for row in value] if _is_list_of_flat_rows(value) else []
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ArgumentError(
                f"must have rows of one shape: this row has the shape {shape}, and the first row "
                f"has the shape {shapes[0]}.",
                parameter=name,
                where=place((index,)),
            )


def _is_list_of_flat_rows(value: Any) -> bool:
    """Whether each element is a number or a list of numbers, which has a shape."""
    if not isinstance(value, (list, tuple)):
        return False
    rows = [row for row in value if isinstance(row, (list, tuple))]
    return not any(isinstance(one, (list, tuple)) for row in rows for one in row)


def _refuse_elements(name: str, value: Any, element: str, place: Place) -> None:
    """Refuse the first element that is not a real number, if any is."""
    try:
        objects = np.array(value, dtype=object)
    except ValueError:
        return
    for index, one in np.ndenumerate(objects):
        if isinstance(one, (list, tuple)):
            _refuse_ragged(name, value, place)
            return
        if not isinstance(one, (int, float, np.integer, np.floating)):
            raise ArgumentError(
                f"must be {element}, not of type {type(one).__name__}.",
                parameter=name,
                value=one,
                where=place(index),
            )
        if isinstance(one, int) and abs(one) >= 2**63:
            raise ArgumentError(
                "must be within the range of 64-bit integers.",
                parameter=name,
                value=one,
                where=place(index),
            )


def _refuse_type(
    name: str, value: Any, array: Array, expected: str, remedy: str | None = None
) -> NoReturn:
    """Refuse an array of another type."""
    is_array = isinstance(value, (np.ndarray, np.generic, list, tuple))
    kind = f"of {array.dtype}" if is_array else f"an object of type {type(value).__name__}"
    raise ArgumentError(
        f"must be an array of {expected}, and is {kind}.", parameter=name, remedy=remedy
    )


def _has_booleans(value: Sequence[Any]) -> bool:
    """Whether a list, or a list in it, has a boolean, which NumPy would convert to an integer."""
    types = set(map(type, value))
    if bool in types or np.bool_ in types:
        return True
    return any(
        isinstance(one, np.ndarray)
        and one.dtype.kind == "b"
        or isinstance(one, (list, tuple))
        and _has_booleans(one)
        for one in (value if types & {list, tuple, np.ndarray} else ())
    )


def _refuse_boolean(name: str, value: Sequence[Any], place: Place) -> NoReturn:
    """Refuse the first boolean of nested lists."""
    objects = np.array(value, dtype=object)
    index, one = next(
        (index, one) for index, one in np.ndenumerate(objects) if isinstance(one, (bool, np.bool_))
    )
    raise ArgumentError(
        "must be an integer, not a boolean.", parameter=name, value=bool(one), where=place(index)
    )


def _check_shape(name: str, array: Array, shape: Shape | None) -> None:
    """Refuse an array of another shape."""
    if shape is None:
        return
    fits = len(shape) == array.ndim and all(
        length in (None, own) for length, own in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"must have the shape {_shape_text(shape)}, and has the shape "
            f"{_shape_text(array.shape)}.",
            parameter=name,
        )


def _shape_text(shape: Shape) -> str:
    """Return ``(any, 3)`` or ``(any,)``."""
    texts = ["any" if length is None else str(length) for length in shape]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _bounds(least: int | None, most: int | None, low: int, high: int) -> str:
    """Return the predicate that names the bounds."""
    if least is not None and most is not None:
        return f"must be from {least} to {most}."
    if least is not None:
        return f"must be at least {least}."
    return f"must be at most {most}." if most is not None else f"must be from {low} to {high}."


def _check_range(
    name: str,
    numbers: Array,
    least: float | None,
    allow_minus_inf: bool,
    place: Place,
    given: Array | None = None,
) -> None:
    """Refuse NaN, infinite numbers and numbers below `least`; `given` has the values to show."""
    if not numbers.size:
        return
    given = numbers if given is None else given
    # maximum and minimum are NaN if any number is
    if not numbers.max() < inf or not (allow_minus_inf or numbers.min() > -inf):
        bad = ~(numbers < inf)
        if not allow_minus_inf:
            bad |= numbers == -inf
        bound = "a number below +inf; -inf is allowed" if allow_minus_inf else "a finite number"
        _refuse(name, given, bad, f"must be {bound}.", place)
    if least is not None and numbers.min() < least:
        _refuse(name, given, numbers < least, f"must be at least {least:g}.", place)


def _check_bounds(
    name: str,
    numbers: Array,
    least: int | None,
    most: int | None,
    within: tuple[int, int],
    place: Place,
    given: Array | None = None,
) -> None:
    """Refuse integers out of a range, named by the bounds that are set; `given` has the values to
    show.
    """
    low, high = within
    if numbers.size and (int(numbers.min()) < low or int(numbers.max()) > high):
        bad = (numbers < low) | (numbers > high)
        given = numbers if given is None else given
        _refuse(name, given, bad, _bounds(least, most, low, high), place)


def _refuse(name: str, array: Array, bad: Array, problem: str, place: Place) -> NoReturn:
    """Refuse the first element of a mask."""
    index = tuple(map(int, np.unravel_index(int(np.argmax(bad)), bad.shape)))
    value = array[index].item()
    where = place(index) if index else None
    raise ArgumentError(problem, parameter=name, value=value, where=where)


def _refuse_element(name: str, numbers: Array, index: int, problem: str) -> NoReturn:
    """Refuse one element of a vector."""
    where = at_index((index,))
    raise ArgumentError(problem, parameter=name, value=int(numbers[index]), where=where)


def _length(name: str, value: Any) -> int:
    """Return the length of an argument, also of a sparse matrix."""
    shape = getattr(value, "shape", None)
    if shape:
        return int(shape[0])
    try:
        return len(value)
    except TypeError:
        value = NO_VALUE if shape == () else value
        raise ArgumentError(
            "must have a length: give a list or an array.", parameter=name, value=value
        ) from None
