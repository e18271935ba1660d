"""Checks that optimizers share: ranges of their options, and the losses that they can learn by."""

from __future__ import annotations

from typing import Any

from structopt.core import ranges
from structopt.errors import CompatibilityError, ConfigError


def check(C: float, epochs: int) -> None:
    """Refuse a C outside [1e-12, 1e12], and negative epochs."""
    positive("C", C)
    if epochs < 0:
        raise ConfigError(f"optimizer.epochs={epochs} must be at least 0.")


def positive(name: str, value: float) -> None:
    """Refuse a value outside [1e-12, 1e12]."""
    ranges.check_positive(f"optimizer.{name}", value)


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value below `least`, or above 1e12."""
    ranges.check_at_least(f"optimizer.{name}", value, least)


def refuse_tolerance(name: str, tolerance: float) -> None:
    """Refuse a tolerance where there is no gap to compare it with."""
    if tolerance != 0.0:
        raise ConfigError(f"optimizer={name} has no certified gap to compare with optimizer.tolerance; set it to 0.")


def check_tolerance(tolerance: float, certificate: bool = True) -> None:
    """Refuse a negative tolerance, and a positive one without a certificate to compare it with."""
    at_least("tolerance", tolerance, 0.0)
    if tolerance > 0 and not certificate:
        raise ConfigError("optimizer.tolerance needs a certified gap; add optimizer.certificate=true, or set it to 0.")


def refuse_non_convex(name: str, loss: Any) -> None:
    """Refuse a loss that is not convex."""
    if not loss.convex:
        raise CompatibilityError(
            f"optimizer={name} needs a convex loss, which {loss.member} is not. Type loss=crf, loss=svm or another member "
            "of the family, or take an optimizer that follows gradients alone: sgd, adagrad, adadelta."
        )


def need_family(name: str, loss: Any) -> None:
    """Refuse a loss that is not a member of the family L_{beta,gamma}, whose dual is the one the dual methods climb."""
    if not loss.in_family:
        raise CompatibilityError(
            f"optimizer={name} climbs the dual of the loss family, of which {loss.member} is no member. Type loss=crf, "
            "loss=svm or loss=family, or take an optimizer that follows gradients alone: sgd, adagrad, adadelta."
        )


def need_margins(name: str, loss: Any, gamma: bool = True) -> None:
    """Refuse a loss that does not maximise, and one without cost where `gamma` asks for it."""
    need_family(name, loss)
    if loss.temperature != 0.0:
        raise CompatibilityError(
            f"optimizer={name} needs loss.beta=inf, a maximum over outputs (this is {loss.member}). Type loss=svm."
        )
    if gamma and not loss.gamma > 0:
        raise CompatibilityError(
            f"optimizer={name} needs loss.gamma > 0: without a cost, zero weights have no loss (this is {loss.member}). "
            "Type loss.gamma=1."
        )


def need_smooth(name: str, loss: Any) -> None:
    """Refuse a loss that maximises."""
    if loss.temperature == 0.0:
        raise CompatibilityError(
            f"optimizer={name} needs a differentiable loss, loss.beta < inf (this is {loss.member}). Type loss.beta=1, or "
            "another optimizer."
        )


def need_positional(name: str, graph: Any) -> None:
    """Refuse a factor graph that has no closed forms of its marginals."""
    if graph.calculus is None:
        raise CompatibilityError(
            f"optimizer={name} needs marginals of every position in closed form, which this factor graph has not. "
            "Type factor_graph.order=1 for chains; for trees take another optimizer, such as sdca or dca."
        )


def refuse_kept_messages(name: str, inference: Any) -> None:
    """Refuse an inference whose answers depend on the visits before, for an optimizer that needs one function."""
    if getattr(inference, "warm_start", False):
        raise CompatibilityError(
            f"optimizer={name} needs losses that stay the same functions from visit to visit, and messages that are kept "
            "change them. Type inference.warm_start=false; or take an online method, such as dca, sgd or dlpw."
        )


def check_certificate(certificate: bool, loss: Any) -> None:
    """Refuse a certificate of the optimum of a loss that is not convex."""
    if certificate and not loss.convex:
        raise CompatibilityError(
            f"optimizer.certificate=true needs a convex loss, which {loss.member} is not: its tangents are no bounds. "
            "Set it to false."
        )
