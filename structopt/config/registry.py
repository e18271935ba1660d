"""The only door to components: entry points, the core's own among them. YAML names a component,
never a class.

``installed`` tells what there is and imports nothing; ``load`` gives the class, ``schema`` its
parameters, and ``create`` an instance from a config node that it checks first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Any

from structopt.config import fit_settings
from structopt.config.presets import keys_of, preset
from structopt.config.schema import (
    REQUIRED,
    Parameter,
    coerce,
    docstring_of,
    of_class,
    of_source,
)
from structopt.config.synonyms import KEYS, synonym_of
from structopt.config.wording import KINDS as KINDS
from structopt.config.wording import keyed
from structopt.core.component import Component, unset
from structopt.core.entry_points import Installed, path_entries, warn_of_ignored
from structopt.core.entry_points import installed as discovered
from structopt.core.entry_points import name_of as name_of
from structopt.core.executor import Executor
from structopt.errors import ConfigError, did_you_mean, form_of, meaning

CONTRACTS = {
    "task": "task.Task",
    "features": "scorer.Scorer",
    "factor_graph": "factor_graph.FactorGraph",
    "factor_kind": "factor_kind.FactorKind",
    "inference": "inference.Inference",
    "loss": "loss.Loss",
    "cost": "cost.Cost",
    "optimizer": "optimizer.Optimizer",
    "tracker": "tracker.Tracker",
    "executor": "executor.Executor",
}
"""What a class of each kind must be: module and class within `structopt.core`."""


def installed(kind: str) -> dict[str, Installed]:
    """Return the components of one kind by name, sorted; none of them is imported.

    Raises
    ------
    ConfigError
        If there is no such kind, or two distributions claim one name.
    """
    if kind not in CONTRACTS:
        kinds = ", ".join(CONTRACTS)
        raise ConfigError(
            f"There is no kind of component called '{kind}'.{did_you_mean(kind, CONTRACTS)} "
            f"Kinds: {kinds}."
        )
    return discovered(kind)


def load(kind: str, name: str) -> Any:
    """Import and return a component's class, held to the contract of its kind.

    Raises
    ------
    ConfigError
        If it is not installed, its package cannot be imported, or it lacks what a component of its
        kind must have.
    """
    known = installed(kind)
    if name not in known:
        raise ConfigError(not_installed(kind, name))
    return known[name].load(contract(kind))


def importable(kind: str) -> list[str]:
    """Return the names of the components of one kind, with a warning for each that cannot be
    imported and is left out.
    """
    names = []
    for name, component in installed(kind).items():
        try:
            component.load(contract(kind))
        except ConfigError as error:
            warn_of_ignored(component.entry_point, error.__cause__ or error)
        else:
            names.append(name)
    return names


def contract(kind: str) -> type[Component]:
    """Return the base class of a kind; imported when it is asked for, since listing components
    needs none of it.
    """
    module, _, name = CONTRACTS[kind].partition(".")
    base: type[Component] = vars(import_module(f"structopt.core.{module}"))[name]
    return base


def not_installed(kind: str, name: str) -> str:
    """Say that there is no such component, and what there is, from which package."""
    known = installed(kind)
    listing = (
        ", ".join(map(str, known.values()))
        or "none; is structopt itself installed? Run: pip install -e ."
    )
    return f"{kind} '{name}' is not installed.{_meant(kind, str(name), known)} Installed: {listing}"


def _meant(kind: str, name: str, known: Mapping[str, Installed]) -> str:
    """Say which component may be meant: the same but for case, another word for it, one of another
    kind, or a near one.
    """
    same = [one for one in known if form_of(one) == form_of(name)]
    synonym = synonym_of(kind, name)
    if not same and synonym and synonym.name in known:
        return meaning([synonym.name]) + synonym.remark
    others = [f"{other}={name}" for other in CONTRACTS if name in installed(other)]
    return meaning(same or others) or did_you_mean(name, known)


def schema(cls: Any) -> dict[str, Parameter]:
    """Return the parameters of a component's constructor: types, defaults and documentation."""
    return of_class(cls)


def parameters_of(kind: str, name: str) -> dict[str, Parameter]:
    """Return the keys of a component's node: the arguments of its constructor, and of an optimizer
    the settings of a fit.
    """
    cls = load(kind, name)
    return _with_settings(kind, name, getdoc(cls) or "", schema(cls))


def _with_settings(
    kind: str, name: str, docstring: str, own: dict[str, Parameter]
) -> dict[str, Parameter]:
    return own | (fit_settings.parameters(name, docstring) | own if kind == "optimizer" else {})


def described(component: Installed) -> list[Parameter]:
    """Return a component's parameters for display: from its source where that tells, else by
    importing it.

    Their defaults are those that its config file sets.
    """
    return list(_described(component, path_entries()))


@cache
def _described(
    component: Installed, _entries: tuple[tuple[str, float], ...]
) -> tuple[Parameter, ...]:
    module, _, name = component.entry_point.value.partition(":")
    parameters = None if component.registered else of_source(module, name)
    if parameters is None:
        every = parameters_of(component.kind, component.name)
    else:
        own = {one.name: one for one in parameters}
        docstring = docstring_of(f"{module}.{name}")
        every = _with_settings(component.kind, component.name, docstring, own)
    shown = preset(component.kind, component.name, list(every.values()))
    if component.kind == "optimizer":
        order = keys_of(component.kind, component.name)
        shown.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    return tuple(shown)


