"""Names of hashed features: the features of given parts, template by template, and the weights that
their hashes have.

The hashes are those of `structopt.kernels.features.hashing`, over whole arrays; nothing is known of
a feature but its weight, so that names are found by looking at the parts that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from structopt.core.data.sparse_vectors import SparseVectors
from structopt.core.data.structure import Structure
from structopt.core.weights.coordinates import Coordinate, Named
from structopt.kernels.waist.record import Array
from structopt.templates.column_codes import BLANK, UNSEEN
from structopt.templates.part_templates import BIAS

Values = Sequence[Array]
"""Of every atom of a template, its value at each part, int64."""
BEYOND = {UNSEEN: "<unseen>", BLANK: "<empty>"}
"""Codes of columns that stand for no value of training."""


class Features(NamedTuple):
    """The features of one template at some parts.

    Attributes
    ----------
    group : str
        The part group.
    atoms : sequence of (str, mapping of values to names)
        The atoms, and what their values are called.
    values : sequence of int64 arrays, shape (parts,)
        Of every atom, its value at each part.
    configurations : sequence of str
        The configuration of each part; empty where parts have one.
    indices : int64, shape (variants, parts)
        The weights.
    variants : int64, shape (variants, parts)
        What sets the weights of a part apart; 0 is the plain feature.
    remark : callable
        What a variant says, in words.
    """

    group: str
    atoms: Sequence[tuple[str, Mapping[int, str]]]
    values: Values
    configurations: Sequence[str]
    indices: Array
    variants: Array
    remark: Callable[[int], str]


def hashes_of(number: int, values: Values, count: int) -> Array:
    """Hashes of the features of a template, uint64, given the values of its atoms at so many
    parts.
    """
    return finished(partial_sums(number, values, count))


def partial_sums(number: int, values: Values, count: int) -> Array:
    """The sums of the partial hashes of a template and its atoms, uint64."""
    with np.errstate(over="ignore"):
        total = np.full(count, partial(number, 0, np.zeros(1, np.int64))[0], np.uint64)
        for atom, value in enumerate(values, 1):
            total = total + partial(number, atom, value)
    return total


def partial(template: int, atom: int, value: Array) -> Array:
    """Partial hashes of an atom of a template that meets values."""
    from structopt.kernels.features.hashing import ATOMS, STEP
    from structopt.kernels.waist.bits import FIRST, SECOND

    with np.errstate(over="ignore"):
        z = STEP * np.uint64(ATOMS * template + atom) + value.astype(np.int64).view(np.uint64)
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        return np.asarray(z ^ (z >> np.uint64(31)))


def finished(total: Array) -> Array:
    """The hash of a feature, of the sum of its partial hashes."""
    from structopt.kernels.features.hashing import LAST

    with np.errstate(over="ignore"):
        return np.asarray((total ^ (total >> np.uint64(32))) * LAST)


def collected(features: Iterable[Features], indices: Array) -> Named:
    """The names of weights among features of parts; each once."""
    found: dict[int, dict[Coordinate, None]] = {int(index): {} for index in indices}
    for one in features:
        for indices_of_variant, variants in zip(one.indices, one.variants, strict=True):
            for part in np.flatnonzero(np.isin(indices_of_variant, indices)).tolist():
                found[int(indices_of_variant[part])][
                    _coordinate(one, part, int(variants[part]))
                ] = None
    return {index: list(coordinates) for index, coordinates in found.items()}


def _coordinate(one: Features, part: int, variant: int) -> Coordinate:
    """The name of a feature of a part."""
    atoms = [
        f"{text}={value_name(known, int(v[part]))}"
        for (text, known), v in zip(one.atoms, one.values, strict=True)
    ]
    name, remark = " & ".join(atoms) or BIAS, one.remark(variant) if variant else ""
    configuration = one.configurations[part] if len(one.configurations) else ""
    return Coordinate(one.group, f"{name}, {remark}" if remark else name, configuration)


def value_name(known: Mapping[int, str], value: int) -> str:
    """What a value is called."""
    from structopt.kernels.features.hashing import END, NONE_CODE, ROOT_CODE, START

    edges = {START: "<start>", END: "<end>", ROOT_CODE: "<root>", NONE_CODE: "<none>"}
    return known.get(value) or edges.get(value) or BEYOND.get(value) or str(value)


def bin_names(least: int, bounds: Sequence[int]) -> dict[int, str]:
    """The names of bins of numbers from `least`, given their upper ends; one more bin is beyond."""
    lows, highs = [least, *(bound + 1 for bound in bounds)], [*bounds, None]
    return {
        k: f"{low} or more" if high is None else f"{low}" if low >= high else f"{low} to {high}"
        for k, (low, high) in enumerate(zip(lows, highs, strict=True))
    }


def parts_of_group(
    structure: Structure, name: str, outputs: SparseVectors
) -> tuple[Array, Array, Array]:
    """Those parts of outputs that belong to a group: their instances, positions in the group, and
    configurations.
    """
    begins, _ = structure.spans(name)
    group = next(group for group in structure.groups if group.name == name)
    instances = np.repeat(np.arange(len(structure)), np.diff(outputs.offsets))
    within = outputs.parts - begins[instances]
    inside = (within >= 0) & (within < (np.diff(group.offsets) * group.width)[instances])
    own, within = instances[inside], within[inside]
    return own, group.offsets[own] + within // group.width, within % group.width
