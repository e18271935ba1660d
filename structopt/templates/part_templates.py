"""The language of templates over parts: ``h.upos & h.upos[1] & m.prefix(form,5)`` becomes a tuple
of atoms.

An atom is a *role* (which token of a part), a *column* of the token's codes and an *offset* from
the token; or the name of a *measure* of the part, such as its length. Templates are parsed without
any data, so that a task checks them before it reads files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from structopt.errors import ConfigError, did_you_mean

BIAS = "bias"
MOST_ATOMS = 16

_ATOM = re.compile(
    r"(?P<role>[^\W\d]\w*)\.(?P<column>[^\W\d][\w-]*(?:\(.*\))?)(?:\[(?P<offset>[+-]?\d{1,4})\])?"
)


@dataclass(frozen=True)
class Atom:
    """A column of the token that plays a role, or of its neighbour `offset` tokens to the right; a
    measure has no column.
    """

    role: str
    column: str = ""
    offset: int = 0

    def __str__(self) -> str:
        if not self.column:
            return self.role
        return f"{self.role}.{self.column}" + (f"[{self.offset}]" if self.offset else "")


@dataclass(frozen=True)
class Template:
    """A conjunction of atoms; the one without atoms is the bias."""

    atoms: tuple[Atom, ...]

    def __str__(self) -> str:
        return " & ".join(map(str, self.atoms)) or BIAS


@dataclass(frozen=True)
class Language:
    """Which roles and measures the parts of a kind have.

    Attributes
    ----------
    roles : mapping
        The lists of templates, keys of the config's node ``features``, and the roles of the tokens
        of their parts, in the order of a part's tokens.
    sweeping : str
        The role, last where there is one, that all tokens in a stretch play; a template may have
        one atom of it.
    stretch : str
        Which tokens these are, in words.
    measures : mapping
        Of lists of templates: the names of measures of their parts.
    example : str
        A template.
    """

    roles: Mapping[str, tuple[str, ...]]
    sweeping: str
    stretch: str
    example: str
    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def parse(self, lines: Sequence[str], which: str) -> tuple[Template, ...]:
        """Parse one of the lists of templates.

        Parameters
        ----------
        lines : sequence of str
            ``bias``, or atoms ``role.column[offset]`` and measures joined by ``&``; white space is
            ignored.
        which : str
            The list's key in ``features``, which determines the roles.

        Raises
        ------
        ConfigError
            With the template, where it is malformed, has a role that its parts lack, or is listed
            twice.
        """
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise ConfigError(
                f"features.{which} must be a list of templates such as '{self.example}', not "
                f"{lines!r}."
            )
        templates = tuple(self._template(line, which) for line in lines)
        atoms = [frozenset(template.atoms) for template in templates]
        for k in range(len(templates)):
            if atoms[k] in atoms[:k]:
                raise ConfigError(
                    f"features.{which}: the template '{lines[k].strip()}' is listed twice; leave "
                    "one of them out."
                )
        return templates

    def swept(self, template: Template) -> str | None:
        """The column of a template's atom over a stretch of tokens, if it has one."""
        return next((atom.column for atom in template.atoms if atom.role == self.sweeping), None)

    def _template(self, line: str, which: str) -> Template:
        text = re.sub(r"\s+", "", line)
        if text == BIAS:
            return Template(())
        template = Template(tuple(self._atom(atom, line, which) for atom in text.split("&")))
        if sum(atom.role == self.sweeping for atom in template.atoms) > 1:
            raise _wrong(
                line, which, f"has more than one '{self.sweeping}' atom; a template may have one"
            )
        if len(set(template.atoms)) < len(template.atoms):
            raise _wrong(line, which, "has an atom twice")
        if len(template.atoms) > MOST_ATOMS:
            raise _wrong(
                line, which, f"has {len(template.atoms)} atoms; a template may have {MOST_ATOMS}"
            )
        return template

    def _atom(self, text: str, line: str, which: str) -> Atom:
        measures = self.measures.get(which, ())
        if text in measures:
            return Atom(text)
        match = _ATOM.fullmatch(text)
        if match is None or not _balanced(match["column"]):
            example = self.example.partition(" & ")[0]
            named = f"; nor a measure: {', '.join(measures)}" if measures else ""
            raise _wrong(
                line,
                which,
                f"has the atom '{text}', which is not of the form role.column[offset], such as "
                f"{example} or "
                f"{self._neighbour()}{named}",
            )
        role, roles = match["role"], self.roles[which]
        if role not in roles:
            raise _wrong(
                line,
                which,
                f"has the role '{role}'.{did_you_mean(role, roles)} Roles: {', '.join(roles)}",
            )
        if role == self.sweeping and match["offset"] is not None:
            raise _wrong(
                line,
                which,
                f"has an offset on '{self.sweeping}', which looks at all tokens {self.stretch}",
            )
        return Atom(role, match["column"], int(match["offset"] or 0))

    def _neighbour(self) -> str:
        """An atom with an offset, as an example."""
        return self.example.rpartition(" & ")[2] + "[-1]"


def columns_of(templates: Iterable[Template]) -> tuple[str, ...]:
    """Return the columns that templates look at, in the order of their first mention."""
    return tuple(
        dict.fromkeys(
            atom.column for template in templates for atom in template.atoms if atom.column
        )
    )


def check_columns(templates: Iterable[Template], which: str, columns: Sequence[str]) -> None:
    """Raise `ConfigError` for the first template that looks at a column there is not."""
    for template in templates:
        for column in columns_of([template]):
            if column not in columns:
                raise ConfigError(
                    f"features.{which}: the template '{template}' looks at the column "
                    f"'{column}', which does not exist."
                    f"{did_you_mean(column, columns)} Columns: {', '.join(columns) or 'none'}."
                )


def _balanced(column: str) -> bool:
    """Whether parentheses close in order, and the outermost not before the end."""
    depth = 0
    for index, letter in enumerate(column):
        depth += (letter == "(") - (letter == ")")
        if depth < 0 or (depth == 0 and letter == ")" and index < len(column) - 1):
            return False
    return depth == 0


def _wrong(line: str, which: str, problem: str) -> ConfigError:
    return ConfigError(f"features.{which}: the template '{line.strip()}' {problem}.")
