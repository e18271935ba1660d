"""The warning of a run that stopped before its optimizer converged."""

from __future__ import annotations

import warnings

try:
    from sklearn.exceptions import ConvergenceWarning as _Base
except ImportError:
    _Base = UserWarning


class ConvergenceWarning(_Base):  # type: ignore[misc]
    """Training ended before the optimizer's own criterion.

    A subclass of ``sklearn.exceptions.ConvergenceWarning`` if scikit-learn is installed.
    """


def warn(unfinished: str) -> None:
    """Warn the user, who called a function of this package that called the caller of this one."""
    warnings.warn(message(unfinished), ConvergenceWarning, stacklevel=4)


def message(unfinished: str) -> str:
    """Say why a run is unfinished, and what to do."""
    return (
        f"Training did not converge: {unfinished}. Set a larger optimizer.epochs, or scale numeric "
        "features to about 1."
    )
