"""What estimators inherit from scikit-learn, where it is installed; else the little of it that they
need themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

INSTALLED = find_spec("sklearn") is not None
"""Whether scikit-learn is there."""
Tags = Any
"""scikit-learn's tags of an estimator."""
Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING or not INSTALLED:

    class BaseEstimator:
        """Stands for scikit-learn's."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            raise NotImplementedError

        def __repr__(self) -> str:
            """Name the class, and the parameters that are not the defaults."""
            default = type(self)().get_params(deep=False)
            changed = {
                name: value
                for name, value in self.get_params(deep=False).items()
                if repr(value) != repr(default[name])  # arrays have no single truth value
            }
            arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items())
            return f"{type(self).__name__}({arguments})"

        def __sklearn_tags__(self) -> Tags:
            """There is nobody who asks."""
            raise NotImplementedError

    class ClassifierMixin:
        """Stands for scikit-learn's."""

    def available_if(_check: Callable[[Any], bool]) -> Callable[[Method], Method]:
        """Stands for scikit-learn's: the method is always there, and says itself what it cannot
        do.
        """
        return lambda method: method

    class NotFittedError(ValueError, AttributeError):
        """An estimator is used before it is fitted."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.metaestimators import available_if

__all__ = [
    "INSTALLED",
    "BaseEstimator",
    "ClassifierMixin",
    "NotFittedError",
    "Tags",
    "available_if",
]
