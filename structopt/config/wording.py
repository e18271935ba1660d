"""Types and values the way a person writes them, and what is said of a value that is not of its
type.

Hydra's grammar cannot read some mappings and lists, such as ``{B-é: 0.5}``. An override with such a
value is quoted as a whole, and the check of the config reads its text with `flow_of`.
"""

from __future__ import annotations

import re
import shlex
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Union

import yaml  # type: ignore[import-untyped, unused-ignore]

PLAIN = re.compile(r"[\w.:/\\%@?|*+-]+", re.ASCII)
"""Values that need no quotes inside a list."""
ENDS = ("{}", "[]")
WORDS = {"null": None, "true": True, "false": False}


def type_name(hint: Any) -> str:
    """Write a type the way a person would: ``float | None``."""
    if hint is type(None):
        return "None"
    if typing.get_origin(hint) in (Union, types.UnionType):
        return " | ".join(type_name(member) for member in typing.get_args(hint))
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__name__
    return (
        re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(hint)).replace("'", '"').replace("NoneType", "None")
    )


def value_name(value: Any) -> str:
    """Write a default the way a person would: ``"seen"``, ``inf``."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def ill_typed(where: str, value: Any, hint: Any) -> str:
    """Say that a value is not of its type, what it should be, and how to type that."""
    cls, shown = typing.get_origin(hint) or hint, f"{where}={as_typed(value)}"
    if isinstance(cls, type) and issubclass(cls, Mapping):
        return (
            f"{shown} is {_form(value)}, and {where} takes a mapping. "
            f"{_mapping(where, value, hint)}"
        )
    if isinstance(cls, type) and issubclass(cls, Sequence) and cls is not str:
        item = value if isinstance(value, str | int | float) else "VALUE"
        typed = shlex.quote(f"{where}=[{quoted(str(item))}]")
        return f"{shown} is {_form(value)}, and {where} takes a list. Set {typed}."
    name = type_name(hint)
    return (
        f"{shown} is not {'an' if name[0] in 'aeiou' else 'a'} {name}.{_advice(where, value, hint)}"
    )


def _mapping(where: str, value: Any, hint: Any) -> str:
    """How to type a mapping: with the items of a list as its keys, numbered where it is to
    numbers.
    """
    items = [str(one) for one in value] if isinstance(value, list | tuple) and value else ["NAME"]
    numbered = typing.get_args(hint)[1:] == (int,)
    pairs = ", ".join(
        f"{item}: {index if numbered else 'VALUE'}" for index, item in enumerate(items)
    )
    return f"Set '{where}={{{pairs}}}', with the quotes, which keep the shell from dividing it."


def _advice(where: str, value: Any, hint: Any) -> str:
    """What to type instead, where that can be told."""
    key = where.rpartition(".")[2]
    if hint is bool:
        return f" Set {key}=true or {key}=false."
    if isinstance(value, float) and value.is_integer():
        return f" Set {int(value)}."
    if isinstance(value, str) and value.lower().lstrip("+-") in ("infinity", "infinite"):
        return " Set inf."
    if isinstance(value, str) and (ends := re.fullmatch(r"(\d+)[-:](\d+)", value)):
        return f" To run several values: --multirun '{where}=range({ends[1]},{int(ends[2]) + 1})'."
    return ""


def _form(value: Any) -> str:
    """The form of a value."""
    names = {
        "a mapping": Mapping,
        "a list": list | tuple,
        "a truth value": bool,
        "a number": int | float,
        "a text": str,
    }
    return next((name for name, cls in names.items() if isinstance(value, cls)), "nothing")


def as_typed(value: Any) -> str:
    """Write a value as it is typed: ``[word,pos]``, ``{word: 0}``, ``null``."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {as_typed(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(as_typed, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def flow_of(value: str) -> Any:
    """Return the mapping or list that a text is in YAML, with keys as text; None for other text."""
    text = value.strip()
    if text[:1] + text[-1:] not in ENDS or "${" in text:
        return None
    try:
        parsed = yaml.load(text, yaml.BaseLoader)  # text only
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    # {a,b} is a mapping in YAML, and a pattern of file names here
    if isinstance(parsed, dict) and ":" not in text and parsed:
        return None
    return _plain(parsed) if isinstance(parsed, (dict, list)) else None


def _plain(value: Any) -> Any:
    """Numbers, truth values and null of their types; keys stay text."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    with suppress(ValueError):
        return int(value) if str(int(value)) == value else value
    with suppress(ValueError):
        return float(value) if value[-1:].isdigit() or value.endswith(".") else value
    return value


def in_quotes(text: str) -> str:
    """Quote a text as Hydra reads it."""
    escaped = re.sub(r"(\\*)(\"|$)", lambda match: match[1] * 2 + (match[2] and '\\"'), text)
    return f'"{escaped}"'


def quoted(text: str) -> str:
    """Quote a text as Hydra reads it, where it needs quotes."""
    return text if PLAIN.fullmatch(text) else in_quotes(text.strip())
