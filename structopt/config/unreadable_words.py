"""Overrides that Hydra cannot parse: what is wrong with them, and how to type them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from structopt.config.wording import PLAIN, flow_of, in_quotes, quoted

CLOSING = {"[": "]", "{": "}", "(": ")"}
BRACES = re.compile(r"\{[\w.-]+(?:,|\.\.)[\w.,-]+\}|(?<=[\w./*-])\[[^\[\],\s]+\]")
"""A list or a range of names in braces; a set of signs within a name."""
NAMES = re.compile(r"(?:[^\s{}'\"$()]|\{[\w.,-]+\})+")
"""Patterns of file names."""
APOSTROPHES = re.compile(r"""[^\s\[\]{}'"$()][^\[\]{}"$()]*""")
"""Text with an apostrophe or more, as in a file's name, that begins with another character."""
OUTSIDE_OF_BRACES = re.compile(r",(?![^{}]*\})")
"""Commas between the values of a sweep."""
STRUCTURED = re.compile(r"[\[\]{}'\"$]|\w+\(")
"""What marks a value as more than text: a list, a mapping, a quoted text, an interpolation, a
sweep's function.
"""


def explained(word: str, words: Sequence[str]) -> str:
    """Say why an override cannot be read, and how to type it.

    Parameters
    ----------
    word : str
        The override.
    words : sequence of str
        All that were typed: where the shell divided a value at its spaces, the rest of it comes
        after the word.
    """
    key, equals, value = word.partition("=")
    if not equals:
        return f"'{word}' cannot be read. Write KEY=VALUE, such as task=ner."
    if whole := _rejoined(word, words):
        return (
            f"'{word}' ends inside a bracket: the shell divides words at spaces. Quote it whole: "
            f"{shlex.quote(whole)}"
        )
    text = as_text(key, value)
    if text and value[:1] not in CLOSING and value[:1] not in ("'", '"'):
        return f"'{word}' cannot be read: text with quotes needs quotes. Write {shlex.quote(text)}"
    if left := unclosed(value):
        what = "quote" if left in "'\"" else "bracket"
        example = "Quote such words whole, for the shell: 'KEY={A: 1, B: 2}'."
        text = f" If this is a text: {shlex.quote(text)}" if text else ""
        return f"'{word}' cannot be read: its {what} {left} is not closed. {example}{text}"
    elements = f"{key}={_elements(value)}" if _elements(value) else ""
    typed = elements if elements and readable(elements) else text
    if typed:
        return (
            f"'{word}' cannot be read: texts with signs or spaces need quotes. Write "
            f"{shlex.quote(typed)}"
        )
    return (
        f"'{word}' cannot be read. Write KEY=VALUE; quote values with spaces or signs: 'KEY=\"a, "
        "b\"'."
    )


def made_readable(word: str) -> str:
    """Return an override that Hydra can read: texts with signs that it cannot take, such as ``é``,
    ``~`` or ``=``, are quoted.

    So are patterns of file names, such as ``wsj_{0001..0160}.mrg``. Lists, mappings and quoted
    texts are left as they are.
    """
    key, equals, value = word.partition("=")
    if not value or PLAIN.fullmatch(value):
        return word
    if value.isspace():  # Hydra strips blanks that have no quotes
        return f"{key}='{value}'"
    if readable(word):
        return word
    if flow_of(value) is not None:
        repaired = f"{key}={in_quotes(value)}"
        return repaired if readable(repaired) else word
    if STRUCTURED.search(value) and not _is_pattern(value) and not APOSTROPHES.fullmatch(value):
        return word
    choices = OUTSIDE_OF_BRACES.split(value)
    repaired = f"{key}={','.join(map(quoted, choices))}"
    return repaired if all(choices) and readable(repaired) else word


def as_text(key: str, value: str) -> str:
    """Return the override that sets a key to a text; the empty string if there is none.

    An interpolation such as ``${seed}`` stays one; other ``${`` are characters of the text.
    """
    if PLAIN.fullmatch(value):
        return f"{key}={value}"
    words = (f"{key}={in_quotes(text)}" for text in (value, value.replace("${", "\\${")))
    return next(filter(readable, words), "")


def _is_pattern(value: str) -> bool:
    """Whether a value is a pattern of file names, and not only a list of them."""
    return bool(
        NAMES.fullmatch(value)
        and BRACES.search(value)
        and not value.startswith("[")
        and not BRACES.fullmatch(value)
    )


def readable(word: str) -> bool:
    """Whether Hydra and OmegaConf can parse an override."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        override = OverridesParser.create().parse_override(word)
        if not override.is_sweep_override():
            OmegaConf.create({"value": override.value()})
    except (HydraException, OmegaConfBaseException):
        return False
    return True


def unclosed(value: str) -> str:
    """Return the last bracket or quote of a value that is not closed, or the empty string."""
    open_signs: list[str] = []
    for sign in value:
        if (
            open_signs
            and sign in (open_signs[-1], CLOSING.get(open_signs[-1]))
            and sign not in CLOSING
        ):
            open_signs.pop()
        elif (sign in CLOSING or sign in "'\"") and not (open_signs and open_signs[-1] in "'\""):
            open_signs.append(sign)
    return open_signs[-1] if open_signs else ""


def _rejoined(word: str, words: Sequence[str]) -> str:
    """Put a value together again that the shell divided at its spaces; the empty string where it
    was not.
    """
    places = [i for i, one in enumerate(words) if one == word]
    whole = word
    for following in words[places[-1] + 1 :] if places and unclosed(word) else ():
        whole += f" {following}"
        if not unclosed(whole):
            return whole if readable(whole) else ""
    return ""


def _elements(value: str) -> str:
    """A list with its elements quoted, or a mapping with its keys unquoted; the empty string for
    other values.
    """
    ends = value[:1] + value[-1:]
    if ends not in ("[]", "{}"):
        return ""
    parts = _divided(value[1:-1])
    if ends == "{}":
        pairs = [part.partition(":") for part in parts]
        return (
            "{"
            + ", ".join(key.strip().strip("'\"") + ": " + _element(one) for key, _, one in pairs)
            + "}"
        )
    return "[" + ", ".join(map(_element, parts)) + "]"


def _element(text: str) -> str:
    text = text.strip()
    if PLAIN.fullmatch(text) or text[:1] in ("'", '"', "[", "{"):
        return text
    return json.dumps(text, ensure_ascii=False)


def _divided(text: str) -> list[str]:
    """Divide at the commas that stand in no bracket and no quotes."""
    parts = [""]
    for sign in text:
        if sign == "," and not unclosed(parts[-1]):
            parts.append("")
        else:
            parts[-1] += sign
    return parts
