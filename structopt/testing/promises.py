"""Failures of contract suites in words: what the component was to promise, that it does not, and
what to look at; and the fixtures that a suite needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import getdoc
from typing import Any

FAILURES: tuple[type[BaseException], ...] = (AssertionError,)
try:
    import pytest
except ImportError:  # structopt.check runs the tests without it

    def _fixture(function: Callable[..., Any]) -> Any:
        return function
else:
    FAILURES = (AssertionError, pytest.fail.Exception)
    _fixture = pytest.fixture  # type: ignore[assignment]


def promises(kind: str, never_raises: bool = False) -> Callable[[type], type]:
    """Make the failures of a suite's tests say what is wrong with the component, and what to do.

    Parameters
    ----------
    kind : str
        What is under test: ``loss``.
    never_raises : bool
        Whether any exception of the component breaks a promise.

    Returns
    -------
    callable
        Decorates the class of the suite. The first paragraph of a test's docstring says what holds,
        the second what to do where it does not.
    """

    def decorate(suite: type) -> type:
        for name, test in list(vars(suite).items()):
            if name.startswith("test_"):
                failures = (*FAILURES, Exception) if never_raises else FAILURES
                setattr(suite, name, _explained(kind, name, test, failures))
        return suite

    return decorate


def _explained(kind: str, name: str, test: Any, failures: tuple[type[BaseException], ...]) -> Any:
    promise, _, remedy = (" ".join(part.split()) for part in (getdoc(test) or "").partition("\n\n"))

    @wraps(test)
    def explained(self: Any, *arguments: Any, **fixtures: Any) -> None:
        try:
            test(self, *arguments, **fixtures)
        except failures as error:
            reason = str(error) if isinstance(error, FAILURES) else repr(error)
            text = (
                f"{name}: this {kind} breaks a promise of its contract: {promise}\n{remedy}\n"
                f"{reason}".rstrip()
            )
            raise AssertionError(text) from error

    return explained


DEFAULTS: dict[str, Callable[..., Any]] = {}
"""Functions of the fixtures that have a default, by names such as ``InferenceSuite.scores``."""


def default(fixture: Callable[..., Any]) -> Any:
    """Return a fixture that the class of a test may override."""
    DEFAULTS[fixture.__qualname__] = fixture
    return _fixture(fixture)


def required(fixture: Callable[..., Any]) -> Any:
    """Return a fixture that the class of a test must override.

    Without an override the tests fail with its docstring, which states the value that it returns.
    """
    need = " ".join((getdoc(fixture) or "").split())

    @_fixture
    @wraps(fixture)
    def missing(self: Any, **_fixtures: Any) -> None:
        name = fixture.__name__
        suite = next(cls.__name__ for cls in type(self).__mro__ if name in vars(cls))
        raise NotImplementedError(
            f"{suite} needs a fixture: override the fixture `{name}` in the class of the test, "
            f"{type(self).__name__}. {need}"
        )

    return missing
