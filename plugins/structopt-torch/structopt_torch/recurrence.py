"""Long short-term memories over packed sentences in both directions at once, with their gradient by
hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Recurrence(torch.autograd.Function):
    """Hidden units of LSTMs in D directions, given what the inputs add to their gates.

        (i, f, g, o)_t = (sigma, sigma, tanh, sigma)(x_t + h_{t-1} W),    c_t = f c_{t-1} + i g,
        h_t = o tanh(c_t)

    All directions go from step 0 on, so that the words of one that reads from right to left come in
    reverse. Step t has the t-th words of the sentences that are longer than t, the longest sentence
    first. PyTorch's own adds up the gradient of W step by step and direction by direction; here it
    is one product.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, W: Tensor, steps: Sequence[int]) -> Tensor:
        """Hidden units, shape (D, tokens, h), of x, shape (D, tokens, 4 h), and W, (D, h, 4 h);
        `steps`: tokens of each.
        """
        D, tokens, width = x.shape
        size = width // 4
        gates, cells, hidden = (x.new_empty(D, tokens, one) for one in (width, size, size))
        h, c, first = x.new_zeros(D, steps[0], size), x.new_zeros(D, steps[0], size), 0
        for count in steps:
            own = slice(first, first + count)
            z = torch.baddbmm(x[:, own], h[:, :count], W)
            z[:, :, 2 * size : 3 * size].mul_(2)  # tanh(z) = 2 sigma(2 z) - 1
            z.sigmoid_()
            z[:, :, 2 * size : 3 * size].mul_(2).sub_(1)
            i, f, g, o = z.split(size, dim=2)
            c = torch.addcmul(f * c[:, :count], i, g)
            h = o * torch.tanh(c)
            gates[:, own], cells[:, own], hidden[:, own] = z, c, h
            first += count
        ctx.save_for_backward(W, gates, cells, hidden)
        ctx.steps = steps
        return hidden

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients by x and W, given that by the hidden units."""
        W, gates, cells, hidden = ctx.saved_tensors
        steps, size = ctx.steps, W.shape[1]
        i, f, g, o = gates.split(size, dim=2)
        before = _before(cells, steps)
        squashed = torch.tanh(cells)
        of_cell = o * (1 - squashed * squashed)
        # Derivatives by the gates before the squashing functions: dc for i, f and g; dh for o.
        of_gates = torch.cat(
            [g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), squashed * o * (1 - o)], dim=2
        )
        total, end = slope.new_empty(gates.shape), gates.shape[1]
        back, dh, dc = (
            W.transpose(1, 2).contiguous(),
            slope.new_zeros(len(W), 0, size),
            slope.new_zeros(len(W), 0, size),
        )
        for count in reversed(steps):
            own = slice(end - count, end)
            own_dh = slope[:, own].clone()
            own_dh[:, : dh.shape[1]] += dh
            own_dc = own_dh * of_cell[:, own]
            own_dc[:, : dc.shape[1]] += dc
            z = total[:, own]
            torch.mul(
                of_gates[:, own, : 3 * size].unflatten(2, (3, size)),
                own_dc.unsqueeze(2),
                out=z[:, :, : 3 * size].unflatten(2, (3, size)),
            )
            torch.mul(of_gates[:, own, 3 * size :], own_dh, out=z[:, :, 3 * size :])
            dh, dc = torch.bmm(z, back), own_dc * f[:, own]
            end -= count
        return total, _before(hidden, steps).transpose(1, 2) @ total, None


def _before(values: Tensor, steps: Sequence[int]) -> Tensor:
    """The values of each token's predecessor in its sentence; zeros at the first step."""
    starts = [sum(steps[:t]) for t in range(len(steps))]
    pieces = [
        values[:, first : first + count] for first, count in zip(starts, steps[1:], strict=False)
    ]
    return torch.cat([values.new_zeros(len(values), steps[0], values.shape[2]), *pieces], dim=1)
