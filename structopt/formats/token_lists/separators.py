"""Names of separators between columns, which command lines cannot hold as characters."""

from __future__ import annotations

from structopt.errors import ConfigError

SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}


def separator_of(text: str | None) -> str | None:
    """Return the separator that a setting names: ``tab`` is a tab, ``space`` a
    space, other text is itself.

    Raises
    ------
    ConfigError
        For empty text, and for a line break.
    """
    if text is None:
        return None
    separator = SEPARATORS.get(text.lower(), text)
    if not separator or "\n" in separator or "\r" in separator:
        raise ConfigError(
            "must be at least one character, and not a line break.",
            parameter="task.separator",
            value=text,
            remedy="Set task.separator=tab, or null for any white space.",
        )
    return separator