def unknown_parameter(kind: str, name: str, key: str, elsewhere: Sequence[str] = ()) -> str:
    """Say that a component has no such parameter, which one may be meant, and what it takes.

    Parameters
    ----------
    kind, name, key : str
    elsewhere : sequence of str
        Keys of other nodes of the config that have this name, in full.
    """
    parameters = described(installed(kind)[name])
    names, takes = [one.name for one in parameters], ", ".join(map(str, parameters)) or "none"
    return (
        f"{kind}={name} has no parameter '{key}'.{_meant_parameter(kind, key, names, elsewhere)} "
        f"It takes {takes}."
    )


def _meant_parameter(kind: str, key: str, names: Sequence[str], elsewhere: Sequence[str]) -> str:
    """Say which key may be meant: the same but for case, a parameter of another component, one of
    another node, another word.
    """
    if same := [one for one in names if form_of(one) == form_of(key)]:
        return meaning(same)
    if others := takers(kind, key):
        return f" That is a parameter of {others}."
    if elsewhere:
        return meaning(elsewhere)
    synonym = synonym_of(KEYS, key)
    target = synonym.name.removeprefix(f"{kind}.") if synonym else ""
    if synonym and target in names:
        return meaning([target]) + synonym.remark
    if close := did_you_mean(key, names):
        return close
    if synonym and (others := takers(kind, target)):
        return f" What is called {target} here is a parameter of {others}."
    return meaning([target]) + synonym.remark if synonym and "." in target else ""


def takers(kind: str, parameter: str) -> str:
    """Write which components of a kind have a parameter of this name, as they are typed; the empty
    string for none.
    """
    names = [name for name, one in installed(kind).items() if parameter in _parameter_names(one)]
    more = f" and {len(names) - 4} others" if len(names) > 5 else ""
    return f"{kind}={', '.join(names[:4] if more else names)}{more}" if names else ""


def _parameter_names(component: Installed) -> list[str]:
    """Names of a component's parameters; none where it cannot be imported."""
    try:
        return [one.name for one in described(component)]
    except ConfigError:
        return []


def create(kind: str, node: Mapping[str, Any], **common: Any) -> Any:
    """Create a component from its config node.

    Parameters
    ----------
    kind : str
    node : mapping
        ``name`` and parameters. Settings of a fit in the node of an optimizer are checked, and
        passed to a constructor that has parameters for them.
    **common
        Settings of the run (features, seed, threads); a constructor gets those that it has
        parameters for.

    Raises
    ------
    ConfigError
        At an unknown component or parameter, an ill-typed value, or a required parameter that is
        missing.
    """
    values = checked(kind, node, common)
    cls = load(kind, values.pop("name"))
    parameters = schema(cls)
    own = {*values, *(parameters.keys() - common.keys())} if kind in KINDS else ()
    values = {key: value for key, value in values.items() if key in parameters}
    settings = {
        key: value for key, value in common.items() if key in parameters and key not in values
    }
    with keyed(dict.fromkeys(own, kind)):
        component = cls(
            **settings,
            **{key: _component(parameters[key].type, value) for key, value in values.items()},
        )
    if absent := unset(component, contract(kind)):
        raise ConfigError(
            f"{kind}={node['name']}: {type(component).__name__} leaves unset what every "
            f"{kind} has: {', '.join(absent)}. Its constructor must set it.",
            remedy=f"Update {installed(kind)[node['name']].distribution}.",
        )
    return component


def _component(hint: Any, value: Any) -> Any:
    """Create the component that a parameter names, where its type is a contract: ``cost: Cost``
    takes the name of a cost.
    """
    kind = _kind_of(hint)
    return create(kind, {"name": value}) if kind and isinstance(value, str) else value


def _kind_of(hint: Any) -> str:
    """The kind of component that a parameter of this type names, or the empty string."""
    return (
        str(hint.kind_of_component)
        if isinstance(hint, type) and issubclass(hint, Component)
        else ""
    )


def _checked_value(where: str, value: Any, hint: Any) -> Any:
    """Return a value in the type that a parameter asks for; of a parameter that names a component,
    the name.
    """
    kind = _kind_of(hint)
    if kind and value not in installed(kind):
        known = installed(kind)
        raise ConfigError(
            f"is none of: {', '.join(known)}.{_meant(kind, str(value), known)}",
            parameter=where,
            value=value,
        )
    return value if kind else coerce(where, value, hint)


def checked(kind: str, node: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node with every value in the type that the constructor asks for, or raise
    `ConfigError`.
    """
    if not isinstance(node, Mapping) or not isinstance(node.get("name"), str):
        raise ConfigError(
            f"{kind} needs the name of a component",
            remedy=f"set {kind}=NAME. Installed: {', '.join(installed(kind))}.",
        )
    name = node["name"]
    parameters = parameters_of(kind, name)
    values = {key: value for key, value in node.items() if key != "name"}
    if unknown := [key for key in values if key not in parameters]:
        raise ConfigError(unknown_parameter(kind, name, unknown[0]))
    missing = [
        p
        for p in parameters.values()
        if p.default is REQUIRED and p.name not in values and p.name not in common
    ]
    if missing:
        raise ConfigError(
            "needs a value",
            parameter=kind,
            value=name,
            remedy=f"set {kind}.{missing[0].name}=... ({missing[0]}).",
        )
    return {"name": name} | {
        key: _checked_value(f"{kind}.{key}", value, parameters[key].type)
        for key, value in values.items()
    }


def serial() -> Executor:
    """Work in this thread: the executor of callers that were given none."""
    executor: Executor = _serial_class()()
    return executor


@cache
def _serial_class() -> Any:
    """The class; cached, since looking it up takes longer than predicting one sentence."""
    return load("executor", "serial")
