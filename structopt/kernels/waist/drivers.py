"""The type of compiled drivers, by which mypy checks their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)


class Driver(Protocol[P, Result]):
    """A compiled driver, called with the kernels, the data, the scratch of one thread, and
    the arguments P.

    P has the parameters of the driver's source after the first three, so that a call with too few
    or too many arguments is a type error. Parameters without annotations accept any type.
    """

    @property
    def py_func(self) -> Callable[Concatenate[tuple[Any, ...], Any, Any, P], Result]:
        """The driver's source, un-compiled."""

    def __call__(
        self,
        kernels: tuple[Any, ...],
        data: Any,
        space: Any,
        /,
        *arguments: P.args,
        **named: P.kwargs,
    ) -> Result:
        """Visit the instances."""
