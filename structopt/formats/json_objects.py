"""JSON as users write it: an object a line; what a value is, in the words of messages."""

from __future__ import annotations

import json
from typing import Any

from structopt.errors import DataError


def objects(path: str, text: str, example: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a text and the lines that they stand in; empty lines are left out.

    Parameters
    ----------
    path, text : str
    example : str
        An object as it should be, for messages.

    Raises
    ------
    DataError
        A line that is not JSON, or no object.
    """
    found = []
    for line, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        try:
            value = json.loads(row)
        except (ValueError, RecursionError) as error:
            raise DataError(
                path,
                line,
                f"this line is not JSON ({reason(error)})",
                remedy="write one object a line.",
            ) from None
        if not isinstance(value, dict):
            raise DataError(
                path,
                line,
                f"this line is {kind(value)}",
                remedy=f"write an object, {example}.",
            )
        found.append((line, value))
    return found


def reason(error: Exception) -> str:
    """Why a text is no JSON, in words."""
    return (
        error.msg
        if isinstance(error, json.JSONDecodeError)
        else "it is nested too deep, or a number is too long"
    )


def keys(row: dict[str, Any]) -> str:
    """The first keys of an object."""
    return ", ".join(f'"{key}"' for key in list(row)[:5]) or "no keys"


def kind(value: Any) -> str:
    """What a value of JSON is, in words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return names[type(value)]
