"""The warning of a run that stopped before its optimizer converged.

The module is imported when a run gives the warning, because scikit-learn takes long to import.
"""

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


def warn(text: str) -> None:
    """Warn the user, who called a function of this package that called the caller of this one."""
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
