"""Checks of a training corpus before its first pass: outputs that the hard constraints forbid are
refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.errors import InfeasibleError


def check_gold(encoded: Encoded, place: Callable[[int], int]) -> None:
    """Refuse a training corpus whose gold outputs break the hard constraints on neighbouring
    labels.

    Parameters
    ----------
    encoded : Encoded
    place : callable
        Returns the index that the user knows an instance by.

    Raises
    ------
    InfeasibleError
    """
    if encoded.gold is None or encoded.gold_sets is not None:
        return
    if not (encoded.forbidden_transitions or encoded.forbidden_starts or encoded.forbidden_ends):
        return
    L, y = len(encoded.labels), encoded.gold
    first, last = encoded.offsets[:-1], encoded.offsets[1:] - 1
    inside = np.setdiff1d(np.arange(1, len(y)), first)
    pairs = np.isin(
        y[inside - 1].astype(np.int64) * L + y[inside],
        [u * L + v for u, v in encoded.forbidden_transitions],
    )
    broken = np.concatenate(
        [
            inside[pairs],
            first[np.isin(y[first], encoded.forbidden_starts)],
            last[np.isin(y[last], encoded.forbidden_ends)],
        ]
    )
    if len(broken):
        instances = np.unique(np.searchsorted(encoded.offsets, broken, side="right") - 1)
        raise InfeasibleError(
            "The gold output has a label sequence that the constraints forbid.",
            instances=list(map(place, instances.tolist())),
            remedy="Correct the labels or the constraints (`forbidden`, `valid_tags`, `scheme`).",
            kinds=dict.fromkeys(("forbidden", "valid_tags", "scheme"), "task"),
        )


def refuse_empty_set(instance: int) -> None:
    """Refuse a training instance whose set of allowed outputs is empty, given its index.

    Raises
    ------
    InfeasibleError
    """
    raise InfeasibleError(
        "No output agrees with the partial labels and the constraints.",
        instances=[instance],
        remedy="Correct the labels, or leave the constraints out (`forbidden`; `valid_tags=False`; "
        "`single_root=False`, `projective=False` of trees).",
        kinds={
            **dict.fromkeys(("forbidden", "valid_tags"), "task"),
            **dict.fromkeys(("single_root", "projective"), "factor_graph"),
        },
    )
