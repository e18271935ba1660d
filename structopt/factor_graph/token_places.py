"""Where the parts of sentences stand, to a reader: the tokens that they join."""

from __future__ import annotations

from collections.abc import Sequence

from structopt.core.data.encoded import NONE, ROOT, Encoded

JOINED = {"label": "arc"}
"""The entry of `Structure.part_tokens` of groups that have not their own."""


def joined_tokens(encoded: Encoded, tokens: Sequence[int]) -> str:
    """The tokens of a part, from its head down: ``2 slept → 1 Ann``."""
    return " → ".join(token(encoded, number) for number in tokens)


def token(encoded: Encoded, number: int) -> str:
    """A token by its number, counted from 1, and its word."""
    if number in (ROOT, NONE):
        return {ROOT: "root", NONE: "none"}[number]
    return f"{number + 1} {encoded.words[number]}" if len(encoded.words) else str(number + 1)
