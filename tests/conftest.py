"""Fixtures that several folders of tests use, the selection of tests, and their distribution over
processes.
"""

import json
import os
import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from structopt.executor.serial import Serial
from structopt.run import plots
from tests.compiled import compile_kernels
from tests.parsed_configs import parse_once
from tests.parts import GATE_SECONDS, NIGHTLY_SECONDS, PARTS
from tests.stores import EmptyStores
from tests.trained import TrainedRuns

# Hypothesis builds its tables of characters at the first draw of text, once per version of Python:
# this does not make a test slow. A kernel is compiled at its first call, so examples have no deadline.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def serial():
    return Serial()


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A function from a task to the folder of a small trained run, which no test may change."""
    return TrainedRuns(_shared_folder(tmp_path_factory) / "trained")


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A function from a path to the address of an empty MLflow store there."""
    return EmptyStores(_shared_folder(tmp_path_factory) / "stores")


def _shared_folder(tmp_path_factory):
    """Return the folder that all workers of this session see."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session", autouse=True)
def _parse_configs_once():
    with pytest.MonkeyPatch.context() as patch:
        parse_once(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_picture(tmp_path_factory):
    """Draw the picture of the first run only: it takes longer than a small run.

    Later runs get a copy. See test_plots.py.
    """
    first, draw = tmp_path_factory.mktemp("picture") / "learning_curve.png", plots.learning_curve

    def draw_once(history, target, metric, remark):
        if not first.exists():
            draw(history, first, metric, remark)
        shutil.copy(first, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "learning_curve", draw_once)
        yield


HUNG = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Note the files of tests that hung."""
    if call.excinfo is not None and "Timeout" in str(call.excinfo.value):
        item.getparent(pytest.Module).stash[HUNG] = True
    return (yield)


def pytest_runtest_setup(item):
    """After a test that hung, do not wait for the rest of its file."""
    module = item.getparent(pytest.Module)
    if module is not None and module.stash.get(HUNG, False):
        pytest.fail("an earlier test of this file hung", pytrace=False)


def pytest_addoption(parser):
    parser.addoption(
        "--nightly",
        nargs="?",
        const="all",
        choices=("all", "none", *PARTS),
        help="run the nightly tests instead of the others: all, or those of one part; with none, "
        "leave them out even of files that are named",
    )
    parser.addoption(
        "--fuzzing-seed",
        type=int,
        default=int(date.today().strftime("%Y%m%d")),
        help="seed of the nightly mutations of files and folders; by default the date",
    )
    parser.addoption("--file-seconds", metavar="PATH", help="write the seconds per file as JSON")


def pytest_xdist_auto_num_workers(config):
    """Run the whole suite in up to four processes, and named files in this process."""
    return min(os.cpu_count() or 1, 4) if _is_whole_suite(config) else 0


def pytest_sessionstart(session):
    """Compile before there are workers, each of which would compile everything."""
    workers = session.config.getoption("numprocesses", None)
    if workers and not hasattr(session.config, "workerinput"):
        compile_kernels(workers)


def pytest_collection_modifyitems(config, items):
    """Select the nightly tests with `--nightly`; else leave them out, unless files are named."""
    part = config.getoption("nightly") or ("none" if _is_whole_suite(config) else "")
    if part == "none":
        chosen = [item for item in items if not _part(item)]
    elif part:
        chosen = [item for item in items if _part(item) and part in ("all", _part(item))]
    else:
        chosen = items
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


def _part(item):
    """Return the nightly part of a test, or None."""
    marker = item.get_closest_marker("nightly")
    if marker is None:
        return None
    if len(marker.args) != 1 or marker.args[0] not in PARTS:
        raise pytest.UsageError(
            f"{item.nodeid}: the marker nightly names no part. Write nightly(PART), where PART is "
            f"one of {', '.join(PARTS)}."
        )
    return marker.args[0]


def _is_whole_suite(config):
    """Whether no file or folder was named."""
    return [Path(argument).name for argument in config.args] == config.getini("testpaths")


def pytest_configure(config):
    config.pluginmanager.register(_FileSeconds(config), "file-seconds")


def pytest_report_header(config):
    return f"fuzzing seed: {config.getoption('fuzzing_seed')}"


class _FileSeconds:
    """Sums the seconds of every file, and prints the files over their budget."""

    def __init__(self, config):
        self.config = config
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_terminal_summary(self, terminalreporter):
        config = self.config
        if config.getoption("file_seconds"):
            text = json.dumps(dict(self.seconds), indent=0)
            Path(config.getoption("file_seconds")).write_text(text, encoding="utf8")
        if not (config.getoption("nightly") or _is_whole_suite(config)):
            return
        is_gate = config.getoption("nightly") in (None, "none")
        budget = GATE_SECONDS if is_gate else NIGHTLY_SECONDS
        over = [(name, took) for name, took in self.seconds.most_common() if took > budget]
        terminalreporter.section(f"files over {budget:g} seconds: {len(over)}")
        for name, took in over:
            terminalreporter.write_line(f"{took:7.1f} s  {name}")
        terminalreporter.write_line(f"{sum(self.seconds.values()):7.1f} s  all files")
