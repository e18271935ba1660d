"""One declaration a record: a named tuple whose annotations say where every field is kept.

    class Rows(NamedTuple):
        labels: Int
        ids: Ints
        values: Floats

    ROWS = RecordLayout(Rows)
    open_rows = ROWS.compiled

``ROWS.pack(labels=3, ids=..., values=...)`` makes the record, ``open_rows(record)`` opens it within
kernels and ``ROWS.open(record)`` in plain Python; all are generated from the declaration. In a
buffer the single numbers stand first, then the arrays, both in the order of their declaration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from structopt.errors import StructoptError, did_you_mean
from structopt.kernels.waist.fields import Field, annotations, fields_of, is_declaration
from structopt.kernels.waist.record import BUFFERS, Array, Record
from structopt.kernels.waist.signatures import inlined
from structopt.kernels.waist.views import CACHE_LINE, part, table

T = TypeVar("T")

WHOLE = {
    np.int32: (-(2**31), 2**31 - 1),
    np.int64: (-(2**63), 2**63 - 1),
    np.float64: (-(2**53), 2**53),
}
"""The least and the greatest whole number of each type of a buffer."""


class RecordLayout(Generic[T]):
    """Packs the records of one declaration, and opens them.

    Parameters
    ----------
    kind : class of named tuples
        Fields are annotated with the types of `structopt.kernels.waist.fields`: `Int`, `Flag`,
        `Long`, `Float` (single numbers), `Ints`, `Longs`, `Floats`, `Words` (arrays),
        ``Annotated[Ints, Wide(4)]`` (two axes), or another such class.

    Attributes
    ----------
    open : function
        Takes a `Record` and returns a `kind`, in plain Python; arrays are views of the record's
        buffers.
    compiled : Numba function
        The same for kernels, which are handed the record and do not outlive it: the arrays own
        nothing (`structopt.kernels.waist.views`). Never call it from Python. It is cached on disk
        beside the module that declares `kind`.
    """

    def __init__(self, kind: type[T]) -> None:
        self.kind = kind
        fields = list(fields_of(kind))
        self.singles = {
            name: [f for f in fields if f.kept.buffer == name and f.kept.single] for name in BUFFERS
        }
        self.arrays = {
            name: [f for f in fields if f.kept.buffer == name and not f.kept.single]
            for name in BUFFERS
        }
        named = {field.name: field for field in fields}
        self.open: Callable[[Record], T] = self._opening("open", named)
        self.compiled: Any = inlined(self._opening("view", named))

    def pack(self, **values: Any) -> Record:
        """Pack values, one for every field, by name.

        A field that is a single number takes a number. One that is an array takes an array, a list
        of its pieces, which are arrays one after the other, or an int: so many zeros. One that
        holds another declaration takes a mapping from its names to values.

        Where a buffer has no single numbers, and only one array that is not empty, that array
        becomes the buffer if it is contiguous, writable and of the buffer's type: it is shared, not
        copied.

        Raises
        ------
        StructoptError
            For names that are missing or unknown, and for values that the field's type cannot hold.
        """
        named = dict(self._named(self.kind, values))
        buffers, offsets = list[Array](), list[int]()
        for buffer, dtype in BUFFERS.items():
            numbers = [
                self._number(field, named[field.name], dtype) for field in self.singles[buffer]
            ]
            arrays: list[Array | int] = [np.array(numbers, dtype)]
            offsets.append(len(numbers))
            for field in self.arrays[buffer]:
                pieces = self._pieces(field, named, dtype)
                arrays += pieces
                offsets.append(offsets[-1] + sum(map(_size, pieces)))
            buffers.append(_joined(arrays, dtype))
        ints, longs, floats = buffers
        return Record(ints, longs, floats, np.array(offsets, np.int64))

    def borrow(self, ints: Array, longs: Array, floats: Array, at: Array) -> Record:
        """Make a record of buffers that were packed before, without copying: memory maps, or slices
        of a larger buffer.

        Offsets are checked against the buffers' lengths; the arrays' entries are not looked at. A
        memory map is to be opened with ``mmap_mode="c"``: kernels take writable arrays only, and
        the file stays as it is.

        Raises
        ------
        StructoptError
            For buffers of another type or form, and for offsets that no record of this declaration
            has or that lie outside.
        """
        record = Record(*(np.asarray(buffer) for buffer in (ints, longs, floats, at)))
        for name, array in record._asdict().items():
            self._check_buffer(name, array, np.dtype(BUFFERS.get(name, np.int64)))
        parts = np.split(record.at, np.cumsum([len(self.arrays[name]) + 1 for name in BUFFERS]))
        for name, ends in zip(BUFFERS, parts, strict=False):
            self._check_offsets(name, ends, len(getattr(record, name)))
        if len(parts[-1]):
            self._refuse(
                f"there are {len(parts[-1])} offsets too many. Borrow what the same layout has "
                "packed."
            )
        try:
            self.open(record)
        except ValueError as error:
            self._refuse(f"{error}. Borrow what the same layout has packed.")
        return record

    def _opening(self, how: str, fields: Mapping[str, Field]) -> Callable[[Record], T]:
        """Generate the function that opens a record, by slices (``open``) or by views that own
        nothing (``view``).

        Numba's cache takes it for the first line of the module of `kind`.
        """
        module = self.kind.__module__
        namespace: dict[str, Any] = {"np": np, "__name__": module}
        if how == "view":
            namespace |= {"part": part, "table": table}
        name, call = f"{how}_{self.kind.__name__}", self._call(self.kind, "", fields, namespace)
        source = (
            f"def {name}(r): ints, longs, floats, at = r.ints, r.longs, r.floats, r.at; return "
            f"{call}"
        )
        exec(
            compile(source, vars(sys.modules[module]).get("__file__") or "<record>", "exec"),
            namespace,
        )
        opening: Callable[[Record], T] = namespace[name]
        opening.__doc__ = f"Open a record that the layout of `{self.kind.__name__}` has packed."
        return opening

    def _call(
        self, kind: type, prefix: str, fields: Mapping[str, Field], namespace: dict[str, Any]
    ) -> str:
        """Source of the call that makes a `kind` from the buffers."""
        name_of_kind = f"{kind.__name__}_{len(namespace)}"
        namespace[name_of_kind] = kind
        views = "part" in namespace
        values = [
            self._call(held, f"{prefix}{name}.", fields, namespace)
            if is_declaration(held)
            else self._read(prefix + name, fields, views)
            for name, held in annotations(kind).items()
        ]
        return f"{name_of_kind}({', '.join(values)})"

    def _read(self, name: str, fields: Mapping[str, Field], views: bool) -> str:
        """Source of the expression that reads one field."""
        field = fields[name]
        buffer, form, columns = field.kept.buffer, field.kept.form, field.columns
        if field.kept.single:
            return form.format(f"{buffer}[{self.singles[buffer].index(field)}]")
        before = list(BUFFERS)[: list(BUFFERS).index(buffer)]
        array = sum(len(self.arrays[other]) + 1 for other in before) + self.arrays[buffer].index(
            field
        )
        wide = self._read(columns, fields, views) if isinstance(columns, str) else str(columns)
        if views and columns and form == "{}":
            return (
                f"table({buffer}, at[{array}], (at[{array + 1}] - at[{array}]) // max({wide}, "
                f"1), {wide})"
            )
        read = (
            f"part({buffer}, at[{array}], at[{array + 1}])"
            if views
            else f"{buffer}[at[{array}] : at[{array + 1}]]"
        )
        read = form.format(read)
        return f"{read}.reshape((-1, {wide}))" if columns else read

    def _named(self, kind: type, values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Values by the full names of their fields; the names must be those of the declaration."""
        names = annotations(kind)
        if not isinstance(values, Mapping):
            self._refuse(f"{prefix[:-1]} takes a mapping from {', '.join(names)} to values.")
        if values.keys() != names.keys():
            for name in values:
                if name not in names:
                    self._refuse(
                        f"there is no field {prefix}{name}.{did_you_mean(name, names)} Its fields: "
                        f"{', '.join(names)}."
                    )
            missing = [prefix + name for name in names if name not in values]
            self._refuse(f"there is no value for {', '.join(missing)}.")
        for name, held in names.items():
            if is_declaration(held):
                yield from self._named(held, values[name], f"{prefix}{name}.")
            else:
                yield prefix + name, values[name]

    def _number(self, field: Field, value: Any, dtype: Any) -> Any:
        low, high = WHOLE[dtype]
        # most are; to check an array takes longer
        if type(value) in (int, bool) and low <= value <= high:
            return value
        number = np.asarray(value)
        if number.ndim:
            self._refuse(
                f"{field.name} takes a single number, not an array of shape {number.shape}."
            )
        return self._fitting(field, number, dtype)

    def _pieces(self, field: Field, values: Mapping[str, Any], dtype: Any) -> list[Array | int]:
        """Return the flat pieces of the array of a field, mostly one, or the number of its
        zeros.
        """
        value = values[field.name]
        if isinstance(value, list) and all(
            isinstance(piece, np.ndarray) and piece.ndim for piece in value
        ):
            return [self._array(field, piece, values, dtype) for piece in value]
        return [self._array(field, value, values, dtype)]

    def _array(
        self, field: Field, value: Any, values: Mapping[str, Any], dtype: Any
    ) -> Array | int:
        """Return a flat array of a field, shared with the value if that has the field's type, or
        the number of its zeros.
        """
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
            return int(value)
        array = np.asarray(value)
        if not array.ndim:
            self._refuse(f"{field.name} takes an array, or the number of its zeros; not {value!r}.")
        columns = int(values[field.columns]) if isinstance(field.columns, str) else field.columns
        if (
            columns
            and array.size
            and ((array.ndim > 1 and array.shape[-1] != columns) or array.size % columns)
        ):
            self._refuse(
                f"{field.name} takes an array with {columns} columns, not one of shape "
                f"{array.shape}."
            )
        if array.dtype == np.uint64 and field.kept.form.endswith(".view(np.uint64)"):
            array = array.astype(np.uint64, "C", copy=False).view(np.int64)
        return self._fitting(field, array, dtype).ravel()

    def _fitting(self, field: Field, numbers: Array, dtype: Any) -> Array:
        """The same numbers in the field's type."""
        if numbers.dtype == dtype:
            return numbers
        kind = numbers.dtype.kind
        if kind not in "biuf":
            self._refuse(
                f"{field.name} takes numbers of type {np.dtype(dtype)}, not {numbers.dtype}."
            )
        if not np.can_cast(numbers.dtype, dtype) or (dtype == np.float64 and kind != "f"):
            low, high = WHOLE[dtype]
            wrong = ~((numbers >= low) & (numbers < high + 1)) | (
                (numbers != np.floor(numbers)) if kind == "f" else False
            )
            if np.any(wrong):
                self._refuse(
                    f"{field.name} takes whole numbers from {low} to {high}, not "
                    f"{numbers[wrong].flat[0]}."
                )
        return numbers.astype(dtype)

    def _check_buffer(self, name: str, array: Array, dtype: np.dtype[Any]) -> None:
        if array.dtype != dtype or array.ndim != 1:
            self._refuse(
                f"{name} must be a vector of {dtype}, not {array.dtype} of shape {array.shape}."
            )
        if not (array.flags.c_contiguous and array.flags.aligned):
            self._refuse(
                f"{name} must be contiguous and aligned to be borrowed. Copy it: "
                f"numpy.array({name})."
            )
        if not array.flags.writeable:
            self._refuse(
                f"{name} is read-only, and kernels take writable arrays. Open memory maps with "
                "mmap_mode='c'."
            )

    def _check_offsets(self, name: str, ends: Array, length: int) -> None:
        first, arrays = len(self.singles[name]), len(self.arrays[name])
        if len(ends) != arrays + 1 or ends[0] != first or (np.diff(ends) < 0).any():
            self._refuse(
                f"{ends.tolist()} are no offsets of {arrays} arrays after {first} single "
                f"numbers, its {name}. Borrow what the "
                "same layout has packed."
            )
        if ends[-1] > length:
            self._refuse(
                f"the arrays end after {ends[-1]} {name}, of which there are {length}. The "
                "buffer is cut off."
            )

    def _refuse(self, what: str) -> NoReturn:
        raise StructoptError(f"Record {self.kind.__name__}: {what}")


def _size(piece: Array | int) -> int:
    return piece if isinstance(piece, int) else len(piece)


def _joined(pieces: list[Array | int], dtype: Any) -> Array:
    """Join arrays and runs of zeros; a single array that is not empty is returned itself if kernels
    take it.

    Zeros are not written, so that scratch takes no memory before its first use.
    """
    filled = [piece for piece in pieces if _size(piece)]
    if len(filled) == 1 and not isinstance(filled[0], int):
        own = filled[0]
        if own.flags.writeable and own.flags.aligned:
            return own
    size, end = sum(map(_size, filled)), 0
    room = np.zeros(size * np.dtype(dtype).itemsize + CACHE_LINE, np.uint8)
    begin = -room.__array_interface__["data"][0] % CACHE_LINE
    joined: Array = room[begin : len(room) - CACHE_LINE + begin].view(dtype)
    for piece in filled:
        begin, end = end, end + _size(piece)
        if not isinstance(piece, int):
            joined[begin:end] = piece
    return joined
