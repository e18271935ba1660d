"""In what runs differ, and what to call them by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from structopt.core.data.config_keys import Purpose, relevant
from structopt.run.records import RunRecord

Settings = dict[str, Any]


def settings(record: RunRecord) -> Settings:
    """The config of a run by dotted keys, without what changes no result."""
    return _flat(relevant(record.config, Purpose.COMPARING))


def varying(records: Sequence[RunRecord]) -> list[str]:
    """Keys in which runs differ, in the order of the config, the seed last.

    Of components of different names, such as two optimizers, only parameters that both have are compared.
    """
    found = [settings(record) for record in records]
    keys = sorted(dict.fromkeys(key for one in found for key in one), key=lambda key: key == "seed")
    return [key for key in keys if _differs(key, found)]


def _differs(key: str, found: Sequence[Settings]) -> bool:
    component = f"{key.partition('.')[0]}.name"
    own = len({_hashable(one.get(component)) for one in found}) > 1 and key != component
    values = {_hashable(one.get(key)) for one in found if not own or key in one}
    return len(values) > 1


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Keys without their component, where that is not ambiguous; a component itself by its kind."""
    ends = {key: key.removesuffix(".name") if key.endswith(".name") else key.rpartition(".")[2] for key in keys}
    counts = Counter(ends.values())
    return {key: end if counts[end] == 1 else key for key, end in ends.items()}


def titles(records: Sequence[RunRecord]) -> list[str]:
    """A name for every run: its label, else the settings in which it differs, else its folder; all of them different."""
    keys = varying(records)
    short = short_names(keys)
    labels = Counter(record.config.get("label") for record in records)
    made = []
    for record in records:
        own, label = settings(record), record.config.get("label")
        differing = ", ".join(f"{short[key]}={text(own[key])}" for key in keys if key in own)
        made.append(str(label if label and labels[label] == 1 else differing or record.folder.name))
    counts = Counter(made)
    return [title if counts[title] == 1 else f"{title} ({_place(record)})" for title, record in zip(made, records, strict=True)]


def _place(record: RunRecord) -> str:
    """The run's folder with the one around it: numbers of jobs and times of day are not enough."""
    return "/".join(record.folder.parts[-2:])


def seed_groups(records: Sequence[RunRecord]) -> list[list[int]]:
    """Numbers of the runs that differ in nothing but the seed, by seed, where there are several; the first group's first."""
    groups: dict[Hashable, list[int]] = {}
    for number, record in enumerate(records):
        groups.setdefault(_hashable(_without_seed(record)), []).append(number)
    several = [group for group in groups.values() if len({records[number].config.get("seed") for number in group}) > 1]
    return [sorted(group, key=lambda number: records[number].config.get("seed", 0)) for group in several]


def _without_seed(record: RunRecord) -> Settings:
    return {key: value for key, value in settings(record).items() if key != "seed"}


def text(value: Any) -> str:
    """Write a value as one would type it: ``inf``, ``null``, ``true``, ``[a,b]``."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return f"[{','.join(map(text, value))}]" if isinstance(value, list | tuple) else str(value)


def _flat(config: Mapping[str, Any], prefix: str = "") -> Settings:
    flat: Settings = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _hashable(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((key, _hashable(one)) for key, one in value.items())
    return text(value)
