"""A network's parameters as one flat vector, and the gradient by it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from structopt.plugin import Array


def filled(
    skeleton: nn.Module,
    layout: Sequence[tuple[str, tuple[int, ...]]],
    flat: Tensor,
    differentiable: bool,
) -> nn.Module:
    """A copy of a network, whose parameters are views of a flat vector, in the order of `layout`:
    names and shapes.
    """
    module = deepcopy(skeleton)
    pieces = flat.split([prod(shape) for _, shape in layout])
    for (name, shape), piece in zip(layout, pieces, strict=True):
        owner, _, leaf = name.rpartition(".")
        setattr(
            module.get_submodule(owner),
            leaf,
            nn.Parameter(piece.view(shape), requires_grad=differentiable),
        )
    return module


def slope(module: nn.Module, values: Tensor, residuals: Array) -> Tensor:
    """Return (dv / dtheta)^T r of values v that a network computed: float64, by all its parameters,
    one after the other, on its device.
    """
    parameters = list(module.parameters())
    r = torch.from_numpy(np.ascontiguousarray(residuals, np.float64)).to(values)
    slopes = torch.autograd.grad(values, parameters, r, retain_graph=True, allow_unused=True)
    pieces = [
        torch.zeros_like(parameter) if one is None else one
        for parameter, one in zip(parameters, slopes, strict=True)
    ]
    return torch.cat([values.new_zeros(0), *(one.reshape(-1) for one in pieces)]).double()
