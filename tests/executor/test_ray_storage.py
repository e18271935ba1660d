"""Ray's workers open their own instances of a corpus in files: the bits of a corpus in memory, and
nothing of it is sent.
"""

import os
import shutil
import signal
from pathlib import Path

import pytest

import structopt
from structopt.core.storage import arrays as storage
from structopt.errors import ConfigError
from structopt.executor.ray_workers import Team
from structopt.formats import text_pieces
from structopt.objective.gradient_shards import ShardPlace
from structopt.objective.on_disk.corpus_folder import open_corpus

pytestmark = pytest.mark.nightly("ray")

ray = pytest.importorskip("ray", reason="Ray is optional (extra: ray)")
COMMON = [
    "task=ner",
    "task.limit=60",
    "task.dev=null",
    "task.test=null",
    "tracker=none",
    "quiet=true",
    "order=blocks",
    "storage.block=4",
    "storage.window=3",
    "optimizer.epochs=3",
    "executor.shards=4",
    "executor.workers=2",
]
METHODS = {
    "lbfgs": ["optimizer=lbfgs"],
    "dca": ["optimizer=dca", "executor.mixing=2"],
    "sdca": ["optimizer=sdca", "executor.mixing=2"],
}
methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Corpora of many ranges, in a folder of the test."""
    monkeypatch.setattr(storage, "RANGE", 16)
    monkeypatch.chdir(tmp_path)


def trained(folder, *words):
    """The files of the model, and the losses and bounds of every pass."""
    structopt.train([*COMMON, *words], folder)
    rows = [row.split(",") for row in (folder / "history.csv").read_text().splitlines()]
    numbers = [rows[0].index(name) for name in ("primal", "dual", "loss") if name in rows[0]]
    passes = [[row[number] for number in numbers] for row in rows]
    return b"".join(
        path.read_bytes()
        for path in sorted((folder / "model").iterdir())
        if "config" not in path.name
    ), passes


@pytest.fixture
def placed(monkeypatch):
    """What is placed with workers."""
    seen, place = [], Team.place

    def noting(team, make, shard_data):
        seen.extend(shard_data)
        return place(team, make, shard_data)

    monkeypatch.setattr(Team, "place", noting)
    return seen


@methods
def test_bits_are_those_of_memory_and_workers_get_places(method, placed):
    expected = trained(Path("memory"), *METHODS[method], "executor=threads")
    assert trained(Path("disk"), *METHODS[method], "executor=ray", "storage=disk") == expected
    assert len(placed) >= 2
    assert all(isinstance(one, ShardPlace) for one in placed)
    assert all(len(ray.cloudpickle.dumps(one)) < 20_000 for one in placed)


@methods
def test_a_worker_that_replaces_another_opens_the_same_instances(method, monkeypatch, placed):
    expected = trained(Path("memory"), *METHODS[method], "executor=threads")
    ask, asked, replaced, replace = Team.ask, [], [], Team.replace

    def killing(team, *arguments):
        asked.append(arguments)
        if len(asked) == 5:
            os.kill(ray.get(team.actors[1].ready.remote()), signal.SIGKILL)
        return ask(team, *arguments)

    def noting(team, worker, error):
        replaced.append(worker)
        replace(team, worker, error)

    monkeypatch.setattr(Team, "ask", killing)
    monkeypatch.setattr(Team, "replace", noting)
    assert trained(Path("disk"), *METHODS[method], "executor=ray", "storage=disk") == expected
    assert replaced == [1]
    assert all(isinstance(one, ShardPlace) for one in placed)


def test_workers_featurise_and_one_that_is_lost_is_replaced(monkeypatch):
    """The very bytes of one process; nothing else is left beside them."""
    words = ["task.limit=null", "optimizer=lbfgs", "optimizer.epochs=1", "storage=disk"]
    trained(Path("one"), *words, "executor=serial", "executor.workers=1", "storage.folder=here")
    monkeypatch.setattr(text_pieces, "STRETCH", 8000)
    ask, asked = Team.ask, []

    def killing(team, placement, shard, method, arguments):
        asked.append(method)
        if asked.count("encode") == 3 and method == "encode":
            os.kill(ray.get(team.actors[1].ready.remote()), signal.SIGKILL)
        return ask(team, placement, shard, method, arguments)

    monkeypatch.setattr(Team, "ask", killing)
    trained(Path("many"), *words, "executor=ray", "storage.folder=there")
    assert asked.count("gather") >= 10 and asked.count("encode") >= 6
    here, there = (
        {path.name: path.read_bytes() for path in folder.rglob("*")}
        for folder in map(only, ("here", "there"))
    )
    assert here == there


def only(folder):
    """The one folder that is in a folder."""
    (one,) = Path(folder).iterdir()
    return one


def test_a_folder_that_a_worker_does_not_see_is_told(tmp_path):
    trained(Path("disk"), "optimizer=dca", "executor=serial", "storage=disk", "executor.workers=1")
    (folder,) = (
        path for path in Path("outputs/featurised").iterdir() if not path.name.startswith(".")
    )
    encoded, _ = open_corpus(folder)
    assert encoded.folder == folder.absolute()
    place = ShardPlace(str(encoded.folder), 0, 2, lambda encoded: (None, None))
    assert len(place.opened().encoded) == 2
    shutil.rmtree(folder)
    with pytest.raises(
        ConfigError,
        match="a worker cannot open .*: there is no manifest. Name a folder that all machines see",
    ):
        place.opened()
