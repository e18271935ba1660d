"""The config of a run that goes on: the saved one, and the few keys that may be typed anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.overrides import ADDED, key_of, spelled_out
from structopt.config.validation import validate
from structopt.config.wording import as_typed
from structopt.core.data.config_keys import Purpose, ignored
from structopt.errors import ConfigError


def continued(
    saved: Mapping[str, Any], overrides: Sequence[str], purpose: Purpose = Purpose.RESUMING_A_RUN
) -> dict[str, Any]:
    """Apply what was typed beside ``resume=``, or for another run that goes on from this one, to a
    run's saved config.

    Parameters
    ----------
    saved : mapping
        The validated config of the run.
    overrides : sequence of str
        Of the keys that do not matter for the purpose, and of the tracker, any value; of others the
        value that the run has.
    purpose : Purpose

    Returns
    -------
    dict
        A new config, validated.

    Raises
    ------
    ConfigError
        At another value of any other key, with both values; at a misspelt key; at a value that is
        refused.
    """
    words = spelled_out(overrides)
    for word in words:
        _refuse_what_configs_lack(word)
    keys = [key_of(word) for word in words]
    choices = [f"{kind}={saved[kind]['name']}" for kind in registry.KINDS if kind not in keys]
    typed = compose([*choices, *words])
    for key, word in zip(keys, words, strict=True):
        if not _changeable(key, purpose):
            _compare(word, f"{key}.name" if key in registry.KINDS else key, saved, typed, purpose)
    config = dict(saved)
    # the tracker before its parameters
    for key in sorted(key for key in keys if _changeable(key, purpose)):
        config = _with(config, key, _value(typed, key))
    return validate(config)


def _changeable(key: str, purpose: Purpose) -> bool:
    return key in ignored(purpose) or key.startswith("tracker.")


def _refuse_what_configs_lack(word: str) -> None:
    """Raise at words that no saved config answers for: deletions, experiments, and Hydra's own."""
    key = key_of(word)
    if word.startswith("~") or key == ADDED or key.startswith(("hydra.", "hydra/")):
        raise ConfigError(
            f"A run that goes on keeps its saved config and its folder: '{word}' is refused.",
            remedy="Leave it out.",
        )


def _compare(
    word: str, key: str, saved: Mapping[str, Any], typed: Mapping[str, Any], purpose: Purpose
) -> None:
    """Raise where a typed value is not the run's; of a choice the name counts, since the run keeps
    its parameters.
    """
    before, now = _value(saved, key), _value(typed, key)
    # with another component the rest of the saved config is none that could be validated
    if not key.endswith(".name"):
        now = _value(validate(_with(saved, key, now)), key)
    if before == now:
        return
    allowed = f"{', '.join(ignored(purpose))} and tracker's parameters"
    anew = "train anew without resume=" if purpose is Purpose.RESUMING_A_RUN else "train anew"
    raise ConfigError(
        f"'{word}' is refused: a run that goes on keeps its saved config, which has "
        f"{key.removesuffix('.name')}={as_typed(before)}.",
        remedy=f"Leave it out, or {anew}. What may be typed anew: {allowed}.",
    )


def _value(config: Any, key: str) -> Any:
    """The value of a dotted key; None where the config does not have it."""
    for name in key.split("."):
        config = config.get(name) if isinstance(config, Mapping) else None
    return config


def _with(config: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A config with another value of a dotted key."""
    name, _, rest = key.partition(".")
    inner = config.get(name)
    return {
        **config,
        name: _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value,
    }
