"""Users and passwords in addresses of tracking stores: kept in the environment, written nowhere.

`removed` replaces them by ``***`` before a configuration is written, logged or recorded.
`restored` puts them back when a store is opened. Processes that this one starts, such as the jobs
of a sweep, inherit the variable `VARIABLE`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from structopt.errors import CREDENTIALS, HIDDEN, ConfigError, redacted

VARIABLE = "STRUCTOPT_CREDENTIALS"
"""An environment variable: JSON, a mapping of `_place` to user and password."""
STORE = "MLFLOW_TRACKING_URI"
SEPARATE = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_TOKEN", "DATABRICKS_TOKEN")
"""Variables by which MLflow takes a user or a token for servers of any address."""
SHORTEST = 3
"""Characters of a user or password that is hidden wherever it is quoted without its address."""

SCHEME, HOST = re.compile(r"[\w.+-]*\Z"), re.compile(r"[^\s/?#\"',]*")


def removed(text: str) -> str:
    """Return a text with ``***`` for the user and password of each address; remember them."""
    if "://" not in text:
        return text
    matches = [match for match in CREDENTIALS.finditer(text) if match[0] != HIDDEN]
    if secrets := {_place(text, match): match[0] for match in matches}:
        os.environ[VARIABLE] = json.dumps({**_remembered(), **secrets})
    return redacted(text)


def removed_in(node: object) -> object:
    """Return a node of a configuration with `removed` applied to each of its strings."""
    if isinstance(node, str):
        return removed(node)
    if isinstance(node, Mapping):
        return {key: removed_in(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return type(node)(map(removed_in, node))
    return node


def restored(address: str) -> str:
    """Return an address with the user and password that `removed` replaced.

    They come from an earlier call of `removed`, also in a parent process, or from
    MLFLOW_TRACKING_URI. The user of a server may also be in MLFLOW_TRACKING_USERNAME.

    Raises
    ------
    ConfigError
        If none of these has them.
    """
    if HIDDEN not in address:
        return address
    removed(os.environ.get(STORE, ""))
    known = _remembered()

    def secret(match: re.Match[str]) -> str:
        if match[0] != HIDDEN:
            return match[0]
        if (place := _place(address, match)) in known:
            return known[place]
        if address.startswith("http") and any(map(os.environ.get, SEPARATE)):
            return ""
        raise ConfigError(
            "lacks its user and password, which are not saved with a run.",
            parameter="tracker.uri",
            value=address,
            remedy="Pass tracker.uri again with both, or set MLFLOW_TRACKING_URI, or "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD; tracker=none records nothing.",
        )

    return CREDENTIALS.sub(secret, address).replace("://@", "://")


def hidden(text: str) -> str:
    """Return a text without users and passwords, both in addresses and remembered ones."""
    text = redacted(text)
    words = {re.escape(word) for word in _words() if len(word) >= SHORTEST}
    return re.sub(rf"(?<!\w)({'|'.join(sorted(words))})(?!\w)", HIDDEN, text) if words else text


def _words() -> Iterator[str]:
    """Yield remembered users and passwords, each as it is written and decoded."""
    for secret in _remembered().values():
        for word in secret.split(":", 1):
            yield from (word, unquote(word))


def _remembered() -> dict[str, str]:
    try:
        return dict(json.loads(os.environ.get(VARIABLE, "{}")))
    except ValueError:  # the user's own variable of this name
        return {}


def _place(text: str, match: re.Match[str]) -> str:
    """Return the scheme and the host of an address, and the name of a parameter in its query."""
    begin = text.rfind("://", 0, match.start())
    in_query = match.start() != begin + 3
    rest = text[begin + 3 :] if in_query else text[match.end() + 1 :]
    scheme, host = SCHEME.search(text[:begin]), HOST.match(rest)
    assert scheme and host  # both may be empty
    name = "?" + re.split("[?&]", text[: match.start() - 1])[-1] if in_query else ""
    return f"{scheme[0]}://{host[0].rpartition('@')[2]}{name}"
