"""Long short-term memories: PyTorch's own on single sentences, and the gradient by finite
differences.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install structopt-torch")

import torch
from structopt_torch.modules import BiLSTM
from structopt_torch.recurrence import Recurrence


def test_the_gradient():
    torch.manual_seed(0)
    x, W = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((2, 7, 12), (2, 3, 12))
    )
    assert torch.autograd.gradcheck(lambda x, W: Recurrence.apply(x, W, [3, 2, 1, 1]), (x, W))


def test_sentences_are_read_as_by_pytorch():
    torch.manual_seed(0)
    ours, theirs = BiLSTM(5, 6, 1, 0.0).double(), torch.nn.LSTM(5, 3, bidirectional=True).double()
    layer = ours.lstm[0]
    with torch.no_grad():
        layer.recurrent.normal_()
        for k, end in enumerate(("", "_reverse")):
            getattr(theirs, f"weight_ih_l0{end}").copy_(layer.gates.weight.chunk(2)[k])
            getattr(theirs, f"weight_hh_l0{end}").copy_(layer.recurrent[k].T)
            getattr(theirs, f"bias_ih_l0{end}").copy_(layer.gates.bias.chunk(2)[k])
            getattr(theirs, f"bias_hh_l0{end}").zero_()
        lengths, x = np.array([2, 4, 1, 3]), torch.randn(10, 5, dtype=torch.float64)
        expected = torch.cat([theirs(sentence)[0] for sentence in x.split(lengths.tolist())])
        np.testing.assert_allclose(ours(x, lengths).numpy(), expected.numpy(), atol=1e-12)
