"""The weights of a network on its device, while an optimizer makes an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array
from structopt_torch.parameters import filled

if TYPE_CHECKING:
    from structopt_torch.scorer import TorchScorer


class Resident:
    """A copy of flat weights on a device, a network that has them, and its last gradient.

    On the CPU `point` shares the memory of the weights.

    Parameters
    ----------
    scorer : TorchScorer
        Without sparse features.
    theta : float64 vector

    Attributes
    ----------
    point : nn.Parameter
        The weights, float64.
    module : nn.Module
        The network; `follow` gives it the numbers of `point`.
    gradient : Tensor
        Gradient of the last batch, float64.
    nothing : float64 vector
        Zeros, which `training` returns instead of a copy of the gradient.
    """

    def __init__(self, scorer: TorchScorer, theta: Array) -> None:
        self.point = nn.Parameter(torch.from_numpy(theta).to(scorer.device))
        self.rate = scorer.rate
        self._numbers = torch.empty(scorer.dimension, dtype=scorer.dtype, device=scorer.device)
        self.module = filled(scorer.skeleton, scorer.layout, self._numbers, True)
        self.gradient: Tensor = torch.zeros_like(self.point)
        self.nothing = np.zeros(scorer.dimension)
        self.follow()

    def follow(self) -> None:
        """Give the network the numbers of `point`."""
        self._numbers.copy_(self.point.detach() * self.rate)
