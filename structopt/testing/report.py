"""What every report of an experiment promises: tables that can be read, and verdicts with their
evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from structopt.experiment.noise import Verdict
from structopt.experiment.report import Report, write
from structopt.run.records import RunRecord
from structopt.testing.promises import promises, required


@promises("report")
class ReportSuite:
    """Override two fixtures: `reporter` returns the function under test, `records` the runs of a
    finished sweep of the experiment.
    """

    @required
    def reporter(self) -> Any:
        """Return the function under test, of records and a scale, which returns a `Report`."""

    @required
    def records(self) -> Any:
        """Return the records of a finished sweep: configs, metrics and, if the report reads
        it, a history.
        """

    @pytest.fixture(params=["small", "full"])
    def report(
        self, request: pytest.FixtureRequest, reporter: Any, records: Sequence[RunRecord]
    ) -> Report:
        """Report on the runs, at either scale."""
        report: Report = reporter(records, request.param)
        return report

    def test_says_what_it_repeats(self, report: Report) -> None:
        """Title, source, and a table at least.

        Give the `Report` a title, the source that it repeats, and at least one table.
        """
        assert report.title
        assert report.source
        assert report.tables

    def test_tables_are_rectangular(self, report: Report) -> None:
        """Every row has a cell for every column.

        Give each row of a `Table` as many cells as the table has columns.
        """
        assert all(len(row) == len(table.columns) for table in report.tables for row in table.rows)

    def test_claims_have_evidence(self, report: Report) -> None:
        """Claims that hold or do not hold come with the numbers that decide it.

        Give each `Claim` a text, and the numbers that decide it where it holds or does not hold.
        """
        assert all(claim.text for claim in report.claims)
        assert all(claim.evidence for claim in report.claims if claim.judged is not Verdict.UNKNOWN)

    def test_is_written(self, report: Report, tmp_path: Path) -> None:
        """Markdown with every table, CSV, and the figure where there is one.

        Return a `Report` of the package's own classes, whose tables are in its Markdown; `draw`
        only where there is a figure.
        """
        written = write(report, tmp_path).read_text(encoding="utf8")
        assert written.startswith(f"# {report.title}\n")
        assert all(table.markdown() in written for table in report.tables)
        assert (tmp_path / "table.csv").is_file()
        assert (tmp_path / "figure.png").is_file() == (report.draw is not None)

    def test_missing_runs_are_no_failure(self, reporter: Any, records: Sequence[RunRecord]) -> None:
        """Of a sweep of which only one run came to its end there is a report as well.

        Report on the runs that there are: claims whose runs are missing have `held=None`.
        """
        assert len(records) > 1
        for record in records:
            assert reporter([record], "small").markdown()
