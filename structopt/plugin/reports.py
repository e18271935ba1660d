"""The second tier: reports of experiments.

A report is a function of the finished runs (`RunRecord`) that returns a `Report` of tables and
claims. `Sample` has means and deviations over seeds; `higher` compares two of them, as a `Verdict`.
"""

from __future__ import annotations

from structopt.experiment.noise import Sample, Verdict, higher
from structopt.experiment.report import Claim, Report, Table
from structopt.run.records import RunRecord

__all__ = ["Claim", "Report", "RunRecord", "Sample", "Table", "Verdict", "higher"]
