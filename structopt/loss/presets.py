"""Members of the loss family by their usual names."""

from __future__ import annotations

from math import inf

from structopt.core.cost import Cost
from structopt.loss.family import HAMMING, LossFamily


def CRF() -> LossFamily:  # named like a class of losses
    """Return the log-loss of a conditional random field: beta = 1, gamma = 0."""
    return LossFamily(1.0, 0.0)


def SVM(cost: Cost = HAMMING) -> LossFamily:
    """Return the hinge loss of a structured support vector machine: beta = inf, gamma = 1."""
    return LossFamily(inf, 1.0, cost)


def SoftmaxMargin(cost: Cost = HAMMING) -> LossFamily:
    """Return the softmax margin: beta = 1, gamma = 1."""
    return LossFamily(1.0, 1.0, cost)


def PerceptronLoss() -> LossFamily:
    """Return the loss of the structured perceptron: beta = inf, gamma = 0."""
    return LossFamily(inf, 0.0)
