"""The parts of the nightly tests, and the seconds that one file of tests may take."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

PARTS = {
    "pairs": "products of optimizers, losses, inferences and graphs",
    "storms": "kills, signals and full disks in separate processes",
    "ray": "workers of Ray on this machine",
    "cluster": "nodes of Ray that are started and killed",
    "sweeps": "sweeps and searches of many jobs",
    "plugins": "plugins, built and installed as distributions",
    "experiments": "published experiments at reduced sizes",
    "documents": "commands, code and scripts of the documentation",
    "data": "real corpora in the folder STRUCTOPT_DATA",
    "fuzzing": "mutated files and folders with the seed of the day",
    "optima": "convergence to certified optima",
    "runs": "training, resuming, saving and serving in every variant",
    "rest": "other tests that take long",
}
"""Arguments of the marker `nightly`, and of the option `--nightly`."""

GATE_SECONDS = 10.0
"""Budget of a file, for its tests outside nightly."""

NIGHTLY_SECONDS = 120.0
"""Budget of a file, for its tests of one nightly part."""


def gate_cases(cases: Iterable[Any], part: str, gate: Collection[Any] | int) -> list[Any]:
    """Parameters of `pytest.mark.parametrize`: the gate runs some cases, nightly runs the others.

    Parameters
    ----------
    cases : iterable
        Values of the parameter; tuples for several parameters.
    part : str
        Nightly part of the cases that the gate leaves out.
    gate : collection or int
        The cases that the gate runs, or how many of the first.
    """
    every = list(cases)
    if isinstance(gate, int):
        gate = every[:gate]
    missing = [one for one in gate if one not in every]
    assert not missing, f"there is no case {missing[0]!r}"
    marker = pytest.mark.nightly(part)
    return [one if one in gate else _marked(one, marker) for one in every]


def _marked(case: Any, marker: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=marker)
