"""Two numbers that compiled kernels and Python share: whether work is to end early, and how many
visits there were.

A compiled loop runs outside Python, where no signal reaches it. So it polls `halted`, and returns
at once where that is true; whatever it has computed is then thrown away
(`structopt.kernels.waist.interruptible`). Kernels call the same functions as Python does:
`structopt.kernels.waist.compiled_halting` is what they become there. This module is light to
import.
"""

from __future__ import annotations

import ctypes

HALTED, VISITS = 0, 1  # indices
NUMBERS = (ctypes.c_int64 * 2)()
# never freed: compiled code keeps their address
ctypes.pythonapi.Py_IncRef(ctypes.py_object(NUMBERS))


def halted() -> bool:
    """Whether work is to end early; a poll in a kernel costs about a nanosecond."""
    return NUMBERS[HALTED] != 0


def count_visit() -> None:
    """Count a visit."""
    NUMBERS[VISITS] += 1


def halt(halting: bool) -> None:
    """Say whether work is to end early."""
    NUMBERS[HALTED] = halting


def visits() -> int:
    """Visits of this process so far, on all threads."""
    return NUMBERS[VISITS]
