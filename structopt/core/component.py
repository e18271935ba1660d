"""What a class must have to be a component of its kind."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from structopt.errors import ArgumentError, did_you_mean


class Component(ABC):  # noqa: B024 - the kinds have the abstract methods
    """Base of the contracts: one class a kind, abstract where a component must answer, with a
    default where it may be silent.

    A component inherits from the contract of its kind. The registry compares the class with the
    contract when it is loaded (`lacking`), and the instance when it is made (`unset`), so that
    users of a component need not ask what it has.

    Attributes
    ----------
    kind_of_component : str
        The config group and entry-point group: ``optimizer``, ``loss``, ...
    """

    kind_of_component: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the types of the constructor's arguments at each call (`check_types`)."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _checking(cls.__init__)  # type: ignore[method-assign]

    def replace(self, **changes: Any) -> Self:
        """Return a component of the same class with other arguments of the constructor.

        Raises
        ------
        ArgumentError
            For unknown arguments.
        """
        parameters = parameters_of(self)
        for name in changes:
            if name not in parameters:
                raise ArgumentError(
                    f"is not an argument of {type(self).__name__}.{did_you_mean(name, parameters)}",
                    parameter=name,
                    remedy=f"Choose one of: {', '.join(parameters) or 'none'}.",
                )
        return type(self)(**{**parameters, **changes})

    @classmethod
    def lacking(cls) -> list[str]:
        """Return the names of the methods that a class must have and does not have."""
        return sorted(cls.__abstractmethods__)


def parameters_of(component: Component) -> dict[str, Any]:
    """Return the arguments of the constructor by name, which the component keeps as attributes.

    Raises
    ------
    ArgumentError
        If it does not keep one of them.
    """
    cls, parameters = type(component), {}
    for name in signature(cls).parameters:
        if not hasattr(component, name):
            raise ArgumentError(
                f"of {cls.__name__} is not an attribute of the component.",
                parameter=name,
                remedy=f"Set self.{name} in the constructor.",
            )
        parameters[name] = getattr(component, name)
    return parameters


def _checking(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that calls `check_types` first."""

    @wraps(init)
    def checked(self: Any, *args: Any, **named: Any) -> None:
        check_types(init, dict(zip(_names(init), (self, *args), strict=False)) | named)
        init(self, *args, **named)

    return checked


def check_types(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments whose type is not that of the annotation, if it consists of ``int``,
    ``float``, ``bool``, ``str``, ``None`` and ``Literal``. NumPy's scalars have the types of
    Python's.

    Raises
    ------
    ArgumentError
        With the argument, its value and the type that it must have.
    """
    for name, members in _plain_hints(function).items():
        value = arguments.get(name)
        if name in arguments and not any(_is_of(value, member) for member in members):
            needed = " or ".join(map(_type_name, members))
            raise ArgumentError(f"must be {needed}.", parameter=name, value=value)


@cache
def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments."""
    return tuple(signature(function).parameters)


@cache
def _plain_hints(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the members of the annotations that `check_types` can check, by argument."""
    try:
        hints = get_type_hints(function)
    except NameError:  # names that only type checkers import
        return {}
    members = {
        name: get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for name, hint in hints.items()
    }
    return {
        name: all_of
        for name, all_of in members.items()
        if all(one in _TYPES or get_origin(one) is Literal for one in all_of)
    }


_TYPES: dict[Any, tuple[str, Any]] = {
    bool: ("True or False", bool),
    int: ("an integer", Integral),
    float: ("a number", Real),
    str: ("a string", str | PathLike),
    type(None): ("None", type(None)),
}


def _is_of(value: Any, member: Any) -> bool:
    """Whether a value has a type, or is a choice of a ``Literal``; booleans are not numbers."""
    if get_origin(member) is Literal:
        return any(isinstance(value, type(one)) and value == one for one in get_args(member))
    if isinstance(value, bool) or (getattr(value, "dtype", None) == "bool" and value.ndim == 0):
        return member is bool
    return isinstance(value, _TYPES[member][1])


def _type_name(member: Any) -> str:
    if get_origin(member) is Literal:
        return " or ".join(repr(one) for one in get_args(member))
    return _TYPES[member][0]


def lacking(cls: Any, contract: type[Component]) -> list[str]:
    """Names of the methods that a class has to have by a contract, and does not have, sorted."""
    if isinstance(cls, type) and issubclass(cls, contract):
        return cls.lacking()
    return sorted(name for name in contract.__abstractmethods__ if not hasattr(cls, name))


def unset(component: Component, contract: type[Component]) -> list[str]:
    """Names of the attributes that a contract declares without a value, and that an instance does
    not have, sorted.
    """
    declared: list[str] = []
    for cls in contract.__mro__:
        declared += [
            name
            for name, hint in vars(cls).get("__annotations__", {}).items()
            if "ClassVar" not in str(hint)
        ]
    return sorted(name for name in declared if not hasattr(component, name))
