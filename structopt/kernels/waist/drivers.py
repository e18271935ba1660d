"""The type of compiled drivers, by which mypy checks their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from structopt.kernels.waist.signatures import Data, Space

P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)


class Driver(Protocol[P, Result]):
    """A compiled driver, called with the kernels' tuple, the data, the scratch of one thread, and
    the arguments P.

    P has the parameters of the driver's source after the first three, so that a call with too few
    or too many arguments is a type error. Parameters without annotations accept any type.
    """

    @property
    def py_func(self) -> Callable[Concatenate[tuple[Any, ...], Data, Space, P], Result]:
        """The driver's source, un-compiled."""

    def __call__(
        self,
        kernels: tuple[Any, ...],
        data: Data,
        space: Space,
        /,
        *arguments: P.args,
        **named: P.kwargs,
    ) -> Result:
        """Visit the instances."""
