"""What a class must have to be a component of its kind."""

from __future__ import annotations

from abc import ABC
from inspect import signature
from typing import Any, ClassVar, Self

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
