"""What every report of an experiment promises: tables that can be read, and verdicts with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from structopt.experiment.report import Report, write
from structopt.run.records import RunRecord


class ReportSuite:
    """Override `reporter` and `records`, finished runs such as the sweep of the experiment leaves."""

    @pytest.fixture
    def reporter(self) -> Any:
        """Give the function under test."""
        raise NotImplementedError

    @pytest.fixture
    def records(self) -> Sequence[RunRecord]:
        """Make the runs of a sweep: configs, metrics and, where it is read, a history."""
        raise NotImplementedError

    @pytest.fixture(params=["small", "full"])
    def report(self, request: pytest.FixtureRequest, reporter: Any, records: Sequence[RunRecord]) -> Report:
        """Report on the runs, at either scale."""
        report: Report = reporter(records, request.param)
        return report

    def test_says_what_it_repeats(self, report: Report) -> None:
        """Title, source, and a table at least."""
        assert report.title
        assert report.source
        assert report.tables

    def test_tables_are_rectangular(self, report: Report) -> None:
        """Every row has a cell for every column."""
        assert all(len(row) == len(table.columns) for table in report.tables for row in table.rows)

    def test_claims_have_evidence(self, report: Report) -> None:
        """Claims that hold or do not hold come with the numbers that decide it."""
        assert all(claim.text for claim in report.claims)
        assert all(claim.evidence for claim in report.claims if claim.held is not None)

    def test_is_written(self, report: Report, tmp_path: Path) -> None:
        """Markdown with every table, CSV, and the figure where there is one."""
        written = write(report, tmp_path).read_text(encoding="utf8")
        assert written.startswith(f"# {report.title}\n")
        assert all(table.markdown() in written for table in report.tables)
        assert (tmp_path / "table.csv").is_file()
        assert (tmp_path / "figure.png").is_file() == (report.draw is not None)

    def test_missing_runs_are_no_failure(self, reporter: Any, records: Sequence[RunRecord]) -> None:
        """Of a sweep of which only one run came to its end there is a report as well."""
        assert len(records) > 1
        for record in records:
            assert reporter([record], "small").markdown()
