"""Mappings and lists as text, which Hydra's grammar cannot read: ``{B-é: 0.5}``.

An override with such a value is quoted as a whole. The text reaches the check of the config, which
reads it if the setting takes a mapping or a list.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

ENDS = ("{}", "[]")
WORDS = {"null": None, "true": True, "false": False}


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
