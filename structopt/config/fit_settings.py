"""Settings of a fit: the keys of the node ``optimizer`` that are not arguments of its class.

The library takes C and the penalty as arguments of a problem, epochs and tolerance as arguments of
`fit`. Configs have them next to the optimizer, since they depend on it.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from structopt.config import schema
from structopt.config.presets import keys_of
from structopt.config.wording import keyed
from structopt.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from structopt.core.needs import Goal
    from structopt.core.optimizer import Optimizer
    from structopt.core.weights.penalty import Penalty

ALWAYS = ("C", "epochs")
"""Keys of every optimizer; it has the others if its config file sets them."""
CHOICES = re.compile(r"^penalty : Literal(\[.*\])$", re.MULTILINE)
"""The penalties of an optimizer, in the section Settings of its docstring."""


@dataclass(frozen=True)
class FitSettings:
    """The settings of a fit; the section Settings of an optimizer's docstring has special texts.

    Parameters
    ----------
    C : float, from 1e-12 to 1e12
        1/(lambda * m): the inverse of the regularisation.
    epochs : int
        Passes over the data.
    tolerance : float, from 0 to 1e12
        Stop when the certified gap, relative to the objective, falls below it; 0 never does. Needs
        `certificate`, where there is such a parameter.
    certificate : bool
        Bound the optimum after every pass, at the cost of one evaluation of loss and gradient.
    penalty : str
        The regulariser: ``l2`` (lambda/2 ||theta||^2), ``l1`` (lambda ||theta||_1) or ``elastic``
        (the sum of both).
    c1, c2 : float from 0 to 1e12, or None
        In place of C, as CRFsuite counts: m P is c1 ||theta||_1 + c2 ||theta||^2 + sum_i L_i. c1 is
        of ``l1`` and ``elastic``, c2 of ``elastic``. None: 1/C and 1/(2 C).

    Raises
    ------
    ArgumentError
        For a number out of range, and for a setting that excludes another.
    ConfigError
        For c1 and c2 that leave no penalty.
    """

    C: float = 1.0
    epochs: int = 10
    tolerance: float = 0.0
    certificate: bool = False
    penalty: Literal["l2", "l1", "elastic"] = "l2"
    c1: float | None = None
    c2: float | None = None

    def __post_init__(self) -> None:
        from structopt.core.data import ranges

        ranges.check_positive("C", self.C)
        if self.epochs < 0:
            raise ArgumentError("must be at least 0.", parameter="epochs", value=self.epochs)
        ranges.check_at_least("tolerance", self.tolerance, 0.0)
        if self.certificate and self.penalty != "l2":
            raise ArgumentError(
                "bounds the optimum for `penalty='l2'` only.",
                parameter="certificate",
                value=self.certificate,
                remedy="Set certificate=False or penalty='l2'.",
            )
        self._check_shares()

    def _check_shares(self) -> None:
        """Refuse c1 and c2 of other penalties, and such that leave no penalty."""
        if self.c1 is not None and self.penalty == "l2":
            raise ArgumentError(
                "has no effect with `penalty='l2'`.",
                parameter="c1",
                value=self.c1,
                remedy="Set penalty='l1' or `'elastic'`.",
            )
        if self.c2 is not None and self.penalty != "elastic":
            alone = (
                f", or C={1 / (2 * self.c2):g} instead of `c2`"
                if self.penalty == "l2" and self.c2 > 0
                else ""
            )
            raise ArgumentError(
                f"has no effect with `penalty={self.penalty!r}`.",
                parameter="c2",
                value=self.c2,
                remedy=f"Set penalty='elastic'{alone}.",
            )
        from structopt.core.data import ranges

        given = {key: one for key in ("c1", "c2") if (one := getattr(self, key)) is not None}
        for key, value in given.items():
            ranges.check_at_least(key, value, 0.0)
        if not any(self._shares):
            zeros = " and ".join(f"`{key}=0`" for key in given)
            raise ConfigError(
                f"{zeros} would leave the weights free to grow without bound.",
                remedy="Set a number above 0.",
            )

    @classmethod
    def of(cls, node: Mapping[str, Any], optimizer: Optimizer) -> FitSettings:
        """Return the settings of a node ``optimizer``.

        Parameters
        ----------
        node : mapping
        optimizer : Optimizer
            Created from the node. Settings that the node lacks are taken from its attributes if its
            class declares them.

        Raises
        ------
        ConfigError
            For ill-typed values, values out of range, and a tolerance without a gap to compare it
            with.
        """
        own, hints = schema.of_class(type(optimizer)), schema.of_class(cls)
        values = {
            key: schema.coerce(f"optimizer.{key}", node[key], hints[key].type)
            for key in hints
            if key in node
        }
        values |= {
            key: getattr(optimizer, key)
            for key in hints
            if key in (*ALWAYS, *own) and key not in values and hasattr(optimizer, key)
        }
        with keyed(dict.fromkeys(hints, "optimizer")):
            settings = cls(**values | _of_plan(optimizer, values.get("C", cls.C)))
        if settings.tolerance > 0 and not settings.certificate and "tolerance" not in own:
            _check_gap(str(node["name"]), optimizer)
        return settings

    @property
    def goal(self) -> Goal:
        """What training minimises, and how it bounds the minimum."""
        from structopt.core.needs import Goal

        return Goal(self.regulariser, self.tolerance, self.certificate)

    @property
    def regulariser(self) -> Penalty:
        """The penalty of P, of lambda = 1/(C m) or of CRFsuite's numbers."""
        from structopt.core.weights.penalty import Penalty

        return Penalty(*self._shares)

    @property
    def _shares(self) -> tuple[float, float]:
        """The shares of lambda of both norms."""
        l1, l2 = _share(self.c1, self.C), _share(self.c2, 2 * self.C)
        return {"l2": (0.0, 1.0), "l1": (l1, 0.0), "elastic": (l1, l2)}[self.penalty]


