"""Templates over dependency arcs, the relations on them, siblings and grandparents."""

from __future__ import annotations

from structopt.templates.part_templates import Language

BETWEEN = "between"
ARCS = Language(
    roles={
        "templates": ("h", "m", BETWEEN),
        "labels": ("h", "m", BETWEEN),
        "siblings": ("h", "s", "m"),
        "grandparents": ("g", "h", "m"),
    },
    sweeping=BETWEEN,
    stretch="between head and modifier",
    example="h.upos & m.upos",
)
"""Roles: head, modifier, sibling, head's head, and every token between head and modifier."""
