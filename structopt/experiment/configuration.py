"""What ran in an experiment: settings that all runs have in common, and those of each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structopt.config.overrides import key_of
from structopt.core.data.config_keys import Purpose, dotted, relevant
from structopt.experiment.runs import grouped, setting_of
from structopt.report.differences import text
from structopt.run.records import RunRecord

LEFT_OUT = (
    "features.",
    "warm_start.",
    "storage.",
    "executor.",
    "task.layouts",
    "task.fields",
    "task.default_C",
)
"""Templates and other lists that every run of a task has, and where runs keep what they need."""
DATA = "DIR"
"""Stands for the folder of the data."""


def configuration(records: Sequence[RunRecord]) -> tuple[tuple[str, str], ...]:
    """Return pairs of a setting, ``all`` the first, and the words that make its runs; null is left
    out.

    Values that vary within a setting are listed: ``optimizer.C=0.1,1``.
    """
    runs = [(setting_of(record), _settings(record)) for record in records]
    common = {
        key: value
        for key, value in runs[0][1].items()
        if all(own.get(key) == value for _, own in runs)
    }
    rows = [("all", " ".join(f"{key}={value}" for key, value in common.items()))]
    for name, own in grouped(records, setting_of).items():
        values: dict[str, list[str]] = {}
        for record in own:
            for key, value in _settings(record).items():
                if key not in common and value not in values.setdefault(key, []):
                    values[key].append(value)
        rows.append(
            (name, " ".join(f"{key}={','.join(several)}" for key, several in values.items()))
        )
    return tuple(rows)


def _settings(record: RunRecord) -> dict[str, str]:
    data = record.setting("data")
    own = dotted(relevant(record.config, Purpose.COMPARING))
    return {
        key.removesuffix(".name"): _shown(value, data)
        for key, value in own.items()
        if not (
            value is None
            or value is False
            or isinstance(value, Mapping)
            or key.startswith(LEFT_OUT)
            or value == []
        )
    }


def _shown(value: Any, data: str | None) -> str:
    return str(text(value)).replace(str(data).rstrip("/"), DATA) if data else str(text(value))


def typed_command(experiment: str, arguments: Sequence[str]) -> str:
    """Return what was typed, with DIR for the folder of the data, and of other files their names
    without their folders.
    """
    without = ("experiment", "tracker", "hydra.sweep.dir", "sweep.resume", "quiet", "debug")
    words = [
        f"data={DATA}" if key_of(word) == "data" else _named(word)
        for word in arguments
        if key_of(word) not in without
    ]
    return " ".join(["python -m structopt", f"+experiment={experiment}", *words])


def _named(word: str) -> str:
    key, equals, value = word.partition("=")
    return f"{key}{equals}{Path(value).name}" if Path(value).is_absolute() else word
