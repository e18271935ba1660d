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


def slope(module: nn.Module, values: Tensor, residuals: Array) -> Array:
    """(dv / dtheta)^T r of values v that a network computed: float64, by all its parameters, one
    after the other.
    """
    parameters = list(module.parameters())
    r = torch.from_numpy(np.ascontiguousarray(residuals, np.float64)).to(values)
    slopes = torch.autograd.grad(values, parameters, r, retain_graph=True, allow_unused=True)
    gradient, first = np.zeros(sum(one.numel() for one in parameters)), 0
    for parameter, one in zip(parameters, slopes, strict=True):
        if one is not None:
            gradient[first : first + parameter.numel()] = one.reshape(-1).cpu().numpy()
        first += parameter.numel()
    return gradient
