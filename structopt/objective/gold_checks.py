"""Checks of a training corpus before its first pass: outputs that the hard constraints forbid are
refused.
"""

from __future__ import annotations

import numpy as np

from structopt.core.data.encoded import Encoded
from structopt.errors import ConfigError


def check_gold(encoded: Encoded) -> None:
    """Refuse a training corpus whose gold outputs break the hard constraints on neighbouring
    labels.

    Raises
    ------
    ConfigError
        With the number of the first such instance.
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
        instance = int(np.searchsorted(encoded.offsets, broken.min(), side="right"))
        raise ConfigError(
            f"The gold output of training instance {instance} has a label sequence that "
            "the constraints forbid.",
            remedy="Correct it, or leave the constraints out: `valid_tags=False` (check `scheme`, "
            "too), or a batch without forbidden.",
            kinds=dict.fromkeys(("valid_tags", "scheme"), "task"),
        )


def refuse_empty_set(instance: int) -> None:
    """Refuse a training instance whose set of allowed outputs is empty, given its number from 1.

    Raises
    ------
    ConfigError
    """
    raise ConfigError(
        f"Training instance {instance} has partial labels that no output agrees with.",
        remedy="Correct them, or leave the hard constraints out (`valid_tags=False`; "
        "`single_root=False`, `projective=False` of trees).",
        kinds={
            "valid_tags": "task",
            **dict.fromkeys(("single_root", "projective"), "factor_graph"),
        },
    )
