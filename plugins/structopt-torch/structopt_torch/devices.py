"""Where networks are computed: device, type of numbers, threads, and random numbers that keep no
state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from structopt.plugin import ConfigError

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
DEVICES = ("cpu", "cuda", "auto")


def device_of(name: str) -> torch.device:
    """The device of a setting; ``auto`` takes CUDA where there is one.

    Raises
    ------
    ConfigError
        At an unknown name, and for ``cuda`` where PyTorch sees none.
    """
    if name not in DEVICES:
        raise ConfigError(f"features.device={name} is none of: {', '.join(DEVICES)}.")
    seen = torch.cuda.is_available()
    if name == "cuda" and not seen:
        raise ConfigError(
            "features.device=cuda: PyTorch sees no CUDA device here. Set features.device=cpu."
        )
    return torch.device("cuda" if seen and name != "cpu" else "cpu")


def precision_of(name: str) -> torch.dtype:
    """The type of numbers of a setting, or a `ConfigError`."""
    if name not in PRECISIONS:
        raise ConfigError(f"features.precision={name} is none of: {', '.join(PRECISIONS)}.")
    return PRECISIONS[name]


@contextmanager
def threads_at(count: int) -> Iterator[None]:
    """Let PyTorch compute with so many threads, since sums have other bits with another number of
    them.
    """
    earlier = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(earlier)


@contextmanager
def seeded(noise: Sequence[int], device: torch.device) -> Iterator[None]:
    """Draw PyTorch's random numbers from a seed made of whole numbers, and leave its generators as
    they were.
    """
    low, high = np.random.SeedSequence([int(number) for number in noise]).generate_state(2).tolist()
    with torch.random.fork_rng([torch.cuda.current_device()] if device.type == "cuda" else []):
        torch.manual_seed(low + (high >> 1 << 32))
        yield
