"""Attributes of tokens that are Python objects, read through Python's C interface.

A statement of Python per attribute takes longer than the inference. Here objects are addresses,
and all functions of the interface belong to its stable part. They run no Python code for objects of
exactly the types below, so no other code can change the objects meanwhile. No object is created
that the garbage collector tracks, because creating one may start a collection, which runs
finalizers.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numba
from numba import types

from structopt.kernels.waist.signatures import INTS, LONGS, VECTOR, embedded, kernel

UNKNOWN, OTHER = -1, -2
"""Instead of the number of an attribute: it has none; only Python code can read it."""
LARGEST = 1e100  # `structopt.core.data.ranges.LARGEST_VALUE`
STR, BOOL, INT, FLOAT, NUMPY_FLOAT, DICT, LIST, TUPLE, TRUE = range(9)
NUMBERS, PAIRS, SPARE, SEPARATOR = range(9, 13)
USED, OVERFLOW, PLACE, KEY, VALUE = range(13, 18)
SIZE = 18
"""Indices of the constants: addresses of types and of True; of the dict from name to number, the
dict from name to dict from text to number, the list of its spare inner dicts, and the text between
a name and a text. Then the number of inner dicts in use, and places for results of functions.
"""
WORD = 8  # bytes of a constant
C_TYPES: dict[Any, Any] = {
    types.intp: ctypes.c_ssize_t,
    types.intc: ctypes.c_int,
    types.uint32: ctypes.c_uint32,
    types.float64: ctypes.c_double,
    types.void: None,
}


def c_function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of Python's C interface for kernels, or for Python if nothing is
    compiled.
    """
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return types.ExternalFunction(name, result(*arguments))
    function = ctypes.pythonapi[name]  # a new object; the attribute is the same for all code
    function.restype, function.argtypes = C_TYPES[result], [C_TYPES[one] for one in arguments]
    return function


OBJECT = types.intp
take_gil = c_function("PyGILState_Ensure", types.intc)
give_gil = c_function("PyGILState_Release", types.void, types.intc)
new_type = c_function("PyObject_Type", OBJECT, OBJECT)
release = c_function("Py_DecRef", types.void, OBJECT)
list_size = c_function("PyList_Size", types.intp, OBJECT)
list_item = c_function("PyList_GetItem", OBJECT, OBJECT, types.intp)
tuple_size = c_function("PyTuple_Size", types.intp, OBJECT)
tuple_item = c_function("PyTuple_GetItem", OBJECT, OBJECT, types.intp)
dict_size = c_function("PyDict_Size", types.intp, OBJECT)
dict_next = c_function("PyDict_Next", types.intc, OBJECT, types.intp, types.intp, types.intp)
dict_get = c_function("PyDict_GetItemWithError", OBJECT, OBJECT, OBJECT)
dict_set = c_function("PyDict_SetItem", types.intc, OBJECT, OBJECT, OBJECT)
new_text = c_function("PyUnicode_Concat", OBJECT, OBJECT, OBJECT)
text_size = c_function("PyUnicode_GetLength", types.intp, OBJECT)
character = c_function("PyUnicode_ReadChar", types.uint32, OBJECT, types.intp)
new_integer = c_function("PyLong_FromSsize_t", OBJECT, types.intp)
integer = c_function("PyLong_AsLongLongAndOverflow", types.intp, OBJECT, types.intp)
number = c_function("PyFloat_AsDouble", types.float64, OBJECT)


@embedded
def type_of(thing):
    """Return the type of an object, which lives as long as the object."""
    kind = new_type(thing)
    release(kind)
    return kind


@embedded
def size_of(o, sequence):
    """Return the length of a list or tuple; `OTHER` for other types."""
    kind = type_of(sequence)
    if kind == o[LIST]:
        return list_size(sequence)
    return tuple_size(sequence) if kind == o[TUPLE] else OTHER


@embedded
def item_of(o, sequence, j):
    """Return an element of a list or tuple."""
    if type_of(sequence) == o[LIST]:
        return list_item(sequence, j)
    return tuple_item(sequence, j)


@embedded
def is_text(text):
    """Whether a file can hold a text: it has no half of a surrogate pair."""
    for j in range(text_size(text)):
        if 0xD800 <= character(text, j) <= 0xDFFF:
            return False
    return True


@embedded
def integer_of(o, thing):
    """Return an integer, and whether it has 64 bits."""
    o[OVERFLOW] = 0
    value = integer(thing, o.ctypes.data + WORD * OVERFLOW)
    return value, o[OVERFLOW] == 0


