"""Optimizers beside a loss, a graph and an inference: what they refuse, and what they need."""

from structopt.config import compatibility
from structopt.core.ability import Ability
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily


def check(optimizer, loss, graph=None, inference=None):
    """Check an optimizer with a loss, on chains with exact inference unless a graph or an inference
    is passed.
    """
    compatibility.check(graph or LinearChain(), inference or Exact(), loss, optimizer)


def abilities(optimizer, loss=None) -> Ability:
    """What an optimizer needs of an inference of chains."""
    return optimizer.needs(loss or LossFamily(), LinearChain()).abilities
