"""Types and values the way a person writes them, and what is said of a value that is not of its
type.
"""

from __future__ import annotations

import re
import shlex
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Union

from structopt.config.unreadable_words import quoted


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