@embedded
def number_of(o, name, learning):
    """Return the number of a name, the next one if it has none and the kernel is `learning`."""
    known = dict_get(o[NUMBERS], name)
    if known != 0:
        return integer_of(o, known)[0]
    if not learning:
        return UNKNOWN if is_text(name) else OTHER
    count = dict_size(o[NUMBERS])
    new = new_integer(count)
    if new == 0:
        return OTHER
    dict_set(o[NUMBERS], name, new)
    release(new)
    return count


@embedded
def number_of_pair(o, name, text, learning):
    """Return the number of a name with a text; numbers of pairs are cached."""
    pairs = dict_get(o[PAIRS], name)
    known = dict_get(pairs, text) if pairs != 0 else 0
    if known != 0:
        return integer_of(o, known)[0]
    begin = new_text(name, o[SEPARATOR])
    joined = new_text(begin, text) if begin != 0 else 0
    release(begin)
    if joined == 0:  # no memory
        return OTHER
    found = number_of(o, joined, learning)
    if found >= 0:
        if pairs == 0 and o[USED] < list_size(o[SPARE]):
            pairs = list_item(o[SPARE], o[USED])
            o[USED] += 1
            dict_set(o[PAIRS], name, pairs)
        if pairs != 0:
            dict_set(pairs, text, dict_get(o[NUMBERS], joined))
    release(joined)
    return found


@embedded
def entry_of(o, name, value, learning):
    """Return the number and the value of an entry of a mapping."""
    if type_of(name) != o[STR]:
        return OTHER, 1.0
    kind = type_of(value)
    if kind == o[STR]:
        return number_of_pair(o, name, value, learning), 1.0
    x, sound = 1.0, True
    if kind == o[BOOL]:
        x = 1.0 if value == o[TRUE] else 0.0
    elif kind == o[INT]:
        x, sound = integer_of(o, value)
    elif kind == o[FLOAT] or kind == o[NUMPY_FLOAT]:
        x = number(value)
    else:
        sound = False
    if not (sound and abs(x) <= LARGEST):  # false for nan
        return OTHER, x
    return number_of(o, name, learning), x


@embedded
def read_all(o, sentences, learning, ids, values, counts, starts):
    """See `read_tokens`, which holds Python's lock for it."""
    entries, positions, valued, constants = 0, 0, False, o.ctypes.data
    for q in range(list_size(sentences)):
        sentence = list_item(sentences, q)
        tokens = size_of(o, sentence)
        if tokens < 0:
            return OTHER, positions, valued
        for t in range(tokens):
            token, begin = item_of(o, sentence, t), entries
            is_mapping = type_of(token) == o[DICT]
            length = dict_size(token) if is_mapping else size_of(o, token)
            if length < 0:
                return OTHER, positions, valued
            o[PLACE] = 0
            for j in range(length):
                if is_mapping:
                    dict_next(
                        token,
                        constants + WORD * PLACE,
                        constants + WORD * KEY,
                        constants + WORD * VALUE,
                    )
                    found, x = entry_of(o, o[KEY], o[VALUE], learning)
                else:
                    found, x = entry_of(o, item_of(o, token, j), o[TRUE], learning)
                if found == OTHER:
                    return OTHER, positions, valued
                if entries < len(ids):
                    ids[entries], values[entries] = found, x
                valued |= x != 1.0
                entries += 1
            if positions < len(counts):
                counts[positions] = entries - begin
            positions += 1
        if q + 1 < len(starts):
            starts[q + 1] = positions
    return entries, positions, valued


@kernel(
    types.Tuple([types.int64, types.int64, types.boolean])(
        LONGS, types.intp, types.boolean, INTS, VECTOR, LONGS, LONGS
    )
)
def read_tokens(o, sentences, learning, ids, values, counts, starts):
    """Write the attributes of sentences, as many as there is room for.

    Parameters
    ----------
    o : constants, shape (SIZE,)
    sentences : address of a list of sentences, which are lists or tuples of tokens; a token is a
        dict from str to str, bool, int or float, or a list or tuple of str
    learning : whether unknown attributes get the next numbers
    ids, values : (E,) the number of each attribute, `UNKNOWN` for unknown ones, and its value
    counts : (N,) the number of attributes of each token
    starts : (sentences + 1,) the first token of each sentence

    Returns
    -------
    The number of attributes and of tokens, and whether a value is not 1. The number of attributes
    is `OTHER` if an object has another type, a value is too large, or an unknown name is not text.
    """
    state = take_gil()
    result = read_all(o, sentences, learning, ids, values, counts, starts)
    give_gil(state)
    return result
