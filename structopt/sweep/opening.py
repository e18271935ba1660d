"""Opens a run or sweep in the process that launches it, after its config was composed and before
anything is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, flag_override

from structopt.process import folder_lock
from structopt.progress import credentials

if TYPE_CHECKING:
    from structopt.sweep.ongoing import Sweep


# no Exception: Hydra turns exceptions of callbacks into warnings, and would go on
class Refused(BaseException):
    """A run or sweep that cannot begin."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Opening(Callback):
    """Hydra's callback. The sweep that it opened stays in `opened`, and its lock in `locks`, for
    the command that closes both.
    """

    opened: ClassVar[Sweep | None] = None
    locks: ClassVar[ExitStack] = ExitStack()

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Lock the folder of a single run.

        Raises
        ------
        Refused
            Around the error, where another process trains there.
        """
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(config)  # without it ${hydra:...} does not resolve yet
        try:
            _remove_credentials(config)
            self.locks.enter_context(folder_lock.locked(Path(str(config.hydra.run.dir))))
        except Exception as error:
            raise Refused(error) from error
        finally:
            HydraConfig.instance().cfg = before

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Settle the folder, make the parent run, and write ``sweep.json``.

        Raises
        ------
        Refused
            Around the error, where the sweep cannot begin.
        """
        HydraConfig.instance().set_config(config)  # without it ${hydra:...} does not resolve yet
        try:
            _remove_credentials(config)
            type(self).opened = open_sweep(config, sys.argv[1:])
        except Exception as error:
            raise Refused(error) from error


def open_sweep(config: DictConfig, words: Sequence[str]) -> Sweep:
    """Begin a sweep, or go on with an earlier one where ``sweep.resume=true`` is typed.

    Parameters
    ----------
    config : DictConfig
        The composed config of the sweep; its folder is set in it.
    words : sequence of str
        The command line.
    """
    from structopt.progress import console, quiet
    from structopt.sweep import resuming
    from structopt.sweep.ongoing import BASIC, Sweep
    from structopt.sweep.typed_words import TypedWords

    quiet.be_quiet(bool(OmegaConf.select(config, "quiet")))
    command = resuming.without_resume(words)
    goes_on = resuming.is_asked(config)
    earlier = resuming.earlier_folder(config, command) if goes_on else None
    typed = TypedWords.parse(config)
    typed.check(config)
    folder = earlier or Path(str(config.hydra.sweep.dir)).resolve()
    sweep = Sweep(folder, command, typed.label(config), _tracker_node(config), typed.common)
    _pin(config, folder)
    Opening.locks.enter_context(sweep.locked())
    if earlier is None:
        console.say(f"structopt: {sweep.label} in {folder}", error=True)
        sweep.replaced = resuming.forget_jobs(folder, goes_on)
    try:
        sweep.begin(resuming.read_notes(folder)["parent"] if earlier else "")
    except BaseException:  # an impatient user's interrupt too
        if earlier is None:
            sweep.drop()
        raise
    if OmegaConf.select(config, "hydra.launcher._target_") != BASIC:
        sweep.limit_threads()
    return sweep


def _remove_credentials(config: DictConfig) -> None:
    """Remove user and password of a tracker from a config, which Hydra writes to a file."""
    if "tracker" not in config:
        return
    node = OmegaConf.to_container(config.tracker)
    if (clean := credentials.removed_in(node)) != node:
        with flag_override(config, ["readonly", "struct"], [False, False]):
            config.tracker = clean


def _tracker_node(config: DictConfig) -> dict[str, Any]:
    """Return the tracker's config; the runs of a published experiment are recorded under its name,
    as its jobs are.
    """
    from structopt.config import registry
    from structopt.config.overrides import key_of
    from structopt.config.saved_config import resolved

    node = resolved(config.tracker)
    experiment = OmegaConf.select(config, "hydra.runtime.choices.experiment")
    typed = [key_of(str(word)).strip() for word in config.hydra.overrides.task]
    if experiment and "experiment" in node and "tracker.experiment" not in typed:
        node["experiment"] = str(experiment)
    checked: dict[str, Any] = registry.checked("tracker", node, {})
    return checked


def _pin(config: DictConfig, folder: Path) -> None:
    """Make `folder` the sweep's folder, here and in the configs that launchers compose for the
    jobs.
    """
    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    with flag_override(config.hydra, ["readonly", "struct"], [False, False]):
        config.hydra.sweep.dir = str(folder)
        config.hydra.overrides.hydra.append(f"hydra.sweep.dir='{quoted}'")