def _of_plan(optimizer: Optimizer, C: float) -> dict[str, Any]:
    """Return the settings that the plan of a plugin has."""
    from structopt.core.weights.penalty import RIDGE

    plan = optimizer.plan
    values: dict[str, Any] = {"tolerance": plan.tolerance} if plan.tolerance > 0 else {}
    if plan.certificate:
        values["certificate"] = True
    if plan.penalty != RIDGE:
        c1, c2 = plan.penalty.l1 / C, plan.penalty.l2 / (2 * C)
        values |= {"penalty": "elastic", "c1": c1, "c2": c2}
    return values


def _share(number: float | None, unit: float) -> float:
    """The share of lambda that a number of CRFsuite's is, given how many of these lambda is; all of
    it where there is none.
    """
    return 1.0 if number is None else number * unit


def _check_gap(name: str, optimizer: Optimizer) -> None:
    """Refuse a tolerance of an optimizer without certificates and without bounds of its own."""
    if "certificate" in keys_of("optimizer", name):
        raise ConfigError(
            "needs a certified gap; add optimizer.certificate=true, or set it to 0.",
            parameter="optimizer.tolerance",
        )
    if not optimizer.plan.converges:
        raise ConfigError(
            "has no certified gap to compare with optimizer.tolerance; set it to 0.",
            parameter="optimizer",
            value=name,
        )


def replaced(node: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a node that others replace: C, if c1 and c2 set all of the penalty."""
    used = {"l1": ("c1",), "elastic": ("c1", "c2")}.get(node.get("penalty", "l2"), ())
    complete = bool(used) and all(node.get(key) is not None for key in used)
    return {"C": used[-1]} if complete else {}


def parameters(name: str, docstring: str) -> dict[str, schema.Parameter]:
    """Return the settings that an optimizer has.

    Parameters
    ----------
    name : str
    docstring : str
        Docstring of its class.
    """
    keys, docs = (*ALWAYS, *keys_of("optimizer", name)), schema.parameter_docs(docstring)
    every = schema.of_class(FitSettings)
    if choices := CHOICES.search(docstring):
        penalties = cast(Any, Literal)[tuple(literal_eval(choices[1]))]
        every["penalty"] = replace(every["penalty"], type=penalties)
    return {
        key: replace(one, doc=docs.get(key, one.doc)) for key, one in every.items() if key in keys
    }


def stored(own: Mapping[str, schema.Parameter]) -> dict[str, Any]:
    """Return the settings of an optimizer without a config file, given its arguments."""
    presets = {"C": "${oc.select:task.default_C,1.0}", "epochs": FitSettings.epochs}
    return {key: own[key].default if key in own else one for key, one in presets.items()}


def refuse_arguments(name: str, arguments: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse settings of a fit among the arguments of an optimizer.

    Raises
    ------
    ConfigError
    """
    for key in (one.name for one in fields(FitSettings)):
        if key in arguments and key not in own:
            home = "structopt.fit" if key in ("epochs", "tolerance") else "structopt.Problem"
            raise ConfigError(
                f"is not an argument of optimizer={name}.",
                parameter=key,
                value=arguments[key],
                remedy=f"Give it to {home}.",
            )
