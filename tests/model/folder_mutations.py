"""Mutations of model folders, such as damage, other programs and ill will make; each is drawn from
a seeded generator.

Most write the digests anew, so that a file is not refused for its digest alone.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load, save

WEIGHTS, JSON_FILES = "weights.safetensors", ("config.json", "vocabulary.json")
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    7,
    10**6,
    10**12,
    10**30,
    -(10**30),
    0.5,
    -1.5,
    float("nan"),
    float("inf"),
    1e308,
    "",
    "x",
    "nan",
    "O",
    "B-PER",
    [],
    [1],
    ["x"],
    [None],
    [[]],
    {},
    {"x": 1},
    {"name": "x"},
    "\ud800",
    "all",
)
TEXTS = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"\xff\xfe{}",
    b'{"task": "\xff"}',
    b"NaN",
    b"9" * 5000,
    b'{"format": 1e999, "sha256": {}}',
    b'{"format": 1, "sha256": {"../../x": "y"}}',
    b'{"format": 1, "sha256": []}',
    b'{"format": 1, "sha256": {"\\u0000": "y"}}',
    b"{}" * 1000,
    b" " * 3_000_000 + b"{}",
)


def mutate(rng: Random, folder: Path, others: list[Path]) -> str:
    """Change a model folder in place, with entries and files of others; return what was changed."""
    kinds: tuple[tuple[Callable[[Random, Path, list[Path]], str], int], ...] = (
        (_array, 10),
        (_json, 10),
        (_foreign_file, 2),
        (_foreign_entry, 3),
        (_text, 2),
        (_bytes, 2),
        (_header, 2),
        (_several, 1),
    )
    (kind,) = rng.choices([kind for kind, _ in kinds], [often for _, often in kinds])
    change = kind(rng, folder, others)
    if "manifest" in change or rng.random() < 0.05:
        return f"{change}; digests as they were"
    sign(folder)
    return change


def sign(folder: Path) -> None:
    """Write the digests of the files as they are now."""
    names = [path.name for path in sorted(folder.iterdir()) if path.name != "manifest.json"]
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "sha256": digests}))


def _several(rng: Random, folder: Path, others: list[Path]) -> str:
    return "; ".join(rng.choice((_array, _json))(rng, folder, others) for _ in range(3))


def _array(rng: Random, folder: Path, others: list[Path]) -> str:
    arrays = load((folder / WEIGHTS).read_bytes())
    name = rng.choice(sorted(arrays))
    kind = rng.choice(list(ARRAY_CHANGES))
    if kind == "dropped":
        del arrays[name]
    elif kind == "renamed":
        arrays[name + "x"] = arrays.pop(name)
    elif kind == "swapped":
        other = rng.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        with np.errstate(all="ignore"):
            arrays[name] = np.ascontiguousarray(ARRAY_CHANGES[kind](rng, arrays[name]))
    (folder / WEIGHTS).write_bytes(save(arrays))
    return f"array {name}: {kind}"


def _changed_entry(value: Callable[[Random, Any], Any]) -> Callable[[Random, Any], Any]:
    def change(rng: Random, array: Any) -> Any:
        array = array.copy()
        if array.size:
            index = rng.choice([0, array.size - 1, rng.randrange(array.size)])
            array.reshape(-1)[index] = np.array(value(rng, array)).astype(array.dtype)
        return array

    return change


def _permuted(rng: Random, array: Any) -> Any:
    order = list(range(len(array)))
    rng.shuffle(order)
    return array[order]


ARRAY_CHANGES: dict[str, Callable[[Random, Any], Any]] = {
    "dropped": lambda rng, array: array,
    "renamed": lambda rng, array: array,
    "swapped": lambda rng, array: array,
    "truncated": lambda rng, array: array[: rng.randrange(len(array))] if len(array) else array,
    "short of one": lambda rng, array: array[:-1],
    "short of the first": lambda rng, array: array[1:],
    "empty": lambda rng, array: array[:0],
    "twice as long": lambda rng, array: np.concatenate([array, array]),
    "longer by one": lambda rng, array: np.concatenate([array, array[-1:]]),
    "permuted": _permuted,
    "reversed": lambda rng, array: array[::-1],
    "of two dimensions": lambda rng, array: array.reshape(1, -1),
    "of no dimension": lambda rng, array: (
        array.reshape(-1)[0] if array.size else np.zeros((), array.dtype)
    ),
    "another type": lambda rng, array: array.astype(
        rng.choice(["f8", "f4", "f2", "i8", "i4", "i2", "u1", "i1", "u8", "?"])
    ),
    "one entry negative": _changed_entry(lambda rng, array: -1 if array.dtype.kind != "u" else 255),
    "one entry huge": _changed_entry(
        lambda rng, array: 2.0**62 if array.dtype.kind != "u" else 254
    ),
    "one entry off by one": lambda rng, array: _changed_entry(lambda r, a: a.reshape(-1)[0] + 1)(
        rng, array
    ),
    "one entry not a number": _changed_entry(lambda rng, array: np.nan),
    "one entry infinite": _changed_entry(lambda rng, array: np.inf),
    "zeros": lambda rng, array: np.zeros_like(array),
    "ones": lambda rng, array: np.ones_like(array),
    "every entry huge": lambda rng, array: np.full_like(
        array, 127 if array.itemsize == 1 else 2**31 - 1
    ),
    "negated": lambda rng, array: -array if array.dtype.kind != "b" else ~array,
    "noise": lambda rng, array: np.frombuffer(rng.randbytes(array.nbytes), array.dtype).reshape(
        array.shape
    ),
}


def _json(rng: Random, folder: Path, others: list[Path]) -> str:
    path = folder / rng.choice(JSON_FILES + JSON_FILES[1:] + ("schema.json", "manifest.json"))
    document = json.loads(path.read_text())
    steps = rng.choice(list(_paths(document)))
    parent = document
    for step in steps[:-1]:
        parent = parent[step]
    kind, last = (
        rng.choice(("value", "value", "value", "dropped", "added", "of an element")),
        steps[-1],
    )
    value = rng.choice(VALUES)
    if kind == "dropped":
        del parent[last]
    elif kind == "added" and isinstance(parent, dict):
        parent[rng.choice(["x", "name", "", "0"])] = value
    elif kind == "added":
        parent.insert(rng.randrange(len(parent) + 1), rng.choice(parent + [value]))
    elif kind == "of an element":
        parent[last] = rng.choice(
            [[parent[last]], {"x": parent[last]}, str(parent[last]), [parent[last], parent[last]]]
        )
    else:
        parent[last] = value
    path.write_text(json.dumps(document))
    return f"{path.name}: {'.'.join(map(str, steps))}: {kind} {value!r}"


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Any:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for number, (key, inside) in enumerate(items):
        if number < 6 or isinstance(value, dict):
            yield (*before, key)
            yield from _paths(inside, (*before, key))


def _foreign_file(rng: Random, folder: Path, others: list[Path]) -> str:
    other = rng.choice(others)
    names = rng.sample(
        ["config.json", "vocabulary.json", WEIGHTS, "schema.json"], rng.choice([1, 1, 2])
    )
    for name in names:
        (folder / name).write_bytes((other / name).read_bytes())
    return f"{' and '.join(names)} of {other.parent.name}"


def _foreign_entry(rng: Random, folder: Path, others: list[Path]) -> str:
    other = rng.choice(others)
    if rng.random() < 0.5:
        ours, theirs = (load((one / WEIGHTS).read_bytes()) for one in (folder, other))
        name = rng.choice(sorted(theirs))
        ours[rng.choice([name, rng.choice(sorted(ours))])] = theirs[name]
        (folder / WEIGHTS).write_bytes(save(ours))
        return f"array {name} of {other.parent.name}"
    file = rng.choice(JSON_FILES)
    documents = [json.loads((one / file).read_text()) for one in (folder, other)]
    key = rng.choice(list(documents[1]))
    documents[0][key] = documents[1][key]
    if isinstance(documents[0][key], dict) and rng.random() < 0.5:
        inner = rng.choice(list(documents[1][key]))
        key = f"{key}.{inner}"
    (folder / file).write_text(json.dumps(documents[0]))
    return f"{file}: {key} of {other.parent.name}"


def _text(rng: Random, folder: Path, others: list[Path]) -> str:
    path, text = (
        folder / rng.choice([*JSON_FILES, "schema.json", "manifest.json", WEIGHTS]),
        rng.choice(TEXTS),
    )
    path.write_bytes(text)
    return f"{path.name}: {len(text)} bytes, {text[:40]!r}"


def _bytes(rng: Random, folder: Path, others: list[Path]) -> str:
    path = rng.choice(sorted(folder.iterdir()))
    data = bytearray(path.read_bytes())
    kind = rng.choice(["flipped", "truncated", "extended", "missing"])
    if kind == "missing":
        path.unlink()
        return f"{path.name}: missing"
    if kind == "flipped":
        for _ in range(rng.choice([1, 1, 10])):
            data[rng.randrange(min(len(data), rng.choice([200, 10**9])))] ^= 1 << rng.randrange(8)
    path.write_bytes(
        data[: rng.randrange(len(data))]
        if kind == "truncated"
        else data + b"x"
        if kind == "extended"
        else data
    )
    return f"{path.name}: bytes {kind}"


def _header(rng: Random, folder: Path, others: list[Path]) -> str:
    """The header of a safetensors file says what is not so."""
    data = (folder / WEIGHTS).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
    name = rng.choice([key for key in header if key != "__metadata__"])
    kind = rng.choice(["dtype", "offsets", "shape", "length", "text", "notes"])
    if kind == "dtype":
        header[name]["dtype"] = rng.choice(
            ["BF16", "F8_E4M3", "X", "I64", "F64", "U16", "BOOL", None, 3]
        )
    elif kind == "offsets":
        header[name]["data_offsets"] = rng.choice(
            [[0, 8], [-1, 8], [8, 0], [0, 2**63], [], [0], "x"]
        )
    elif kind == "shape":
        header[name]["shape"] = rng.choice(
            [[], [0], [-1], [2**62, 4], [2**63], ["x"], None, [1, *header[name]["shape"]]]
        )
    elif kind == "notes":
        header["__metadata__"] = rng.choice(
            [{"notes": "["}, {"notes": "[" * 50_000}, {"notes": "3"}, {"x": 1}, 3, {}]
        )
    text = json.dumps(header).encode()
    if kind == "text":
        text = rng.choice(
            [
                b"{}",
                b"[]",
                b"\xff" * 16,
                b"{" * 1000,
                b'{"' + b"x" * 10_000 + b'": {}}',
                b"[" * 100_000,
            ]
        )
    length = rng.choice([2**63, 2**40, 0, 1, 10**8, 2**64 - 1]) if kind == "length" else len(text)
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", length) + text + rest)
    return f"header of {name}: {kind}"
