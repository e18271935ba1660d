"""The space of a search, read from Hydra's syntax of sweeps: ``choice``, ``range``, ``interval``,
and the tag ``log``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from structopt.errors import ConfigError, did_you_mean

LOG = "log"
EXAMPLE = "'optimizer.C=tag(log,interval(0.01,10))' loss.beta=1,3,inf 'loss.gamma=range(0,6)'"


@dataclass(frozen=True)
class Space:
    """The overrides that all trials have, and the keys in which they differ.

    Attributes
    ----------
    fixed : tuple of str
        Overrides of every trial.
    free : mapping of key to optuna's distribution
        The values of a choice are texts as one types them, so that ``inf``, numbers and names of
        components are alike.
    """

    fixed: tuple[str, ...]
    free: Mapping[str, Any]

    def overrides(self, values: Mapping[str, Any]) -> list[str]:
        """Return the overrides of a trial, as they are typed, in the order of the keys; numbers are
        rounded to six digits.
        """
        return [*self.fixed, *(f"{key}={_typed(values[key])}" for key in self.free)]

    def first(self) -> list[str]:
        """Return some point of the space, to compose before any trial is drawn."""
        from optuna.distributions import CategoricalDistribution

        choices = {key: isinstance(one, CategoricalDistribution) for key, one in self.free.items()}
        return self.overrides(
            {key: one.choices[0] if choices[key] else one.low for key, one in self.free.items()}
        )

    def described(self) -> dict[str, Any]:
        """Return plain values that are equal for equal spaces."""
        from optuna.distributions import distribution_to_json

        return {
            "fixed": list(self.fixed),
            "free": {key: distribution_to_json(one) for key, one in self.free.items()},
        }


def read_space(overrides: Sequence[Override]) -> Space:
    """Divide overrides into those with one value and those to search over; of a key that is typed
    twice the later counts.

    Raises
    ------
    ConfigError
        If there is nothing to search over, or a sweep that is no choice, range or interval.
    """
    last = {override.get_key_element(): override for override in overrides}
    fixed = tuple(str(one.input_line) for one in last.values() if not one.is_sweep_override())
    free = {key: _distribution(one) for key, one in last.items() if one.is_sweep_override()}
    if not free:
        raise ConfigError(
            "There is nothing to search over: no key has several values.",
            remedy=f"Write for example {EXAMPLE}",
        )
    return Space(fixed, free)


def _distribution(override: Override) -> Any:
    """Return optuna's distribution of a key."""
    sweep: Any = override.value()
    text = override.input_line
    unknown = sorted(sweep.tags - {LOG})
    if unknown:
        raise ConfigError(
            f"'{text}': the tag '{unknown[0]}' is unknown.{did_you_mean(unknown[0], [LOG])} The "
            f"only tag is {LOG}."
        )
    log = LOG in sweep.tags
    try:
        if isinstance(sweep, IntervalSweep):
            return _interval(sweep, log)
        if isinstance(sweep, RangeSweep):
            return _range(sweep, log)
        return _choice(override, log)
    except ValueError as error:
        raise ConfigError(f"'{text}': {error}") from None


def _interval(sweep: IntervalSweep, log: bool) -> Any:
    """Return the numbers between two ends; whole ones for ``int(interval(1,8))``."""
    from optuna.distributions import FloatDistribution, IntDistribution

    low, high = sweep.start or 0.0, sweep.end or 0.0
    if low >= high:
        raise ValueError(
            f"the interval is empty; its first end, {low:g}, must be below its second, {high:g}."
        )
    if log and low <= 0:
        raise ValueError(
            f"a log scale begins above 0, not at {low:g}. Write a small positive number there."
        )
    if isinstance(sweep.start, int) and isinstance(sweep.end, int):
        return IntDistribution(sweep.start, sweep.end, log=log)
    return FloatDistribution(low, high, log=log)


def _range(sweep: RangeSweep, log: bool) -> Any:
    """Return evenly spaced numbers; the stop is not among them, as in all of Hydra's ranges."""
    from optuna.distributions import FloatDistribution, IntDistribution

    values = sorted(sweep.range())
    if not values:
        raise ValueError(
            "the range is empty. Write range(START,STOP) or range(START,STOP,STEP); STOP is not "
            "among the values."
        )
    low, high, step, whole = values[0], values[-1], abs(sweep.step), isinstance(values[0], int)
    if log and not (whole and step == 1 and low > 0):
        raise ValueError(
            "a log scale takes whole numbers above 0 in steps of 1, or an interval: "
            "tag(log,interval(0.01,10))."
        )
    return (
        IntDistribution(int(low), int(high), log, int(step))
        if whole
        else FloatDistribution(low, high, step=step)
    )


def _choice(override: Override, log: bool) -> Any:
    """Return the texts of a choice, each once."""
    from optuna.distributions import CategoricalDistribution

    if log:
        raise ValueError(
            "a choice has no scale, so the tag log says nothing. Leave it out, or set "
            "tag(log,interval(LOW,HIGH))."
        )
    return CategoricalDistribution(list(dict.fromkeys(override.sweep_string_iterator())))


def _typed(value: Any) -> str:
    """Write a value as one types it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
