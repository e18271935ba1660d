"""Fixtures that more than one folder of tests uses, and how the whole suite is spread over
processes.
"""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from structopt.executor.serial import Serial
from structopt.run import plots
from tests.compiled import compile_kernels

LONGEST_FIRST = (
    "test_plugins",
    "test_sweep",
    "test_pairs",
    "test_experiments",
    "test_kummerfeld_meshi",
    "test_real_data",
    "test_stages",
    "test_docs",
    "test_pruned_runs",
    "test_eg",
    "test_sdca",
    "test_ray",
    "test_cutting_plane",
    "test_main",
    "test_train",
    "test_storm",
    "test_nonconvex",
)

# the first draw of text makes Hypothesis' tables of characters, once a version of Python: that is
# no slow test
settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def serial():
    return Serial()


@pytest.fixture(scope="session", autouse=True)
def _one_picture(tmp_path_factory):
    """A run's picture takes longer than a small run: the first is drawn, later ones are its copies.
    See test_plots.py.
    """
    kept, draw = tmp_path_factory.mktemp("picture") / "learning_curve.png", plots.learning_curve

    def drawn_once(history, target, metric):
        if not kept.exists():
            draw(history, kept, metric)
        shutil.copy(kept, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "learning_curve", drawn_once)
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
        "--slow",
        action="store_true",
        help="run the slow tests too; files that are named run whole anyway",
    )


def pytest_xdist_auto_num_workers(config):
    """Run the whole suite side by side, on no more than four cores; what is named, in this
    process.
    """
    return min(os.cpu_count() or 1, 4) if _whole_suite(config) else 0


def pytest_sessionstart(session):
    """Compile before there are workers, of which each would compile everything."""
    workers = session.config.getoption("numprocesses", None)
    if workers and not hasattr(session.config, "workerinput"):
        compile_kernels(workers)


def pytest_collection_modifyitems(config, items):
    """Leave slow tests out of the whole suite unless they are asked for; begin with the files that
    take longest.
    """
    if _whole_suite(config):
        left_out = ("cluster",) if config.getoption("slow") else ("cluster", "slow")
        named = [item for item in items if any(map(item.get_closest_marker, left_out))]
        config.hook.pytest_deselected(items=named)
        items[:] = [item for item in items if item not in set(named)]
    order = {name: index for index, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(Path(item.path).stem, len(order)))


def _whole_suite(config):
    """Whether no file or folder was named."""
    return [Path(argument).name for argument in config.args] == config.getini("testpaths")
