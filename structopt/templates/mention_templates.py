"""Templates over mentions and the links to their antecedents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structopt.errors import ConfigError
from structopt.templates.part_templates import Atom, Language, Template

MENTION, ANTECEDENT, SAME = "m", "a", "same"
DISTANCE, SENTENCES = "distance", "sentences"
LINKS = Language(
    roles={
        "new": (MENTION,),
        "links": (MENTION, ANTECEDENT, SAME),
        "joined": (MENTION, ANTECEDENT),
    },
    sweeping="",
    stretch="",
    example="m.head & a.head",
    measures={"links": (DISTANCE, SENTENCES)},
)
"""Roles: the mention, its antecedent, and whether the two have the same value of a column.

``new`` are templates of a mention that starts an entity, ``links`` those of a mention with an
antecedent; ``joined`` are what each of them is joined with.
"""


def parsed(texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[Template, ...]]:
    """Parse the lists of templates; `ConfigError` also for offsets, since mentions have no
    neighbours.
    """
    lists = {which: LINKS.parse(texts[which], which) for which in LINKS.roles}
    for which, templates in lists.items():
        for template in templates:
            if any(atom.offset for atom in template.atoms):
                raise ConfigError(
                    f"features.{which}: the template '{template}' has an offset, and mentions "
                    "have no neighbours. The words "
                    "before and after a mention are columns: m.before, m.after."
                )
    return lists


def all_joined(
    templates: Sequence[Template], joined: Sequence[Template], roles: Sequence[str]
) -> list[Template]:
    """Every template with every one that it is joined with and whose roles there are; each
    conjunction of atoms once.
    """
    found: dict[frozenset[Atom], Template] = {}
    for template in templates:
        for other in joined:
            if all(atom.role in roles for atom in other.atoms):
                atoms = tuple(dict.fromkeys([*template.atoms, *other.atoms]))
                found.setdefault(frozenset(atoms), Template(atoms))
    return list(found.values())
