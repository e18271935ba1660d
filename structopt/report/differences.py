"""The settings in which runs differ, and titles of runs that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from structopt.core.data.config_keys import Purpose, dotted, relevant
from structopt.run.records import RunRecord

Settings = dict[str, Any]


def settings(record: RunRecord) -> Settings:
    """Return the config of a run by dotted keys, without those that change no result."""
    return dotted(relevant(record.config, Purpose.COMPARING))


def varying(records: Sequence[RunRecord]) -> list[str]:
    """Return the keys in which runs differ, in the order of the config, the seed last.

    Of components of different names, such as two optimizers, only parameters that both have are
    compared.
    """
    runs = [settings(record) for record in records]
    keys = sorted(dict.fromkeys(key for run in runs for key in run), key=lambda key: key == "seed")
    return [key for key in keys if _differs(key, runs)]


def _differs(key: str, runs: Sequence[Settings]) -> bool:
    component = f"{key.partition('.')[0]}.name"
    of_other_components = (
        len({_hashable(run.get(component)) for run in runs}) > 1 and key != component
    )
    values = {_hashable(run.get(key)) for run in runs if not of_other_components or key in run}
    return len(values) > 1


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Return keys without their component where that is not ambiguous, and the name of a component
    as its kind.
    """
    ends = {
        key: key.removesuffix(".name") if key.endswith(".name") else key.rpartition(".")[2]
        for key in keys
    }
    counts = Counter(ends.values())
    return {key: end if counts[end] == 1 else key for key, end in ends.items()}


def titles(records: Sequence[RunRecord]) -> list[str]:
    """Return a different name for every run: its label, else the settings in which it differs, else
    its folder.
    """
    keys = varying(records)
    short = short_names(keys)
    labels = Counter(record.config.get("label") for record in records)
    names = []
    for record in records:
        values, label = settings(record), record.config.get("label")
        differing = ", ".join(f"{short[key]}={text(values[key])}" for key in keys if key in values)
        names.append(
            str(label if label and labels[label] == 1 else differing or record.folder.name)
        )
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{name} ({_folders(record)})"
        for name, record in zip(names, records, strict=True)
    ]


def _folders(record: RunRecord) -> str:
    """Return the names of the run's folder and its parent: a number of a job or a time of day alone
    may be another run's.
    """
    return "/".join(record.folder.parts[-2:])


def setting_groups(records: Sequence[RunRecord]) -> list[list[int]]:
    """Group runs that differ in nothing but the seed; a group is the runs' numbers by seed, groups
    in the order of the runs.

    Runs of one setting and one seed are not a sample of seeds, and stay single.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, record in enumerate(records):
        groups.setdefault(_hashable(_without_seed(record)), []).append(number)
    return sorted(
        one
        for group in groups.values()
        for one in _by_seed(group, {number: records[number].config.get("seed") for number in group})
    )


def _by_seed(group: Sequence[int], seeds: Mapping[int, Any]) -> list[list[int]]:
    """Return a group of runs sorted by seed; one group per run if a seed is repeated."""
    if len(set(seeds.values())) < len(group):
        return [[number] for number in group]
    return [sorted(group, key=lambda number: seeds[number] or 0)]


def setting_titles(records: Sequence[RunRecord], groups: Sequence[Sequence[int]]) -> list[str]:
    """Return a name for every group of runs: that of its only run, else its label or what its runs
    have in common, and how many they are.
    """
    keys, names = [key for key in varying(records) if key != "seed"], titles(records)
    short, shown = short_names(keys), []
    labels = [{records[number].config.get("label") for number in group} for group in groups]
    for group, label in zip(groups, labels, strict=True):
        values = settings(records[group[0]])
        common = ", ".join(f"{short[key]}={text(values[key])}" for key in keys if key in values)
        if len(label) == 1 and labels.count(label) == 1:
            common = next(iter(label)) or common
        several = f"{len(group)} seeds"
        shown.append(
            names[group[0]] if len(group) == 1 else f"{common} ({several})" if common else several
        )
    return shown


def _without_seed(record: RunRecord) -> Settings:
    return {key: value for key, value in settings(record).items() if key != "seed"}


def text(value: Any) -> str:
    """Write a value as one would type it: ``inf``, ``null``, ``true``, ``[a,b]``."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return f"[{','.join(map(text, value))}]" if isinstance(value, list | tuple) else str(value)


def _hashable(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((key, _hashable(one)) for key, one in value.items())
    return text(value)
