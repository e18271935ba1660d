"""Templates over the rules of a grammar at their places, and over the tags of words."""

from __future__ import annotations

from structopt.templates.part_templates import Language

SPAN = "span"
_SPAN_ROLES = ("first", "last", "before", "after", SPAN)
ANCHORED = Language(
    roles={
        "spans": _SPAN_ROLES,
        "splits": (*_SPAN_ROLES[:-1], "left", "right", SPAN),
        "words": ("w",),
    },
    sweeping=SPAN,
    stretch="of the span",
    example="first.word & last.word",
    measures={"spans": ("length",), "splits": ("length", "left_length", "right_length")},
)
"""Roles: first and last word of a span, the words before and after it, those at both sides of the
split, all of its words.

``spans`` are templates of rules and of unary steps, ``splits`` of rules alone, ``words`` of the
tags of words.
"""
