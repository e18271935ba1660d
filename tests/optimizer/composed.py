"""Optimizers beside a loss, a graph and an inference: what they refuse, and what they need."""

from structopt.config import compatibility
from structopt.core.ability import Ability
from structopt.core.needs import Goal, of_fit
from structopt.factor_graph.linear_chain import LinearChain
from structopt.inference.exact import Exact
from structopt.loss.family import LossFamily


def check(optimizer, loss, graph=None, inference=None, **goal):
    """Check an optimizer with a loss, on chains with exact inference unless a graph or an inference
    is passed; `goal`: tolerance and certificate of the fit.
    """
    compatibility.check(
        graph or LinearChain(), inference or Exact(), loss, optimizer, goal=Goal(**goal)
    )


def abilities(optimizer, loss=None, **goal) -> Ability:
    """What an optimizer and a fit need of an inference of chains."""
    needs = of_fit(optimizer.needs(loss or LossFamily(), LinearChain()), Goal(**goal))
    return needs.abilities | needs.reported
