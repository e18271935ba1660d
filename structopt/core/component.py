"""What a class must have to be a component of its kind."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar


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

    @classmethod
    def replaced(cls, values: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the parameters that others replace, each with the name of the other one.

        A user who sets both gets an error. `values` are the parameters by name; by default none
        replaces another.
        """
        return {}

    @classmethod
    def lacking(cls) -> list[str]:
        """Return the names of the methods that a class must have and does not have."""
        return sorted(cls.__abstractmethods__)


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
