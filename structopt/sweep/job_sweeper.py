"""The base of this package's sweepers, whose jobs are lists of overrides that a launcher runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from structopt.run.records import MULTIRUN

MODULE = "hydra_plugins.structopt"
"""Hydra takes sweepers from modules of this name only. A real one would be imported by every other
Hydra program in the environment, so the classes are registered under it in this process instead:
see `structopt.sweep.sweepers.register`.
"""


class JobSweeper(Sweeper):
    """A sweeper that launches lists of overrides."""

    __module__ = MODULE
    launcher: Launcher
    config: DictConfig
    hydra_context: HydraContext

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep the config, and make the launcher that it names."""
        self.config, self.hydra_context = config, hydra_context
        plugins = Plugins.instance()
        self.launcher = plugins.instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    @property
    def folder(self) -> Path:
        """The sweep's folder."""
        return Path(str(self.config.hydra.sweep.dir))

    def launch(self, jobs: Sequence[Sequence[str]], first: int = 0) -> Sequence[JobReturn]:
        """Run jobs that are numbered from `first`, after all of them have been composed once.

        Returns
        -------
        list of JobReturn
            In the order of the jobs; ``return_value`` is what `structopt.sweep.job.run_job`
            returns.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, self.folder / MULTIRUN)
        self.validate_batch_is_legal(jobs)
        return self.launcher.launch(jobs, initial_job_idx=first)

    def sweep(self, arguments: list[str]) -> Any:
        """Run the sweep that the typed overrides ask for."""
        raise NotImplementedError
