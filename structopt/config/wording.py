"""Types and values the way a person writes them, messages about a value of another type, and keys
in errors of components.

Hydra's grammar cannot read some mappings and lists, such as ``{B-é: 0.5}``. An override with such a
value is quoted as a whole, and the check of the config reads its text with `flow_of`.

Components name their arguments as Python has them, such as ``eta``. `StructoptError.kinds` says
which kind of component has an argument, and `write_keys` writes ``optimizer.eta``. They name other
components by their classes, such as ``AD3()``, and `write_keys` writes ``inference=ad3``.
"""

from __future__ import annotations

import re
import shlex
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Union

import yaml  # type: ignore[import-untyped, unused-ignore]

from structopt.core.entry_points import installed
from structopt.errors import ArgumentError, ConfigError, StructoptError, form_of

PLAIN = re.compile(r"[\w.:/\\%@?|*+-]+", re.ASCII)
"""Values that need no quotes inside a list."""
ENDS = ("{}", "[]")
WORDS = {"null": None, "true": True, "false": False}
VALUES = {"True": "true", "False": "false", "None": "null"}
"""Values of Python that the command line writes otherwise."""
KINDS = (
    "task",
    "features",
    "factor_graph",
    "inference",
    "loss",
    "optimizer",
    "tracker",
    "executor",
)
"""Kinds that a config has a node of."""
CALL = re.compile(r"(?<![\w.])(?P<key>\w+=)?(?P<cls>[A-Z]\w*)\((?P<arguments>(?:\w+=[^()`]*)?)\)")
"""A component as Python creates it, in a message."""


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


@contextmanager
def keyed(kinds: Mapping[str, str] | None = None) -> Iterator[None]:
    """Write keys in an error that the block raises, once.

    Parameters
    ----------
    kinds : mapping of str to str, or None
        Kind of component by argument, of a block that calls a constructor. An `ArgumentError` about
        one of these arguments becomes a `ConfigError`. None: errors have their own
        `StructoptError.kinds`.
    """
    try:
        yield
    except StructoptError as error:
        error.kinds = {**(kinds or {}), **error.kinds}
        own = error.parameter is not None and error.parameter.partition(".")[0] in (kinds or {})
        write_keys(error)
        if own and isinstance(error, ArgumentError):
            raise _config_error(error) from None
        raise


def write_keys(error: StructoptError) -> None:
    """Write keys for the arguments that an error names by its `StructoptError.kinds`, and words for
    classes of components.

    The arguments are the parameter, names and assignments in backquotes, and assignments in the
    remedy. Strings and None in backquotes become words of the command line. ``AD3()`` becomes
    ``inference=ad3``, and of a value that is the name of a class its word.
    """
    error.problem = in_words(error.problem)
    if error.remedy:
        error.remedy = in_words(error.remedy)
    if error.parameter in KINDS and type(error.value) is str and error.value[:1].isupper():
        _, error.value = _words().get(form_of(error.value), ("", error.value))
    kinds, error.kinds = error.kinds, {}
    if not kinds:
        return
    names = "|".join(sorted(map(re.escape, kinds), key=len, reverse=True))
    assigned = rf"({names})=(\"[^\"]*\"|'[^']*'|[\w.+-]*\w)?"

    def key(match: re.Match[str]) -> str:
        return f"{kinds[match[1]]}.{match[1]}={_typed(match[2] or '')}"

    def unmarked(match: re.Match[str]) -> str:
        text = match[1]
        if text in kinds:
            return f"{kinds[text]}.{text}"
        return re.sub(assigned, key, text) if "=" in text else _typed(text)

    marked = re.compile(rf"`((?:{names})(?:=[^`]*)?|None|'\w+')`")
    error.problem = marked.sub(unmarked, error.problem)
    if error.remedy:
        remedy = marked.sub(unmarked, error.remedy)
        error.remedy = re.sub(rf"(?<![\w.]){assigned}", key, remedy)
    if error.parameter and (head := error.parameter.partition(".")[0]) in kinds:
        error.parameter = f"{kinds[head]}.{error.parameter}"


def in_words(text: str) -> str:
    """Return a text with the words of the command line for calls of classes of components.

    The kind is written once per list: ``DCA(), MIRA() or SGD()`` becomes ``optimizer=dca, mira or
    sgd``. Other calls stay as they are.
    """
    matches = list(CALL.finditer(text))
    names = _words() if matches else {}
    written, end, before = "", 0, ""
    for match in matches:
        kind, word = names.get(form_of(match["cls"]), ("", ""))
        between = text[end : match.start()]
        if not word:
            continue
        listed = kind == before and between in (", ", " or ", " and ", ", or ") and not match["key"]
        options = [f" {kind}.{_option(one)}" for one in match["arguments"].split(", ") if one]
        written += between + ("" if listed else f"{kind}=") + word + "".join(options)
        end, before = match.end(), kind
    return written + text[end:]


def _option(argument: str) -> str:
    """Return ``warm_start=true``, given ``warm_start=True``."""
    name, _, value = argument.partition("=")
    return f"{name}={_typed(value)}"


def _words() -> dict[str, tuple[str, str]]:
    """Return the kind and the word of each component, by the forms of the names of its class and
    presets.

    A name has the form of the word, with the kind before or after it if two kinds share the word.
    """
    names = dict[str, tuple[str, str]]()
    for kind in KINDS:
        with suppress(ConfigError):  # two packages claim one word
            for word, one in installed(kind).items():
                own = form_of(one.entry_point.value.rpartition(":")[2])
                for form in map(form_of, (word, word + kind, kind + word)):
                    if form == own:
                        names[form] = kind, word
                    names.setdefault(form, (kind, word))
    return names


def _typed(value: str) -> str:
    """Return a value of Python as the command line has it."""
    return VALUES.get(value, value.strip("\"'"))


def _config_error(error: ArgumentError) -> ConfigError:
    fields = {name: getattr(error, name) for name in ("parameter", "value", "where", "remedy")}
    converted = ConfigError(error.problem, **fields)
    for note in getattr(error, "__notes__", ()):
        converted.add_note(note)
    return converted
